//! How long a document may be cached, by the headers that it came with (RFC 9111).

use std::time::Duration;

use http::HeaderMap;
use http::header::{AGE, CACHE_CONTROL, EXPIRES, PRAGMA};

use crate::timeouts::{METADATA_DEFAULT_LIFETIME, METADATA_MAX_LIFETIME};

/// Returns how long an answer with these headers may be cached; zero if it may not.
///
/// At most a day; an hour if the headers do not say.
pub(super) fn lifetime(headers: &HeaderMap) -> Duration {
    let mut said = None;
    let values = headers.get_all(CACHE_CONTROL);
    for value in values {
        let Ok(text) = value.to_str() else {
            return Duration::ZERO;
        };
        for directive in text.split(',') {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            let name = name.trim().to_ascii_lowercase();
            match name.as_str() {
                "no-store" | "no-cache" => return Duration::ZERO,
                // Section 4.2.1: of two the shorter, and what is not a number is stale.
                "max-age" => {
                    let seconds = value.trim().trim_matches('"').parse::<u64>().unwrap_or(0);
                    said = Some(said.unwrap_or(u64::MAX).min(seconds));
                }
                _ => {}
            }
        }
    }
    let age = headers.get(AGE).map_or(0, |value| {
        let text = value.to_str().unwrap_or_default();
        text.trim().parse().unwrap_or(u64::MAX)
    });
    match said {
        Some(seconds) => {
            Duration::from_secs(seconds.saturating_sub(age)).min(METADATA_MAX_LIFETIME)
        }
        // A date is not parsed; a server that sends one does not mean the default.
        None if headers.contains_key(EXPIRES) || headers.contains_key(PRAGMA) => Duration::ZERO,
        None => METADATA_DEFAULT_LIFETIME.saturating_sub(Duration::from_secs(age)),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn of(headers: &[(HeaderName, &str)]) -> u64 {
        let headers = headers.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).unwrap();
            (name.clone(), value)
        });
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        lifetime(&map).as_secs()
    }

    #[test]
    fn server_says_how_long_within_a_day() {
        for (said, seconds) in [
            ("max-age=60", 60),
            ("public, MAX-AGE = 60", 60),
            ("max-age=\"60\"", 60),
            ("max-age=0", 0),
            ("max-age=99999999999", 86_400),
            ("max-age=60, max-age=30", 30),
            ("max-age=60, no-store", 0),
            ("no-cache", 0),
            ("no-cache=\"set-cookie\", max-age=60", 0),
            ("max-age=-1", 0),
            ("max-age=soon", 0),
            ("max-age", 0),
            ("public", 3600),
            ("s-maxage=5", 3600),
        ] {
            assert_eq!(of(&[(CACHE_CONTROL, said)]), seconds, "{said}");
        }
    }

    #[test]
    fn what_lay_elsewhere_before_has_less_time_left() {
        assert_eq!(of(&[(CACHE_CONTROL, "max-age=60"), (AGE, "50")]), 10);
        assert_eq!(of(&[(CACHE_CONTROL, "max-age=60"), (AGE, "70")]), 0);
        assert_eq!(of(&[(CACHE_CONTROL, "max-age=60"), (AGE, "old")]), 0);
        assert_eq!(of(&[(AGE, "600")]), 3000);
    }

    #[test]
    fn silence_is_an_hour_and_an_old_word_is_not_silence() {
        assert_eq!(of(&[]), 3600);
        assert_eq!(of(&[(EXPIRES, "0")]), 0);
        assert_eq!(of(&[(PRAGMA, "no-cache")]), 0);
        assert_eq!(of(&[(EXPIRES, "0"), (CACHE_CONTROL, "max-age=60")]), 60);
        let two = [(CACHE_CONTROL, "max-age=60"), (CACHE_CONTROL, "no-store")];
        assert_eq!(of(&two), 0);
    }
}
