//! `helper-not-executable`: the helper that an entry names cannot be run.

use keyway_code::Code;
use keyway_config::declared::{Endpoint, Field, HelperCommand};
use keyway_config::diagnostic::Severity;
use keyway_config::plugin::{Plugin, ProgramState, below_root};
use keyway_config::template::Template;

use super::helper_outside_plugin::{is_of_project, shown};
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::HelperNotExecutable,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A `headersHelper` is missing or may not be executed",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let Some(command) = remote.helper.as_ref().map(|helper| &helper.command) else {
            continue;
        };
        let Some(field) = command.first() else {
            continue;
        };
        let program = context
            .plugin
            .snapshot
            .programs
            .get(field.template.as_str());
        // What a project names elsewhere need not be on every machine.
        let is_outside = program.is_some_and(|program| !program.inside_root);
        if is_outside && is_of_project(context.plugin, document) {
            continue;
        }
        let name = shown(field);
        match program.map(|program| program.state) {
            Some(ProgramState::Missing) if !matches!(command, HelperCommand::Shell(_)) => {
                let finding = report
                    .field(
                        document,
                        server,
                        field,
                        format!("helper `{name}` does not exist"),
                    )
                    .hint("add the script to the plugin, or correct the path");
                // Without a manifest this may be a file looked at apart from its plugin.
                if !context.plugin.has_manifest() && !context.strict {
                    finding.severity(Severity::Warning);
                }
            }
            Some(ProgramState::NotExecutable) => {
                report
                    .field(
                        document,
                        server,
                        field,
                        format!("helper `{name}` may not be executed"),
                    )
                    .hint(format!(
                        "`chmod +x {}`, and commit that",
                        file(context.plugin, field)
                    ));
            }
            _ => {}
        }
    }
}

/// The file as a person would name it on the command line.
fn file(plugin: &Plugin, field: &Field) -> String {
    let name = Template::parse(&shown(field));
    below_root(&name).map_or_else(|| name.to_string(), |below| plugin.shown(&below))
}

#[cfg(test)]
mod tests {
    use keyway_config::diagnostic::{Diagnostic, Severity};
    use keyway_config::document::{Document, DocumentKind};
    use keyway_config::plugin::{Plugin, Program, ProgramState};
    use keyway_config::source::Source;

    use crate::rules::fixture::{entry, findings};

    fn plugin(state: ProgramState) -> Plugin {
        let mut plugin =
            entry(r#""type": "http", "url": "https://h.example", "headersHelper": "./h.sh""#);
        let program = Program::new(state, true, None);
        plugin
            .snapshot
            .programs
            .insert("./h.sh".to_owned(), program);
        plugin
    }

    fn found(plugin: &Plugin) -> Vec<Diagnostic> {
        findings("helper-not-executable", plugin)
    }

    #[test]
    fn a_missing_helper_is_worse_in_a_finished_plugin() {
        let mut plugin = plugin(ProgramState::Missing);
        assert_eq!(found(&plugin)[0].severity, Severity::Warning);
        let manifest = Source::new("plugin.json", br#"{"name": "p"}"#);
        plugin
            .documents
            .push(Document::parse(manifest, DocumentKind::Manifest));
        assert_eq!(found(&plugin)[0].severity, Severity::Error);
    }

    #[test]
    fn a_helper_without_the_executable_bit_is_an_error_with_the_command_that_helps() {
        let found = found(&plugin(ProgramState::NotExecutable));
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].hint.as_ref().unwrap().contains("chmod +x ./h.sh"));
    }

    #[test]
    fn a_helper_that_can_be_run_is_left_alone() {
        assert!(found(&plugin(ProgramState::Executable)).is_empty());
    }
}
