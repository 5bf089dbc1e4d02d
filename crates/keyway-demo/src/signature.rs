//! Requests signed by their time: what the headers helper prints and what its server checks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyway_config::environment::Environment;
use keyway_secret::Secret;
use ring::hmac;
use serde_json::json;

use crate::credentials::{SIGNING_KEY, SIGNING_SECRET, hexadecimal};
use crate::error::DemoError;

/// Returns what the headers helper of the demo prints: a JSON object of headers that are valid for
/// a minute.
///
/// # Errors
///
/// Returns [`DemoError::Variable`] if the entry did not hand over the key and the secret.
pub fn signed_headers(
    environment: &dyn Environment,
    now: SystemTime,
) -> Result<Secret<String>, DemoError> {
    let variable = |name| {
        let value = environment.get(name);
        value.ok_or(DemoError::Variable { name })
    };
    let (key, secret) = (variable(SIGNING_KEY)?, variable(SIGNING_SECRET)?);
    let timestamp = timestamp(now);
    let headers = json!({
        "X-API-Key": key.expose(),
        "X-Timestamp": timestamp,
        "X-Signature": signature(&secret, &timestamp),
    });
    Ok(Secret::new(headers.to_string()))
}

/// Says whether a signature is that of a timestamp, and the timestamp that of this minute.
pub(crate) fn is_valid(
    secret: &Secret<String>,
    timestamp: &str,
    signature: &str,
    now: SystemTime,
) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let is_signed = bytes_of(signature)
        .is_some_and(|tag| hmac::verify(&key, timestamp.as_bytes(), &tag).is_ok());
    is_signed
        && seconds_of(timestamp).is_some_and(|then| since_1970(now).abs_diff(then) <= TOLERANCE)
}

fn signature(secret: &Secret<String>, timestamp: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    hexadecimal(hmac::sign(&key, timestamp.as_bytes()).as_ref())
}

/// Reads hexadecimal digits, lower-case ones only.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let is_lower = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if !digits.bytes().all(is_lower) {
        return None;
    }
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

/// Writes a time as ISO 8601 with its offset.
fn timestamp(time: SystemTime) -> String {
    let seconds = since_1970(time);
    let (days, second) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00")
}

/// Reads a time as [`timestamp`] writes it.
fn seconds_of(text: &str) -> Option<u64> {
    let text = text.strip_suffix("+00:00")?;
    let (date, time) = text.split_once('T')?;
    let numbers = |text: &str, between: char| -> Option<[u64; 3]> {
        let parts: Option<Vec<u64>> = text.split(between).map(|part| part.parse().ok()).collect();
        parts?.try_into().ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let is_sound = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    is_sound.then(|| days(year, month, day) * DAY + hour * 3600 + minute * 60 + second)
}

/// Returns year, month and day of a number of days since 1970 (years begin with March inside).
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, date)
}

/// The other way round.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, year) = (year / 400, year % 400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day = (153 * month + 2) / 5 + day - 1 + 365 * year + year / 4 - year / 100;
    era * 146_097 + day - 719_468
}

fn since_1970(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_secs()
}

const DAY: u64 = 86_400;

/// How far the clocks of client and server may be apart, in seconds.
const TOLERANCE: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_written_as_iso_8601_and_read_back() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00+00:00"),
            (951_782_399, "2000-02-28T23:59:59+00:00"),
            (951_782_400, "2000-02-29T00:00:00+00:00"),
            (1_709_164_800, "2024-02-29T00:00:00+00:00"),
            (1_798_761_599, "2026-12-31T23:59:59+00:00"),
            (4_107_542_400, "2100-03-01T00:00:00+00:00"),
        ] {
            assert_eq!(timestamp(at(seconds)), text);
            assert_eq!(seconds_of(text), Some(seconds), "{text}");
        }
        for text in [
            "",
            "2026",
            "2026-13-01T00:00:00+00:00",
            "2026-01-01T00:00:00Z",
        ] {
            assert_eq!(seconds_of(text), None, "{text}");
        }
    }

    #[test]
    fn a_signature_is_valid_for_its_own_secret_time_and_minute_only() {
        let secret = Secret::new("one".to_owned());
        let other = Secret::new("two".to_owned());
        let now = at(1_798_761_599);
        let time = timestamp(now);
        let signed = signature(&secret, &time);
        assert!(is_valid(&secret, &time, &signed, now));
        assert!(is_valid(&secret, &time, &signed, at(1_798_761_659)));
        assert!(!is_valid(&secret, &time, &signed, at(1_798_761_660)));
        assert!(!is_valid(&other, &time, &signed, now));
        assert!(!is_valid(
            &secret,
            &timestamp(at(1_798_761_598)),
            &signed,
            now
        ));
        assert!(!is_valid(&secret, &time, &signed.to_uppercase(), now));
        assert!(!is_valid(&secret, &time, "", now));
    }

    #[test]
    fn the_signature_is_that_of_rfc_4231() {
        let secret = Secret::new("Jefe".to_owned());
        assert_eq!(
            signature(&secret, "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
