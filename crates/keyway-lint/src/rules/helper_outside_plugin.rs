//! `helper-outside-plugin`: a helper is not part of the plugin that names it.
//!
//! A project's file is another matter: Claude Code runs what it names, wherever that lies, and Keyway
//! does not. That is told, and is no fault of the file.

use keyway_code::Code;
use keyway_config::declared::{Endpoint, Field, HelperCommand};
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::environment::is_host_variable;
use keyway_config::plugin::Plugin;
use keyway_config::template::Part;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::HelperOutsidePlugin,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A `headersHelper` is outside the plugin folder, after following links",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let Some(field) = remote
            .helper
            .as_ref()
            .and_then(|helper| contained(&helper.command))
        else {
            continue;
        };
        let text = field.template.as_str();
        let program = context.plugin.snapshot.programs.get(text);
        if program.is_none_or(|program| program.inside_root) {
            continue;
        }
        if is_of_project(context.plugin, document) && !report.strict() {
            let message = format!(
                "helper `{}` is outside the folder of the file, where Keyway runs none",
                shown(field)
            );
            let hint = "Claude Code runs it; for Keyway it has to lie in that folder";
            let finding = report.field(document, server, field, message);
            finding.severity(Severity::Info).hint(hint);
        } else {
            let message = format!("helper `{}` is outside the plugin folder", shown(field));
            report
                .field(document, server, field, message)
                .hint("move the script into the plugin and name it by `${HOST_PLUGIN_ROOT}/…`");
        }
    }
}

/// Says whether Claude Code reads the file in a project, and not as a part of a plugin.
pub(super) fn is_of_project(plugin: &Plugin, document: &Document) -> bool {
    document.is_of_contract_host() && !plugin.has_manifest()
}

/// The text that must name a file of the plugin: any path, or a word that is a relative one.
fn contained(command: &HelperCommand) -> Option<&Field> {
    match command {
        HelperCommand::Program(field) => Some(field),
        HelperCommand::Words(words) => words.first().filter(|word| is_relative(word)),
        HelperCommand::Shell(_) => None,
    }
}

fn is_relative(word: &Field) -> bool {
    match word.template.parts().first() {
        Some(Part::Variable(variable)) => is_host_variable(&variable.name),
        Some(Part::Literal { text, .. }) => text.starts_with("./") || text.starts_with("../"),
        _ => false,
    }
}

/// The program as written, without arguments, which may hold anything.
pub(super) fn shown(field: &Field) -> String {
    let text = field.template.as_str();
    let program = text.split_whitespace().next().unwrap_or_default();
    keyway_secret::printable(program)
}

#[cfg(test)]
mod tests {
    use keyway_config::diagnostic::Severity;
    use keyway_config::document::{Document, DocumentKind};
    use keyway_config::plugin::{Plugin, Program, ProgramState};
    use keyway_config::source::Source;

    use crate::rules::fixture::{entry, findings, pointers};

    fn with_helper(helper: &str) -> Plugin {
        entry(&format!(
            r#""type": "http", "url": "https://h.example", "headersHelper": {helper}"#
        ))
    }

    fn found(helper: &str, key: &str, inside_root: bool) -> usize {
        let mut plugin = with_helper(helper);
        let program = Program::new(ProgramState::Executable, inside_root, None);
        plugin.snapshot.programs.insert(key.to_owned(), program);
        pointers("helper-outside-plugin", &plugin).len()
    }

    #[test]
    fn a_path_that_leads_out_of_the_plugin_is_reported() {
        assert_eq!(found(r#""../h.sh""#, "../h.sh", false), 1);
        assert_eq!(found(r#""/opt/h.sh""#, "/opt/h.sh", false), 1);
        assert_eq!(found(r#"{"command": ["../h.sh"]}"#, "../h.sh", false), 1);
    }

    #[test]
    fn a_project_may_name_programs_of_the_machine_and_a_plugin_may_not() {
        let mut project = with_helper(r#""/opt/h.sh""#);
        let program = Program::new(ProgramState::Missing, false, None);
        let programs = &mut project.snapshot.programs;
        programs.insert("/opt/h.sh".to_owned(), program);
        let severities = |plugin: &Plugin| -> Vec<Severity> {
            let found = findings("helper-outside-plugin", plugin).into_iter();
            found.map(|it| it.severity).collect()
        };
        assert_eq!(severities(&project), [Severity::Info]);
        // Whether it is on this machine says nothing about the file.
        assert!(pointers("helper-not-executable", &project).is_empty());
        let manifest = Source::new(".claude-plugin/plugin.json", br#"{"name": "p"}"#);
        let manifest = Document::parse(manifest, DocumentKind::Manifest);
        let mut plugin = project;
        plugin.documents.push(manifest);
        assert_eq!(severities(&plugin), [Severity::Error]);
        assert_eq!(pointers("helper-not-executable", &plugin).len(), 1);
    }

    #[test]
    fn helpers_of_the_plugin_and_commands_of_the_system_are_left_alone() {
        assert_eq!(found(r#""./h.sh""#, "./h.sh", true), 0);
        assert_eq!(
            found(
                r#"{"command": ["/usr/bin/gcloud"]}"#,
                "/usr/bin/gcloud",
                false
            ),
            0
        );
        assert_eq!(found(r#"{"command": ["gcloud"]}"#, "gcloud", false), 0);
        assert_eq!(found(r#""gcloud token""#, "gcloud token", false), 0);
        assert_eq!(found(r#""./unknown.sh""#, "./other.sh", false), 0);
    }
}
