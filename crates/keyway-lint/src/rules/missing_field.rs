//! `missing-field`: the host of the file refuses it, or an entry of it, for want of a field.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::dialect::{Constant, Dialect, HostFieldRole, is_in_bundle};
use keyway_config::document::{Document, DocumentKind, Entry, Wrapper};
use keyway_config::json::Object;
use keyway_config::source::{Pointer, Span};

use super::walk::{is_left_out, objects, shown};
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::MissingField,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "The host of the file requires a field that is not there, so it refuses the entry",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for document in &context.plugin.documents {
        check_file(document, report);
    }
    for (document, entry, object) in objects(context.plugin) {
        if !is_left_out(entry) {
            check_entry(document, entry, object, report);
        }
    }
}

fn check_file(document: &Document, report: &mut Report<'_>) {
    let (Some(file), Some(node)) = (document.file, document.tree.root.as_ref()) else {
        return;
    };
    let Some(root) = node.as_object() else { return };
    // A file of a name that others use as well is the host's only if it has what the host has.
    let is_certain = document.kind != DocumentKind::Entries
        || document.wrapper == Wrapper::Wrapped
        || is_in_bundle(document.source.path());
    if !is_certain {
        return;
    }
    for path in file.required {
        let mut objects: Vec<Place<'_>> = vec![(root, node.span.at_start(), Pointer::default())];
        let (outer, key) = path.rsplit_once('.').unwrap_or(("", path));
        for name in outer.split('.').filter(|name| !name.is_empty()) {
            objects = objects.iter().flat_map(|at| below(at, name)).collect();
        }
        let names = || key.split('|');
        for (object, span, pointer) in &objects {
            if names().any(|name| object.get(name).is_some()) {
                continue;
            }
            let key = names().next().unwrap_or(key);
            let name = document.dialect.name;
            let message = format!("`{key}` is missing; {name} requires it");
            let place = match pointer.as_str().rsplit_once('/') {
                Some((_, outer)) => format!("to `{}`", shown(outer)),
                None => "at the top of the file".to_owned(),
            };
            report
                .at(&document.source, *span, pointer, message)
                .hint(format!("add `{key}` {place}"));
        }
    }
}

/// An object of a file, with where it is reported.
type Place<'a> = (&'a Object, Span, Pointer);

/// Returns the objects under a name in an object; `*` is any name.
fn below<'a>((object, _, pointer): &Place<'a>, name: &str) -> Vec<Place<'a>> {
    let members = object.members.iter();
    let members = members.filter(|member| name == "*" || member.key == name);
    let found = members.filter_map(|member| {
        let inner = member.value.as_object()?;
        Some((inner, member.key_span, pointer.child(&member.key)))
    });
    found.collect()
}

fn check_entry(document: &Document, entry: &Entry, object: &Object, report: &mut Report<'_>) {
    let dialect = document.dialect;
    let has = |role: fn(HostFieldRole) -> bool| {
        let mut fields = dialect.fields.iter();
        fields.any(|field| role(field.role) && object.get(field.key).is_some())
    };
    let is_local = has(|role| role == HostFieldRole::Command);
    let is_remote = has(|role| matches!(role, HostFieldRole::Url(_)));
    // An entry with both or neither is refused for that.
    if is_local == is_remote {
        return;
    }
    let is_url_missing_type = is_remote && dialect.key(HostFieldRole::Type).is_some();
    for (key, kind) in dialect.required {
        let is_told = is_url_missing_type && dialect.key(HostFieldRole::Type) == Some(key);
        if !kind.has(is_local) || object.get(key).is_some() || is_told {
            continue;
        }
        let message = format!("`{key}` is missing; {} refuses the entry", dialect.name);
        report
            .at(&document.source, entry.name_span, &entry.pointer, message)
            .server(&entry.name)
            .hint(hint(dialect, key, is_local));
    }
}

fn hint(dialect: &Dialect, key: &str, is_local: bool) -> String {
    let mut constants = dialect.constants.iter();
    let constant = constants.find(|(known, _)| *known == key);
    match constant.map(|(_, constant)| *constant) {
        Some(Constant::EveryTool) => {
            format!("add `\"{key}\": [\"*\"]` for all tools, or their names")
        }
        Some(Constant::True) => format!("add `{key}`, with true to switch the server on"),
        _ if Some(key) == dialect.key(HostFieldRole::Args) => {
            format!("add `{key}`, an empty list if there are none")
        }
        _ if Some(key) == dialect.key(HostFieldRole::Type) => {
            let words = dialect.types.iter();
            let word = words
                .filter(|(_, it)| (it.as_str() == "stdio") == is_local)
                .map(|(word, _)| *word)
                .next();
            format!("add `\"{key}\": \"{}\"`", word.unwrap_or("stdio"))
        }
        _ => format!("add `{key}`"),
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::document::{Document, DocumentKind};
    use keyway_config::plugin::Plugin;
    use keyway_config::source::Source;

    use crate::rules::fixture::findings;

    const ID: &str = "missing-field";

    fn hints(plugin: &Plugin) -> Vec<String> {
        let found = findings(ID, plugin).into_iter();
        found.map(|it| it.hint.unwrap()).collect()
    }

    #[test]
    fn a_field_that_the_host_fills_in_by_itself_is_not_asked_for() {
        let text = "extensions:\n  s:\n    name: s\n    type: streamable_http\n    enabled: true\n    uri: https://h.example/mcp\n";
        let plugin = Plugin::from_text("/p", "goose/config.yaml", text);
        assert!(findings("missing-field", &plugin).is_empty());
    }

    #[test]
    fn what_a_host_refuses_without_is_reported_and_the_hint_makes_it_whole() {
        for (path, without, hints_expected, with) in [
            (
                ".github/mcp.json",
                r#"{"mcpServers": {"s": {"type": "local", "command": "x"}}}"#,
                &[
                    r#"add `"tools": ["*"]` for all tools, or their names"#,
                    "add `args`, an empty list if there are none",
                ][..],
                r#"{"mcpServers": {"s": {"type": "local", "command": "x", "args": [], "tools": ["*"]}}}"#,
            ),
            (
                ".copilot/mcp-config.json",
                r#"{"mcpServers": {"s": {"type": "http", "url": "https://h.example/mcp"}}}"#,
                &[r#"add `"tools": ["*"]` for all tools, or their names"#],
                r#"{"mcpServers": {"s": {"type": "http", "url": "https://h.example/mcp", "tools": ["*"]}}}"#,
            ),
            (
                "opencode.json",
                r#"{"mcp": {"s": {"command": ["x"]}}}"#,
                &[r#"add `"type": "local"`"#],
                r#"{"mcp": {"s": {"type": "local", "command": ["x"]}}}"#,
            ),
            (
                "goose/config.yaml",
                "extensions:\n  s:\n    type: stdio\n    cmd: x\n",
                &[
                    "add `name`",
                    "add `enabled`, with true to switch the server on",
                    "add `args`, an empty list if there are none",
                ],
                "extensions:\n  s:\n    type: stdio\n    name: s\n    enabled: true\n    cmd: x\n    args: []\n",
            ),
            (
                "gemini-extension.json",
                r#"{"mcpServers": {"s": {"command": "x"}}}"#,
                &[
                    "add `name` at the top of the file",
                    "add `version` at the top of the file",
                ],
                r#"{"name": "s", "version": "1.0.0", "mcpServers": {"s": {"command": "x"}}}"#,
            ),
            (
                ".continue/mcpServers/a.yaml",
                "mcpServers:\n  - name: s\n    command: x\n",
                &[
                    "add `name` at the top of the file",
                    "add `version` at the top of the file",
                ],
                "name: a\nversion: 0.0.1\nmcpServers:\n  - name: s\n    command: x\n",
            ),
            (
                "manifest.json",
                r#"{"name": "s", "version": "1.0.0", "description": "d", "author": {}, "server": {"mcp_config": {"command": "x"}}, "user_config": {"key": {"type": "string"}}}"#,
                &[
                    "add `manifest_version` at the top of the file",
                    "add `name` to `author`",
                    "add `type` to `server`",
                    "add `entry_point` to `server`",
                    "add `title` to `key`",
                    "add `description` to `key`",
                ],
                r#"{"dxt_version": "0.1", "name": "s", "version": "1.0.0", "description": "d", "author": {"name": "a"}, "server": {"type": "node", "entry_point": "s.js", "mcp_config": {"command": "x"}}, "user_config": {"key": {"type": "string", "title": "t", "description": "d"}}}"#,
            ),
            // What is not there at all is missed once.
            (
                "manifest.json",
                r#"{"manifest_version": "0.3", "name": "s", "version": "1.0.0", "description": "d", "server": {"type": "node", "entry_point": "s.js", "mcp_config": {"command": "x"}}}"#,
                &["add `author` at the top of the file"],
                r#"{"manifest_version": "0.3", "name": "s", "version": "1.0.0", "description": "d", "author": {"name": "a"}, "server": {"type": "node", "entry_point": "s.js", "mcp_config": {"command": "x"}}}"#,
            ),
        ] {
            let of = |text: &str| hints(&Plugin::from_text("/p", path, text));
            assert_eq!(of(without), hints_expected, "{path}");
            assert!(of(with).is_empty(), "{path}: {:?}", of(with));
        }
    }

    #[test]
    fn a_file_that_is_something_else_is_not_measured_by_the_host() {
        for (path, text) in [
            ("server.json", r#"{"port": 80}"#),
            ("manifest.json", r#"{"start_url": "/"}"#),
            (".mcp.json", r#"{"mcpServers": {"s": {"command": "x"}}}"#),
            (
                ".cursor/mcp.json",
                r#"{"mcpServers": {"s": {"url": "https://h.example"}}}"#,
            ),
        ] {
            assert!(
                hints(&Plugin::from_text("/p", path, text)).is_empty(),
                "{path}"
            );
        }
    }

    #[test]
    fn a_manifest_and_a_marketplace_have_names() {
        for (path, kind, text, count) in [
            (
                ".claude-plugin/plugin.json",
                DocumentKind::Manifest,
                "{}",
                1,
            ),
            (
                ".claude-plugin/plugin.json",
                DocumentKind::Manifest,
                r#"{"name": "a"}"#,
                0,
            ),
            (
                ".claude-plugin/marketplace.json",
                DocumentKind::Marketplace,
                r#"{"plugins": []}"#,
                2,
            ),
        ] {
            let source = Source::new(path, text.as_bytes());
            let plugin = Plugin::new("/p", vec![Document::parse(source, kind)]);
            assert_eq!(hints(&plugin).len(), count, "{path} {text}");
        }
    }
}
