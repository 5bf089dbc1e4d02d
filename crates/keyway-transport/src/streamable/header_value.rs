//! Text in header values (2026-07-28, "Value Encoding").

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

/// Returns `text` as it is where that is safe, else in Base64 between the markers.
pub(super) fn encode(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let is_padded = text.trim_matches([' ', '\t']).len() != text.len();
    let is_marked = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    if is_plain
        && !is_padded
        && !is_marked
        && !text.is_empty()
        && let Ok(value) = HeaderValue::from_str(text)
    {
        return value;
    }
    let encoded = format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text));
    // Base64 is visible ASCII.
    HeaderValue::from_str(&encoded).unwrap_or(HeaderValue::from_static(""))
}

/// Reads what a client wrote; `None` if it is not text, or the text between the markers is not
/// Base64.
#[must_use]
pub fn decode(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?.trim_matches([' ', '\t']);
    let inner = text.strip_prefix(PREFIX);
    match inner.and_then(|inner| inner.strip_suffix(SUFFIX)) {
        None => Some(text.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_as_the_specification_shows() {
        for (text, expected) in [
            ("us-west1", "us-west1"),
            ("Hello, \u{4e16}\u{754c}", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?base64?open", "=?base64?open"),
            ("inner blank\tand tab", "inner blank\tand tab"),
            ("\u{7f}", "=?base64?fw==?="),
            ("tab\t", "=?base64?dGFiCQ==?="),
            ("file:///a/b?c=d", "file:///a/b?c=d"),
        ] {
            assert_eq!(encode(text).as_bytes(), expected.as_bytes(), "{text:?}");
            assert_eq!(decode(&encode(text)).as_deref(), Some(text), "{text:?}");
        }
    }

    #[test]
    fn invalid_base64_between_the_markers_is_refused() {
        for text in [
            "=?base64?SGVsbG8?=",
            "=?base64?SGVs!!!bG8=?=",
            "=?base64?/w==?=",
        ] {
            assert_eq!(decode(&HeaderValue::from_static(text)), None, "{text}");
        }
    }
}
