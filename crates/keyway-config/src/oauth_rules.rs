//! What an `oauth` or `headersHelper` setting may be; the linter words it, resolving enforces it.

#![expect(
    clippy::exhaustive_enums,
    reason = "rules, approvals and transports decide about every variant; a new one must not compile unnoticed"
)]

use url::{Host, Url};

use crate::declared::{
    DeclaredServer, Endpoint, NamedField, OAuth, OAuthFields, Refresh, Remote, Transport,
};
use crate::fields::OAUTH_ENDPOINTS;
use crate::reference::{foreign_parts, lookalike};
use crate::source::{Pointer, Span};
use crate::template::{Part, Template};

/// A setting that cannot or must not take effect.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OAuthFault {
    /// Which rule it breaks.
    pub kind: OAuthFaultKind,
    /// Where.
    pub span: Span,
    /// The field.
    pub pointer: Pointer,
}

/// The rules that a setting can break.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OAuthFaultKind {
    /// `oauth` on a WebSocket.
    #[error("`oauth` does not work over WebSocket")]
    OnWebSocket,
    /// Headers per request on a WebSocket, which sends them once.
    #[error("headers cannot be refreshed per request over WebSocket, which sends them once")]
    RefreshOnWebSocket,
    /// One of two endpoints that belong together.
    #[error("`oauth` has `{present}` but no `{missing}`")]
    OneEndpoint {
        /// The one that is there.
        present: String,
        /// The other.
        missing: &'static str,
    },
    /// A secret that is not a reference.
    #[error("`clientSecret` must be a single `${{VAR}}`")]
    LiteralSecret,
    /// An endpoint without encryption.
    #[error("`{field}` must be an `https` address")]
    NotSecure {
        /// Which.
        field: String,
    },
    /// The browser would come back to another machine.
    #[error("`redirectUri` must be a loopback address")]
    RedirectElsewhere,
    /// A resource that is not an address.
    #[error("`resource` must be an address or `omit`")]
    BadResource,
    /// A PKCE setting that does not exist.
    #[error("`pkce` can only be `assume-s256`")]
    BadPkce,
}

/// Returns every setting of a server that breaks a rule.
#[must_use]
pub fn check(server: &DeclaredServer) -> Vec<OAuthFault> {
    let Endpoint::Remote(remote) = &server.endpoint else {
        return Vec::new();
    };
    if server.transport == Transport::Ws {
        return on_web_socket(server, remote);
    }
    let OAuth::Configured(oauth) = &remote.oauth else {
        return Vec::new();
    };
    let mut faults: Vec<OAuthFault> = one_endpoint(oauth).into_iter().collect();
    faults.extend(oauth.strings.iter().filter_map(member));
    faults
}

fn on_web_socket(server: &DeclaredServer, remote: &Remote) -> Vec<OAuthFault> {
    let mut faults = Vec::new();
    if let OAuth::Configured(oauth) = &remote.oauth {
        let (span, pointer) = (oauth.span, server.pointer.child("oauth"));
        faults.push(OAuthFault {
            kind: OAuthFaultKind::OnWebSocket,
            span,
            pointer,
        });
    }
    let per_request = remote
        .helper
        .as_ref()
        .filter(|helper| helper.refresh == Refresh::Request);
    if let Some(helper) = per_request {
        let (span, pointer) = (helper.span, helper.pointer.child("refresh"));
        faults.push(OAuthFault {
            kind: OAuthFaultKind::RefreshOnWebSocket,
            span,
            pointer,
        });
    }
    faults
}

fn one_endpoint(oauth: &OAuthFields) -> Option<OAuthFault> {
    let [authorization, token] = OAUTH_ENDPOINTS;
    let (field, missing) = match (oauth.get(authorization), oauth.get(token)) {
        (Some(field), None) => (field, token),
        (None, Some(field)) => (field, authorization),
        _ => return None,
    };
    let kind = OAuthFaultKind::OneEndpoint {
        present: field.name.clone(),
        missing,
    };
    let (span, pointer) = (field.name_span, field.value.pointer.clone());
    Some(OAuthFault {
        kind,
        span,
        pointer,
    })
}

fn member(field: &NamedField) -> Option<OAuthFault> {
    let template = &field.value.template;
    // Another syntax is a fault of its own, and told as such.
    if !foreign_parts(template).is_empty() || lookalike(template).is_some() {
        return None;
    }
    let name = field.name.as_str();
    let (is_good, kind) = match name {
        "clientSecret" => (is_reference(template), OAuthFaultKind::LiteralSecret),
        "authServerMetadataUrl" | "authorizationUrl" | "tokenUrl" => (
            is_secure(template),
            OAuthFaultKind::NotSecure {
                field: name.to_owned(),
            },
        ),
        "redirectUri" => {
            let leads_back =
                address(template).is_none_or(|url| url.is_some_and(|url| is_on_this_machine(&url)));
            (leads_back, OAuthFaultKind::RedirectElsewhere)
        }
        "resource" => {
            let is_address = address(template).is_none_or(|url| url.is_some());
            (
                template.as_str() == "omit" || is_address,
                OAuthFaultKind::BadResource,
            )
        }
        "pkce" => (template.as_str() == "assume-s256", OAuthFaultKind::BadPkce),
        _ => return None,
    };
    let (span, pointer) = (field.value.span, field.value.pointer.clone());
    (!is_good).then_some(OAuthFault {
        kind,
        span,
        pointer,
    })
}

/// Says whether a template is one variable without a default and nothing else.
fn is_reference(template: &Template) -> bool {
    matches!(template.parts(), [Part::Variable(variable)] if variable.default.is_none())
}

fn is_secure(template: &Template) -> bool {
    address(template).is_none_or(|url| {
        url.is_some_and(|url| match url.scheme() {
            "https" => true,
            "http" => is_on_this_machine(&url),
            _ => false,
        })
    })
}

/// Reads an address, with something harmless in the place of each variable.
///
/// Returns `None` if it begins with a variable, about which nothing can be said here, and
/// `Some(None)` if it is not an address.
#[must_use]
pub fn address(template: &Template) -> Option<Option<Url>> {
    let Some(Part::Literal { .. }) = template.parts().first() else {
        return template.as_str().is_empty().then_some(None);
    };
    let filled: String = template
        .parts()
        .iter()
        .map(|part| match part {
            Part::Literal { text, .. } => text.as_str(),
            _ => "1",
        })
        .collect();
    Some(Url::parse(&filled).ok())
}

fn is_on_this_machine(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    is_loopback && matches!(url.scheme(), "http" | "https")
}
