//! What is wrong with a credential that was refused, as far as its text shows.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyway_code::Code;
use keyway_secret::Secret;
use serde::Deserialize;

/// What is wrong with a credential. Its text says so in a few words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialFlaw {
    /// An example was never filled in.
    Placeholder,
    /// The scheme appears twice.
    DoubledScheme,
    /// There is no scheme.
    MissingScheme,
    /// There is a blank where none belongs.
    Blank,
    /// It begins or ends with a blank. Headers are sent without, so that this explains no refusal;
    /// but what was copied with a blank may have been copied without its end.
    BlankAround,
    /// It is a JWT past its end.
    Expired {
        /// Since so many seconds.
        ago: i64,
    },
}

impl CredentialFlaw {
    /// Looks at the value of a header that carries a credential, at the time `now` in seconds since
    /// 1970. Of several flaws it names the one that explains a refusal best.
    #[must_use]
    pub fn of(header: &str, value: &Secret<String>, now: i64) -> Option<Self> {
        let value = value.expose().as_str();
        let inner = value.trim();
        of_trimmed(header, inner, now).or((inner != value).then_some(Self::BlankAround))
    }

    /// Returns the code used in every format.
    #[must_use]
    pub const fn code(self) -> Code {
        match self {
            Self::Placeholder => Code::TokenPlaceholder,
            Self::DoubledScheme | Self::MissingScheme => Code::WrongHeaderFormat,
            Self::Blank => Code::WhitespaceInValue,
            Self::BlankAround => Code::AuthRejected,
            Self::Expired { .. } => Code::TokenExpired,
        }
    }
}

impl fmt::Display for CredentialFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Placeholder => "it is a placeholder",
            Self::DoubledScheme => "its scheme appears twice",
            Self::MissingScheme => "it has no scheme such as `Bearer `",
            Self::Blank => "it has whitespace where none belongs",
            Self::BlankAround => "it begins or ends with a blank, which is not sent",
            Self::Expired { ago } => return write!(f, "it ended {} ago", lasting(*ago)),
        })
    }
}

/// Says how long a time is, as a person would.
#[must_use]
pub fn lasting(seconds: i64) -> String {
    match seconds {
        ..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn of_trimmed(header: &str, value: &str, now: i64) -> Option<CredentialFlaw> {
    let (scheme, credential) = match value.split_once(' ') {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, value),
    };
    if is_placeholder(credential.trim()) {
        return Some(CredentialFlaw::Placeholder);
    }
    if header.eq_ignore_ascii_case("authorization") {
        let Some(scheme) = scheme else {
            return Some(CredentialFlaw::MissingScheme);
        };
        let again = credential.trim_start().split_once(' ');
        if again.is_some_and(|(word, _)| word.eq_ignore_ascii_case(scheme) || is_scheme(word)) {
            return Some(CredentialFlaw::DoubledScheme);
        }
        if is_scheme(scheme) && credential.contains(char::is_whitespace) {
            return Some(CredentialFlaw::Blank);
        }
    }
    let end = expiry(credential)?;
    (end < now).then(|| CredentialFlaw::Expired {
        ago: now.saturating_sub(end),
    })
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

fn is_placeholder(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    // `ghp_xxxxxx` and `sk-...` as well: what stands behind the last mark is the token.
    let last = text.rsplit(['_', '-']).next().unwrap_or_default();
    let is_only = |c: char| last.len() > 2 && last.chars().all(|found| found == c);
    let is_in = |open: char, close: char| text.starts_with(open) && text.ends_with(close);
    let is_yours = [
        "your", "my-", "my_", "insert", "replace", "paste", "put", "enter", "add-", "add_",
    ]
    .iter()
    .any(|word| text.starts_with(word))
        && ["token", "key", "secret", "here", "password", "credential"]
            .iter()
            .any(|word| text.contains(word));
    is_yours
        || is_in('<', '>')
        || is_in('[', ']')
        || ['x', '*', '.', '…', '?'].into_iter().any(is_only)
        || PLACEHOLDERS.contains(&text.as_str())
}

/// Reads the end of a JWT (RFC 7519 section 4.1.4), without checking anything else of it.
fn expiry(token: &str) -> Option<i64> {
    #[derive(Deserialize)]
    struct Claims {
        exp: f64,
    }
    let mut parts = token.trim().split('.');
    let (head, claims, rest) = (parts.next()?, parts.next()?, parts.count());
    if rest != 1 || !head.starts_with("ey") || claims.len() > MAX_CLAIMS {
        return None;
    }
    let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    let claims: Claims = serde_json::from_slice(&claims).ok()?;
    let is_time = claims.exp.is_finite() && claims.exp.abs() < LATEST;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "finite and far inside of what fits, as just checked"
    )]
    is_time.then_some(claims.exp as i64)
}

const PLACEHOLDERS: &[&str] = &[
    "api-key",
    "api_key",
    "apikey",
    "changeme",
    "change-me",
    "change_me",
    "example",
    "placeholder",
    "secret",
    "test",
    "todo",
    "token",
    "undefined",
    "null",
];

const MAX_CLAIMS: usize = 16 * 1024;
const LATEST: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    fn jwt(claims: &str) -> String {
        format!(
            "eyJhbGciOiJub25lIn0.{}.c2ln",
            URL_SAFE_NO_PAD.encode(claims)
        )
    }

    #[test]
    fn each_flaw_is_told_from_the_others() {
        let old = jwt(r#"{"exp": 900}"#);
        for (header, value, expected) in [
            (
                "Authorization",
                "Bearer YOUR_TOKEN".to_owned(),
                Some(CredentialFlaw::Placeholder),
            ),
            (
                "Authorization",
                "Bearer <token>".to_owned(),
                Some(CredentialFlaw::Placeholder),
            ),
            (
                "X-Api-Key",
                "xxx".to_owned(),
                Some(CredentialFlaw::Placeholder),
            ),
            (
                "Authorization",
                "Bearer ghp_xxxxxxxxxxxx".to_owned(),
                Some(CredentialFlaw::Placeholder),
            ),
            (
                "X-Api-Key",
                "sk-...".to_owned(),
                Some(CredentialFlaw::Placeholder),
            ),
            (
                "X-Api-Key",
                "put-your-key-here".to_owned(),
                Some(CredentialFlaw::Placeholder),
            ),
            ("X-Api-Key", "ghp_xx7Kq2".to_owned(), None),
            (
                "Authorization",
                "Bearer Bearer q7Zt".to_owned(),
                Some(CredentialFlaw::DoubledScheme),
            ),
            (
                "Authorization",
                "q7Zt9Lw2".to_owned(),
                Some(CredentialFlaw::MissingScheme),
            ),
            (
                "Authorization",
                "Bearer  q7Zt9Lw2".to_owned(),
                Some(CredentialFlaw::Blank),
            ),
            (
                "Authorization",
                format!("Bearer {old}"),
                Some(CredentialFlaw::Expired { ago: 100 }),
            ),
            ("X-Api-Key", old, Some(CredentialFlaw::Expired { ago: 100 })),
            ("Authorization", "Bearer q7Zt9Lw2".to_owned(), None),
            (
                "Authorization",
                format!("Bearer {}", jwt(r#"{"exp": 2000}"#)),
                None,
            ),
            (
                "Authorization",
                format!("Bearer {}", jwt(r#"{"exp": 1e300}"#)),
                None,
            ),
            ("Authorization", format!("Bearer {}", jwt("[]")), None),
            ("Authorization", "Digest a=1, b=2".to_owned(), None),
        ] {
            let found = CredentialFlaw::of(header, &Secret::new(value.clone()), 1000);
            assert_eq!(found, expected, "{header}: {value}");
        }
    }

    #[test]
    fn a_blank_around_a_credential_is_named_where_nothing_else_explains_the_refusal() {
        let old = jwt(r#"{"exp": 900}"#);
        for (header, value, expected) in [
            (
                "Authorization",
                "Bearer q7Zt9Lw2 ".to_owned(),
                CredentialFlaw::BlankAround,
            ),
            (
                "X-Api-Key",
                " q7Zt9Lw2".to_owned(),
                CredentialFlaw::BlankAround,
            ),
            (
                "X-Api-Key",
                format!("{old} "),
                CredentialFlaw::Expired { ago: 100 },
            ),
        ] {
            let found = CredentialFlaw::of(header, &Secret::new(value), 1000);
            assert_eq!(found, Some(expected));
        }
    }

    #[test]
    fn a_time_span_is_told_as_a_person_would() {
        for (seconds, words) in [
            (90, "90 s"),
            (600, "10 min"),
            (7200, "2 h"),
            (94_822_926, "1097 days"),
        ] {
            assert_eq!(lasting(seconds), words);
        }
    }
}
