//! `helper-needs-env`: a helper reads variables that it will not get.

use std::collections::HashSet;

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Endpoint, HelperCommand};
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::environment::is_inherited;
use keyway_config::json::quote;
use keyway_config::plugin::Plugin;

use super::{Context, Report, Rule};
use crate::script::{shell_variables, variables_read};

pub(super) const RULE: Rule = Rule {
    id: Code::HelperNeedsEnv,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: Some(Applicability::Unsafe),
    summary: "A `headersHelper` reads variables that the entry's `env` does not pass",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        let Endpoint::Remote(remote) = &server.endpoint else {
            continue;
        };
        let Some(helper) = &remote.helper else {
            continue;
        };
        let mut missing = variables_of(context.plugin, &helper.command);
        let passed: HashSet<&str> = server.env.iter().map(|field| field.name.as_str()).collect();
        missing.retain(|name| !is_inherited(name) && !passed.contains(name.as_str()));
        let (Some(field), false) = (helper.command.first(), missing.is_empty()) else {
            continue;
        };
        let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        let message = format!("the helper reads {names}, which the entry does not pass");
        let finding = report
            .field(document, server, field, message)
            .hint(format!("add {names} to the entry's `env`"));
        if let Some(edit) = pass(document, server, &missing) {
            let title = format!("pass {names} in `env`");
            finding.fix(Applicability::Unsafe, title, vec![edit]);
        }
    }
}

fn variables_of(plugin: &Plugin, command: &HelperCommand) -> Vec<String> {
    if let HelperCommand::Shell(line) = command {
        return shell_variables(line.template.as_str());
    }
    let words = match command {
        HelperCommand::Words(words) => words.as_slice(),
        HelperCommand::Program(field) | HelperCommand::Shell(field) => std::slice::from_ref(field),
    };
    let programs = &plugin.snapshot.programs;
    let scripts = words.iter().filter_map(|word| {
        let program = programs.get(word.template.as_str())?;
        program.script.as_ref()
    });
    scripts.flat_map(variables_read).collect()
}

/// Adds each variable to `env` under its own name, making `env` if there is none.
fn pass(document: &Document, server: &DeclaredServer, names: &[String]) -> Option<Edit> {
    let source = &document.source;
    let entry = document.tree.at(&server.pointer)?.as_object()?;
    let members: Vec<String> = names
        .iter()
        .map(|name| format!("{}: {}", quote(name), quote(&format!("${{{name}}}"))))
        .collect();
    let env = server.env.first().map_or_else(
        || server.pointer.child("env"),
        |passed| passed.value.pointer.parent(),
    );
    let Some(env) = document.tree.at(&env) else {
        let last = entry.members.len().checked_sub(1)?;
        let value = format!("{{{}}}", members.join(", "));
        return Edit::insert_after(source, entry, last, ("env", &value));
    };
    let object = env.as_object()?;
    let Some(last) = object.members.len().checked_sub(1) else {
        return Some(Edit::replace(
            source,
            env.span,
            format!("{{{}}}", members.join(", ")),
        ));
    };
    let mut edits = names.iter().filter_map(|name| {
        let value = quote(&format!("${{{name}}}"));
        Edit::insert_after(source, object, last, (name, &value))
    });
    let mut edit = edits.next()?;
    for next in edits {
        edit.replacement.push_str(&next.replacement);
    }
    Some(edit)
}

#[cfg(test)]
mod tests {
    use keyway_config::edit::{Applicability, apply};
    use keyway_config::plugin::{Plugin, Program, ProgramState};
    use keyway_config::source::Source;

    use crate::rules::fixture::{entry, findings, plugin, pointers};

    const ID: &str = "helper-needs-env";
    const SCRIPT: &str = "#!/bin/sh\nprintf '{\"X-API-Key\": \"%s\"}' \"$API_KEY$SIGNING_SECRET$HOST_MCP_SERVER_URL$HTTPS_PROXY\"\n";

    fn with_script(mut plugin: Plugin) -> Plugin {
        let program = Program::new(
            ProgramState::Executable,
            true,
            Some(Source::new("h.sh", SCRIPT.as_bytes())),
        );
        plugin
            .snapshot
            .programs
            .insert("./h.sh".to_owned(), program);
        plugin
    }

    #[test]
    fn variables_that_the_entry_does_not_pass_are_named_together() {
        for helper in [r#""./h.sh""#, r#"{"command": ["sh", "./h.sh"]}"#] {
            let fields = format!(r#""url": "https://h.example", "headersHelper": {helper}"#);
            let found = findings(ID, &with_script(entry(&fields)));
            assert_eq!(
                found[0].message,
                "the helper reads `API_KEY`, `SIGNING_SECRET`, which the entry does not pass"
            );
        }
    }

    #[test]
    fn a_shell_command_line_is_read_like_a_script() {
        let fields = r#""url": "https://h.example", "headersHelper": "printf %s \"$API_KEY\"""#;
        assert_eq!(
            pointers(ID, &entry(fields)),
            ["/mcpServers/s/headersHelper"]
        );
    }

    #[test]
    fn variables_that_are_passed_or_inherited_are_left_alone() {
        let fields = r#""url": "https://h.example", "headersHelper": "./h.sh",
            "env": {"API_KEY": "${API_KEY}", "SIGNING_SECRET": "${OTHER}"}"#;
        assert!(pointers(ID, &with_script(entry(fields))).is_empty());
        let shell =
            r#""url": "https://h.example", "headersHelper": "cat \"$HOST_PLUGIN_ROOT/x\" $HOME""#;
        assert!(pointers(ID, &entry(shell)).is_empty());
    }

    #[test]
    fn the_fix_passes_them_and_is_left_to_a_person() {
        for env in [
            "",
            r#", "env": {}"#,
            ",\n  \"env\": {\n    \"API_KEY\": \"${API_KEY}\"\n  }",
        ] {
            let text = format!(
                "{{\"s\": {{\n  \"url\": \"https://h.example\",\n  \"headersHelper\": \"./h.sh\"{env}\n}}}}"
            );
            let found = findings(ID, &with_script(plugin(&text)));
            let fix = found[0].fix.as_ref().unwrap();
            assert_eq!(fix.applicability, Applicability::Unsafe);
            let changed = apply(&text, &fix.edits.iter().collect::<Vec<_>>());
            assert!(
                pointers(ID, &with_script(plugin(&changed))).is_empty(),
                "{changed}"
            );
        }
    }
}
