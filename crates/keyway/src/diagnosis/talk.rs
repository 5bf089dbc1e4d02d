//! Servers that were reached, or should have been, and did not speak as they should.

use keyway_code::Code;
use keyway_config::resolve::{ServerSpec, SpecEndpoint};
use keyway_transport::TransportError;
use url::{Host, Url};

use super::finding::Finding;
use super::next::Next;
use keyway_mcp::session::{RpcError, SessionError};
use keyway_mcp::version::{LEGACY, MODERN};

/// Says what is wrong with a conversation.
pub(super) fn of_session(
    error: &SessionError,
    spec: &ServerSpec,
    next: &Next<'_>,
) -> Option<Finding> {
    let hint = match error {
        SessionError::Rpc(error) => of_rpc(error, next),
        SessionError::Protocol { .. } => broken(next),
        SessionError::NoCommonVersion { offered } => {
            return Some(of_versions(offered, next));
        }
        SessionError::Timeout { seconds, method } if method == "tools/call" => {
            let more = seconds.saturating_mul(4).clamp(MORE_TIME, LONGEST);
            format!(
                "the call may still run at the server; give it more time: --timeout {more}; if other calls work, only {} can fix it",
                next.owner()
            )
        }
        SessionError::Timeout { seconds, .. } => late(*seconds, spec, next),
        _ => return None,
    };
    Some(Finding {
        code: error.code(),
        message: keyway_secret::printable(&error.to_string()),
        hint,
    })
}

/// Says what is wrong with a connection on which nothing is known but the error itself.
pub(super) fn of_transport(
    error: &TransportError,
    spec: &ServerSpec,
    next: &Next<'_>,
) -> Option<Finding> {
    let again = next.again();
    let hint = match error {
        TransportError::Protocol { .. } | TransportError::Frame(_) => broken(next),
        TransportError::Timeout { seconds } => late(*seconds, spec, next),
        TransportError::Status {
            status,
            retry_after,
        } => of_status(*status, *retry_after, next),
        TransportError::Unreachable { .. } => format!("{}; then {again}", unreachable(spec)),
        TransportError::Spawn { program, .. } => {
            let program = keyway_secret::printable(program);
            format!("install `{program}`, or write its whole path into `command`; then {again}")
        }
        // One that ran confined has a hint of its own: by hand it may well work.
        TransportError::ChildEnded {
            last_lines,
            confined: None,
            ..
        } => {
            let by_hand = by_hand(spec);
            if last_lines.is_empty() {
                format!("it said nothing: {by_hand}; then {again}")
            } else {
                format!("do what its last lines say, or {by_hand}; then {again}")
            }
        }
        TransportError::Closed
        | TransportError::ResponseLost { .. }
        | TransportError::StreamLost => {
            format!(
                "try again: {again}; if it happens each time, {}",
                next.evidence()
            )
        }
        TransportError::Forbidden { .. } => {
            format!(
                "put another host into `url`: an address of this kind is never connected to; then {again}"
            )
        }
        TransportError::Redirect { to } if to.is_empty() => format!(
            "put the address that the server redirects to into `url`, if you trust it; then {again}"
        ),
        TransportError::Redirect { to } => {
            let to = keyway_secret::printable(to);
            format!("put `{to}` into `url`, if you trust it; then {again}")
        }
        _ => return None,
    };
    let mut message = match (error, &spec.endpoint) {
        (TransportError::Unreachable { .. }, SpecEndpoint::Remote(remote)) => {
            format!("cannot reach `{}`", remote.address.origin())
        }
        _ => error.to_string(),
    };
    let mut cause = std::error::Error::source(error);
    while let Some(below) = cause {
        message = format!("{message}: {below}");
        cause = below.source();
    }
    Some(Finding {
        code: error.code(),
        message: keyway_secret::printable(&message),
        hint,
    })
}

/// Shows none of the arguments: one of them may be a literal secret.
fn by_hand(spec: &ServerSpec) -> String {
    match &spec.endpoint {
        SpecEndpoint::Local(local) => {
            let command = keyway_secret::printable(&local.command.to_string());
            format!("run `{command}` by hand, with its `args`")
        }
        _ => "run its command by hand".to_owned(),
    }
}

/// The other transports have been tried by now.
fn broken(next: &Next<'_>) -> String {
    let evidence = next.evidence();
    if next.owner() == "its author" {
        return format!("update the program; if that does not help, {evidence}");
    }
    format!(
        "check the path of `url`, where nothing speaks MCP on any transport; if it is right, {evidence}"
    )
}

/// The words of the error are the server's; its number says whether waiting may help.
fn of_rpc(error: &RpcError, next: &Next<'_>) -> String {
    let (again, evidence) = (next.again(), next.evidence());
    match error.code {
        // Invalid parameters, resource not found: about what was asked for, not about how.
        -32602 | -32002 => {
            let server = &next.server;
            format!(
                "check the name, URI and arguments that were given (keyway tools {server}; keyway resources {server}); if they are right, {evidence}"
            )
        }
        // Parse error, invalid request, unknown method.
        -32700 | -32601..=-32600 => {
            format!(
                "the server does not understand what every client sends: update it, or {evidence}"
            )
        }
        _ => format!(
            "do what its message says; if it says nothing that you can do, try again in a minute: {again}; if it keeps failing, {evidence}"
        ),
    }
}

fn of_versions(offered: &str, next: &Next<'_>) -> Finding {
    let oldest = LEGACY.last().copied().unwrap_or(MODERN);
    let dates = offered.split(", ").filter(|text| is_date(text));
    let newest = dates.max();
    let again = next.again();
    let hint = match newest {
        Some(newest) if newest > MODERN => {
            format!("the server is newer than this Keyway: update Keyway; then {again}")
        }
        Some(newest) if newest < oldest => format!(
            "the server is older than all that Keyway speaks: update it, or ask {} to; then {again}",
            next.owner()
        ),
        _ => format!(
            "the server names no version of MCP that there is: {}",
            next.evidence()
        ),
    };
    let legacy = LEGACY.join(", ");
    let offered = if offered.is_empty() { "none" } else { offered };
    Finding {
        code: Code::NoCommonVersion,
        message: format!(
            "the server offers {offered}, and Keyway speaks {MODERN} (modern) and {legacy} (legacy)"
        ),
        hint,
    }
}

/// Versions of the protocol are dates.
fn is_date(text: &str) -> bool {
    let is_right = |(at, c): (usize, char)| match at {
        4 | 7 => c == '-',
        _ => c.is_ascii_digit(),
    };
    text.len() == 10 && text.chars().enumerate().all(is_right)
}

fn late(seconds: u64, spec: &ServerSpec, next: &Next<'_>) -> String {
    let again = next.again();
    let more = seconds.saturating_mul(4).clamp(MORE_TIME, LONGEST);
    let otherwise = match spec.endpoint {
        SpecEndpoint::Local(_) => by_hand(spec),
        _ => next.evidence(),
    };
    if seconds >= LONGEST {
        return otherwise;
    }
    format!("give it more time: {again} --timeout {more}; if it stays silent, {otherwise}")
}

fn of_status(status: u16, retry_after: Option<u64>, next: &Next<'_>) -> String {
    let (again, evidence) = (next.again(), next.evidence());
    match (status, retry_after) {
        (408 | 425 | 500..=599, Some(seconds)) => {
            format!("the server asks you to wait: {}", next.after(seconds))
        }
        (408 | 425 | 500..=599, None) => format!(
            "the server is failing: try again in a minute: {again}; if it keeps failing, look at its status page, or {evidence}"
        ),
        (404 | 405 | 410, _) => format!(
            "check the path of `url`, where nothing speaks MCP on any transport: the documentation of the server names the right one; then {again}"
        ),
        _ => format!("check `url`, then {again}; if it is right, {evidence}"),
    }
}

fn unreachable(spec: &ServerSpec) -> &'static str {
    match &spec.endpoint {
        SpecEndpoint::Remote(remote) if is_here(remote.address.origin()) => {
            "start the server, which runs on this machine, or correct the port in `url`"
        }
        _ => {
            "check host and port in `url`, the network, and the variables HTTPS_PROXY and NO_PROXY"
        }
    }
}

fn is_here(origin: &str) -> bool {
    let url = Url::parse(origin).ok();
    match url.as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// What a server gets at least when it was too slow, in seconds.
const MORE_TIME: u64 = 120;
/// What `--timeout` takes at most.
const LONGEST: u64 = 600;

#[cfg(test)]
mod tests {
    use keyway_config::method::Method;

    use super::*;

    fn next() -> Next<'static> {
        Next {
            stored: &[],
            server: "s".to_owned(),
            is_local: false,
            method: Method::Static,
        }
    }

    #[test]
    fn the_older_of_the_two_is_the_one_to_update() {
        for (offered, fix) in [
            ("1999-01-01", "the server is older"),
            ("2031-01-01", "update Keyway"),
            ("1999-01-01, 2031-01-01", "update Keyway"),
            ("", "send its operator"),
            ("latest", "send its operator"),
        ] {
            let found = of_versions(offered, &next());
            assert!(found.hint.contains(fix), "{offered}: {}", found.hint);
        }
    }

    /// A person asked for what is missing; an update of the server does not bring it.
    #[test]
    fn missing_resource_is_not_a_server_that_understands_nothing() {
        let hint = |code| of_rpc(&RpcError::new(code, "no"), &next());
        for code in [-32602, -32002] {
            let hint = hint(code);
            assert!(hint.contains("keyway resources s"), "{hint}");
            assert!(!hint.contains("update"), "{hint}");
        }
        assert!(hint(-32601).contains("update"));
    }
}
