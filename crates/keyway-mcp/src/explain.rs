//! Errors in a person's words: what happened, under which code, and what to do next.

use std::error::Error;

use keyway_auth::oauth::{OAuthError, RequestTarget, SignInCause};
use keyway_auth::ports::{Barred, HttpFailure, InteractionError};
use keyway_auth::{AuthError, HelperFault};
use keyway_transport::TransportError;

use crate::session::SessionError;

/// What to tell a person about an error.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The code used in every format.
    pub code: &'static str,
    /// What happened, causes included, in one line.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

/// Explains why there is no credential.
#[must_use]
pub fn explain_auth(error: &AuthError) -> Explained {
    Explained {
        code: error.code(),
        message: keyway_secret::printable(&error.to_string()),
        hint: Some(auth_hint(error)),
    }
}

/// Explains why a conversation failed.
#[must_use]
pub fn explain_session(error: &SessionError) -> Explained {
    let hint = match error {
        SessionError::Transport(error) => return explain(error),
        SessionError::Protocol { .. } => BROKEN,
        SessionError::Rpc(_) => {
            "the words are the server's own; if they name nothing that you can mend, give its operator what this writes: keyway doctor --server SERVER --debug=transport --debug-file keyway-debug.txt"
        }
        SessionError::NoCommonVersion { .. } => {
            "update the server or Keyway, whichever is older: keyway doctor --server SERVER says which"
        }
        SessionError::Timeout { .. } => LATE,
    };
    Explained {
        code: error.code(),
        message: keyway_secret::printable(&error.to_string()),
        hint: Some(hint.to_owned()),
    }
}

/// Puts the names of a server into a hint, so that its commands can be copied as they are; names
/// that a shell would take apart are left out.
#[must_use]
pub fn naming(hint: &str, plugin: Option<&str>, server: &str) -> String {
    if !is_plain(server) {
        return hint.to_owned();
    }
    let mut named = String::new();
    let mut rest = hint;
    while let Some((before, after)) = rest.split_once(PLACE) {
        named.push_str(before);
        // A variable may be named like the place.
        let is_place = before.ends_with([' ', ':'])
            && (after.is_empty() || after.starts_with([' ', ',', ';', '"']));
        named.push_str(if is_place { server } else { PLACE });
        rest = after;
    }
    named.push_str(rest);
    match plugin.filter(|plugin| is_plain(plugin)) {
        Some(plugin) => named.replace("\"PLUGIN:", &format!("\"{plugin}:")),
        None => named,
    }
}

/// Says whether a name is one word on a command line.
pub fn is_plain(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.:@/".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_word)
}

/// Explains why a server could not be reached or stopped answering.
#[must_use]
pub fn explain(error: &TransportError) -> Explained {
    if let TransportError::Auth(error) = error {
        return explain_auth(error);
    }
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(below) = cause {
        message = format!("{message}: {below}");
        cause = below.source();
    }
    if let TransportError::ChildEnded { last_lines, .. } = error
        && let Some(last) = last_lines.last()
    {
        message = format!("{message}; it said last: {last}");
    }
    Explained {
        code: error.code(),
        message: keyway_secret::printable(&message),
        hint: Some(hint(error).to_owned()),
    }
}

const fn hint(error: &TransportError) -> &'static str {
    match error {
        TransportError::Refused { status: 401, .. } => {
            "check that the variable behind the credential is set, complete and not expired"
        }
        TransportError::Refused { .. } => {
            "the credential is valid but not allowed to do this: check its permissions, and the tenant or workspace variable"
        }
        TransportError::Unreachable { .. } => {
            "check the address, the network and the proxy variables"
        }
        TransportError::Redirect { .. } => {
            "put the address that the server redirects to into `url`"
        }
        TransportError::Status {
            status: 500..=599 | 408 | 425 | 429,
            ..
        } => {
            "the server is in trouble: try again in a minute; if it stays so, look at its status page or ask its operator"
        }
        TransportError::Status { .. } => {
            "check the path of `url`, and whether `type` fits the server: keyway doctor --server SERVER"
        }
        TransportError::Timeout { .. } => LATE,
        TransportError::Changed { .. } => {
            "look at what it does now and approve it again: keyway trust grant SERVER"
        }
        TransportError::Spawn { .. } => {
            "check that the program is installed and in PATH, or write its whole path into `command`"
        }
        TransportError::ChildEnded { .. } => {
            "its last lines say why; otherwise run its command by hand"
        }
        TransportError::Forbidden { .. } => {
            "check the host in `url`; an address of this kind is never connected to"
        }
        TransportError::Closed | TransportError::StreamLost => {
            "try again; if it happens each time, its operator has to find out why"
        }
        TransportError::Settings { .. } => {
            "correct that field of the entry or of `config.toml`: keyway check shows where the entry stands"
        }
        // `explain` has told what an error of a credential says for itself.
        TransportError::Auth(_) | TransportError::Protocol { .. } | TransportError::Frame(_) => {
            BROKEN
        }
        _ => "keyway doctor --server SERVER",
    }
}

fn auth_hint(error: &AuthError) -> String {
    let text = match error {
        AuthError::Helper { fault } => helper_hint(fault),
        AuthError::OAuth(error) => {
            if let OAuthError::Vault {
                hint: Some(hint), ..
            } = &**error
            {
                return hint.clone();
            }
            oauth_hint(error)
        }
        _ => "keyway doctor --server SERVER",
    };
    text.to_owned()
}

const fn helper_hint(fault: &HelperFault) -> &'static str {
    match fault {
        HelperFault::NotExecutable { .. } => {
            "check that the file is there, and let it be executed: chmod +x FILE"
        }
        HelperFault::Changed { .. } => {
            "look at what changed and approve it: keyway trust grant SERVER"
        }
        HelperFault::Timeout { .. } => {
            "run the helper by hand, with its input closed (</dev/null): it has to end by itself"
        }
        _ => "run the helper by hand: it has to print one JSON object of headers and end with 0",
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "one arm per rule that was broken, no nesting"
)]
fn oauth_hint(error: &OAuthError) -> &'static str {
    match error {
        OAuthError::SignInRequired {
            cause: SignInCause::Scope,
            ..
        } => "agree to the scopes that the server asks for: keyway login SERVER",
        OAuthError::SignInRequired { .. } => "sign in once: keyway login SERVER",
        OAuthError::SignInUnderWay { .. } => "open the page, agree, and try again",
        OAuthError::GrantRejected {
            interrupted: true, ..
        } => {
            "another process was stopped while it renewed this sign-in, and its new token is lost; sign in again: keyway login SERVER"
        }
        OAuthError::GrantRejected { .. } => "sign in again: keyway login SERVER",
        OAuthError::OtherAccount => {
            "begin a new session with the account that is signed in: connect the client again"
        }
        OAuthError::NotOffered => {
            "the server takes no sign-in by OAuth; put a token for it into `headers`"
        }
        OAuthError::NoRegistration { .. } | OAuthError::RegistrationRefused { .. } => {
            "register a client there yourself, and put its id into `oauth.clientId` of the entry or below `[oauth.issuers]` of `config.toml`; or host a client-ID metadata document: keyway client-metadata"
        }
        OAuthError::IssuerMismatch { .. } => {
            "do not sign in there: the metadata belongs to somebody else, or its operator has to correct `issuer`"
        }
        OAuthError::MixUp { .. } => {
            "do not sign in there: the answer came from another authorization server than the one that was asked"
        }
        OAuthError::ClientOfOther { .. } => {
            "do not sign in there unless you know that the server has moved; then: keyway logout SERVER, register a client with the new one and put its id into `oauth.clientId`"
        }
        OAuthError::ResourceMismatch { .. } => {
            "check `url`: if the address in the message is the right one, put it there"
        }
        OAuthError::PkceUnsupported { .. } => {
            "if you know that it supports PKCE, say so: `pkce = \"assume-s256\"` below `[servers.\"PLUGIN:SERVER\".oauth]` of `config.toml`"
        }
        OAuthError::Loop => {
            "the server and its authorization server do not agree; its operator has to look at audience and issuer of the tokens"
        }
        OAuthError::ScopeLimit { .. } => {
            "the account lacks a permission that no sign-in can give; ask the administrator"
        }
        OAuthError::TokenRefused { .. } => {
            "check `clientId` and the variable behind `clientSecret`, then: keyway login SERVER"
        }
        OAuthError::NoAssertion { .. } => {
            "check in `config.toml` where it is taken from, and that the program that writes it runs"
        }
        OAuthError::AuthorizationRefused { .. } | OAuthError::DeclinedElsewhere => {
            "sign in again and agree: keyway login SERVER"
        }
        OAuthError::AskedElsewhere => "agree in the window that is open, and try again",
        OAuthError::Interaction(InteractionError::PortBusy { .. }) => {
            "end the program that uses the port, or remove `callbackPort` from the entry"
        }
        OAuthError::Interaction(InteractionError::Unavailable) => {
            "sign in from a terminal: keyway login SERVER --no-browser"
        }
        OAuthError::Interaction(InteractionError::Listener { .. }) => {
            "no port of this machine can be listened on; bring the answer yourself: keyway login SERVER --no-browser"
        }
        OAuthError::Interaction(_) => "sign in again, and answer the page: keyway login SERVER",
        OAuthError::NoMetadata { .. } => {
            "if you know where it is published, put `authServerMetadataUrl`, or `authorizationUrl` and `tokenUrl`, into `oauth` of the entry; otherwise its operator has to publish it"
        }
        OAuthError::NoEndpoint { endpoint, .. } if *endpoint == "device authorization" => {
            "sign in without a code: keyway login SERVER --no-browser"
        }
        OAuthError::NoEndpoint { .. } => {
            "its operator has to complete the metadata; if you know the addresses, put `authorizationUrl` and `tokenUrl` into `oauth` of the entry"
        }
        OAuthError::Document { .. }
        | OAuthError::Endpoint { .. }
        | OAuthError::Http {
            failure: HttpFailure::Protocol { .. },
            ..
        } => {
            "its operator has to correct that document; until then, put a token into `headers` if the server takes one"
        }
        OAuthError::Http {
            failure: HttpFailure::Redirect { .. },
            ..
        } => {
            "its operator has to publish the document where it is looked for; if you know where it is, put `authServerMetadataUrl` into `oauth` of the entry"
        }
        OAuthError::ClientAuthentication { .. } => {
            "put the secret of the client into a variable and refer to it in the entry: \"oauth\": {\"clientId\": \"…\", \"clientSecret\": \"${CLIENT_SECRET}\"}; or name its key in `config.toml`"
        }
        OAuthError::Http {
            failure: HttpFailure::Forbidden {
                why: Barred::Never, ..
            },
            ..
        } => {
            "no setting allows it: cloud services at such addresses hand out credentials; its operator has to move the authorization server to an ordinary address"
        }
        OAuthError::Http {
            failure:
                HttpFailure::Forbidden {
                    why: Barred::Unencrypted,
                    ..
                },
            ..
        } => {
            "no setting allows it: its operator has to serve the authorization server over `https`"
        }
        OAuthError::Http {
            failure: HttpFailure::Forbidden { .. },
            ..
        } => {
            "the server leads to an address that is less public than its own; if that is right, say so: `private_issuer = true` below `[servers.\"PLUGIN:SERVER\".oauth]` of `config.toml`"
        }
        OAuthError::Http {
            what: RequestTarget::ResourceMetadata,
            failure: HttpFailure::Unreachable { .. } | HttpFailure::Timeout { .. },
        } => "check the address of the server, the network and the proxy variables",
        OAuthError::Vault { .. } => {
            "look at what is kept: keyway vault status, then keyway vault verify"
        }
        OAuthError::Crypto { .. } => {
            "please report it, with what this writes: keyway doctor --bundle report.tar"
        }
        error if error.is_transient() => {
            "nothing was lost; try again when the authorization server answers"
        }
        _ => {
            "its operator has to look; give them what this writes: keyway doctor --server SERVER --debug=oauth --debug-file keyway-debug.txt"
        }
    }
}

/// Stands in a hint for the name of the server.
const PLACE: &str = "SERVER";

const BROKEN: &str = "check `url` and `type`: keyway doctor --server SERVER; if both are right, its operator has to mend it";
const LATE: &str = "try again, with more time: keyway doctor --server SERVER --timeout 120; if it stays so, the server is overloaded or not reachable";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_server_where_it_can_be_copied_and_no_variable_is_renamed() {
        for (hint, server, expected) in [
            ("keyway login SERVER", "s", "keyway login s"),
            (
                "`x` below `[servers.\"PLUGIN:SERVER\".oauth]`: keyway doctor --server SERVER; then SERVER",
                "a.b",
                "`x` below `[servers.\"p:a.b\".oauth]`: keyway doctor --server a.b; then a.b",
            ),
            ("keyway login SERVER", "my server", "keyway login SERVER"),
            ("keyway login SERVER", "-x", "keyway login SERVER"),
            ("keyway login SERVER", "", "keyway login SERVER"),
            (
                "export MCP_SERVER=…; export SERVER=…",
                "s",
                "export MCP_SERVER=…; export SERVER=…",
            ),
        ] {
            assert_eq!(naming(hint, Some("p"), server), expected);
        }
    }
}
