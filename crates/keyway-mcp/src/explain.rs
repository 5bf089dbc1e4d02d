//! Errors in a person's words: what happened, under which code, and what to do next.

use std::error::Error;
use std::sync::Arc;

use keyway_auth::AuthError;
use keyway_code::{Code, ServerState};
use keyway_config::source::Location;
use keyway_secret::server_argument;
use keyway_transport::TransportError;
use serde_json::{Value, json};

use crate::session::SessionError;

/// What to tell a person about an error.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Explained {
    /// The code used in every format.
    pub code: Code,
    /// The state that this leaves the server in.
    pub state: ServerState,
    /// What happened, causes included, in one line.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// Where to look, if the entry is known.
    pub source: Option<SourcePlace>,
}

/// A place in a configuration file, as every format shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourcePlace {
    /// The file, as it was named.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1, in characters.
    pub column: u32,
    /// The JSON pointer.
    pub pointer: String,
}

impl SourcePlace {
    /// Names a place. `pointer` is that of the location, without what looks like a secret in it.
    #[must_use]
    pub fn new(location: &Location, pointer: String) -> Self {
        Self {
            file: location.file.to_string(),
            line: location.start.line,
            column: location.start.column,
            pointer,
        }
    }

    /// Returns it as every JSON format shows it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "pointer": self.pointer,
        })
    }
}

/// Returns what happened and what to do next in one text: clients show the message of an error, and
/// drop its data.
#[must_use]
pub fn with_hint(message: &str, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{message} (hint: {hint})"),
        None => message.to_owned(),
    }
}

/// Explains an error of one server, with what is known about its entry.
pub type Explainer = Arc<dyn Fn(&TransportError) -> Explained + Send + Sync>;

/// Explains why there is no credential.
#[must_use]
pub fn explain_auth(error: &AuthError) -> Explained {
    Explained {
        code: error.code(),
        state: error.state(),
        message: keyway_secret::printable(&error.to_string()),
        hint: Some(error.hint().to_owned()),
        source: None,
    }
}

/// Explains why a conversation failed.
#[must_use]
pub fn explain_session(error: &SessionError) -> Explained {
    if let SessionError::Transport(error) = error {
        return explain(error);
    }
    Explained {
        code: error.code(),
        state: error.state(),
        message: keyway_secret::printable(&error.to_string()),
        hint: Some(error.hint().to_owned()),
        source: None,
    }
}

/// Puts the names of a server into a hint, so that its commands can be copied as they are; names
/// that a shell would take apart are quoted, and those that it would take for flags are left out.
#[must_use]
pub fn naming(hint: &str, plugin: Option<&str>, server: &str) -> String {
    if server.is_empty() || server.starts_with('-') {
        return hint.to_owned();
    }
    let word = server_argument(server);
    let mut named = String::new();
    let mut rest = hint;
    while let Some((before, after)) = rest.split_once(PLACE) {
        named.push_str(before);
        // A variable may be named like the place.
        let is_place = before.ends_with([' ', ':'])
            && (after.is_empty() || after.starts_with([' ', ',', ';', '"']));
        let is_key = before.ends_with("\"PLUGIN:");
        named.push_str(match is_place {
            true if is_key => server,
            true => &word,
            false => PLACE,
        });
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
        state: error.state(),
        message: keyway_secret::printable(&message),
        hint: Some(error.hint().to_owned()),
        source: None,
    }
}

/// Stands in a hint for the name of the server.
const PLACE: &str = "SERVER";

#[cfg(test)]
mod tests {
    use keyway_auth::ConfinementNote;

    use super::*;

    #[test]
    fn a_program_that_ran_confined_is_explained_with_the_settings_that_widen_it() {
        let note = ConfinementNote::new("it ran confined, with an empty home", "add it");
        let (confined, last_lines) = (Some(Box::new(note)), vec!["no profile".to_owned()]);
        let helper = AuthError::Helper {
            fault: keyway_auth::HelperFault::Empty,
            confined: confined.clone(),
        };
        let status = "exit code 1".to_owned();
        let server = TransportError::ChildEnded {
            status,
            last_lines,
            confined,
        };
        for (error, words) in [
            (
                TransportError::Auth(helper),
                "the headers helper failed: it printed no headers; it ran confined, with an empty home",
            ),
            (
                server,
                "the server process ended with exit code 1; it ran confined, with an empty home; \
                 it said last: no profile",
            ),
        ] {
            let explained = explain(&error);
            assert_eq!(explained.message, words);
            assert_eq!(explained.hint.as_deref(), Some("add it"));
        }
    }

    #[test]
    fn a_hint_names_the_server_where_it_can_be_copied_and_no_variable_is_renamed() {
        for (hint, server, expected) in [
            ("keyway login SERVER", "s", "keyway login s"),
            (
                "`x` below `[servers.\"PLUGIN:SERVER\".oauth]`: keyway doctor SERVER; then SERVER",
                "a.b",
                "`x` below `[servers.\"p:a.b\".oauth]`: keyway doctor a.b; then a.b",
            ),
            (
                "keyway login SERVER",
                "my server",
                "keyway login 'my server'",
            ),
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
