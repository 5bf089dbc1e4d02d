//! What is wrong with a credential that was refused, as far as it can be seen from here.
//!
//! Values are read and never shown; what is told of them is which variable they came from.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyway_config::headers::is_credential_header;
use keyway_config::resolve::{RemoteSpec, Resolved, ServerSpec, SpecEndpoint};
use keyway_lint::secrets::is_credential_name;
use serde::Deserialize;

/// What is wrong with a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// An example was never filled in.
    Placeholder,
    /// The scheme stands twice.
    DoubledScheme,
    /// There is no scheme.
    MissingScheme,
    /// There is a blank where none belongs.
    Blank,
    /// It is a JWT past its end.
    Expired {
        /// Since so many seconds.
        ago: i64,
    },
}

/// A header that carries a credential, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fed {
    /// The header.
    pub(super) header: String,
    /// The variables that it is made of.
    pub(super) variables: Vec<String>,
    /// What is wrong with it.
    pub(super) flaw: Option<Flaw>,
}

/// Looks at every credential that a server is sent; those with a flaw come first.
pub(super) fn credentials(remote: &RemoteSpec, now: i64) -> Vec<Fed> {
    let headers = remote.headers.iter();
    let credentials = headers.filter(|(name, _)| is_credential_header(name));
    let mut found: Vec<Fed> = credentials
        .map(|(name, value)| Fed {
            header: name.clone(),
            variables: variables(value),
            flaw: flaw(name, value.value().expose(), now),
        })
        .collect();
    found.sort_by_key(|fed| fed.flaw.is_none());
    found
}

/// Returns the variables that feed the credential of a server: those of its headers, or those of its
/// environment that are named like credentials.
#[must_use]
pub fn credential_variables(spec: &ServerSpec) -> Vec<String> {
    let fed: Vec<String> = match &spec.endpoint {
        SpecEndpoint::Remote(remote) => {
            let headers = remote.headers.iter();
            let credentials = headers.filter(|(name, _)| is_credential_header(name));
            credentials
                .flat_map(|(_, value)| variables(value))
                .collect()
        }
        _ => {
            let declared = spec.env.iter();
            let fed = declared.flat_map(|(name, value)| {
                let named = variables(value).into_iter();
                named.filter(|found| is_credential_name(found) || is_credential_name(name))
            });
            fed.collect()
        }
    };
    let mut distinct: Vec<String> = Vec::new();
    for name in fed {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// Returns where a tenant, workspace or organisation is sent, and the variable that says which.
pub(super) fn tenant(remote: &RemoteSpec) -> Option<(String, String)> {
    let in_headers = remote.headers.iter().find_map(|(name, value)| {
        let feeding = variables(value).into_iter().next()?;
        let is_tenant = !is_credential_header(name) && (names_tenant(name));
        is_tenant.then(|| (format!("`{name}`"), feeding))
    });
    in_headers.or_else(|| {
        let mut all = remote.template.variables();
        let found = all.find(|variable| names_tenant(&variable.name))?;
        Some(("the address".to_owned(), found.name.clone()))
    })
}

fn names_tenant(name: &str) -> bool {
    let mut parts = name.split(['-', '_']);
    parts.any(|part| TENANTS.iter().any(|known| part.eq_ignore_ascii_case(known)))
}

fn variables(value: &Resolved) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for variable in value.template().variables() {
        if !names.contains(&variable.name) {
            names.push(variable.name.clone());
        }
    }
    names
}

fn flaw(header: &str, value: &str, now: i64) -> Option<Flaw> {
    let value = value.trim();
    let (scheme, credential) = match value.split_once(' ') {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, value),
    };
    if is_placeholder(credential.trim()) {
        return Some(Flaw::Placeholder);
    }
    if header.eq_ignore_ascii_case("authorization") {
        let Some(scheme) = scheme else {
            return Some(Flaw::MissingScheme);
        };
        let again = credential.trim_start().split_once(' ');
        if again.is_some_and(|(word, _)| word.eq_ignore_ascii_case(scheme) || is_scheme(word)) {
            return Some(Flaw::DoubledScheme);
        }
        if is_scheme(scheme) && credential.contains(char::is_whitespace) {
            return Some(Flaw::Blank);
        }
    }
    let end = expiry(credential)?;
    (end < now).then(|| Flaw::Expired {
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

const TENANTS: &[&str] = &[
    "account",
    "organisation",
    "organization",
    "org",
    "project",
    "team",
    "tenant",
    "workspace",
];

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
                Some(Flaw::Placeholder),
            ),
            (
                "Authorization",
                "Bearer <token>".to_owned(),
                Some(Flaw::Placeholder),
            ),
            ("X-Api-Key", "xxx".to_owned(), Some(Flaw::Placeholder)),
            (
                "Authorization",
                "Bearer ghp_xxxxxxxxxxxx".to_owned(),
                Some(Flaw::Placeholder),
            ),
            ("X-Api-Key", "sk-...".to_owned(), Some(Flaw::Placeholder)),
            (
                "X-Api-Key",
                "put-your-key-here".to_owned(),
                Some(Flaw::Placeholder),
            ),
            ("X-Api-Key", "ghp_xx7Kq2".to_owned(), None),
            (
                "Authorization",
                "Bearer Bearer q7Zt".to_owned(),
                Some(Flaw::DoubledScheme),
            ),
            (
                "Authorization",
                "q7Zt9Lw2".to_owned(),
                Some(Flaw::MissingScheme),
            ),
            (
                "Authorization",
                "Bearer  q7Zt9Lw2".to_owned(),
                Some(Flaw::Blank),
            ),
            (
                "Authorization",
                format!("Bearer {old}"),
                Some(Flaw::Expired { ago: 100 }),
            ),
            ("X-Api-Key", old, Some(Flaw::Expired { ago: 100 })),
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
            assert_eq!(flaw(header, &value, 1000), expected, "{header}: {value}");
        }
    }
}
