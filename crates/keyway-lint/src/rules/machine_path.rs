//! `machine-path`: a file that is shared names a folder of one person's home.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::dialect::{FileScope, KnownPath, is_copy};
use keyway_config::document::Document;
use keyway_config::usage::{self, FieldRole};

use super::walk::named;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::MachinePath,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "A shared file names a path in one person's home, such as `/Users/ada/…`",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        if !is_shared(document) {
            continue;
        }
        for (role, field) in usage::fields(server) {
            let is_path = matches!(
                role,
                FieldRole::Command
                    | FieldRole::Argument(_)
                    | FieldRole::Cwd
                    | FieldRole::EnvFile
                    | FieldRole::Env(_)
            );
            let text = field.template.as_str();
            if let Some(range) = home_in(text).filter(|_| is_path) {
                let span = field.span_of(&document.source, &range);
                let message = format!("{} names a path that only one machine has", named(role));
                report
                    .at(&document.source, span, &field.pointer, message)
                    .server(&server.name)
                    .hint(hint(document));
            }
        }
    }
}

/// A person's own file may name their home, and a file to copy shows what to write there.
fn is_shared(document: &Document) -> bool {
    let is_own = document
        .file
        .is_some_and(|file| matches!(file.scope, FileScope::User | FileScope::System));
    !is_own && !is_copy(document.source.path())
}

/// Finds `/Users/NAME/`, `/home/NAME/` or `C:\Users\NAME\` with a name that is a person's.
fn home_in(text: &str) -> Option<std::ops::Range<usize>> {
    for begin in ["/Users/", "/home/", ":\\Users\\", ":/Users/"] {
        let Some(at) = text.find(begin) else { continue };
        let is_bound = text.get(..at).is_none_or(|before| {
            let last = before.chars().next_back();
            last.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '.' && c != '}')
                || begin.starts_with(':')
        });
        let rest = text.get(at + begin.len()..)?;
        let length = rest.find(['/', '\\'])?;
        let name = rest.get(..length)?;
        if is_bound && is_person(name) {
            return Some(at..at + begin.len() + length);
        }
    }
    None
}

/// Containers have users of their own, and examples speak of `you`.
fn is_person(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    !name.is_empty()
        && name.chars().all(is_name)
        && !GENERIC_USERS.contains(&lower.as_str())
        && !lower.contains("your")
        && !lower.contains("user")
}

fn hint(document: &Document) -> String {
    match KnownPath::of(document.dialect) {
        Some(known) => {
            let name = known.name();
            format!("write it relative to the project: `${{{name}}}/…`")
        }
        None => "write a path that every machine has, or a name that is found in `PATH`".to_owned(),
    }
}

const GENERIC_USERS: &[&str] = &[
    "me",
    "you",
    "name",
    "node",
    "vscode",
    "app",
    "ubuntu",
    "runner",
    "coder",
    "jovyan",
    "root",
    "dev",
    "shared",
    "public",
    "someone",
    "example",
    "linuxbrew",
    "codespace",
    "xxx",
    "path",
];

#[cfg(test)]
mod tests {
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::{entry, findings, pointers};

    const ID: &str = "machine-path";

    #[test]
    fn paths_of_one_person_are_reported_in_shared_files() {
        for fields in [
            r#""command": "/Users/ada/bin/srv""#,
            r#""command": "node", "args": ["/home/ada/src/index.js"]"#,
            r#""command": "node", "args": ["C:\\Users\\Ada\\src\\index.js"]"#,
            r#""command": "x", "env": {"DATA": "/Users/ada.b/data/x"}"#,
        ] {
            assert_eq!(pointers(ID, &entry(fields)).len(), 1, "{fields}");
        }
    }

    #[test]
    fn other_paths_are_not() {
        for fields in [
            r#""command": "/usr/bin/srv", "args": ["/home/node/app", "/Users/you/x/y", "/home/<user>/x"]"#,
            r#""command": "x", "args": ["https://h.example/home/ada/x", "${HOME}/home/ada/x"]"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
        let text = r#"{"mcpServers": {"s": {"command": "/Users/ada/bin/srv"}}}"#;
        for path in ["claude_desktop_config.json", ".mcp.json.example"] {
            let plugin = Plugin::from_text("/plugin", path, text);
            assert!(findings(ID, &plugin).is_empty(), "{path}");
        }
    }

    #[test]
    fn the_hint_is_the_hosts_own_way() {
        for (path, wrapper, name) in [
            (".mcp.json", "mcpServers", "${CLAUDE_PROJECT_DIR:-.}"),
            (".vscode/mcp.json", "servers", "${workspaceFolder}"),
            (".cursor/mcp.json", "mcpServers", "${workspaceFolder}"),
        ] {
            let text = format!(r#"{{"{wrapper}": {{"s": {{"command": "/Users/ada/bin/srv"}}}}}}"#);
            let found = findings(ID, &Plugin::from_text("/plugin", path, &text));
            let hint = found[0].hint.clone().unwrap();
            assert!(hint.contains(name), "{hint}");
        }
    }
}
