//! Fields of an entry in another host's file, judged by what that host reads.

use keyway_config::diagnostic::Severity;
use keyway_config::dialect::{CONTRACT, CONTRACT_ADDITIONS, DIALECTS, Dialect, HostFieldRole};
use keyway_config::document::{Document, Entry};
use keyway_config::edit::{Applicability, Edit};
use keyway_config::environment::nearest;
use keyway_config::json::{Member, Object, quote};

use crate::rules::walk::shown;
use crate::rules::{Finding, Report};

/// Reports the fields that the host of a file does not read.
pub(super) fn check(document: &Document, entry: &Entry, object: &Object, report: &mut Report<'_>) {
    let dialect = document.dialect;
    // The registry's items have a schema of their own, and none of these names.
    if dialect.fields.is_empty() {
        return;
    }
    for member in &object.members {
        let key = member.key.as_str();
        if dialect.field(key).is_some() || key.starts_with(['_', '$']) {
            continue;
        }
        let spelled = entry.server.as_ref();
        if spelled.is_ok_and(|it| it.spellings.iter().any(|s| s.span == member.key_span)) {
            continue;
        }
        let mut judged = judge(dialect, object, key);
        if dialect.is_closed {
            judged.severity = Severity::Error;
        }
        // What no host reads and no typo explains is a note; it breaks nothing.
        if judged.severity == Severity::Info && !report.pedantic() {
            continue;
        }
        add(report, document, (entry, object, member), judged);
    }
}

/// Reports the fields that the contract reads and the file's own host does not.
pub(super) fn check_additions(
    document: &Document,
    entry: &Entry,
    object: &Object,
    report: &mut Report<'_>,
) {
    for (key, hint) in CONTRACT_ADDITIONS.fields {
        let Some(member) = object.get(key) else {
            continue;
        };
        let judged = Judged {
            severity: Severity::Warning,
            hint: (*hint).to_owned(),
            rename: None,
        };
        add(report, document, (entry, object, member), judged);
    }
    check_helper(document, entry, object, report);
    // A switch that is off in the file leaves the server on in the host.
    let server = entry.server.as_ref();
    if !server.is_ok_and(|server| server.disabled) {
        return;
    }
    let switches = ["disabled", "enabled"].into_iter();
    for member in switches.filter_map(|key| object.get(key)) {
        let judged = Judged {
            severity: Severity::Warning,
            hint: "Keyway leaves the entry out; Claude Code starts it, and has \
                   `disabledMcpjsonServers` in its own settings for that"
                .to_owned(),
            rename: None,
        };
        add(report, document, (entry, object, member), judged);
    }
}

/// Reports the object form of `headersHelper`, which Claude Code refuses.
fn check_helper(document: &Document, entry: &Entry, object: &Object, report: &mut Report<'_>) {
    let Some(member) = object.get("headersHelper") else {
        return;
    };
    // `${HOST_…}` is the contract's: what names it is not written for Claude Code.
    let text = document.source.slice(member.value.span);
    if member.value.as_object().is_none() || text.contains("${HOST_") {
        return;
    }
    let message = "`headersHelper` is an object, for which Claude Code skips the entry";
    let pointer = entry.pointer.child("headersHelper");
    report
        .at(&document.source, member.value.span, &pointer, message)
        .server(&entry.name)
        .severity(Severity::Warning)
        .hint(
            "Keyway reads it; for Claude Code write the command as one string, which it runs once \
             per connection",
        );
}

/// Returns the name of another host that reads such a field of an entry.
pub(super) fn reader(dialect: &Dialect, key: &str) -> Option<&'static str> {
    meaning_elsewhere(dialect, key).map(|(other, _)| other.name)
}

/// What is to be told of a field.
struct Judged {
    severity: Severity,
    hint: String,
    rename: Option<&'static str>,
}

fn judge(dialect: &'static Dialect, object: &Object, key: &str) -> Judged {
    let name = dialect.name;
    let has_url = dialect.fields.iter();
    let has_url = has_url
        .clone()
        .any(|field| matches!(field.role, HostFieldRole::Url(_)));
    if matches!(key, "url" | "serverUrl" | "httpUrl") && !has_url {
        return Judged {
            severity: Severity::Error,
            hint: format!(
                "{name} only starts programs from this file; `keyway run` is one that reaches the server"
            ),
            rename: None,
        };
    }
    if let Some((other, role)) = meaning_elsewhere(dialect, key) {
        if let Some((outer, inner)) = inner(dialect, role) {
            return Judged {
                severity: Severity::Warning,
                hint: format!("{name} reads it as `{inner}` in `{outer}`"),
                rename: None,
            };
        }
        return match dialect.key(role).filter(|own| object.get(own).is_none()) {
            Some(own) => Judged {
                severity: Severity::Warning,
                hint: format!("{} reads it; {name} calls it `{own}`", other.name),
                rename: Some(own),
            },
            None if is_weighty(role) => Judged {
                severity: Severity::Warning,
                hint: format!("{} reads it; {name} does not", other.name),
                rename: None,
            },
            None => Judged {
                severity: Severity::Info,
                hint: format!("{} reads it; {name} does not", other.name),
                rename: None,
            },
        };
    }
    let near = nearest(key, dialect.fields.iter().map(|field| field.key));
    match near.first().and_then(|near| dialect.field(near)) {
        Some(field) => Judged {
            severity: Severity::Warning,
            hint: format!("did you mean `{}`?", field.key),
            rename: (near.len() == 1).then_some(field.key),
        },
        None => Judged {
            severity: Severity::Info,
            hint: "remove it, or leave it as a note".to_owned(),
            rename: None,
        },
    }
}

/// Returns where in an object of the entry the host has such a field: that object, and its key there.
fn inner(dialect: &Dialect, role: HostFieldRole) -> Option<(&'static str, &'static str)> {
    let mut fields = dialect.fields.iter();
    fields.find_map(|field| match field.role {
        HostFieldRole::Inner(inner) => {
            let inner = inner.iter().find(|inner| inner.role == role)?;
            Some((field.key, inner.key))
        }
        _ => None,
    })
}

/// Finds another host that reads the key, and what it is there.
fn meaning_elsewhere(dialect: &Dialect, key: &str) -> Option<(&'static Dialect, HostFieldRole)> {
    let others = std::iter::once(CONTRACT).chain(DIALECTS.iter().copied());
    let mut others = others.filter(|other| other.id != dialect.id);
    others.find_map(|other| {
        let field = other.field(key)?;
        Some((other, field.role))
    })
}

/// Says whether a server works differently without the field.
const fn is_weighty(role: HostFieldRole) -> bool {
    !matches!(
        role,
        HostFieldRole::Other
            | HostFieldRole::Name
            | HostFieldRole::Type
            | HostFieldRole::Disabled
            | HostFieldRole::Enabled
            | HostFieldRole::TimeoutMs
            | HostFieldRole::TimeoutSeconds
    )
}

fn add(
    report: &mut Report<'_>,
    document: &Document,
    (entry, object, member): (&Entry, &Object, &Member),
    judged: Judged,
) {
    let source = &document.source;
    let key = shown(&member.key);
    let name = document.dialect.name;
    let message = if document.dialect.is_closed {
        format!("`{key}` is not a field of {name}, which refuses the entry for it")
    } else {
        format!("`{key}` is not a field that {name} reads")
    };
    let pointer = entry.pointer.child(&member.key);
    let finding: Finding<'_> = report
        .at(source, member.key_span, &pointer, message)
        .server(&entry.name)
        .severity(judged.severity)
        .hint(judged.hint);
    if let Some(name) = judged.rename.filter(|name| object.get(name).is_none()) {
        // In TOML and YAML a name needs no quotes.
        let written = match document.syntax.is_json() {
            true => quote(name),
            false => name.to_owned(),
        };
        let edits = vec![Edit::replace(source, member.key_span, written)];
        finding.fix(
            Applicability::Unsafe,
            format!("rename it to `{name}`"),
            edits,
        );
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::diagnostic::Severity;
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::findings;

    fn found(path: &str, entry: &str) -> Vec<(Severity, String)> {
        let text = format!(r#"{{"mcpServers": {{"s": {entry}}}}}"#);
        let plugin = Plugin::from_text("/plugin", path, &text);
        let found = findings("unknown-field", &plugin).into_iter();
        found
            .map(|it| (it.severity, it.hint.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn a_file_is_judged_by_what_its_own_host_reads() {
        let entry = r#"{"command": "x", "autoApprove": [], "disabledTools": []}"#;
        assert!(found(".kiro/settings/mcp.json", entry).is_empty());
        let (severity, hint) = found(
            ".cursor/mcp.json",
            r#"{"command": "x", "environment": {"A": "b"}}"#,
        )
        .remove(0);
        assert_eq!(severity, Severity::Warning);
        assert_eq!(hint, "opencode reads it; Cursor calls it `env`");
        let (severity, hint) =
            found(".cursor/mcp.json", r#"{"command": "x", "arg": []}"#).remove(0);
        assert_eq!(
            (severity, hint.as_str()),
            (Severity::Warning, "did you mean `args`?")
        );
    }

    #[test]
    fn a_field_that_the_host_has_further_in_is_named_there() {
        let text = "name: a\nversion: 0.0.1\nmcpServers:\n  - name: s\n    url: https://h.example\n    headers:\n      A: b\n    type: http\n";
        let plugin = Plugin::from_text("/p", ".continue/mcpServers/a.yaml", text);
        let found = findings("unknown-field", &plugin).remove(0);
        assert_eq!(found.severity, Severity::Warning);
        let hint = "Continue reads it as `headers` in `requestOptions`";
        assert_eq!(found.hint.as_deref(), Some(hint));
        // Its schema has another word for the transport, and refuses the file for this one.
        let found = findings("type-alias", &plugin);
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(found[0].hint.as_deref(), Some("write `streamable-http`"));
    }

    #[test]
    fn a_field_of_toml_is_renamed_and_one_that_is_owned_is_removed() {
        let text = "[mcp_servers.s] # mine\nurl = \"https://h.example\"\nheaders = { X-A = \"b\" }\n\n[mcp_servers.t]\nurl = \"https://h.example\"\n\n[mcp_servers.t.http_headers]\nContent-Type = \"a/b\"\nX-A = \"b\"\n";
        let plugin = Plugin::from_text("/plugin", ".codex/config.toml", text);
        let after = |rule: &str| {
            let found = findings(rule, &plugin).remove(0);
            let edits = found.fix.unwrap().edits;
            keyway_config::edit::apply(text, &edits.iter().collect::<Vec<_>>())
        };
        assert_eq!(
            after("unknown-field"),
            text.replace("\nheaders", "\nhttp_headers")
        );
        let removed = text.replace("Content-Type = \"a/b\"\n", "");
        assert_eq!(after("transport-owned-header"), removed);
    }

    #[test]
    fn what_only_the_contract_reads_is_reported_in_a_file_of_claude_code() {
        for (fields, key) in [
            (r#""cwd": "server""#, "cwd"),
            (r#""envFile": ".env""#, "envFile"),
            (r#""disabled": true"#, "disabled"),
            (r#""enabled": false"#, "enabled"),
        ] {
            let text = format!(r#"{{"mcpServers": {{"s": {{"command": "x", {fields}}}}}}}"#);
            let of = |path: &str| findings("unknown-field", &Plugin::from_text("/p", path, &text));
            let found = of(".mcp.json");
            assert_eq!(found.len(), 1, "{fields}: {found:?}");
            assert_eq!(found[0].severity, Severity::Warning);
            assert!(
                found[0]
                    .message
                    .starts_with(&format!("`{key}` is not a field that Claude Code reads")),
                "{}",
                found[0].message
            );
            assert!(of("servers.json").is_empty(), "{fields}");
        }
        for harmless in [r#""disabled": false"#, r#""enabled": true"#] {
            let entry = format!(r#"{{"command": "x", {harmless}}}"#);
            assert!(found(".mcp.json", &entry).is_empty(), "{harmless}");
        }
    }

    #[test]
    fn a_helper_that_claude_code_refuses_is_reported_in_its_files_alone() {
        let of = |path: &str, helper: &str| {
            let text = format!(
                r#"{{"mcpServers": {{"s": {{"type": "http", "url": "https://h.example", "headersHelper": {helper}}}}}}}"#
            );
            findings("unknown-field", &Plugin::from_text("/p", path, &text)).len()
        };
        let object = r#"{"command": ["./h.sh"], "refresh": "request"}"#;
        assert_eq!(of(".mcp.json", object), 1);
        assert_eq!(of("servers.json", object), 0);
        assert_eq!(of(".mcp.json", r#""./h.sh""#), 0);
        let own = r#"{"command": ["${HOST_PLUGIN_ROOT}/h.sh"], "refresh": "request"}"#;
        assert_eq!(
            of(".mcp.json", own),
            0,
            "it is for the contract's own hosts"
        );
    }

    #[test]
    fn a_field_that_makes_the_host_refuse_the_entry_is_an_error() {
        let text = r#"{"$schema": "https://agentplugins.example/schemas/1.0.0/mcp.schema.json",
            "mcpServers": {"s": {"type": "stdio", "command": "x", "timeout": 5000, "note": 1}}}"#;
        let found = findings("unknown-field", &Plugin::from_text("/p", "mcp.json", text));
        let severities: Vec<_> = found.iter().map(|it| it.severity).collect();
        assert_eq!(severities, [Severity::Error, Severity::Error]);
        assert!(found[0].message.ends_with("which refuses the entry for it"));
    }

    #[test]
    fn an_address_in_a_file_that_only_starts_programs_is_an_error() {
        let entry = r#"{"type": "sse", "url": "https://h.example/sse"}"#;
        let found = found("claude_desktop_config.json", entry);
        assert_eq!(found[0].0, Severity::Info);
        assert_eq!(found[1].0, Severity::Error);
    }
}
