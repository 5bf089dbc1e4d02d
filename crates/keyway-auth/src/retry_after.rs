//! When a server wants to be asked again (RFC 9110 section 10.2.3).

use std::time::SystemTime;

use http::HeaderMap;
use http::header::{DATE, HeaderName, RETRY_AFTER};

/// Returns how many seconds an answer asks to wait; `None` if it does not say.
///
/// A date is compared with the server's own clock, which the answer shows; where it does not, with
/// `now`, which may differ from it: then it is an hour at most. One that has passed is zero.
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: Option<SystemTime>) -> Option<u64> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let wish = text(RETRY_AFTER)?;
    if let Ok(seconds) = wish.parse() {
        return Some(seconds);
    }
    let date = |text| httpdate::parse_http_date(text).ok();
    let until = date(wish)?;
    let left = |now| until.duration_since(now).map_or(0, |left| left.as_secs());
    match text(DATE).and_then(date) {
        Some(now) => Some(left(now)),
        None => Some(left(now?).min(LONGEST)),
    }
}

/// No server asks for a longer wait unless its clock is wrong.
const LONGEST: u64 = 60 * 60;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;

    use super::*;

    fn said(wish: &str, date: Option<&str>, now: Option<u64>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(wish).unwrap());
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_str(date).unwrap());
        }
        let now = now.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        retry_after(&headers, now)
    }

    const NOON: &str = "Sun, 06 Nov 1994 12:00:00 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 12:01:30 GMT";
    /// Noon in seconds since 1970.
    const NOON_SECONDS: u64 = 784_123_200;

    #[test]
    fn seconds_are_taken_as_they_are() {
        assert_eq!(said(" 120 ", None, None), Some(120));
        assert_eq!(said("0", Some(NOON), Some(NOON_SECONDS)), Some(0));
    }

    #[test]
    fn a_date_counts_from_the_servers_own_clock_and_else_from_ours() {
        assert_eq!(said(LATER, Some(NOON), Some(0)), Some(90));
        assert_eq!(said(LATER, None, Some(NOON_SECONDS)), Some(90));
        assert_eq!(said(LATER, Some("noon"), Some(NOON_SECONDS)), Some(90));
        assert_eq!(said(LATER, None, None), None);
        // Ours may be wrong.
        assert_eq!(said(LATER, None, Some(0)), Some(3600));
        // The two older ways to write it (section 5.6.7).
        for old in ["Sunday, 06-Nov-94 12:01:30 GMT", "Sun Nov  6 12:01:30 1994"] {
            assert_eq!(said(old, Some(NOON), None), Some(90), "{old}");
        }
    }

    #[test]
    fn a_date_that_has_passed_means_no_wait() {
        assert_eq!(said(NOON, Some(LATER), None), Some(0));
    }

    #[test]
    fn what_is_neither_says_nothing() {
        for wish in ["soon", "-5", "1.5", "", "Sun, 06 Nov 1994"] {
            assert_eq!(said(wish, Some(NOON), Some(NOON_SECONDS)), None, "{wish}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), None), None);
    }
}
