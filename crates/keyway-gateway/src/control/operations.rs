//! Which operations there are: the one table that requests are matched with and that the OpenAPI
//! document is made from.

use http::Method;
use keyway_config::names::of_path_segment;

/// Something that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    /// All servers.
    ListServers,
    /// One server, by `PLUGIN:SERVER`.
    Server(String),
    /// The rules for the tools of a server.
    Policies(String),
    /// Something that is done to a server.
    Act(String, Action),
    /// What happens from now on.
    Events,
    /// The description of this interface.
    OpenApi,
}

/// What can be done to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Connects again and finds out what is wrong.
    Check,
    /// Begins a sign-in.
    SignIn,
    /// Gives a sign-in up.
    CancelSignIn,
    /// Revokes and deletes the sign-in.
    SignOut,
    /// Approves the entry as it was shown.
    Approve,
    /// Sets or removes a rule for a tool.
    SetPolicy,
}

impl Action {
    /// All of them, with their last part of a path and what they do.
    pub(super) const ALL: [(Self, &'static str, &'static str); 6] = [
        (
            Self::Check,
            "check",
            "Connect again, run a helper again, and examine the server",
        ),
        (
            Self::SignIn,
            "sign-in",
            "Begin a sign-in; a person completes it at `consent.page` in a browser",
        ),
        (
            Self::CancelSignIn,
            "cancel-sign-in",
            "Stop waiting for a sign-in",
        ),
        (
            Self::SignOut,
            "sign-out",
            "Revoke the tokens at the authorization server and delete the sign-in",
        ),
        (
            Self::Approve,
            "approve",
            "Approve the entry as it was shown; needs the token of an allowed host",
        ),
        (
            Self::SetPolicy,
            "set-policy",
            "Set or remove a rule for a tool or a pattern; needs the token of an allowed host",
        ),
    ];

    fn read(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(_, own, _)| *own == word)
            .map(|(action, _, _)| *action)
    }
}

/// Why a request asks for nothing that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoOperation {
    /// There is no such path.
    Unknown,
    /// The path takes another method.
    Method {
        /// Which.
        allowed: &'static str,
    },
}

/// Says whether a path belongs to the control API.
pub(super) fn is_own(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/")
}

/// Finds what a request asks for.
pub(super) fn find(method: &Method, path: &str) -> Result<Operation, NoOperation> {
    let operation = of_path(path).ok_or(NoOperation::Unknown)?;
    let allowed = match operation {
        Operation::Act(..) => "POST",
        _ => "GET",
    };
    if method.as_str() != allowed {
        return Err(NoOperation::Method { allowed });
    }
    Ok(operation)
}

fn of_path(path: &str) -> Option<Operation> {
    let parts: Vec<&str> = path.strip_prefix("/v1/")?.split('/').collect();
    match parts.as_slice() {
        ["servers"] => Some(Operation::ListServers),
        ["servers", id] => Some(Operation::Server(of_path_segment(id)?)),
        ["servers", id, "policies"] => Some(Operation::Policies(of_path_segment(id)?)),
        ["servers", id, word] => Some(Operation::Act(of_path_segment(id)?, Action::read(word)?)),
        ["events"] => Some(Operation::Events),
        ["openapi.json"] => Some(Operation::OpenApi),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_characters_is_one_part_of_the_path() {
        for id in ["p:s", "a/b:c d", "p:ü?#%2F"] {
            let segment = keyway_config::names::path_segment(id);
            assert_eq!(
                find(&Method::GET, &format!("/v1/servers/{segment}")),
                Ok(Operation::Server(id.to_owned())),
            );
            assert_eq!(
                find(&Method::POST, &format!("/v1/servers/{segment}/sign-in")),
                Ok(Operation::Act(id.to_owned(), Action::SignIn)),
            );
        }
    }

    #[test]
    fn reading_is_get_and_doing_is_post() {
        let allowed = |method: Method, path: &str| match find(&method, path) {
            Err(NoOperation::Method { allowed }) => allowed,
            other => panic!("{path}: {other:?}"),
        };
        for path in [
            "/v1/servers",
            "/v1/servers/p:s",
            "/v1/servers/p:s/policies",
            "/v1/events",
            "/v1/openapi.json",
        ] {
            assert_eq!(allowed(Method::POST, path), "GET");
            assert_eq!(allowed(Method::DELETE, path), "GET");
        }
        for (_, word, _) in Action::ALL {
            assert_eq!(
                allowed(Method::GET, &format!("/v1/servers/p:s/{word}")),
                "POST"
            );
        }
        for path in [
            "/v1",
            "/v1/",
            "/v1/servers/",
            "/v1/servers/a/b/c",
            "/v1/tokens",
        ] {
            let found = find(&Method::GET, path);
            let is_server_without_name = found == Ok(Operation::Server(String::new()));
            assert!(
                found == Err(NoOperation::Unknown) || is_server_without_name,
                "{path}"
            );
        }
    }
}
