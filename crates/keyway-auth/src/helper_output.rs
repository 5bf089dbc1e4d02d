//! Reads what a headers helper printed: exactly one JSON object of strings (contract §5).

use std::fmt;

use http::{HeaderName, HeaderValue};
use keyway_secret::header::{MAX_VALUE_BYTES, is_transport_owned};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use crate::helper_fault::HelperFault;

/// Reads headers from a helper's standard output; the first surprise stops.
///
/// # Errors
///
/// Returns which rule the output breaks, without quoting any of it.
pub fn parse(output: &[u8]) -> Result<Vec<(HeaderName, HeaderValue)>, HelperFault> {
    let fault = |why| HelperFault::Output { why };
    let text = std::str::from_utf8(output).map_err(|_| fault("it is not UTF-8"))?;
    let Pairs(pairs) = serde_json::from_str(text)
        .map_err(|_| fault("it must be a single object whose values are strings"))?;
    if pairs.is_empty() {
        return Err(HelperFault::Empty);
    }
    if pairs.len() > MAX_HEADERS {
        return Err(fault("it has too many headers"));
    }
    let mut headers: Vec<(HeaderName, HeaderValue)> = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| fault("a name is not a header name"))?;
        if headers.iter().any(|(other, _)| *other == name) {
            return Err(fault("a header appears twice"));
        }
        if is_transport_owned(name.as_str()) {
            return Err(fault("a header is set by the transport"));
        }
        if value.is_empty() || value.len() > MAX_VALUE_BYTES || !is_header_value(&value) {
            return Err(fault(
                "a value is empty, too long or not allowed in a header",
            ));
        }
        let value = HeaderValue::from_str(&value)
            .map_err(|_| fault("a value contains what a header cannot"))?;
        headers.push((name, value));
    }
    Ok(headers)
}

/// The members in order, repeated ones included, which a map would hide.
struct Pairs(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

/// Visible ASCII with blanks inside, none around (threat D5).
fn is_header_value(value: &str) -> bool {
    value.trim() == value && value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

const MAX_HEADERS: usize = 64;

#[cfg(test)]
mod tests {
    use keyway_code::Code;

    use super::*;

    #[test]
    fn one_object_of_strings_is_read_in_order() {
        let headers = parse(b" {\"Authorization\": \"Bearer x y\", \"x-b\": \"1\"}\n").unwrap();
        let names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["authorization", "x-b"]);
    }

    #[test]
    fn a_header_of_the_transport_is_refused_in_any_case() {
        for name in [
            "Host",
            "content-length",
            "Mcp-Session-Id",
            "Proxy-Authorization",
            "TE",
        ] {
            let printed = format!(r#"{{"{name}": "x"}}"#);
            let why = "a header is set by the transport";
            let refused = parse(printed.as_bytes());
            assert!(
                matches!(refused, Err(HelperFault::Output { why: found }) if found == why),
                "{name}"
            );
        }
        for name in ["authorization", "cookie", "user-agent", "x-api-key"] {
            let printed = format!(r#"{{"{name}": "x"}}"#);
            assert!(parse(printed.as_bytes()).is_ok(), "{name}");
        }
    }

    /// Threats D6 and D7.
    #[test]
    fn d07_every_other_output_is_refused_without_being_quoted() {
        let long = format!("{{\"X\": \"{}\"}}", "a".repeat(MAX_VALUE_BYTES + 1));
        for output in [
            "",
            "CANARY",
            "[]",
            "\"CANARY\"",
            "{\"X\": 1}",
            "{\"X\": null}",
            "{\"X\": {\"Y\": \"CANARY\"}}",
            "{\"X\": \"a\"} {\"Y\": \"b\"}",
            "{\"X\": \"a\"} CANARY",
            "\u{feff}{\"X\": \"a\"}",
            "{\"X\": \"a\", \"x\": \"b\"}",
            "{\"X\": \"a\", \"X\": \"b\"}",
            "{\"\": \"a\"}",
            "{\"X Y\": \"a\"}",
            "{\"X\": \"\"}",
            "{\"X\": \"a\\r\\nHost: b\"}",
            "{\"X\": \"a\\u0000\"}",
            "{\"X\": \"a\\t\"}",
            "{\"X\": \" a\"}",
            "{\"X\": \"\u{e9}\"}",
            "{\"Host\": \"a\"}",
            "{\"Content-Length\": \"1\"}",
            "{\"Mcp-Session-Id\": \"1\"}",
            "{\"Proxy-Authorization\": \"a\"}",
            "{\"Sec-WebSocket-Key\": \"a\"}",
            "{\"Transfer-Encoding\": \"chunked\"}",
            long.as_str(),
        ] {
            let fault = parse(output.as_bytes()).unwrap_err();
            assert_eq!(fault.code(), Code::HelperOutput, "{output}");
            assert!(!format!("{fault} {fault:?}").contains("CANARY"));
        }
        assert_eq!(parse(b"{}").unwrap_err(), HelperFault::Empty);
        assert_eq!(
            parse(b"{\"X\": \"\xff\"}").unwrap_err().code(),
            Code::HelperOutput
        );
    }
}
