//! An issuer of access tokens that the settings list.

use std::fmt;
use std::sync::Arc;

use keyway_auth::ports::HttpClient;
use thiserror::Error;
use url::{Host, Url};

use crate::person::MAX_NAME;

/// An issuer whose tokens let people in.
#[derive(Clone)]
pub struct Issuer {
    /// Byte for byte, as `iss` has it.
    pub(crate) name: Arc<str>,
    pub(crate) url: Url,
    /// Where its keys are, if that is not asked of the issuer.
    pub(crate) jwks: Option<Url>,
    /// The client by which people sign in there in a browser.
    pub(crate) browser_client: Option<String>,
    pub(crate) http: Arc<dyn HttpClient>,
}

impl Issuer {
    /// Lists an issuer by its exact name. Its metadata and keys are fetched through `http`, which
    /// should reach nothing that is less public than the issuer.
    ///
    /// # Errors
    ///
    /// Returns which rule the name breaks.
    pub fn new(name: &str, http: Arc<dyn HttpClient>) -> Result<Self, IssuerError> {
        let url = Self::address(name)?;
        Ok(Self {
            name: name.into(),
            url,
            jwks: None,
            browser_client: None,
            http,
        })
    }

    /// Reads the name of an issuer as an address.
    ///
    /// # Errors
    ///
    /// Returns which rule the name breaks.
    pub fn address(name: &str) -> Result<Url, IssuerError> {
        if name.len() > MAX_NAME {
            return Err(IssuerError::TooLong);
        }
        // RFC 8414 section 2.
        if name.contains(['?', '#']) {
            return Err(IssuerError::QueryOrFragment);
        }
        address(name)
    }

    /// Names where the keys are, so that the issuer's metadata is not asked for.
    ///
    /// # Errors
    ///
    /// Returns which rule the address breaks.
    pub fn with_jwks(mut self, uri: &str) -> Result<Self, IssuerError> {
        self.jwks = Some(address(uri)?);
        Ok(self)
    }

    /// Names the client by which people sign in there in a browser: one without a secret.
    #[must_use]
    pub fn with_browser_client(mut self, id: &str) -> Self {
        self.browser_client = Some(id.to_owned());
        self
    }

    /// Returns where the metadata may be (RFC 8414 section 3, OpenID Connect Discovery section 4).
    pub(crate) fn metadata(&self) -> Vec<Url> {
        let path = self.url.path().trim_end_matches('/');
        let mut paths = vec![format!("/.well-known/oauth-authorization-server{path}")];
        paths.push(format!("{path}/.well-known/openid-configuration"));
        if !path.is_empty() {
            paths.push(format!("/.well-known/openid-configuration{path}"));
        }
        let at = |path: String| {
            let mut url = self.url.clone();
            url.set_path(&path);
            url
        };
        paths.into_iter().map(at).collect()
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Issuer").field(&self.name).finish()
    }
}

/// Reads an address of `https`, or of `http` on this machine; without user and fragment.
pub(crate) fn address(text: &str) -> Result<Url, IssuerError> {
    // The parser would strip blanks and turn `\` into `/`.
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    if text.len() > MAX_ADDRESS || !text.bytes().all(is_plain) {
        return Err(IssuerError::NotAddress);
    }
    let url = Url::parse(text).map_err(|_| IssuerError::NotAddress)?;
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(IssuerError::NotAddress);
    }
    let is_local = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_local => Ok(url),
        "http" => Err(IssuerError::NotEncrypted),
        _ => Err(IssuerError::NotAddress),
    }
}

/// Which rule the name of an issuer breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IssuerError {
    /// It is too long.
    #[error("the issuer is longer than {MAX_NAME} bytes")]
    TooLong,
    /// It has a query or a fragment.
    #[error("an issuer has neither `?` nor `#` in it")]
    QueryOrFragment,
    /// It is not an address.
    #[error("it is not an address of https")]
    NotAddress,
    /// It is an address of `http` on another machine.
    #[error("it is not encrypted")]
    NotEncrypted,
}

const MAX_ADDRESS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_encrypted_or_local_addresses_are_issuers() {
        for name in [
            "https://idp.example",
            "https://idp.example/tenant/",
            "http://127.0.0.1:8080",
            "http://localhost:8080/a",
            "http://[::1]:8080",
        ] {
            assert!(Issuer::address(name).is_ok(), "{name}");
        }
        let rows = [
            ("http://idp.example", IssuerError::NotEncrypted),
            ("http://127.0.0.1.evil.example", IssuerError::NotEncrypted),
            ("https://idp.example?a", IssuerError::QueryOrFragment),
            ("https://idp.example#a", IssuerError::QueryOrFragment),
            ("https://a@idp.example", IssuerError::NotAddress),
            ("https:\\\\idp.example", IssuerError::NotAddress),
            (" https://idp.example", IssuerError::NotAddress),
            ("file:///etc/passwd", IssuerError::NotAddress),
            ("idp.example", IssuerError::NotAddress),
            ("", IssuerError::NotAddress),
        ];
        for (name, error) in rows {
            assert_eq!(Issuer::address(name), Err(error), "{name}");
        }
        let long = format!("https://{}.example", "a".repeat(250));
        assert_eq!(Issuer::address(&long), Err(IssuerError::TooLong));
    }
}
