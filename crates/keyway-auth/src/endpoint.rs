//! Addresses that a peer names: which may be reached or shown at all (threats A2, B1, B2, B3).
//!
//! What a name resolves to is checked where it is connected to; here it is about the text.

use std::net::Ipv6Addr;

use keyway_secret::printable;
use thiserror::Error;
use url::{Host, Url};

/// An address of `https`, or of `http` on this machine; without user and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint(Url);

impl Endpoint {
    /// Reads an address exactly as written: nothing is repaired.
    ///
    /// # Errors
    ///
    /// Returns the first rule that it breaks.
    pub(crate) fn parse(text: &str) -> Result<Self, EndpointError> {
        if text.len() > MAX_LENGTH {
            return Err(EndpointError::TooLong);
        }
        // The parser would strip blanks and turn `\` into `/`: `java\nscript:`, `https:\\evil`.
        if text.contains(char::is_whitespace) || text.contains('\\') || printable(text) != text {
            return Err(EndpointError::Characters);
        }
        let (scheme, rest) = text.split_once(':').ok_or(EndpointError::Scheme)?;
        let is_encrypted = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(EndpointError::Scheme),
        };
        let rest = rest.strip_prefix("//").ok_or(EndpointError::Host)?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(EndpointError::User);
        }
        if rest.contains('#') {
            return Err(EndpointError::Fragment);
        }
        let url = Url::parse(text).map_err(|_| EndpointError::Host)?;
        if !is_plain_host(&url, authority) {
            return Err(EndpointError::Host);
        }
        if !is_encrypted && !is_loopback(&url) {
            return Err(EndpointError::NotEncrypted);
        }
        Ok(Self(url))
    }

    /// Returns the address.
    pub(crate) const fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the address for good.
    pub(crate) fn into_url(self) -> Url {
        self.0
    }

    /// Returns the host as it may be shown: in ASCII, names of other scripts in Punycode.
    pub(crate) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Says whether scheme, host and port are those of `url`.
    pub(crate) fn is_same_origin(&self, url: &Url) -> bool {
        self.0.origin() == url.origin()
    }
}

/// Returns the same address without a character that any program on the way to a browser could
/// take for its own.
///
/// What is left is the unreserved and reserved characters of RFC 3986 but `$` and `'`, and `%`
/// where it begins an escape. The parser of addresses leaves `$(…)`, backticks and more.
pub(crate) fn for_browser(url: &Url) -> Result<Url, EndpointError> {
    let text = url.as_str().as_bytes();
    let mut safe = String::with_capacity(text.len());
    for (index, &byte) in text.iter().enumerate() {
        let is_hex = |ahead| text.get(index + ahead).is_some_and(u8::is_ascii_hexdigit);
        let is_escape = byte == b'%' && is_hex(1) && is_hex(2);
        if is_escape || byte.is_ascii_alphanumeric() || SAFE.contains(&byte) {
            safe.push(char::from(byte));
        } else {
            safe.push_str(&format!("%{byte:02X}"));
        }
    }
    let parsed = Url::parse(&safe).map_err(|_| EndpointError::Characters)?;
    // Reading it once more must not change it back.
    let is_kept = parsed.as_str() == safe && parsed.origin() == url.origin();
    is_kept.then_some(parsed).ok_or(EndpointError::Characters)
}

/// Which rule an address breaks. Never holds the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It is longer than 4 KiB.
    #[error("it is longer than {MAX_LENGTH} characters")]
    TooLong,
    /// It holds a blank, a backslash or something invisible.
    #[error("it contains a character that is not allowed in a URL")]
    Characters,
    /// It is neither `https` nor `http`.
    #[error("its scheme is not https")]
    Scheme,
    /// It is `http` to another machine.
    #[error("it is not encrypted")]
    NotEncrypted,
    /// It has a user name or a password.
    #[error("it has a user name")]
    User,
    /// It has a fragment.
    #[error("it has a fragment")]
    Fragment,
    /// The host is missing, or written in an unusual form.
    #[error("its host is neither a name nor an address in the usual form")]
    Host,
    /// It has a query, where a name of an issuer stands.
    #[error("it has a query")]
    Query,
    /// Its query holds what only we may say.
    #[error("its query holds a parameter of the request")]
    Parameter,
    /// It is on this machine, and the server that led there is not.
    #[error("it is on this machine, and the server is not")]
    ThisMachine,
}

/// Says whether an address is exactly `localhost` or a loopback literal.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address == Ipv6Addr::LOCALHOST,
        None => false,
    }
}

/// Says whether the host was written as the parser understood it, and is no more than labels.
///
/// The parser takes `0x7f000001`, `127.1` and `①②⑦.0.0.1` for addresses, decodes `%65`, and allows
/// `$(…)` in a name.
fn is_plain_host(url: &Url, authority: &str) -> bool {
    let found = url.host_str().unwrap_or_default();
    let is_written = |host: &str| {
        let rest = authority.get(..host.len()).zip(authority.get(host.len()..));
        rest.is_some_and(|(start, port)| {
            start.eq_ignore_ascii_case(host) && (port.is_empty() || port.starts_with(':'))
        })
    };
    match url.host() {
        Some(Host::Domain(name)) => {
            let labels = name.strip_suffix('.').unwrap_or(name);
            let is_label = |label: &str| (1..=63).contains(&label.len()) && !label.starts_with('-');
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            name.len() <= 253
                && name.bytes().all(is_name)
                && labels.split('.').all(is_label)
                && (is_written(found) || !authority.is_ascii())
        }
        Some(Host::Ipv4(_)) => is_written(found),
        Some(Host::Ipv6(_)) => true,
        None => false,
    }
}

/// RFC 3986 sections 2.2 and 2.3, without letters, digits, `$` and `'`.
const SAFE: &[u8] = b"-._~:/?#[]@!&()*+,;=";
const MAX_LENGTH: usize = 4096;

#[cfg(test)]
mod tests;
