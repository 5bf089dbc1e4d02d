//! Every code under which a server that does not work is reported, with its page.
//!
//! [`ERRORS`] is the one table of codes; the rules of `keyway check` are codes of the same
//! vocabulary. A code without a page does not compile.

mod credential;
mod next;
mod refine;
mod stage;
mod talk;

use keyway_auth::AuthError;
use keyway_auth::oauth::OAuthError;
use keyway_auth::ports::Redirect;
use keyway_lint::RULES;
use keyway_transport::CallbackListener;

pub use self::credential::credential_variables;
pub use self::refine::{Evidence, Finding, Speaks, refine, refine_session};
pub use self::stage::Stage;

/// A code with what a person has to know about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The code used in every format.
    pub code: &'static str,
    /// What happened, why, what to do, and an example, in Markdown.
    pub text: &'static str,
}

impl Page {
    /// Returns the paragraph that says why.
    #[must_use]
    pub fn why(&self) -> &'static str {
        let mut parts = self.text.split("\n\n");
        let _heading = parts.find(|part| part.starts_with("## Why"));
        parts.next().unwrap_or_default().trim_end()
    }
}

/// Finds out whether the browser could come back to a fixed port. Has to be called inside a Tokio
/// runtime.
///
/// # Errors
///
/// Returns that the port is taken.
pub fn callback_port(port: u16) -> Result<(), AuthError> {
    let mut redirect = Redirect::default();
    redirect.port = Some(port);
    let bound = CallbackListener::bind(&redirect).map(drop);
    bound.map_err(|error| OAuthError::from(error).into())
}

/// Finds the page of a code, be it of a fault or of a rule.
#[must_use]
pub fn page(code: &str) -> Option<Page> {
    pages().find(|page| page.code == code)
}

/// Returns every page: faults first, then rules.
pub fn pages() -> impl Iterator<Item = Page> {
    let rules = RULES.iter().map(|rule| Page {
        code: rule.id,
        text: rule.page,
    });
    ERRORS.iter().copied().chain(rules)
}

macro_rules! pages {
    ($folder:literal: $($code:literal,)*) => {
        &[$(Page {
            code: $code,
            text: include_str!(concat!("../../../docs/", $folder, "/", $code, ".md")),
        }),*]
    };
}

/// The codes of faults.
pub const ERRORS: &[Page] = pages! { "errors":
    "admin-approval-needed",
    "auth-failed",
    "auth-rejected",
    "authorization-server-error",
    "bad-arguments",
    "bad-metadata",
    "callback-port-busy",
    "cancelled",
    "certificate-expired",
    "certificate-name",
    "certificate-untrusted",
    "child-ended",
    "client-authentication",
    "clock-skew",
    "config-error",
    "connecting",
    "connection-closed",
    "cross-origin-redirect",
    "dcr-unsupported",
    "demo-failed",
    "disabled",
    "forbidden",
    "forbidden-address",
    "helper-empty",
    "helper-failed",
    "helper-output",
    "helper-timeout",
    "http-error",
    "insufficient-scope",
    "internal",
    "invalid-setting",
    "issuer-mismatch",
    "name-not-found",
    "network-error",
    "no-assertion",
    "no-browser",
    "no-common-version",
    "no-endpoint",
    "no-metadata",
    "not-configured",
    "oauth-loop",
    "oauth-not-offered",
    "other-account",
    "pending-trust",
    "pkce-unsupported",
    "protocol-error",
    "proxy-refused",
    "rate-limited",
    "redirect-refused",
    "refresh-failed",
    "registration-refused",
    "resource-mismatch",
    "server-error",
    "sign-in-required",
    "spawn-failed",
    "timeout",
    "tls-failed",
    "token-expired",
    "token-placeholder",
    "token-refused",
    "unknown-server",
    "unknown-tool",
    "unreachable",
    "unreadable-file",
    "vault",
    "wrong-tenant",
    "wrong-transport",
    "wrong-usage",
};

#[cfg(test)]
mod tests;
