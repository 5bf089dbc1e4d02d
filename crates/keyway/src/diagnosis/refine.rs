//! From an error and what was seen beside it to the one code that says what is wrong.

mod unauthorized;

use keyway_auth::AuthError;
use keyway_auth::oauth::OAuthError;
use keyway_code::Code;
use keyway_config::declared::Transport;
use keyway_config::resolve::{RemoteSpec, ServerSpec, SpecEndpoint};
use keyway_transport::{NetworkCause, TransportError};

use self::unauthorized::unauthorized;
use super::credential::{Fed, credentials};
use super::finding::Finding;
use super::next::Next;
use super::talk;
use crate::health::now;
use keyway_mcp::session::{Era, SessionError};

/// What was seen beside an error.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Evidence<'a> {
    /// The server.
    pub spec: &'a ServerSpec,
    /// By how many seconds its clock is ahead of ours, if it is known.
    pub skew: Option<i64>,
    /// What it does speak, if another transport was tried and worked.
    pub speaks: Option<&'a Speaks>,
    /// The variables whose values the vault keeps, where that was looked up.
    pub stored: &'a [String],
}

impl<'a> Evidence<'a> {
    /// Nothing was seen beside the error.
    #[must_use]
    pub const fn of(spec: &'a ServerSpec) -> Self {
        Self {
            spec,
            skew: None,
            speaks: None,
            stored: &[],
        }
    }
}

/// How a server answers that is declared otherwise.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Speaks {
    /// The transport.
    pub transport: Transport,
    /// The protocol.
    pub era: Era,
}

/// Says what is wrong, where more is known than the error itself says.
#[must_use]
pub fn refine(error: &TransportError, evidence: Evidence<'_>) -> Option<Finding> {
    let next = Next::about(evidence.spec, evidence.stored);
    if let Some(speaks) = evidence.speaks {
        return Some(wrong_transport(evidence.spec, speaks, &next));
    }
    let remote = match &evidence.spec.endpoint {
        SpecEndpoint::Remote(remote) => Some(&**remote),
        _ => None,
    };
    match (error, remote) {
        // Some servers say with 401 what 403 is for.
        (
            TransportError::Refused {
                status: 401,
                error: Some(told),
                scope,
                ..
            },
            Some(remote),
        ) if told == "insufficient_scope" && scope.is_some() => {
            Some(forbidden(remote, 401, (told, scope.as_deref()), &next))
        }
        (TransportError::Refused { status: 401, .. }, Some(remote)) => {
            Some(unauthorized(remote, evidence.skew, &next))
        }
        (
            TransportError::Refused {
                status,
                error,
                scope,
                ..
            },
            Some(remote),
        ) => {
            let told = error.as_deref().unwrap_or_default();
            Some(forbidden(remote, *status, (told, scope.as_deref()), &next))
        }
        (
            TransportError::Status {
                status: 429,
                retry_after,
            },
            _,
        ) => Some(limited(*retry_after, &next)),
        (TransportError::Auth(AuthError::OAuth(error)), _) => of_oauth(error, &next),
        (error, _) => match error.network_cause() {
            Some(cause) => of_network(cause, &host_of(error), &next),
            None => talk::of_transport(error, evidence.spec, &next),
        },
    }
}

/// The same for a conversation, which may fail after the connection came about.
#[must_use]
pub fn refine_session(error: &SessionError, evidence: Evidence<'_>) -> Option<Finding> {
    if let SessionError::Transport(error) = error {
        return refine(error, evidence);
    }
    let next = Next::about(evidence.spec, evidence.stored);
    match evidence.speaks {
        Some(speaks) => Some(wrong_transport(evidence.spec, speaks, &next)),
        None => talk::of_session(error, evidence.spec, &next),
    }
}

fn wrong_transport(spec: &ServerSpec, speaks: &Speaks, next: &Next<'_>) -> Finding {
    let Speaks { transport, era } = speaks;
    let declared = spec.transport;
    let scheme = match (declared, *transport) {
        (Transport::Ws, _) => ", and change the scheme of `url` from `ws` to `http`",
        (_, Transport::Ws) => ", and change the scheme of `url` from `http` to `ws`",
        _ => "",
    };
    let (declared, speaks) = (declared.as_str(), transport.as_str());
    let again = next.again();
    Finding {
        code: Code::WrongTransport,
        message: format!(
            "the entry says `{declared}`, and the server answers as `{speaks}`, with {era}"
        ),
        hint: format!("change the entry to \"type\": \"{speaks}\"{scheme}; then {again}"),
    }
}

fn described(fed: &Fed) -> String {
    let header = &fed.header;
    if fed.variables.is_empty() {
        return format!("; `{header}` is written in the entry");
    }
    let names: Vec<String> = fed
        .variables
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    format!("; `{header}` comes from {}, which is set", names.join(", "))
}

fn forbidden(
    remote: &RemoteSpec,
    status: u16,
    (told, scope): (&str, Option<&str>),
    next: &Next<'_>,
) -> Finding {
    let told = told.to_ascii_lowercase();
    if ["admin", "approval", "consent_required"]
        .iter()
        .any(|word| told.contains(word))
    {
        return Finding {
            code: Code::AdminApprovalNeeded,
            message: "the server answered HTTP 403: an administrator has to approve this first"
                .to_owned(),
            hint: format!(
                "ask the administrator of that account; then {}",
                next.again()
            ),
        };
    }
    let all = credentials(remote, now());
    if let Some(scope) = scope {
        let scope = keyway_secret::printable(scope);
        let hint = if all.is_empty() {
            let scopes = scope.split_whitespace().collect::<Vec<_>>().join(",");
            format!("keyway login {} --scopes {scopes}", next.server)
        } else {
            format!("with the scope `{scope}`: {}", next.renew(all.first()))
        };
        return Finding {
            code: Code::InsufficientScope,
            message: format!(
                "the server answered HTTP {status}: the credential lacks the scope `{scope}`"
            ),
            hint,
        };
    }
    if let Some((place, variable)) = remote.tenant() {
        return Finding {
            code: Code::WrongTenant,
            message: format!(
                "the server answered HTTP 403; {place} comes from `{variable}`, which may be that of another account"
            ),
            hint: format!("check it: export {variable}=…; then {}", next.again()),
        };
    }
    let source = all.first().map(described).unwrap_or_default();
    let hint = if all.is_empty() {
        format!(
            "use an account that may: keyway login {} --account NAME",
            next.server
        )
    } else {
        format!("with more permissions: {}", next.renew(all.first()))
    };
    Finding {
        code: Code::Forbidden,
        message: format!("the server answered HTTP 403{source}: it lacks a permission"),
        hint,
    }
}

fn limited(retry_after: Option<u64>, next: &Next<'_>) -> Finding {
    let again = next.again();
    let (wait, hint) = match retry_after {
        Some(seconds) => (
            format!("; it wants you to wait {seconds} s"),
            format!("sleep {seconds} && {again}"),
        ),
        None => (String::new(), format!("wait a minute; then {again}")),
    };
    Finding {
        code: Code::RateLimited,
        message: format!("the server answered HTTP 429{wait}"),
        hint,
    }
}

fn of_oauth(error: &OAuthError, next: &Next<'_>) -> Option<Finding> {
    let server = &next.server;
    let (code, hint) = match error {
        OAuthError::SignInRequired { scopes, .. } if error.code() == Code::InsufficientScope => {
            let scopes = keyway_secret::printable(&scopes.join(","));
            return Some(Finding {
                code: Code::InsufficientScope,
                message: format!("the server wants more scopes than were agreed to: {scopes}"),
                hint: format!("keyway login {server} --scopes {scopes}"),
            });
        }
        OAuthError::SignInRequired { .. } | OAuthError::GrantRejected { .. } => {
            (error.code(), format!("keyway login {server}"))
        }
        OAuthError::Loop => (
            error.code(),
            format!(
                "its operator has to correct the audience or issuer of the tokens; after that: keyway login {server}"
            ),
        ),
        OAuthError::Status {
            retry_after: Some(seconds),
            ..
        } if error.is_transient() => (
            error.code(),
            format!("nothing was lost; {}", next.after(*seconds)),
        ),
        OAuthError::RenewalSlow { .. } => (
            error.code(),
            format!(
                "the request continues, and its answer will be stored; try again: {}",
                next.again()
            ),
        ),
        OAuthError::RefreshUnanswered { .. } => (
            error.code(),
            format!(
                "try again, the old token is sent once more: {}; if that is refused: keyway login {server}",
                next.again()
            ),
        ),
        OAuthError::RenewalPostponed { seconds } => (
            error.code(),
            format!("nothing was lost; {}", next.after(*seconds)),
        ),
        OAuthError::RenewalBusy {
            is_overdue: true, ..
        } => return None,
        error if error.is_transient() => (
            error.code(),
            format!("nothing was lost; try again: {}", next.again()),
        ),
        _ => return None,
    };
    Some(Finding {
        code,
        message: keyway_secret::printable(&error.to_string()),
        hint,
    })
}

fn host_of(error: &TransportError) -> String {
    match error {
        TransportError::Unreachable { host, .. } => format!("`{}`", keyway_secret::printable(host)),
        _ => "the server".to_owned(),
    }
}

fn of_network(cause: NetworkCause, host: &str, next: &Next<'_>) -> Option<Finding> {
    let again = next.again();
    let (code, message, hint) = match cause {
        NetworkCause::Name => (
            Code::NameNotFound,
            format!("the name {host} does not resolve to an address"),
            "check the host in `url` and the variables in it",
        ),
        NetworkCause::CertificateExpired => (
            Code::CertificateExpired,
            format!(
                "the certificate of {host} has expired, or is not valid yet, by the clock of this machine"
            ),
            "compare the clock: date -u; if it is right, its operator has to renew the certificate",
        ),
        NetworkCause::CertificateUntrusted => (
            Code::CertificateUntrusted,
            format!("this machine does not trust the issuer of the certificate of {host}"),
            "if you know the authority, name its file in `config.toml`: [network] roots = [\"/path/to/ca.pem\"]",
        ),
        NetworkCause::CertificateName => (
            Code::CertificateName,
            format!("the certificate of {host} is for another name"),
            "put the name that the certificate has into `url`",
        ),
        NetworkCause::ClientCertificate => (
            Code::TlsFailed,
            format!("{host} requires a client certificate, or rejects the one it got"),
            "set `client_certificate` and `client_key` below `[network]` in `config.toml`, or use `keyway mtls`",
        ),
        NetworkCause::Tls => (
            Code::TlsFailed,
            format!("{host} was reached, but the TLS handshake failed"),
            "check the port in `url`, and whether the server wants a client certificate",
        ),
        NetworkCause::Proxy { status } => (
            Code::ProxyRefused,
            format!("a proxy in front of {host} answered HTTP {status}"),
            "check the proxy variables and the proxy's credential, or exempt the host with NO_PROXY",
        ),
        _ => return None,
    };
    Some(Finding {
        code,
        message,
        hint: format!("{hint}; then {again}"),
    })
}
