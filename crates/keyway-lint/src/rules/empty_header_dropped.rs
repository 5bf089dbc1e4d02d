//! `empty-header-dropped`: with `--env`, a header comes out empty and is not sent.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::resolve::{NoteKind, resolve};

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::EmptyHeaderDropped,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: None,
    summary: "With `--env`: a header comes out empty, or with nothing but its scheme, and is not sent",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let Some(scope) = &context.scope else { return };
    for (document, server) in context.plugin.servers() {
        let Ok(spec) = resolve(server, scope) else {
            continue;
        };
        for note in spec
            .notes
            .iter()
            .filter(|note| note.kind == NoteKind::EmptyHeaderDropped)
        {
            let method = spec.method.as_str();
            let message = format!("this header is empty and not sent; the method is `{method}`");
            report
                .at(
                    &document.source,
                    note.location.span,
                    &note.location.pointer,
                    message,
                )
                .server(&server.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::environment::Variables;

    use crate::rules::fixture::{entry, findings_with};

    #[test]
    fn an_empty_default_is_reported_and_a_value_is_not() {
        let plugin = entry(
            r#""type": "http", "url": "https://h.example/", "headers": {"Authorization": "Bearer ${T:-}"}"#,
        );
        let unset = findings_with("empty-header-dropped", &plugin, Some(&Variables::default()));
        assert!(unset[0].message.contains("`oauth`"));
        let set = Variables::from_pairs([("T", "x")]);
        assert!(findings_with("empty-header-dropped", &plugin, Some(&set)).is_empty());
    }
}
