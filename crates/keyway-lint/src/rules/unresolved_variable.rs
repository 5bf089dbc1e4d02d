//! `unresolved-variable`: with `--env`, a variable is unset or empty (the seed's "Token not found").

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::environment::is_host_variable;
use keyway_config::resolve::resolve;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::UnresolvedVariable,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "With `--env`: a variable has neither a value nor a default, so nothing would be sent",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let Some(scope) = &context.scope else { return };
    for (document, server) in context.plugin.servers() {
        let Err(errors) = resolve(server, scope) else {
            continue;
        };
        for error in &errors {
            // The host supplies its own variables when it connects; a person cannot export them.
            let is_missing = |name| !is_host_variable(name);
            if error.unset_variable().is_some_and(is_missing) {
                report.resolve_error(document, server, error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::environment::Variables;

    use crate::rules::fixture::{entry, findings, findings_with};

    #[test]
    fn variables_that_only_the_host_can_set_are_left_alone() {
        let plugin = entry(r#""command": "x", "env": {"D": "${HOST_PLUGIN_DATA}", "T": "${T}"}"#);
        let found = findings_with("unresolved-variable", &plugin, Some(&Variables::default()));
        let messages: Vec<_> = found.iter().map(|f| f.message.as_str()).collect();
        assert_eq!(messages, ["variable `T` is not set"]);
    }

    #[test]
    fn unset_variables_are_reported_only_against_an_environment() {
        let plugin = entry(r#""command": "x", "env": {"A": "${API_TOKEN}", "B": "${B:-d}"}"#);
        let variables = Variables::from_pairs([("API_TOKENS", "x")]);
        assert!(findings("unresolved-variable", &plugin).is_empty());
        let found = findings_with("unresolved-variable", &plugin, Some(&variables));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].message, "variable `API_TOKEN` is not set");
        assert!(
            found[0]
                .hint
                .as_ref()
                .unwrap()
                .contains("`API_TOKENS` is set")
        );
    }
}
