//! What a server says when it refuses a credential: `WWW-Authenticate` (RFC 9110 §11.6.1).
//!
//! Read tolerantly, since it only explains a refusal that stands already.

use http::HeaderValue;

use crate::error::TransportError;

/// Returns the refusal, with the reason that the challenge gives (RFC 6750 §3, RFC 9449 §7.1).
pub(crate) fn refusal(status: u16, values: &[HeaderValue]) -> TransportError {
    let challenges: Vec<_> = values
        .iter()
        .flat_map(|value| parse(value.as_bytes()))
        .collect();
    let told = challenges
        .iter()
        .filter(|challenge| challenge.is_for_tokens())
        .max_by_key(|challenge| {
            let has = |name| usize::from(challenge.get(name).is_some());
            has("error") * 2 + has("scope")
        });
    let text = |name, limit| told.and_then(|challenge| plain(challenge.get(name)?, limit));
    TransportError::Refused {
        status,
        error: text("error", MAX_ERROR),
        scope: text("scope", MAX_SCOPE),
    }
}

/// One scheme with its parameters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Challenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    fn is_for_tokens(&self) -> bool {
        matches!(self.scheme.as_str(), "bearer" | "dpop")
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Reads all challenges of one header line; what cannot be read is skipped.
fn parse(line: &[u8]) -> Vec<Challenge> {
    let mut rest = line.get(..line.len().min(MAX_LINE)).unwrap_or_default();
    let mut challenges: Vec<Challenge> = Vec::new();
    loop {
        rest = skip(rest, |byte| byte == b',' || is_blank(byte));
        let (word, after) = split(rest, is_token);
        if word.is_empty() {
            // Not the beginning of anything: go on behind the next comma.
            let Some(comma) = rest.iter().position(|&byte| byte == b',') else {
                return challenges;
            };
            rest = rest.get(comma..).unwrap_or_default();
            continue;
        }
        let name = String::from_utf8_lossy(word).to_ascii_lowercase();
        let after_blanks = skip(after, is_blank);
        match (after_blanks.strip_prefix(b"="), challenges.last_mut()) {
            (Some(value), Some(challenge)) if !value.starts_with(b"=") => {
                let (value, after) = value_of(skip(value, is_blank));
                if challenge.parameters.len() < MAX_PARAMETERS {
                    challenge.parameters.push((name, value));
                }
                rest = after;
            }
            // The padding of a token68, or a parameter of no scheme.
            (Some(value), _) => rest = skip(value, |byte| byte == b'='),
            (None, _) => {
                if challenges.len() < MAX_PARAMETERS {
                    challenges.push(Challenge {
                        scheme: name,
                        parameters: Vec::new(),
                    });
                }
                rest = after;
            }
        }
    }
}

/// Reads a token or a quoted string.
fn value_of(text: &[u8]) -> (String, &[u8]) {
    let Some(mut quoted) = text.strip_prefix(b"\"") else {
        let (token, rest) = split(text, |byte| byte != b',' && !is_blank(byte));
        return (String::from_utf8_lossy(token).into_owned(), rest);
    };
    let mut value = Vec::new();
    while let Some((&byte, rest)) = quoted.split_first() {
        quoted = rest;
        match byte {
            b'"' => break,
            b'\\' => {
                if let Some((&escaped, rest)) = quoted.split_first() {
                    value.push(escaped);
                    quoted = rest;
                }
            }
            _ => value.push(byte),
        }
    }
    (String::from_utf8_lossy(&value).into_owned(), quoted)
}

fn split(text: &[u8], belongs: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| !belongs(byte));
    text.split_at(end.unwrap_or(text.len()))
}

fn skip(text: &[u8], skipped: impl Fn(u8) -> bool) -> &[u8] {
    split(text, skipped).1
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// RFC 9110 §5.6.2, and what else a token68 may hold.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
                | b'/'
        )
}

/// Returns text that is safe to print: visible ASCII and blanks, as RFC 6750 §3 has it.
fn plain(text: &str, limit: usize) -> Option<String> {
    let kept: String = text
        .chars()
        .filter(|&c| c == ' ' || c.is_ascii_graphic())
        .take(limit)
        .collect();
    (!kept.trim().is_empty()).then_some(kept)
}

const MAX_LINE: usize = 8 * 1024;
const MAX_PARAMETERS: usize = 32;
const MAX_ERROR: usize = 128;
const MAX_SCOPE: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[&str]) -> (Option<String>, Option<String>) {
        let values: Vec<_> = lines
            .iter()
            .map(|line| HeaderValue::from_bytes(line.as_bytes()).unwrap())
            .collect();
        match refusal(401, &values) {
            TransportError::Refused { error, scope, .. } => (error, scope),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a12_error_and_scope_are_found_wherever_they_stand() {
        let table: &[(&[&str], Option<&str>, Option<&str>)] = &[
            (&[], None, None),
            (&["Bearer"], None, None),
            (
                &[r#"Bearer error="invalid_token""#],
                Some("invalid_token"),
                None,
            ),
            (
                &["Bearer error=invalid_token, scope=read"],
                Some("invalid_token"),
                Some("read"),
            ),
            (
                &[r#"bearer realm="a, b=c", scope="read write""#],
                None,
                Some("read write"),
            ),
            (&[r#"Basic realm="x", Bearer error="e""#], Some("e"), None),
            (
                &[r#"Basic realm="x""#, r#"DPoP error="use_dpop_nonce""#],
                Some("use_dpop_nonce"),
                None,
            ),
            (&[r#"Negotiate YWJj==, Bearer scope="s""#], None, Some("s")),
            (
                &[r#"Bearer realm="\"q\", error=no", error="yes""#],
                Some("yes"),
                None,
            ),
            (
                &[r#"Bearer scope="a", Bearer error="insufficient_scope", scope="b""#],
                Some("insufficient_scope"),
                Some("b"),
            ),
            (&[r#"Digest error="not ours""#], None, None),
            (
                &[r#",, Bearer , error = "spaced" ,,"#],
                Some("spaced"),
                None,
            ),
            (
                &[r#"Bearer error="unterminated"#],
                Some("unterminated"),
                None,
            ),
            (&["Bearer error="], None, None),
            (&["=== , \"x\" , Bearer error=e"], Some("e"), None),
        ];
        for (lines, error, scope) in table {
            let expected = (error.map(str::to_owned), scope.map(str::to_owned));
            assert_eq!(told(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn a12_nothing_that_moves_a_cursor_comes_out() {
        let line = "Bearer error=\"a\tb\u{202e}c\u{9b}d\", scope=\"\t\"";
        assert_eq!(told(&[line]), (Some("abcd".to_owned()), None));
    }

    #[test]
    fn a12_long_lines_are_read_in_part_and_in_time() {
        for unit in [
            "Bearer error=\"",
            "a=",
            ",",
            "\\\"",
            "Bearer ",
            "==",
            "a b,",
        ] {
            drop(told(&[&unit.repeat(20_000)]));
        }
        let late = format!("Bearer x=\"{}\", error=\"late\"", "y".repeat(MAX_LINE));
        assert_eq!(told(&[&late]).0, None);
    }
}
