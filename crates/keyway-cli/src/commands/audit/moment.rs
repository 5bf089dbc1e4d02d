//! Moments as a person names them.

/// Reads a date, or a date and a time of day in UTC, as RFC 3339 writes them; returns seconds since
/// 1970.
///
/// # Errors
///
/// Returns how a moment is written.
pub(super) fn parse_moment(text: &str) -> Result<i64, String> {
    let wrong = || "use YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ".to_owned();
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, time.strip_suffix('Z').ok_or_else(wrong)?),
        None => (text, "00:00:00"),
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2]).ok_or_else(wrong)?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2]).ok_or_else(wrong)?;
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return Err(wrong()),
    };
    if !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return Err(wrong());
    }
    // Years from March on, so that the day of a leap year is the last one.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let since_march = (153 * month + 2) / 5 + day - 1;
    let days = 365 * year + leaps + since_march - 719_468;
    Ok(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Reads three numbers of so many digits.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut numbers = [0; 3];
    let mut parts = text.split(between);
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits)?;
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| is_number)?;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use keyway::events::rfc3339;

    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written_and_nothing_else_is() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2024-02-29T23:59:59Z",
            "2026-11-18T09:30:01Z",
            "2000-03-01T00:00:00Z",
        ] {
            assert_eq!(rfc3339(parse_moment(text).unwrap()), text);
        }
        assert_eq!(
            parse_moment("2026-11-18"),
            parse_moment("2026-11-18T00:00:00Z")
        );
        for text in [
            "",
            "yesterday",
            "2026-11-31",
            "2026-02-29",
            "2026-13-01",
            "2026-1-1",
            "2026-11-18T24:00:00Z",
            "2026-11-18T09:30:00",
            "2026-11-18T09:30:00+01:00",
            "+026-11-18",
            "2026-11-18-1",
        ] {
            assert!(parse_moment(text).is_err(), "{text}");
        }
    }
}
