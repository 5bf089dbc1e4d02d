//! References in another host's file, judged by what that host replaces.

use std::ops::Range;

use keyway_config::diagnostic::Severity;
use keyway_config::dialect::{Asks, CONTRACT_ADDITIONS, Dialect, HostFieldRole, Place};
use keyway_config::edit::Applicability;
use keyway_config::reference::{ForeignReference, foreign_parts, lookalike};
use keyway_config::template::{Template, VariableForm, is_asked_for};
use keyway_config::usage::FieldRole;

use super::{CheckedField, MOST_PER_STRING};
use crate::rules::Report;
use crate::rules::walk::{named, shown};

impl CheckedField<'_> {
    /// Reports what the host of the file passes on as it is written.
    pub(super) fn check_of_host(&self, report: &mut Report<'_>) {
        // What a file says in other words is not written in it.
        let written = self.document.source.slice(self.field.span);
        let template = &self.field.template;
        if !is_written(written, template) {
            return;
        }
        let foreign = foreign_parts(template).into_iter();
        let plain = match self.role {
            FieldRole::Header(_) | FieldRole::Env(_) | FieldRole::OAuth(_)
                if template.variables().next().is_none() =>
            {
                lookalike(template)
            }
            _ => None,
        };
        for reference in foreign.chain(plain).take(MOST_PER_STRING) {
            self.not_replaced(&reference, report);
        }
        self.not_asked_for(report);
    }

    fn not_replaced(&self, reference: &ForeignReference, report: &mut Report<'_>) {
        let dialect = self.document.dialect;
        let text = self.field.template.as_str();
        let text = text.get(reference.range.clone()).unwrap_or_default();
        let syntax = dialect.variables_in(self.role.place());
        if text.starts_with("${file:") && syntax.has(VariableForm::FilePrefix) {
            self.read_from_file(&reference.range, report);
            return;
        }
        // A program may read such a thing itself, a shell above all.
        let for_program = matches!(self.role, FieldRole::Command | FieldRole::Argument(_));
        let name = reference.name.clone();
        if for_program && name.is_none() {
            return;
        }
        let severity = if for_program {
            Severity::Warning
        } else {
            Severity::Error
        };
        let (place, host) = (named(self.role), dialect.name);
        let message = format!(
            "{place} has `{}`, which {host} does not replace, so it is passed on as it stands",
            shown(text)
        );
        let own = name
            .as_ref()
            .and_then(|name| dialect.variables_in(self.role.place()).write(name));
        let finding = self
            .finding(&reference.range, message, report)
            .severity(severity);
        match own {
            Some(own) => {
                let hint = format!("write `{}`", shown(&own));
                let edits = self.edits(&reference.range, &own);
                finding
                    .hint(hint.clone())
                    .fix(Applicability::Unsafe, hint, edits);
            }
            None => {
                finding.hint(way_out(dialect, self.role));
            }
        }
    }

    /// Says of a file whose content its host fills in that Keyway does not.
    fn read_from_file(&self, range: &Range<usize>, report: &mut Report<'_>) {
        let message = format!(
            "{} is read from a file, which Keyway does not do",
            named(self.role)
        );
        let hint = format!(
            "{} reads it; for Keyway put the value into a variable",
            self.document.dialect.name
        );
        let finding = self.finding(range, message, report);
        finding.severity(Severity::Info).hint(hint);
    }

    /// Reports what the contract fills in and Claude Code, whose file it is, passes on.
    pub(super) fn check_additions(&self, report: &mut Report<'_>) {
        let dialect = self.document.dialect;
        let place = self.role.place();
        let is_added_place = CONTRACT_ADDITIONS.places.contains(&place);
        // The field itself has no effect there, which `unknown-field` says.
        if matches!(place, Place::Cwd | Place::EnvFile) {
            return;
        }
        let text = self.field.template.as_str();
        for variable in self.field.template.variables().take(MOST_PER_STRING) {
            let written = text.get(variable.range.clone()).unwrap_or_default();
            let has_added_form = CONTRACT_ADDITIONS.forms.contains(&VariableForm::EnvPrefix)
                && written.starts_with("${env:");
            // A setting of a plugin is another matter, and reported as such.
            let is_setting = written.starts_with("${user_config.");
            if is_setting || !is_added_place && !has_added_form {
                continue;
            }
            let for_program = matches!(self.role, FieldRole::Command | FieldRole::Argument(_));
            let severity = if for_program || is_added_place {
                Severity::Warning
            } else {
                Severity::Error
            };
            let message = format!(
                "{} has `{}`, which {} does not replace, so it is passed on as it stands",
                named(self.role),
                shown(written),
                dialect.name
            );
            let finding = self
                .finding(&variable.range, message, report)
                .severity(severity);
            if is_added_place {
                finding.hint(match self.role {
                    FieldRole::OAuth("clientSecret") => {
                        "Keyway fills it in; Claude Code takes a client secret from its keychain alone"
                    }
                    _ => "Keyway fills it in; for Claude Code write the value, which is not secret",
                });
                continue;
            }
            let own = written.replacen("${env:", "${", 1);
            let hint = format!("write `{}`, which Keyway reads alike", shown(&own));
            let edits = self.edits(&variable.range, &own);
            finding.hint(hint.clone()).fix(
                Applicability::Unsafe,
                format!("write `{}`", shown(&own)),
                edits,
            );
        }
    }

    /// Reports a reference to a value that the file never asks for.
    fn not_asked_for(&self, report: &mut Report<'_>) {
        let dialect = self.document.dialect;
        if !matches!(dialect.asks, Asks::Inputs | Asks::UserConfig) {
            return;
        }
        for variable in self.field.template.variables() {
            let prompts = &self.document.prompts;
            let is_declared = prompts.iter().any(|it| it.variable == variable.name);
            if !is_asked_for(&variable.name) || is_declared {
                continue;
            }
            let key = match dialect.asks {
                Asks::Inputs => "inputs",
                _ => "user_config",
            };
            let message = format!(
                "{} refers to a value that `{key}` does not declare",
                named(self.role)
            );
            self.finding(&variable.range, message, report)
                .severity(Severity::Error)
                .hint(format!(
                    "declare it in `{key}`, so that {} asks for it",
                    dialect.name
                ));
        }
    }
}

/// Says whether the text of a template is what stands in the file.
fn is_written(written: &str, template: &Template) -> bool {
    let text = template.as_str();
    written.contains(text) || written.contains('\\')
}

/// How a host that replaces nothing here gets a credential.
fn way_out(dialect: &Dialect, role: FieldRole<'_>) -> String {
    let key = |role: HostFieldRole| dialect.key(role);
    let by_name = match role {
        FieldRole::Header(name) if name.eq_ignore_ascii_case("authorization") => {
            key(HostFieldRole::BearerFromEnv).or_else(|| key(HostFieldRole::HeadersFromEnv))
        }
        FieldRole::Header(_) => key(HostFieldRole::HeadersFromEnv),
        FieldRole::Env(_) => key(HostFieldRole::EnvNames),
        _ => None,
    };
    match by_name {
        Some(key) => format!("name the variable in `{key}`"),
        None => format!(
            "{} replaces nothing here; start the server through `keyway run`, which fills it in",
            dialect.name
        ),
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::diagnostic::Severity;
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::findings;

    const ID: &str = "foreign-variable-syntax";

    fn found(path: &str, text: &str) -> Vec<(Severity, String)> {
        let plugin = Plugin::from_text("/plugin", path, text);
        let found = findings(ID, &plugin).into_iter();
        found
            .map(|it| (it.severity, it.hint.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn the_hosts_own_syntax_is_not_reported() {
        for (path, text) in [
            (
                ".cursor/mcp.json",
                r#"{"mcpServers": {"s": {"url": "https://h.example", "headers": {"A": "${env:T}"}}}}"#,
            ),
            (
                ".cursor/mcp.json",
                r#"{"mcpServers": {"s": {"command": "x", "envFile": "${workspaceFolder}/.env"}}}"#,
            ),
            (
                ".vscode/mcp.json",
                r#"{"inputs": [{"type": "promptString", "id": "t"}], "servers": {"s": {"url": "https://h.example", "headers": {"A": "${input:t}"}}}}"#,
            ),
            (
                ".vscode/mcp.json",
                r#"{"inputs": [{"type": "command", "id": "t", "command": "c"}], "servers": {"s": {"command": "x", "args": ["${input:t}"]}}}"#,
            ),
            (
                "opencode.json",
                r#"{"mcp": {"s": {"type": "remote", "url": "https://h.example", "headers": {"A": "{env:T}"}}}}"#,
            ),
            (
                ".codex/config.toml",
                "[mcp_servers.s]\nurl = \"https://h.example\"\nbearer_token_env_var = \"T\"\n",
            ),
            (
                ".gemini/settings.json",
                r#"{"mcpServers": {"s": {"httpUrl": "https://h.example", "headers": {"A": "Bearer $T"}}}}"#,
            ),
        ] {
            assert!(found(path, text).is_empty(), "{path}");
        }
    }

    #[test]
    fn a_file_that_the_host_reads_is_a_note_and_elsewhere_it_is_not_replaced() {
        let text = |key: &str| {
            format!(
                r#"{{"mcpServers": {{"s": {{"{key}": "https://h.example", "headers": {{"A": "${{file:~/t}}"}}}}}}}}"#
            )
        };
        let found = |path: &str, key: &str| found(path, &text(key)).remove(0);
        assert_eq!(
            found(".codeium/windsurf/mcp_config.json", "serverUrl"),
            (
                Severity::Info,
                "Windsurf reads it; for Keyway put the value into a variable".to_owned()
            )
        );
        assert_eq!(found(".cursor/mcp.json", "url").0, Severity::Error);
    }

    #[test]
    fn what_the_host_passes_on_is_reported_with_its_own_way_to_write_it() {
        for (path, text, hint) in [
            (
                ".cursor/mcp.json",
                r#"{"mcpServers": {"s": {"url": "https://h.example", "headers": {"A": "${T}"}}}}"#,
                "write `${env:T}`",
            ),
            (
                "opencode.json",
                r#"{"mcp": {"s": {"type": "remote", "url": "https://h.example", "headers": {"A": "${T}"}}}}"#,
                "write `{env:T}`",
            ),
            (
                ".vscode/mcp.json",
                r#"{"servers": {"s": {"url": "https://h.example", "headers": {"A": "$TOKEN"}}}}"#,
                "write `${env:TOKEN}`",
            ),
            (
                ".codex/config.toml",
                "[mcp_servers.s]\nurl = \"https://h.example\"\nhttp_headers = { Authorization = \"Bearer ${T}\" }\n",
                "name the variable in `bearer_token_env_var`",
            ),
            (
                "claude_desktop_config.json",
                r#"{"mcpServers": {"s": {"command": "x", "env": {"A": "${T}"}}}}"#,
                "Claude Desktop replaces nothing here; start the server through `keyway run`, which fills it in",
            ),
        ] {
            assert_eq!(
                found(path, text),
                [(Severity::Error, hint.to_owned())],
                "{path}"
            );
        }
    }

    #[test]
    fn what_only_the_contract_replaces_is_reported_in_a_file_of_claude_code() {
        let remote = r#""type": "http", "url": "https://h.example""#;
        for (fields, severity, hint) in [
            (
                format!(r#"{remote}, "headers": {{"A": "Bearer ${{env:T}}"}}"#),
                Severity::Error,
                "write `${T}`, which Keyway reads alike",
            ),
            (
                r#""command": "x", "env": {"A": "${env:T:-d}"}"#.to_owned(),
                Severity::Error,
                "write `${T:-d}`, which Keyway reads alike",
            ),
            (
                r#""command": "x", "args": ["${env:T}"]"#.to_owned(),
                Severity::Warning,
                "write `${T}`, which Keyway reads alike",
            ),
            (
                format!(r#"{remote}, "oauth": {{"clientId": "${{T}}"}}"#),
                Severity::Warning,
                "Keyway fills it in; for Claude Code write the value, which is not secret",
            ),
            (
                format!(r#"{remote}, "oauth": {{"clientId": "c", "clientSecret": "${{T}}"}}"#),
                Severity::Warning,
                "Keyway fills it in; Claude Code takes a client secret from its keychain alone",
            ),
        ] {
            let text = format!(r#"{{"mcpServers": {{"s": {{{fields}}}}}}}"#);
            assert_eq!(
                found(".mcp.json", &text),
                [(severity, hint.to_owned())],
                "{fields}"
            );
            // A file without a host's name may be any host's, Keyway's own among them.
            assert!(found("servers.json", &text).is_empty(), "{fields}");
        }
        let plain = r#"{"mcpServers": {"s": {"command": "${C}", "args": ["${A:-b}"], "env": {"T": "${T}"}}}}"#;
        assert!(found(".mcp.json", plain).is_empty());
    }

    #[test]
    fn json_files_of_continue_have_a_form_of_their_own() {
        let path = ".continue/mcpServers/a.json";
        let env = |value: &str| {
            format!(r#"{{"mcpServers": {{"s": {{"command": "x", "env": {{"A": "{value}"}}}}}}}}"#)
        };
        assert!(found(path, &env("${API_KEY}")).is_empty());
        assert_eq!(
            found(path, &env("${{ secrets.API_KEY }}")),
            [(Severity::Error, "write `${API_KEY}`".to_owned())]
        );
        let header = r#"{"mcpServers": {"s": {"type": "http", "url": "https://h.example", "headers": {"A": "${API_KEY}"}}}}"#;
        let (severity, hint) = found(path, header).remove(0);
        assert_eq!(severity, Severity::Error);
        assert!(hint.starts_with("Continue replaces nothing here"), "{hint}");
    }

    #[test]
    fn a_value_that_is_never_asked_for_is_reported() {
        let text = r#"{"inputs": [], "servers": {"s": {"url": "https://h.example", "headers": {"A": "${input:t}"}}}}"#;
        assert_eq!(
            found(".vscode/mcp.json", text)[0].1,
            "declare it in `inputs`, so that VS Code asks for it"
        );
    }
}
