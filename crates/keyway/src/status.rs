//! What can be said about a plugin's servers from files and variables alone: nothing is run or sent.

use keyway_approval::needs_approval;
use keyway_config::declared::{DeclaredServer, EntryFault, Transport};
use keyway_config::document::{Document, Entry};
use keyway_config::environment::{Origin, Scope};
use keyway_config::method::Method;
use keyway_config::plugin::Plugin;
use keyway_config::resolve::{ResolveError, SpecEndpoint, resolve};
use keyway_config::usage;

pub use keyway_mcp::states::{Reason, State};

/// One server, as it stands before anything connects.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServerStatus<'a> {
    /// The file that declares it.
    pub document: &'a Document,
    /// What the file says.
    pub entry: &'a Entry,
    /// How frames would travel; `None` if the entry cannot be read.
    pub transport: Option<Transport>,
    /// How it would be authenticated to; `None` if the entry cannot be read.
    pub method: Option<Method>,
    /// Where it stands.
    pub state: State,
    /// Why.
    pub reason: Option<Reason>,
    /// The variables that the person supplies.
    pub variables: Vec<VariableStatus<'a>>,
    /// What keeps the entry from being filled in.
    pub errors: Vec<ResolveError>,
}

/// A variable of an entry; never its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct VariableStatus<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it has a value that is not empty.
    pub is_set: bool,
    /// Where it has its value from.
    pub origin: Option<Origin>,
    /// Whether the entry does without it.
    pub has_default: bool,
}

/// Returns the servers of a plugin in the order of its files.
///
/// Of a name that appears twice the last is listed, which is the manifest's; entries beyond the
/// limit of a file are left out.
#[must_use]
pub fn of<'a>(plugin: &'a Plugin, scope: &Scope<'_>) -> Vec<ServerStatus<'a>> {
    let listed: Vec<(&Document, &Entry)> = plugin
        .entries()
        .filter(|(_, entry)| !is_beyond_limit(entry))
        .collect();
    let is_used = |at: usize, name: &str| {
        let mut later = listed.iter().skip(at.saturating_add(1));
        !later.any(|(_, other)| other.name == name)
    };
    let used = listed.iter().enumerate();
    used.filter(|(at, (_, entry))| is_used(*at, &entry.name))
        .map(|(_, (document, entry))| status(document, entry, scope))
        .collect()
}

fn is_beyond_limit(entry: &Entry) -> bool {
    matches!(&entry.server, Err(faults) if faults.contains(&EntryFault::TooMany))
}

fn status<'a>(document: &'a Document, entry: &'a Entry, scope: &Scope<'_>) -> ServerStatus<'a> {
    let unreadable = ServerStatus {
        document,
        entry,
        transport: None,
        method: None,
        state: State::Failed,
        reason: Some(Reason::ConfigError),
        variables: Vec::new(),
        errors: Vec::new(),
    };
    let Ok(server) = &entry.server else {
        return unreadable;
    };
    let readable = ServerStatus {
        transport: Some(server.transport),
        method: Some(Method::declared(server)),
        variables: variables(server, scope),
        ..unreadable
    };
    if !document.is_usable() {
        return readable;
    }
    if server.disabled {
        let (state, reason) = (State::Disabled, None);
        return ServerStatus {
            state,
            reason,
            ..readable
        };
    }
    match resolve(server, scope) {
        Err(errors) => ServerStatus {
            errors: errors.into_vec(),
            ..readable
        },
        Ok(spec) => ServerStatus {
            method: Some(spec.method),
            state: State::Pending,
            reason: match spec.endpoint {
                SpecEndpoint::NotConfigured => Some(Reason::NotConfigured),
                _ if needs_approval(server) => Some(Reason::PendingTrust),
                _ => None,
            },
            ..readable
        },
    }
}

fn variables<'a>(server: &'a DeclaredServer, scope: &Scope<'_>) -> Vec<VariableStatus<'a>> {
    let scope = server.scope(scope);
    let fields = usage::fields(server);
    let uses = || {
        fields
            .iter()
            .flat_map(|(_, field)| field.template.variables())
    };
    let names = usage::names(server).into_iter();
    names
        .map(|name| VariableStatus {
            name,
            is_set: scope.is_set(name),
            origin: scope.origin(name),
            has_default: uses().all(|found| found.name != name || found.default.is_some()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use keyway_config::document::DocumentKind;
    use keyway_config::environment::{HostVariables, Variables};
    use keyway_config::source::Source;

    use super::*;

    fn plugin(files: &[(&str, DocumentKind)]) -> Plugin {
        let parse = |(text, kind): &(&str, DocumentKind)| {
            Document::parse(Source::new("f.json", text.as_bytes()), *kind)
        };
        Plugin::new("/plugin", files.iter().map(parse).collect())
    }

    fn words(plugin: &Plugin) -> Vec<(String, &'static str, Option<&'static str>)> {
        let host = HostVariables::default();
        let variables = Variables::from_pairs([("SET", "x")]);
        let scope = Scope::new(&host, &variables);
        of(plugin, &scope)
            .iter()
            .map(|found| {
                let reason = found.reason.map(Reason::as_str);
                (found.entry.name.clone(), found.state.as_str(), reason)
            })
            .collect()
    }

    #[test]
    fn states_follow_from_the_entry_and_its_variables() {
        let url = r#""type": "http", "url": "https://h.example/mcp""#;
        for (fields, state, reason) in [
            (url.to_owned(), "pending", None),
            (
                format!(r#"{url}, "headers": {{"X-Trace": "on"}}"#),
                "pending",
                None,
            ),
            (
                format!(r#"{url}, "headers": {{"X-Api-Key": "${{SET}}"}}"#),
                "pending",
                Some("pending-trust"),
            ),
            (
                format!(r#"{url}, "env": {{"A": "${{SET}}"}}"#),
                "pending",
                None,
            ),
            (
                format!(r#"{url}, "headersHelper": "./h.sh""#),
                "pending",
                Some("pending-trust"),
            ),
            (
                r#""command": "x""#.to_owned(),
                "pending",
                Some("pending-trust"),
            ),
            (
                r#""type": "http", "url": """#.to_owned(),
                "pending",
                Some("not-configured"),
            ),
            (
                format!(r#"{url}, "headers": {{"X-Api-Key": "${{UNSET}}"}}"#),
                "failed",
                Some("config-error"),
            ),
            (
                format!(r#"{url}, "disabled": true, "headers": {{"A": "${{UNSET}}"}}"#),
                "disabled",
                None,
            ),
            (
                r#""type": "carrier-pigeon", "url": "x""#.to_owned(),
                "failed",
                Some("config-error"),
            ),
        ] {
            let text = format!(r#"{{"mcpServers": {{"s": {{{fields}}}}}}}"#);
            let found = words(&plugin(&[(&text, DocumentKind::Entries)]));
            assert_eq!(found, [("s".to_owned(), state, reason)], "{fields}");
        }
    }

    #[test]
    fn the_manifest_wins_over_the_file_and_the_loser_is_not_listed() {
        let entries = r#"{"a": {"command": "x"}, "s": {"type": "http", "url": ""}}"#;
        let manifest = r#"{"mcpServers": {"s": {"command": "y"}}}"#;
        let found = words(&plugin(&[
            (entries, DocumentKind::Entries),
            (manifest, DocumentKind::Manifest),
        ]));
        let waits = |name: &str| (name.to_owned(), "pending", Some("pending-trust"));
        assert_eq!(found, [waits("a"), waits("s")]);
    }

    #[test]
    fn a_file_that_is_not_strict_json_fails_all_its_servers() {
        let text = r#"{"a": {"command": "x"}, "b": {"type": "http", "url": ""},}"#;
        let found = words(&plugin(&[(text, DocumentKind::Entries)]));
        assert!(found.iter().all(|(_, state, _)| *state == "failed"));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_variable_is_set_missing_or_has_a_default() {
        let text = r#"{"s": {"command": "${HOST_PLUGIN_ROOT}/x", "args": ["${SET}", "${A:-1}"],
            "env": {"B": "${B:-1}", "C": "${B}"}}}"#;
        let plugin = plugin(&[(text, DocumentKind::Entries)]);
        let host = plugin.host_variables();
        let variables = Variables::from_pairs([("SET", "x")]);
        let scope = Scope::new(&host, &variables);
        let found = of(&plugin, &scope);
        let facts: Vec<_> = found[0]
            .variables
            .iter()
            .map(|v| (v.name, v.is_set, v.has_default))
            .collect();
        let expected = [
            ("SET", true, false),
            ("A", false, true),
            ("B", false, false),
        ];
        assert_eq!(facts, expected);
    }
}
