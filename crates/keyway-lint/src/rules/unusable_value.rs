//! `unusable-value`: with `--env`, a variable is set, but to something that cannot be used.

use keyway_code::Code;
use keyway_config::address::Address;
use keyway_config::declared::{DeclaredServer, Endpoint};
use keyway_config::diagnostic::Severity;
use keyway_config::resolve::{NoteKind, ResolveFault, resolve};

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::UnusableValue,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "With `--env`: the value of a variable does not fit its place, or has stray whitespace",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let Some(scope) = &context.scope else { return };
    for (document, server) in context.plugin.servers() {
        match resolve(server, scope) {
            Ok(spec) => {
                let blanks = spec.notes.iter();
                for note in blanks.filter(|note| note.kind == NoteKind::BlankAround) {
                    let found = note.diagnostic(&server.name);
                    let (span, pointer) = (note.location.span, &note.location.pointer);
                    report
                        .at(&document.source, span, pointer, found.message)
                        .server(&server.name)
                        .severity(found.severity)
                        .hint(found.hint.unwrap_or_default());
                }
            }
            Err(errors) => {
                for error in &errors {
                    if comes_from_a_value(server, &error.fault) {
                        report.resolve_error(document, server, error);
                    }
                }
            }
        }
    }
}

/// Says whether a fault is the value's; what the file itself does wrong has rules of its own.
fn comes_from_a_value(server: &DeclaredServer, fault: &ResolveFault) -> bool {
    match (fault, &server.endpoint) {
        (ResolveFault::HeaderValue { .. } | ResolveFault::ControlCharacter { .. }, _) => true,
        (ResolveFault::Address(_), Endpoint::Remote(remote)) => {
            Address::check(&remote.url.template, server.transport).is_ok()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::environment::Variables;

    use crate::rules::fixture::{entry, findings_with};

    #[test]
    fn a_value_that_does_not_fit_is_reported_without_being_shown() {
        let plugin = entry(
            r#""type": "http", "url": "https://${T}.h.example/", "headers": {"X-Api-Key": "${K}"}"#,
        );
        for (tenant, key, expected) in [
            ("acme", "good", 0),
            ("evil.example/#", "good", 1),
            ("acme", "CANARY\r\nX: y", 1),
            ("acme", "blank ", 1),
        ] {
            let variables = Variables::from_pairs([("T", tenant), ("K", key)]);
            let found = findings_with("unusable-value", &plugin, Some(&variables));
            assert_eq!(found.len(), expected, "{tenant:?} {key:?}");
            let hints = found.iter().filter_map(|found| found.hint.as_deref());
            for hint in hints.filter(|hint| !hint.contains("whitespace")) {
                let name = if tenant == "acme" { "K" } else { "T" };
                assert!(hint.contains(&format!("export {name}=")), "{hint}");
            }
            assert!(found.iter().all(|f| !format!("{f:?}").contains("CANARY")));
        }
    }

    #[test]
    fn a_base_address_that_breaks_a_rule_is_reported() {
        let plugin = entry(r#""type": "http", "url": "${BASE}/mcp""#);
        for (base, expected) in [
            ("https://h.example", 0),
            ("http://h.example", 1),
            ("wss://h.example", 1),
            ("https://0x7f.1", 1),
            ("https://u:CANARY@h.example", 1),
        ] {
            let variables = Variables::from_pairs([("BASE", base)]);
            let found = findings_with("unusable-value", &plugin, Some(&variables));
            assert_eq!(found.len(), expected, "{base}");
            assert!(found.iter().all(|f| !format!("{f:?}").contains("CANARY")));
        }
    }
}
