//! What states, times and outcomes are called on a page.

use std::time::{Duration, SystemTime};

use keyway::approval::Answer;
use keyway_config::declared::Transport;
use keyway_config::method::Method;

use super::backend::ServerView;
use crate::activity::Outcome;
use keyway_mcp::states::{Reason, ServerState, State};

/// How a state looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    /// The class of its colour.
    pub(super) class: &'static str,
    /// A sign, so that nothing depends on the colour.
    pub(super) sign: &'static str,
    /// Its name.
    pub(super) label: &'static str,
}

/// Returns how a state looks.
pub(super) const fn shown(state: ServerState) -> Shown {
    let (class, sign, label) = match (state.state, state.reason) {
        (State::Connected, _) => ("good", "✓", "Connected"),
        (State::NeedsAuth, Some(Reason::Authorizing)) => ("wait", "…", "Signing in"),
        (State::NeedsAuth, _) => ("ask", "!", "Needs you"),
        (State::Pending, Some(Reason::PendingTrust)) => ("ask", "!", "Needs you"),
        (State::Pending, Some(Reason::NotConfigured)) => ("off", "–", "Not set up"),
        (State::Pending, Some(Reason::Connecting)) => ("wait", "…", "Connecting"),
        (State::Pending, _) => ("wait", "·", "Not connected"),
        (State::Disabled, _) => ("off", "–", "Off"),
        (State::Failed, _) => ("bad", "✕", "Failed"),
    };
    Shown { class, sign, label }
}

/// Says why a server is in its state.
pub(super) const fn why(state: ServerState) -> &'static str {
    match (state.state, state.reason) {
        (State::Connected, _) => "It answered the last request.",
        (State::Disabled, _) => "It is disabled in its file.",
        (_, Some(Reason::NotConfigured)) => "Its address is empty.",
        (_, Some(Reason::PendingTrust)) => {
            "What it runs and which variables it gets is not approved yet."
        }
        (_, Some(Reason::ConfigError)) => "Its entry cannot be used as it is.",
        (_, Some(Reason::Connecting)) => "Connecting.",
        (_, Some(Reason::Authorizing)) => "Waiting for you on the sign-in page.",
        (_, Some(Reason::Refreshing)) => "Its token is being renewed.",
        (_, Some(Reason::ReauthRequired)) => "Its sign-in has expired and cannot be renewed.",
        (_, Some(Reason::InsufficientScope)) => {
            "Its sign-in does not cover the scopes that it asks for."
        }
        (_, Some(Reason::HelperFailed)) => "The helper that supplies its headers failed.",
        (_, Some(Reason::AuthFailed)) => "It refused the credential.",
        (_, Some(Reason::NetworkError)) => "It could not be reached.",
        (State::NeedsAuth, None) => "You are not signed in yet.",
        (State::Failed, None) => "It does not work.",
        (State::Pending, None) => "Connects on first use.",
    }
}

/// Says what became of an approval.
pub(super) const fn approved(answer: Answer) -> &'static str {
    match answer {
        Answer::Confined => "Approved as it is now, confined; a change asks again.",
        _ => "Approved as it is now; a change asks again.",
    }
}

/// Says that a person said no, or nothing.
pub(super) const NOT_APPROVED: &str = "Nothing was approved.";

/// Says what the answer `confined` means.
pub(super) const CONFINED: &str = "Confined, its programs see system folders, the plugin and its \
    data, and nothing else of yours unless config.toml grants it.";

/// Says how a server is authenticated to.
pub(super) const fn method(view: &ServerView) -> &'static str {
    match view.diagnosis.method {
        Some(Method::OAuth) if view.is_open => "no auth",
        Some(Method::OAuth) => "OAuth",
        Some(Method::Static) => "fixed header",
        Some(Method::Dynamic) => "helper",
        Some(Method::Environment) => "variables",
        Some(Method::None) => "no auth",
        _ => "unknown",
    }
}

/// Says how a server is reached.
pub(super) const fn transport(transport: Option<Transport>) -> &'static str {
    match transport {
        Some(Transport::Http) => "HTTP",
        Some(Transport::Sse) => "HTTP+SSE",
        Some(Transport::Ws) => "WebSocket",
        Some(Transport::Stdio) => "stdio",
        None => "unknown",
    }
}

/// Says how long something takes or lasts.
pub(super) fn seconds(seconds: i64) -> String {
    match seconds {
        ..=0 => "0 s".to_owned(),
        1..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Says how long a call took.
pub(super) fn took(time: Duration) -> String {
    let micros = time.as_micros();
    match micros {
        0..=9_999 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        10_000..=9_999_999 => format!("{} ms", micros / 1000),
        _ => format!("{} s", micros / 1_000_000),
    }
}

/// Writes a time of day, in UTC.
pub(super) fn clock(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    let day = since.unwrap_or_default().as_secs() % 86_400;
    let (hour, minute, second) = (day / 3600, day / 60 % 60, day % 60);
    format!("{hour:02}:{minute:02}:{second:02}")
}

/// Says how a request ended.
pub(super) fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Done => "done".to_owned(),
        Outcome::ToolFailed => "the tool failed".to_owned(),
        Outcome::Error(0) => "failed".to_owned(),
        Outcome::Error(code) => format!("error {code}"),
        Outcome::Status(status) => format!("refused ({status})"),
        Outcome::Abandoned => "client disconnected".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_a_person_would() {
        for (time, words) in [
            (Duration::from_micros(420), "0.4 ms"),
            (Duration::from_micros(9_960), "9.9 ms"),
            (Duration::from_millis(250), "250 ms"),
            (Duration::from_secs(12), "12 s"),
        ] {
            assert_eq!(took(time), words);
        }
        assert_eq!(seconds(-5), "0 s");
        assert_eq!(seconds(300_000), "3 days");
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_744_471);
        assert_eq!(clock(at), "12:07:51");
    }

    #[test]
    fn what_a_person_has_to_do_never_looks_like_a_failure() {
        let trust = ServerState::new(State::Pending, Reason::PendingTrust);
        let ended = ServerState::new(State::NeedsAuth, Reason::ReauthRequired);
        for state in [trust, ended] {
            assert_eq!(shown(state).label, "Needs you");
        }
        assert_eq!(shown(ServerState::CONNECTED).class, "good");
    }
}
