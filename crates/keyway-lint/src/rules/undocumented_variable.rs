//! `undocumented-variable`: a person who reads the README cannot know that a variable is needed.

use std::collections::HashSet;

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::environment::INHERITED;
use keyway_config::source::Source;
use keyway_config::template::{Variable, is_asked_for};
use keyway_config::usage::uses;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::UndocumentedVariable,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "A variable is used in an entry but not mentioned in the plugin's README",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let readme = context.plugin.snapshot.readme.as_ref();
    // A single file may be private; a folder with a manifest is published.
    if readme.is_none() && !context.plugin.has_manifest() {
        return;
    }
    let mentioned = names_in(readme.map_or("", Source::text));
    let mut seen = HashSet::new();
    let own = uses(context.plugin);
    // The files of an editor in the same folder are the person's own, or tell it themselves.
    for usage in own
        .into_iter()
        .filter(|it| it.document.dialect.is_contract())
    {
        let name = &usage.variable.name;
        if !is_needed(usage.variable) || !seen.insert(name) || mentioned.contains(name.as_str()) {
            continue;
        }
        let message = match readme {
            Some(readme) => format!(
                "variable `{name}` is not mentioned in `{}`",
                context.plugin.name_below(readme.path())
            ),
            None => format!("variable `{name}` is not documented: the plugin has no README"),
        };
        report
            .field(usage.document, usage.server, usage.field, message)
            .hint("`keyway readme --write` lists the variables in the README");
    }
}

/// Says whether a person has to set the variable.
fn is_needed(variable: &Variable) -> bool {
    let has_default = variable
        .default
        .as_deref()
        .is_some_and(|text| !text.is_empty());
    // A host that asks for a value shows what its own declaration says of it.
    let is_asked = is_asked_for(&variable.name);
    !has_default && !is_asked && !INHERITED.contains(&variable.name.as_str())
}

/// The words of a text that may be names of variables.
fn names_in(text: &str) -> HashSet<&str> {
    let belongs = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !belongs(c)).collect()
}

#[cfg(test)]
mod tests {
    use keyway_config::source::Source;

    use crate::rules::fixture::{entry, findings, plugin, pointers, with_manifest};

    const ID: &str = "undocumented-variable";

    fn found(readme: &str, fields: &str) -> Vec<String> {
        let mut plugin = entry(fields);
        plugin.snapshot.readme = Some(Source::new("README.md", readme.as_bytes()));
        pointers(ID, &plugin)
    }

    #[test]
    fn a_variable_is_reported_once_at_its_first_use() {
        let fields = r#""command": "node", "args": ["${TOKEN}"], "env": {"A": "${TOKEN}"}"#;
        assert_eq!(found("# Plugin", fields), ["/mcpServers/s/args/0"]);
    }

    #[test]
    fn only_a_whole_word_counts_as_mentioned() {
        let fields = r#""command": "node", "env": {"A": "${TOKEN}"}"#;
        for readme in ["`TOKEN`", "set TOKEN.", "export TOKEN=…"] {
            assert!(found(readme, fields).is_empty(), "{readme}");
        }
        for readme in ["API_TOKEN", "TOKENS", "token"] {
            assert_eq!(found(readme, fields).len(), 1, "{readme}");
        }
    }

    #[test]
    fn variables_that_need_no_value_from_the_user_are_not_reported() {
        let fields = r#""command": "${HOST_PLUGIN_ROOT}/run", "env": {"H": "${HOME}", "P": "${PORT:-8080}"}"#;
        assert!(found("# Plugin", fields).is_empty());
    }

    #[test]
    fn without_a_readme_only_a_plugin_with_a_manifest_is_reported() {
        let text = r#"{"s": {"command": "node", "env": {"A": "${TOKEN}"}}}"#;
        assert!(pointers(ID, &plugin(text)).is_empty());
        let found = findings(ID, &with_manifest(text, r#"{"name": "p"}"#));
        assert_eq!(
            found[0].message,
            "variable `TOKEN` is not documented: the plugin has no README"
        );
        assert!(found[0].hint.as_ref().unwrap().contains("keyway readme"));
    }
}
