//! What a server says when it refuses a credential: `WWW-Authenticate` (RFC 9110 §11.6.1).
//!
//! Read tolerantly, since it only explains a refusal that stands already, and in part: 8 KiB of a
//! line, 32 challenges, 32 parameters each.

use http::HeaderValue;

/// Reads all challenges of a refusal; what cannot be read is skipped.
#[must_use]
pub fn parse_challenges(values: &[HeaderValue]) -> Vec<AuthChallenge> {
    let lines = values.iter().flat_map(|value| parse(value.as_bytes()));
    lines.take(MAX_CHALLENGES).collect()
}

/// Returns the challenge that says most about tokens (RFC 6750 §3, RFC 9449 §7.1).
#[must_use]
pub fn token_challenge(challenges: &[AuthChallenge]) -> Option<&AuthChallenge> {
    let ours = challenges.iter().filter(|it| it.is_for_tokens());
    // Of equals the last one, since `max_by_key` has it so.
    ours.max_by_key(|challenge| {
        let has = |name| usize::from(challenge.get(name).is_some());
        has("error") * 4 + has("scope") * 2 + has("resource_metadata")
    })
}

/// One scheme with its parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthChallenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

impl AuthChallenge {
    /// Returns the scheme, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns a parameter as sent, the first of that name; not fit to be printed.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let same = |(other, _): &&(String, String)| other.eq_ignore_ascii_case(name);
        let found = self.parameters.iter().find(same);
        found.map(|(_, value)| value.as_str())
    }

    /// Says whether the scheme is one of access tokens: `Bearer` or `DPoP`.
    #[must_use]
    pub fn is_for_tokens(&self) -> bool {
        matches!(self.scheme.as_str(), "bearer" | "dpop")
    }

    /// Returns where the metadata of the resource is said to be (RFC 9728 §5.1), as sent.
    #[must_use]
    pub fn resource_metadata(&self) -> Option<&str> {
        self.get("resource_metadata")
    }

    /// Returns the scope that is asked for, fit to be printed.
    #[must_use]
    pub fn scope(&self) -> Option<String> {
        plain(self.get("scope")?, MAX_SCOPE)
    }

    /// Returns the code of the error, fit to be printed.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        plain(self.get("error")?, MAX_ERROR)
    }

    /// Returns the error in the server's words, fit to be printed.
    #[must_use]
    pub fn error_description(&self) -> Option<String> {
        plain(self.get("error_description")?, MAX_DESCRIPTION)
    }
}

/// Reads one line.
fn parse(line: &[u8]) -> Vec<AuthChallenge> {
    let mut rest = line.get(..line.len().min(MAX_LINE)).unwrap_or_default();
    let mut challenges: Vec<AuthChallenge> = Vec::new();
    loop {
        rest = skip(rest, |byte| byte == b',' || is_blank(byte));
        let (word, after) = split(rest, is_token);
        if word.is_empty() {
            // Not the start of a challenge: continue after the next comma.
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
                if challenges.len() < MAX_CHALLENGES {
                    challenges.push(AuthChallenge {
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
const MAX_CHALLENGES: usize = 32;
const MAX_PARAMETERS: usize = 32;
const MAX_ERROR: usize = 128;
const MAX_SCOPE: usize = 1024;
const MAX_DESCRIPTION: usize = 512;

#[cfg(test)]
mod tests;
