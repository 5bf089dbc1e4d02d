//! `foreign-wrapper`: the entries stand under another host's key and are not loaded.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::Wrapper;
use keyway_config::source::{Pointer, Span};

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::ForeignWrapper,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "The entries are under another host's key, so none is loaded",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for document in &context.plugin.documents {
        let dialect = document.dialect;
        match &document.wrapper {
            &Wrapper::Foreign { key, host, span } => {
                let message = if dialect.is_contract() {
                    format!(
                        "`{key}` is where {host} keeps its servers: none is loaded, all are searched for secrets"
                    )
                } else {
                    format!(
                        "{} reads its servers from `{}`, so none under `{key}` is loaded",
                        dialect.name,
                        dialect.wrapper()
                    )
                };
                let pointer = Pointer::default().child(key);
                let finding = report.at(&document.source, span, &pointer, message);
                if dialect.is_contract() {
                    finding.hint(bring_over(key));
                } else {
                    let hint = format!("rename the key to `{}`", dialect.wrapper());
                    finding.severity(Severity::Error).hint(hint);
                }
            }
            Wrapper::Missing => {
                let message = format!(
                    "{} reads its servers from `{}`, which this file does not have",
                    dialect.name,
                    dialect.wrapper()
                );
                let hint = format!("put the entries under `{}`", dialect.wrapper());
                report
                    .at(
                        &document.source,
                        Span::default(),
                        &Pointer::default(),
                        message,
                    )
                    .severity(Severity::Error)
                    .hint(hint);
            }
            _ => {}
        }
    }
}

/// Says how the entries of a host become entries of the contract.
fn bring_over(key: &str) -> &'static str {
    match key {
        "servers" => "put the entries under `mcpServers`, and write `${VAR}` for `${input:…}`",
        "mcp" => {
            "put the entries under `mcpServers`, split `command` into `command` and `args`, and \
             rename `environment` to `env`"
        }
        "context_servers" => {
            "put the entries under `mcpServers`, with `command` as a string and `args` and `env` \
             beside it"
        }
        _ => "put the entries under `mcpServers`, and write `${VAR}` in `headers` for tokens",
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{findings, plugin, pointers};

    const ID: &str = "foreign-wrapper";

    #[test]
    fn the_host_is_named_for_every_foreign_key() {
        for (key, host) in [
            ("servers", "VS Code"),
            ("mcp", "opencode"),
            ("context_servers", "Zed"),
            ("mcp_servers", "Codex"),
        ] {
            let text = format!(r#"{{"{key}": {{"s": {{"command": "x"}}}}}}"#);
            let found = findings(ID, &plugin(&text));
            assert!(found[0].message.contains(host), "{}", found[0].message);
            assert!(found[0].hint.as_ref().unwrap().contains("`mcpServers`"));
        }
    }

    #[test]
    fn our_wrapper_and_a_server_of_such_a_name_are_not_reported() {
        for text in [
            r#"{"mcpServers": {"s": {"command": "x"}}, "servers": {}}"#,
            r#"{"mcp": {"command": "x"}}"#,
            r#"{"servers": {"type": "http", "url": "https://h.example"}}"#,
        ] {
            assert!(pointers(ID, &plugin(text)).is_empty(), "{text}");
        }
    }
}
