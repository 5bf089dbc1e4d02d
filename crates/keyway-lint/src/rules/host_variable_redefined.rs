//! `host-variable-redefined`: `env` defines a variable that only the host may set.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::environment::is_host_variable;
use keyway_config::json::Node;

use super::walk::contract_objects;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::HostVariableRedefined,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: Some(Applicability::Unsafe),
    summary: "`env` defines a variable that only the host may set",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, entry, object) in contract_objects(context.plugin) {
        let Some(env) = object
            .get("env")
            .and_then(|member| member.value.as_object())
        else {
            continue;
        };
        for (index, member) in env.members.iter().enumerate() {
            let name = member.key.as_str();
            if !is_host_variable(name) {
                continue;
            }
            let pointer = entry.pointer.child("env").child(name);
            let removal = Edit::remove_member(&document.source, env, index);
            let (severity, applicability) = if passes_itself_on(name, &member.value) {
                (Severity::Warning, Applicability::Safe)
            } else {
                (Severity::Error, Applicability::Unsafe)
            };
            report
                .at(
                    &document.source,
                    member.key_span,
                    &pointer,
                    format!("`env` defines `{name}`, which only the host may set"),
                )
                .server(&entry.name)
                .severity(severity)
                .hint("remove it, or choose another name; the host sets it by itself")
                .fix(
                    applicability,
                    format!("remove `{name}`"),
                    removal.into_iter().collect(),
                );
        }
    }
}

/// Says whether the value is what the host sets anyway, as in `"X": "${X}"`.
fn passes_itself_on(name: &str, value: &Node) -> bool {
    value
        .as_str()
        .is_some_and(|text| text == format!("${{{name}}}"))
}

#[cfg(test)]
mod tests {
    use keyway_config::diagnostic::Severity;
    use keyway_config::environment::HOST_VARIABLES;

    use crate::rules::fixture::{entry, findings, fixed, pointers};

    const ID: &str = "host-variable-redefined";

    #[test]
    fn every_host_variable_and_alias_is_reported() {
        for (name, aliases) in HOST_VARIABLES {
            for name in std::iter::once(name).chain(*aliases) {
                let fields = format!(r#""command": "x", "env": {{"{name}": "/tmp"}}"#);
                let expected = format!("/mcpServers/s/env/{name}");
                assert_eq!(pointers(ID, &entry(&fields)), [expected]);
            }
        }
    }

    #[test]
    fn passing_on_what_the_host_sets_is_only_a_warning() {
        for (value, severity) in [
            ("${PLUGIN_ROOT}", Severity::Warning),
            ("${PLUGIN_ROOT}/x", Severity::Error),
            ("/tmp", Severity::Error),
        ] {
            let plugin = entry(&format!(
                r#""command": "x", "env": {{"PLUGIN_ROOT": "{value}"}}"#
            ));
            assert_eq!(findings(ID, &plugin)[0].severity, severity, "{value}");
        }
    }

    #[test]
    fn other_variables_and_uses_of_a_host_variable_are_not_reported() {
        for fields in [
            r#""command": "${HOST_PLUGIN_ROOT}/run", "env": {"ROOT": "${HOST_PLUGIN_ROOT}"}"#,
            r#""url": "https://h.example", "headers": {"PLUGIN_ROOT": "x"}"#,
            r#""command": "x", "env": []"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }

    #[test]
    fn the_fix_removes_the_variable_and_leaves_the_others() {
        assert_eq!(
            fixed(
                ID,
                r#"{"s": {"command": "x", "env": {"PLUGIN_ROOT": "/", "A": "b"}}}"#
            ),
            r#"{"s": {"command": "x", "env": {"A": "b"}}}"#
        );
    }
}
