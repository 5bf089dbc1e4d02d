//! `env-file-not-ignored`: a file with variables is one `git add` away from being committed.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::plugin::EnvFile;

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::EnvFileNotIgnored,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: None,
    summary: "A `.env` file is not listed in the ignore file of version control",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for file in &context.plugin.snapshot.env_files {
        if file.tracked || file.ignored != Some(false) || is_sample(file) {
            continue;
        }
        let message = format!("`{}` is not ignored by version control", file.path);
        let finding = match context.plugin.env_file_field(&file.path) {
            Some((document, server, field)) => report.field(document, server, field, message),
            None if file.exists => report.file(&context.plugin.shown(&file.path), message),
            None => continue,
        };
        finding.hint(format!("add `{}` to `.gitignore`", file.path));
    }
}

/// Says whether the file is written to be committed: it shows the names and no values.
pub(super) fn is_sample(file: &EnvFile) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let mut parts = name.split('.').skip(1);
    parts.any(|part| SAMPLES.iter().any(|word| part.eq_ignore_ascii_case(word)))
}

const SAMPLES: &[&str] = &["example", "sample", "template", "dist", "defaults"];

#[cfg(test)]
mod tests {
    use keyway_config::plugin::{EnvFile, Plugin};

    use crate::rules::fixture::{entry, findings};

    const ID: &str = "env-file-not-ignored";

    fn plugin(fields: &str, path: &str, ignored: Option<bool>) -> Plugin {
        let mut plugin = entry(fields);
        let mut file = EnvFile::new(path);
        file.ignored = ignored;
        plugin.snapshot.env_files.push(file);
        plugin
    }

    #[test]
    fn a_file_that_is_not_ignored_is_reported_where_it_is_named_or_else_as_a_file() {
        for (fields, place) in [
            (
                r#""command": "node", "envFile": "./.env""#,
                (".mcp.json", "/mcpServers/s/envFile"),
            ),
            (
                r#""command": "node", "envFile": "${CLAUDE_PLUGIN_ROOT}/.env""#,
                (".mcp.json", "/mcpServers/s/envFile"),
            ),
            (r#""command": "node""#, (".env", "")),
        ] {
            let found = findings(ID, &plugin(fields, ".env", Some(false)));
            let location = found[0].location.as_ref().unwrap();
            assert_eq!((&*location.file, location.pointer.as_str()), place);
        }
    }

    #[test]
    fn a_file_that_an_entry_names_is_reported_before_it_exists() {
        let mut named = plugin(
            r#""command": "node", "envFile": ".env""#,
            ".env",
            Some(false),
        );
        named.snapshot.env_files[0].exists = false;
        assert_eq!(findings(ID, &named).len(), 1);
        let mut unnamed = plugin(r#""command": "node""#, ".env", Some(false));
        unnamed.snapshot.env_files[0].exists = false;
        assert!(findings(ID, &unnamed).is_empty());
    }

    #[test]
    fn ignored_files_samples_and_folders_outside_of_version_control_are_left_alone() {
        let fields = r#""command": "node""#;
        for (path, ignored) in [
            (".env", Some(true)),
            (".env", None),
            (".env.example", Some(false)),
            ("conf/.env.sample", Some(false)),
            (".env.template", Some(false)),
        ] {
            assert!(
                findings(ID, &plugin(fields, path, ignored)).is_empty(),
                "{path}"
            );
        }
    }

    #[test]
    fn a_tracked_file_is_left_to_the_rule_about_that() {
        let mut plugin = plugin(r#""command": "node""#, ".env", Some(false));
        plugin.snapshot.env_files[0].tracked = true;
        assert!(findings(ID, &plugin).is_empty());
    }
}
