//! `foreign-variable-syntax`: a variable is written the way another host, a shell or a tool does.

mod of_host;

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Field};
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::reference::{
    ForeignReference, ReferenceSyntax, foreign_parts, lookalike, lookalikes_between_separators,
};
use keyway_config::template::environment_name;
use keyway_config::usage::{self, FieldRole};

use super::walk::{named, shown};
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::ForeignVariableSyntax,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: Some(Applicability::Unsafe),
    summary: "A variable is written in another syntax, so it is refused or sent as it stands",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        for (role, field) in usage::fields(server) {
            let place = CheckedField {
                document,
                server,
                role,
                field,
            };
            if document.dialect.is_contract() {
                place.check(report);
                place.check_settings(context, report);
                if document.is_of_contract_host() {
                    place.check_additions(report);
                }
            } else {
                place.check_of_host(report);
            }
        }
    }
}

/// One string of one server.
struct CheckedField<'a> {
    document: &'a Document,
    server: &'a DeclaredServer,
    role: FieldRole<'a>,
    field: &'a Field,
}

impl CheckedField<'_> {
    fn check(&self, report: &mut Report<'_>) {
        let template = &self.field.template;
        for reference in foreign_parts(template).into_iter().take(MOST_PER_STRING) {
            self.refused(&reference, report);
        }
        let known = template.variables().filter_map(|variable| {
            let known = KNOWN_NAMES.iter().find(|(name, ..)| *name == variable.name);
            Some((&variable.range, known?))
        });
        for (range, (name, host, ours)) in known.take(MOST_PER_STRING) {
            let message = format!("{} has `${{{name}}}` of {host}", named(self.role));
            let hint = format!("write `${{{ours}}}`");
            let edits = self.edits(range, &format!("${{{ours}}}"));
            self.finding(range, message, report)
                .severity(Severity::Warning)
                .hint(hint.clone())
                .fix(Applicability::Unsafe, hint, edits);
        }
        let literal = match self.role {
            FieldRole::Header(_) | FieldRole::Env(_) | FieldRole::OAuth(_) => {
                lookalike(template).into_iter().collect()
            }
            FieldRole::Url | FieldRole::Cwd | FieldRole::EnvFile => {
                lookalikes_between_separators(template)
            }
            FieldRole::Command | FieldRole::Argument(_) => Vec::new(),
        };
        for reference in literal.into_iter().take(MOST_PER_STRING) {
            self.sent_as_it_stands(&reference, report);
        }
    }

    /// Reports a setting of a plugin that no manifest asks for.
    fn check_settings(&self, context: &Context<'_>, report: &mut Report<'_>) {
        // A file that is looked at by itself, as hooks do, has its manifest elsewhere.
        let is_apart = !context.plugin.has_manifest() && !report.strict();
        if is_apart && !report.pedantic() {
            return;
        }
        let documents = context.plugin.documents.iter();
        let declared: Vec<&str> = documents
            .flat_map(|document| document.prompts.iter())
            .map(|prompt| prompt.variable.as_str())
            .collect();
        let text = self.field.template.as_str();
        for variable in self.field.template.variables() {
            let written = text.get(variable.range.clone()).unwrap_or_default();
            let is_setting = written.starts_with("${user_config.");
            if !is_setting || declared.contains(&variable.name.as_str()) {
                continue;
            }
            let message = format!(
                "{} has `{}`, which no manifest declares in `userConfig`",
                named(self.role),
                shown(written)
            );
            let mut finding = self.finding(&variable.range, message, report).hint(
                "declare it in the plugin's manifest, so that a person is asked for it, or write `${NAME}`",
            );
            if is_apart {
                finding = finding.severity(Severity::Info);
            }
            let key = written.strip_prefix("${user_config.").unwrap_or_default();
            if let Some(name) = environment_name(key.trim_end_matches('}')) {
                let edits = self.edits(&variable.range, &format!("${{{name}}}"));
                finding.fix(Applicability::Unsafe, format!("write `${{{name}}}`"), edits);
            }
        }
    }

    /// Reports a `${…}` that the contract does not know.
    fn refused(&self, reference: &ForeignReference, report: &mut Report<'_>) {
        let for_program = matches!(self.role, FieldRole::Command | FieldRole::Argument(_));
        if for_program && !is_of_a_host(reference.syntax) {
            return;
        }
        let written = self.field.template.as_str();
        let text = written.get(reference.range.clone()).unwrap_or_default();
        let (place, what) = (named(self.role), reference.syntax.describe());
        let message = match (is_of_a_host(reference.syntax), for_program) {
            (true, true) => format!("{place} has `{}`, {what}", shown(text)),
            (true, false) => format!("{place} has `{}`, {what}{REFUSED}", shown(text)),
            (false, _) => format!("{place} has {what}{REFUSED}"),
        };
        let severity = if for_program {
            Severity::Info
        } else {
            RULE.severity
        };
        let finding = self
            .finding(&reference.range, message, report)
            .severity(severity)
            .hint(hint(reference, for_program));
        if let Some(name) = &reference.name {
            let ours = match &reference.default {
                Some(default) => format!("${{{name}:-{default}}}"),
                None => format!("${{{name}}}"),
            };
            let edits = self.edits(&reference.range, &ours);
            finding.fix(Applicability::Unsafe, format!("write `${{{name}}}`"), edits);
        }
    }

    /// Reports text that looks like a variable to a person and like text to the contract.
    ///
    /// It may be a password after all, so it is not shown unless it plainly is a name.
    fn sent_as_it_stands(&self, reference: &ForeignReference, report: &mut Report<'_>) {
        let (place, what) = (named(self.role), reference.syntax.describe());
        let message = format!("{place} is written in {what}, so it is passed on as it stands");
        let finding = self
            .finding(&reference.range, message, report)
            .severity(Severity::Warning);
        let Some(name) = &reference.name else {
            finding.hint("only `${NAME}` is replaced; let a `headersHelper` run commands");
            return;
        };
        let is_key = matches!(self.role, FieldRole::Env(key) if key.eq_ignore_ascii_case(name));
        let is_plain = is_key || name.contains('_') || reference.syntax != ReferenceSyntax::Shell;
        let edits = self.edits(&reference.range, &format!("${{{name}}}"));
        if is_plain && reference.syntax.is_plain() {
            let ours = format!("write `${{{}}}`", shown(name));
            finding
                .hint(ours.clone())
                // The value is sent afterwards, where the reference was before.
                .fix(Applicability::Unsafe, ours, edits);
        } else {
            finding.hint("write `${NAME}` if it is a variable").fix(
                Applicability::Unsafe,
                "write it as `${NAME}`",
                edits,
            );
        }
    }

    fn finding<'r>(
        &self,
        range: &std::ops::Range<usize>,
        message: String,
        report: &'r mut Report<'_>,
    ) -> super::Finding<'r> {
        let span = self.field.span_of(&self.document.source, range);
        report
            .at(&self.document.source, span, &self.field.pointer, message)
            .server(&self.server.name)
    }

    fn edits(&self, range: &std::ops::Range<usize>, replacement: &str) -> Vec<Edit> {
        let source = &self.document.source;
        let span = self.field.span_of(source, range);
        let quoted = keyway_config::json::quote(replacement);
        let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        vec![Edit::replace(source, span, inner)]
    }
}

/// Says whether the reference can only have been written for another host.
const fn is_of_a_host(syntax: ReferenceSyntax) -> bool {
    matches!(
        syntax,
        ReferenceSyntax::VsCode | ReferenceSyntax::DesktopExtension | ReferenceSyntax::Actions
    )
}

fn hint(reference: &ForeignReference, for_program: bool) -> String {
    let ours = reference
        .name
        .as_ref()
        .map(|name| format!("`${{{}}}`", shown(name)));
    match (reference.syntax, ours) {
        (_, Some(ours)) if for_program => {
            format!("the program gets it as it stands; write {ours} for a variable")
        }
        (_, Some(ours)) => format!("write {ours}, which each person sets in the environment"),
        (ReferenceSyntax::NestedDefault, _) => {
            "a default is plain text; use one variable".to_owned()
        }
        (ReferenceSyntax::Unclosed, _) => {
            "add the `}`, or write `$${` for the characters".to_owned()
        }
        _ => "write `${NAME}` or `${NAME:-default}`, or `$${` for the characters".to_owned(),
    }
}

/// How many findings one string gets; the rest is found once these are fixed.
const MOST_PER_STRING: usize = 32;

/// What becomes of such an entry.
const REFUSED: &str = ", so the server cannot be used";

/// Names that look like variables of the environment, but are another host's own.
const KNOWN_NAMES: &[(&str, &str, &str)] = &[
    ("workspaceFolder", "VS Code", "HOST_PROJECT_DIR"),
    ("workspaceRoot", "VS Code", "HOST_PROJECT_DIR"),
    ("userHome", "VS Code", "HOME"),
    (
        "__dirname",
        "a Claude Desktop extension",
        "HOST_PLUGIN_ROOT",
    ),
    (
        "extensionPath",
        "a Gemini CLI extension",
        "HOST_PLUGIN_ROOT",
    ),
    (
        "workspacePath",
        "a Gemini CLI extension",
        "HOST_PROJECT_DIR",
    ),
];

#[cfg(test)]
mod tests {
    use keyway_code::Code;
    use keyway_config::diagnostic::Severity;
    use keyway_config::edit::Applicability;
    use keyway_config::plugin::Plugin;

    use crate::rules::fixture::{entry, findings, fixed, plugin, pointers, with_manifest};
    use crate::rules::{Context, lint};

    const ID: &str = "foreign-variable-syntax";

    #[test]
    fn the_contracts_own_syntax_is_not_reported() {
        for fields in [
            r#""url": "https://${TENANT_ID}.h.example/mcp", "headers": {"A": "Bearer ${T}"}"#,
            r#""command": "x", "env": {"A": "${A:-b}", "B": "$${c}", "P": "pa$$w0rd$"}"#,
            r#""command": "sh", "args": ["-c", "echo ${X%y} $HOME %A%"], "cwd": "${PLUGIN_ROOT}""#,
            r#""url": "https://h.example/?$top=1", "oauth": {"clientId": "id"}"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }

    #[test]
    fn it_is_an_error_where_something_is_sent_and_a_note_where_a_program_gets_it() {
        for (fields, severity) in [
            (r#""url": "https://${input:host}/mcp""#, Severity::Error),
            (
                r#""url": "u", "headers": {"A": "${A:?x}"}"#,
                Severity::Error,
            ),
            (
                r#""url": "u", "oauth": {"clientId": "${input:id}"}"#,
                Severity::Error,
            ),
            (
                r#""command": "x", "env": {"A": "${{ secrets.A }}"}"#,
                Severity::Error,
            ),
            (r#""command": "x", "cwd": "${A:-${B}}""#, Severity::Error),
            (r#""command": "x", "envFile": "${A""#, Severity::Error),
            (
                r#""command": "x", "args": ["${input:key}"]"#,
                Severity::Info,
            ),
            (
                r#""command": "x", "env": {"A": "$MY_KEY"}"#,
                Severity::Warning,
            ),
            (
                r#""command": "x", "args": ["${workspaceFolder}"]"#,
                Severity::Warning,
            ),
        ] {
            let found = findings(ID, &entry(fields));
            assert_eq!(found.len(), 1, "{fields}");
            assert_eq!(found[0].severity, severity, "{fields}");
        }
    }

    #[test]
    fn references_are_rewritten_in_place() {
        for (before, after) in [
            ("Bearer $API_TOKEN", "Bearer ${API_TOKEN}"),
            ("%API_TOKEN%", "${API_TOKEN}"),
            ("{env:API_TOKEN}", "${API_TOKEN}"),
            ("Bearer ${input:api-token}", "Bearer ${API_TOKEN}"),
            ("${user_config.api_token}", "${API_TOKEN}"),
            ("${{ secrets.API_TOKEN }}", "${API_TOKEN}"),
            ("{{API_TOKEN}}", "${API_TOKEN}"),
            ("${API_TOKEN-a\\\"b}", "${API_TOKEN:-a\\\"b}"),
        ] {
            let text = |value| {
                format!(r#"{{"s": {{"url": "u", "headers": {{"Authorization": "{value}"}}}}}}"#)
            };
            assert_eq!(fixed(ID, &text(before)), text(after));
        }
        assert_eq!(
            fixed(ID, r#"{"s": {"url": "https://$API_HOST/a\/b"}}"#),
            r#"{"s": {"url": "https://${API_HOST}/a\/b"}}"#
        );
    }

    #[test]
    fn what_may_be_a_password_is_neither_shown_nor_changed_without_asking() {
        let found = findings(
            ID,
            &entry(r#""command": "x", "env": {"PASSWORD": "$HUNTER2X"}"#),
        );
        let fix = found[0].fix.as_ref().unwrap();
        assert_eq!(fix.applicability, Applicability::Unsafe);
        let shown = format!("{}{:?}{}", found[0].message, found[0].hint, fix.title);
        assert!(!shown.contains("HUNTER2X"), "{shown}");
        let found = findings(
            ID,
            &entry(r#""command": "x", "env": {"NEO4J_PASS": "$NEO4J_PASS"}"#),
        );
        let fix = found[0].fix.as_ref().unwrap();
        assert_eq!(fix.applicability, Applicability::Unsafe);
    }

    #[test]
    fn an_unclosed_brace_does_not_show_the_rest_of_the_value() {
        let found = findings(ID, &entry(r#""url": "u", "headers": {"A": "x${hunter2"}"#));
        assert!(!format!("{found:?}").contains("hunter2"));
    }

    #[test]
    fn settings_of_a_plugin_are_missed_in_its_manifest_and_not_in_a_file_by_itself() {
        let text = r#"{"s": {"command": "x", "env": {"K": "${user_config.k}"}}}"#;
        let found = |plugin: &Plugin| -> Vec<Severity> {
            let found = lint(&Context::new(plugin)).into_iter();
            let found = found.filter(|it| it.code == Code::ForeignVariableSyntax);
            found.map(|it| it.severity).collect()
        };
        assert!(found(&plugin(text)).is_empty());
        let manifest = |rest: &str| with_manifest(text, &format!(r#"{{"name": "p"{rest}}}"#));
        assert_eq!(found(&manifest("")), [Severity::Error]);
        let declared = r#", "userConfig": {"k": {"type": "string", "title": "K"}}"#;
        assert!(found(&manifest(declared)).is_empty());
    }
}
