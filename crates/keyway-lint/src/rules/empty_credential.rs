//! `empty-credential`: a variable for a credential is set to nothing, which hides the person's own.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::dialect::is_copy;
use keyway_config::usage::{self, FieldRole};

use super::walk::{in_own_syntax, is_sample, named};
use super::{Context, Report, Rule};
use crate::secrets::is_credential_name;

pub(super) const RULE: Rule = Rule {
    id: Code::EmptyCredential,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "A variable for a credential is empty, which hides the one that a person has set",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        // A file that others copy and fill in has to leave values empty.
        if is_copy(document.source.path()) {
            continue;
        }
        for (role, field) in usage::fields(server) {
            let FieldRole::Env(name) = role else { continue };
            let is_empty = field.template.as_str().trim().is_empty();
            // A sample has to leave it empty, or hold a placeholder.
            let is_sample = is_sample(document, role);
            let is_wanted = !is_sample || context.pedantic;
            if is_empty && is_credential_name(name) && is_wanted {
                let message = format!(
                    "{} is empty, so the program gets nothing even where a person has set it",
                    named(role)
                );
                let hint = format!("remove it, or {}", in_own_syntax(document, role));
                let finding = report.field(document, server, field, message).hint(hint);
                if is_sample {
                    finding.severity(Severity::Info);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::{entry, findings, pointers};

    const ID: &str = "empty-credential";

    #[test]
    fn only_credentials_that_are_empty_are_reported() {
        let fields = r#""command": "x", "env": {"API_KEY": "", "B_TOKEN": " ", "MODE": "", "C_KEY": "${C_KEY}"}"#;
        assert_eq!(
            pointers(ID, &entry(fields)),
            ["/mcpServers/s/env/API_KEY", "/mcpServers/s/env/B_TOKEN"]
        );
    }

    #[test]
    fn where_a_host_fills_in_nothing_the_hint_says_what_does() {
        let text = r#"{"mcpServers": {"s": {"command": "x", "env": {"API_KEY": ""}}}}"#;
        let plugin = Plugin::from_text("/p", "claude_desktop_config.json", text);
        assert_eq!(
            findings(ID, &plugin)[0].hint.as_deref(),
            Some(
                "remove it, or start the server through `keyway run`, since Claude Desktop replaces \
                 no variables here"
            )
        );
    }
}
