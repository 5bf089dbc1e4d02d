//! `whitespace-in-value`: a value begins or ends with a space or a line break, mostly by accident.

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Field};
use keyway_config::diagnostic::Severity;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::usage::{self, FieldRole};

use super::walk::named;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::WhitespaceInValue,
    severity: Severity::Warning,
    strict: Severity::Warning,
    fix: Some(Applicability::Unsafe),
    summary: "A value begins or ends with a space or a line break, which is passed on",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, server) in context.plugin.servers() {
        for (role, field) in usage::fields(server) {
            let text = field.template.as_str();
            let trimmed = text.trim();
            if trimmed.len() == text.len() || is_meant(server, role, trimmed) {
                continue;
            }
            let before = text.len() - text.trim_start().len();
            let after = text.trim_end().len().max(before);
            let side = match (before > 0, after < text.len()) {
                (true, true) => "begins and ends",
                (true, false) => "begins",
                _ => "ends",
            };
            let blanks = [0..before, after..text.len()];
            let spans = blanks.iter().filter(|range| !range.is_empty());
            let edits = spans
                .map(|range| field.span_of(&document.source, range))
                .map(|span| Edit::replace(&document.source, span, ""))
                .collect();
            let what = kind(text, trimmed);
            let message = format!("{} {side} with {what}", named(role));
            report
                .field(document, server, field, message)
                .hint("remove it")
                // Another value is sent afterwards.
                .fix(Applicability::Unsafe, "trim the value", edits);
        }
    }
}

/// Says whether the author may have meant the blanks.
fn is_meant(server: &DeclaredServer, role: FieldRole<'_>, trimmed: &str) -> bool {
    // A key or a script of several lines ends with a line break, and a separator is a blank.
    let is_text = trimmed.contains('\n') || !trimmed.contains(char::is_alphanumeric);
    match role {
        FieldRole::Env(_) => is_text,
        FieldRole::Argument(number) => is_text || follows_a_script_flag(server, number),
        FieldRole::Command
        | FieldRole::Cwd
        | FieldRole::EnvFile
        | FieldRole::Url
        | FieldRole::Header(_)
        | FieldRole::OAuth(_) => false,
    }
}

/// Says whether the argument before the one with this number announces a piece of program text.
fn follows_a_script_flag(server: &DeclaredServer, number: usize) -> bool {
    let keyway_config::declared::Endpoint::Local(local) = &server.endpoint else {
        return false;
    };
    let before = number
        .checked_sub(2)
        .and_then(|index| local.args.get(index));
    let flag = before.map(|field: &Field| field.template.as_str());
    matches!(
        flag,
        Some("-c" | "-lc" | "-e" | "--eval" | "-p" | "--print")
    )
}

fn kind(text: &str, trimmed: &str) -> &'static str {
    let around = text.replacen(trimmed, "", 1);
    if around.contains(['\n', '\r']) {
        "a line break"
    } else {
        "a space"
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, findings, fixed, pointers};

    const ID: &str = "whitespace-in-value";

    #[test]
    fn blanks_around_values_are_reported_with_the_name_of_the_field() {
        for (fields, message) in [
            (
                r#""url": " https://h.example""#,
                "`url` begins with a space",
            ),
            (
                r#""url": "u", "headers": {"X-API-Key": "${K} "}"#,
                "header `X-API-Key` ends with a space",
            ),
            (
                r#""command": "x", "env": {"TOKEN": "\t${T}\n"}"#,
                "variable `TOKEN` begins and ends with a line break",
            ),
            (
                r#""command": "x", "args": ["a", "--b "]"#,
                "argument 2 ends with a space",
            ),
            (
                r#""url": "u", "oauth": {"clientId": "${C}\u00a0"}"#,
                "`oauth.clientId` ends with a space",
            ),
        ] {
            let found = findings(ID, &entry(fields));
            assert_eq!(found.len(), 1, "{fields}");
            assert_eq!(found[0].message, message);
        }
    }

    #[test]
    fn separators_scripts_and_keys_of_several_lines_are_not_reported() {
        for fields in [
            r#""url": "https://h.example", "headers": {"A": "Bearer ${T}"}"#,
            r#""command": "x", "args": [" ", "--separator", ", "], "env": {"IFS": " \t"}"#,
            r#""command": "sh", "args": ["-c", " exec server "]"#,
            r#""command": "x", "args": ["import a\nrun()\n"]"#,
            r#""command": "x", "env": {"PEM": "-----BEGIN\nabc\n-----END\n"}"#,
        ] {
            assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
        }
    }

    #[test]
    fn the_fix_trims_both_sides_and_nothing_else() {
        assert_eq!(
            fixed(
                ID,
                r#"{"s": {"url": "\n https://h.example/a\/b\t", "headers": {"A": " "}}}"#
            ),
            r#"{"s": {"url": "https://h.example/a\/b", "headers": {"A": ""}}}"#
        );
    }
}
