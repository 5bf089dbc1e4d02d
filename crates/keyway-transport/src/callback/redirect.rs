//! The answer inside a redirect address (RFC 6749 §4.1.2, RFC 9207).

use keyway_auth::ports::Callback;
use keyway_secret::Secret;
use thiserror::Error;
use url::{Host, Url, form_urlencoded};

/// Reads a redirect address that a person copied out of the browser.
///
/// It may come with blanks around it, without its scheme, or from the `?` on.
///
/// # Errors
///
/// Returns which rule it breaks; the text is not quoted.
pub fn read_redirect(
    text: &Secret<String>,
    redirect_uri: &str,
    state: &Secret<String>,
) -> Result<Callback, RedirectError> {
    let text = text.expose().trim();
    if text.len() > MAX_TEXT {
        return Err(RedirectError::OtherAddress);
    }
    let own = Url::parse(redirect_uri).map_err(|_| RedirectError::OtherAddress)?;
    let given = if text.starts_with(['?', '/']) {
        own.join(text)
    } else if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("http://{text}"))
    };
    let given = given.map_err(|_| RedirectError::OtherAddress)?;
    let is_ours = is_loopback(&given)
        && given.scheme() == own.scheme()
        && given.port_or_known_default() == own.port_or_known_default()
        && given.path() == own.path();
    if !is_ours {
        return Err(RedirectError::OtherAddress);
    }
    read_query(given.query().unwrap_or_default(), state)
}

/// Why a redirect address is not the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RedirectError {
    /// It is the address of something else.
    #[error("not the redirect URL of this sign-in")]
    OtherAddress,
    /// It has no `state`, or that of another sign-in.
    #[error("the redirect URL belongs to another sign-in")]
    OtherState,
    /// It says a thing twice (RFC 6749 §3.1).
    #[error("the redirect URL contains `{parameter}` twice")]
    Repeated {
        /// Which parameter.
        parameter: &'static str,
    },
    /// It has neither a usable code nor an error.
    #[error("the redirect URL contains neither a code nor an error")]
    Nothing,
}

/// Reads the query of a redirect.
///
/// The `state` is looked at first: what comes without it is not worth a reason.
pub(super) fn read_query(query: &str, state: &Secret<String>) -> Result<Callback, RedirectError> {
    let given = only(query, "state")?.ok_or(RedirectError::OtherState)?;
    if state.expose().is_empty() || !Secret::new(given).is_same_as(state) {
        return Err(RedirectError::OtherState);
    }
    let code = only(query, "code")?.map(Secret::new);
    let iss = only(query, "iss")?;
    let error = only(query, "error")?;
    let error_description = only(query, "error_description")?;
    // RFC 6749, appendix A.11.
    let is_code = |code: &Secret<String>| {
        code.expose()
            .bytes()
            .all(|byte| matches!(byte, 0x20..=0x7e))
    };
    // A refusal stands, whatever else is there.
    let code = code.filter(|code| error.is_none() && is_code(code));
    if code.is_none() && error.is_none() {
        return Err(RedirectError::Nothing);
    }
    let mut callback = Callback::default();
    callback.code = code;
    callback.iss = iss;
    callback.error = error;
    callback.error_description = error_description;
    Ok(callback)
}

/// Returns a parameter that is there at most once; an empty one is none.
fn only(query: &str, parameter: &'static str) -> Result<Option<String>, RedirectError> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let mut values = pairs.filter(|(name, _)| name == parameter);
    let value = values.next();
    if values.next().is_some() {
        return Err(RedirectError::Repeated { parameter });
    }
    let value = value.map(|(_, value)| value.into_owned());
    Ok(value.filter(|value| !value.is_empty()))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

const MAX_TEXT: usize = 16 * 1024;
