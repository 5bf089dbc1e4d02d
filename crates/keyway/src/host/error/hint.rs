//! What the person can do next.

use keyway_code::Code;
use keyway_config::method::Method;
use keyway_config::resolve::{ResolveError, ResolveErrors};
use keyway_mcp::explain::{explain, explain_auth, naming};
use keyway_mcp::session::SessionError;
use keyway_secret::{printable, server_argument};
use keyway_transport::TransportError;

use super::{Error, has_ended_by_itself};
use crate::connect::ConnectError;

impl Error {
    /// Returns what the person can do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Load(error) => error.hint(),
            Self::UnknownServer {
                near: Some(near), ..
            } => Some(format!("did you mean `{near}`?")),
            Self::UnknownServer { .. } => Some(
                "list them: keyway status; those of another plugin: keyway status --config PATH"
                    .to_owned(),
            ),
            Self::WhichServer { names } if !names.is_empty() => {
                Some(format!("choose one of {}", names_in(names)))
            }
            Self::NotApproved { server, .. } => Some(format!(
                "look at what it does and approve it: keyway trust grant {}",
                server_argument(server)
            )),
            Self::Unresolved { errors, .. } => supply(errors),
            Self::NoHome => Some("set `KEYWAY_HOME` to a folder of your own".to_owned()),
            Self::Store(error) => error.hint(),
            Self::Talk { .. } => self.session_hint(),
            Self::Connect(ConnectError::Transport(error)) => explain(error).hint,
            Self::Connect(ConnectError::NotBuiltIn { feature })
            | Self::Unusable {
                error: ConnectError::NotBuiltIn { feature },
                ..
            } => Some(format!("build it with the feature `{feature}` of `keyway`")),
            Self::Unusable { server, error, .. } => Some(naming(error.code().hint(), None, server)),
            Self::SignIn { error, server } => named(server, explain_auth(error).hint),
            Self::Disabled { .. } => {
                Some("take `disabled` (or `enabled`) out of its entry to use it".to_owned())
            }
            Self::NotOAuth { method, .. } => Some(
                match method {
                    Method::Static => "its credential is a header of its entry",
                    Method::Dynamic => "its credential comes from its `headersHelper`",
                    Method::Environment => "its credential is in its `env`",
                    _ => "it takes no credential",
                }
                .to_owned(),
            ),
            _ => None,
        }
    }

    fn session_hint(&self) -> Option<String> {
        let Self::Talk {
            server,
            method,
            ended,
            error,
            diagnosis,
        } = self
        else {
            return None;
        };
        if let SessionError::Transport(error) = error {
            if let Some(ended) = ended.as_ref().filter(|it| !it.missed.is_empty())
                && has_ended_by_itself(error)
            {
                let names: Vec<String> = ended.missed.iter().map(|name| printable(name)).collect();
                let first = names.first().cloned().unwrap_or_default();
                return Some(format!(
                    "it did not get {} of your shell; if it needs it: keyway trust grant {} --env {first}",
                    names.join(", "),
                    server_argument(server)
                ));
            }
            if is_sign_in(error, *method) && self.code() != Code::InsufficientScope {
                return Some(naming(OTHER_ACCOUNT, None, server));
            }
        }
        diagnosis.hint.clone()
    }
}

fn named(server: &str, hint: Option<String>) -> Option<String> {
    hint.map(|hint| naming(&hint, None, server))
}

/// Says how the first variable that is not set can be supplied, or else what the first error says.
fn supply(errors: &ResolveErrors) -> Option<String> {
    let unset = errors
        .iter()
        .find_map(|error| Some((error.unset_variable()?, error)));
    let Some((name, error)) = unset else {
        return errors.iter().find_map(ResolveError::hint);
    };
    let near = error.near_names().first();
    let near = near.map(|near| format!("`{near}` is set; is that the one? otherwise: "));
    Some(format!(
        "{}export {name}=…, or keep it: keyway env set {name}",
        near.unwrap_or_default()
    ))
}

/// Lists names as they can be printed.
fn names_in(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
    names.join(", ")
}

const fn is_sign_in(error: &TransportError, method: Method) -> bool {
    matches!(method, Method::OAuth) && matches!(error, TransportError::Refused { .. })
}

const OTHER_ACCOUNT: &str = "the server refuses what this account asks for; if you have another one there, sign in as that: keyway login SERVER --account NAME";
