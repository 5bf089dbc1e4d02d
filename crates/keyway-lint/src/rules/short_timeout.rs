//! `short-timeout`: `timeout` is below one second, so it is ignored; seconds were meant, perhaps.

use keyway_code::Code;
use keyway_config::declared::SHORTEST_TIMEOUT_MS;
use keyway_config::diagnostic::Severity;
use keyway_config::edit::{Applicability, Edit};
use keyway_config::json::Value;

use super::walk::contract_objects;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::ShortTimeout,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: Some(Applicability::Unsafe),
    summary: "`timeout` is below 1000 milliseconds, so it is ignored",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, entry, object) in contract_objects(context.plugin) {
        let Some(member) = object.get("timeout") else {
            continue;
        };
        let Value::Number(text) = &member.value.value else {
            continue;
        };
        let Some(number) = text
            .parse::<u64>()
            .ok()
            .filter(|&ms| ms < SHORTEST_TIMEOUT_MS)
        else {
            continue;
        };
        let (source, span) = (&document.source, member.value.span);
        let message =
            format!("`timeout` of {number} ms is ignored; the shortest is {SHORTEST_TIMEOUT_MS}");
        let finding = report
            .at(source, span, &entry.pointer.child("timeout"), message)
            .server(&entry.name);
        if number == 0 {
            finding.hint("remove it");
            continue;
        }
        let meant = number * 1000;
        let edits = vec![Edit::replace(source, span, meant.to_string())];
        finding
            .hint(format!("write `{meant}` if {number} seconds are meant"))
            .fix(Applicability::Unsafe, format!("write `{meant}`"), edits);
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, findings, fixed, pointers};

    const ID: &str = "short-timeout";

    #[test]
    fn only_a_number_below_a_second_is_reported() {
        for fields in [
            r#""command": "x", "timeout": 999"#,
            r#""command": "x", "timeout": 0"#,
        ] {
            assert_eq!(pointers(ID, &entry(fields)), ["/mcpServers/s/timeout"]);
        }
        for value in ["1000", "60000", "\"30\"", "-1", "1e2", "null"] {
            let fields = format!(r#""command": "x", "timeout": {value}"#);
            assert!(pointers(ID, &entry(&fields)).is_empty(), "{value}");
        }
    }

    #[test]
    fn seconds_become_milliseconds() {
        assert_eq!(
            fixed(ID, r#"{"s": {"command": "x", "timeout": 30}}"#),
            r#"{"s": {"command": "x", "timeout": 30000}}"#
        );
        assert!(
            findings(ID, &entry(r#""command": "x", "timeout": 0"#))[0]
                .fix
                .is_none()
        );
    }
}
