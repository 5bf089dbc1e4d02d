//! Which of the ways of authenticating an entry uses; the order is the contract's.

#![expect(
    clippy::exhaustive_enums,
    reason = "rules, approvals and transports decide about every variant; a new one must not compile unnoticed"
)]

use crate::declared::{DeclaredServer, Endpoint, NamedField, OAuth, Remote, Transport};
use crate::headers::is_credential_header;

/// How a server is authenticated to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// A helper prints headers.
    Dynamic,
    /// A header holds the credential.
    Static,
    /// OAuth, when the server asks for it.
    OAuth,
    /// Variables handed to a local process.
    Environment,
    /// Nothing is supplied.
    None,
}

impl Method {
    /// Chooses by what the entry declares, taking every header as filled in.
    #[must_use]
    pub fn declared(server: &DeclaredServer) -> Self {
        match &server.endpoint {
            Endpoint::Local(_) => Self::local(server.env.len()),
            Endpoint::Remote(remote) => {
                let filled =
                    |header: &&NamedField| !is_blank(&header.name, header.value.template.as_str());
                let names = remote
                    .headers
                    .iter()
                    .filter(filled)
                    .map(|header| header.name.as_str());
                Self::remote(remote, server.transport, names)
            }
        }
    }

    pub(crate) const fn local(variables: usize) -> Self {
        if variables == 0 {
            Self::None
        } else {
            Self::Environment
        }
    }

    /// Chooses by the names of the headers that are really sent.
    pub(crate) fn remote<'a>(
        remote: &Remote,
        transport: Transport,
        mut headers: impl Iterator<Item = &'a str>,
    ) -> Self {
        if remote.helper.is_some() {
            Self::Dynamic
        } else if headers.any(is_credential_header) {
            Self::Static
        } else if !transport.supports_oauth() || matches!(remote.oauth, OAuth::Off) {
            Self::None
        } else {
            Self::OAuth
        }
    }

    /// Returns the word used in every format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dynamic => "dynamic",
            Self::Static => "static",
            Self::OAuth => "oauth",
            Self::Environment => "environment",
            Self::None => "none",
        }
    }
}

/// Says whether a header carries nothing: it is empty, or an `Authorization` with only its scheme.
#[must_use]
pub fn is_blank(name: &str, value: &str) -> bool {
    let value = value.trim();
    let is_scheme = || {
        ["bearer", "basic"]
            .iter()
            .any(|scheme| value.eq_ignore_ascii_case(scheme))
    };
    value.is_empty() || (name.eq_ignore_ascii_case("authorization") && is_scheme())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::entry;

    fn method(fields: &str) -> Method {
        let plugin = entry(fields);
        let (_, server) = plugin.servers().next().unwrap();
        Method::declared(server)
    }

    #[test]
    fn the_helper_comes_first_then_credential_headers_then_oauth() {
        let url = r#""type": "http", "url": "https://h.example/mcp""#;
        for (fields, expected) in [
            ("", Method::OAuth),
            (
                r#", "headers": {"X-Tenant-ID": "${T}", "X-Workspace-ID": "${W}"}"#,
                Method::OAuth,
            ),
            (
                r#", "headers": {"Authorization": "Bearer ${T}"}"#,
                Method::Static,
            ),
            (r#", "headers": {"x-api-key": "${T}"}"#, Method::Static),
            (r#", "headers": {"Authorization": ""}"#, Method::OAuth),
            (
                r#", "headers": {"Authorization": "Bearer "}"#,
                Method::OAuth,
            ),
            (
                r#", "headers": {"Cookie": "a=${T}"}, "oauth": {"clientId": "x"}"#,
                Method::Static,
            ),
            (
                r#", "headers": {"X-Api-Key": "${T}"}, "headersHelper": "./h.sh""#,
                Method::Dynamic,
            ),
            (r#", "oauth": false"#, Method::None),
        ] {
            assert_eq!(method(&format!("{url}{fields}")), expected, "{fields}");
        }
    }

    #[test]
    fn a_websocket_never_uses_oauth_and_a_process_its_environment() {
        assert_eq!(
            method(r#""type": "ws", "url": "wss://h.example""#),
            Method::None
        );
        assert_eq!(method(r#""command": "node""#), Method::None);
        assert_eq!(
            method(r#""command": "node", "env": {"A": "${A}"}"#),
            Method::Environment
        );
    }
}
