//! `env-file-tracked`: a file with variables is committed already.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;

use super::env_file_not_ignored::is_sample;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::EnvFileTracked,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "A `.env` file is committed to version control",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for file in &context.plugin.snapshot.env_files {
        if !file.tracked || is_sample(file) {
            continue;
        }
        let message = format!("`{}` is committed to version control", file.path);
        let finding = match context.plugin.env_file_field(&file.path) {
            Some((document, server, field)) => report.field(document, server, field, message),
            None => report.file(&context.plugin.shown(&file.path), message),
        };
        finding.hint(format!(
            "`git rm --cached {path}`, add `{path}` to `.gitignore`, and rotate every token in it",
            path = file.path
        ));
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::plugin::EnvFile;

    use crate::rules::fixture::{entry, findings};

    #[test]
    fn committed_files_are_reported_and_committed_samples_are_not() {
        for (path, tracked, expected) in [
            (".env", true, 1),
            (".env.production", true, 1),
            (".env", false, 0),
            (".env.example", true, 0),
        ] {
            let mut plugin = entry(r#""command": "node""#);
            let mut file = EnvFile::new(path);
            file.ignored = Some(false);
            file.tracked = tracked;
            plugin.snapshot.env_files.push(file);
            assert_eq!(
                findings("env-file-tracked", &plugin).len(),
                expected,
                "{path}"
            );
        }
    }
}
