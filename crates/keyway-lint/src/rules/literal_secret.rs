//! `literal-secret`: a credential stands in the file itself.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::Document;
use keyway_config::usage::FieldRole;

use super::walk::{UNKNOWN_SYNTAX, asked_for, by_name};
use super::{Context, Report, Rule};
use crate::literals::{Literal, LiteralPlace};
use crate::migrate::judge::{self, Fields};
use crate::secrets::{Reason, Vendor};

pub(super) const RULE: Rule = Rule {
    id: Code::LiteralSecret,
    severity: Severity::Error,
    strict: Severity::Error,
    // A fix would destroy what may be the only copy of the token; `keyway migrate env` moves it.
    fix: None,
    summary: "A token, key or password is written literally in the file",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let mut known: Option<(&Document, Fields<'_>)> = None;
    for (document, literal) in context.literals() {
        if literal.finding.reason == Reason::Default || literal.default_of.is_some() {
            continue;
        }
        // The literals of one document follow each other.
        if known
            .as_ref()
            .is_none_or(|(of, _)| !std::ptr::eq(*of, document))
        {
            known = Some((document, judge::fields(document)));
        }
        let is_movable = known
            .as_ref()
            .is_some_and(|(_, fields)| judge::is_movable(document, fields, literal));
        let what = name_of(literal.finding.vendor);
        let Literal { place, hint, .. } = literal;
        let message = format!("{place} holds a literal {what} (`{hint}`)");
        let finding = report
            .at(&document.source, literal.span, &literal.pointer, message)
            .hint(next_step(document, literal, is_movable));
        if let Some(server) = &literal.server {
            finding.server(server);
        }
    }
}

/// What to call a credential of a vendor.
pub(super) fn name_of(vendor: Option<&Vendor>) -> String {
    match vendor {
        Some(vendor) if vendor.id == "private-key" => "private key".to_owned(),
        Some(vendor) => format!("{} token", vendor.name),
        None => "credential".to_owned(),
    }
}

/// Says what to write instead, as the host of the file reads it.
fn next_step(document: &Document, literal: &Literal, is_movable: bool) -> String {
    const ROTATE: &str = "then rotate it, since it was written down";
    if literal.place == LiteralPlace::Comment {
        return format!("delete it there; {ROTATE}");
    }
    if document.is_of_unknown_host() {
        return format!("{UNKNOWN_SYNTAX}; {ROTATE}");
    }
    let dialect = document.dialect;
    let variable = literal.finding.suggested_variable.as_deref();
    // In `args` a process list would show it, so it is named where it belongs.
    let (role, elsewhere) = match literal.place {
        LiteralPlace::Argument(_) => (
            FieldRole::Env(variable.unwrap_or("VARIABLE")),
            " in `env`, since process lists show arguments",
        ),
        LiteralPlace::Variable(ref name) => (FieldRole::Env(name), ""),
        LiteralPlace::Header(ref name) => (FieldRole::Header(name), ""),
        _ => (FieldRole::Url, ""),
    };
    let written = dialect
        .variables_in(role.place())
        .write(variable.unwrap_or("NAME"));
    let step = match (written, by_name(document, role)) {
        (_, Some(key)) => format!("name a variable in `{key}`"),
        (Some(written), None) if variable.is_some() => format!("use `{written}`{elsewhere}"),
        (Some(_), None) => format!("use a variable{elsewhere}"),
        (None, None) => asked_for(dialect, variable.unwrap_or("NAME")).unwrap_or_else(|| {
            format!(
                "{} replaces no variables: keep the entry in a plugin and start it by `keyway run`",
                dialect.name
            )
        }),
    };
    if is_movable {
        format!("{step}: `keyway migrate env` moves the value; {ROTATE}")
    } else {
        format!("{step}; {ROTATE}")
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{entry, findings, plugin, pointers};

    const ID: &str = "literal-secret";

    #[test]
    fn the_message_names_place_and_vendor_and_four_characters() {
        let token = ["sbp_38db93c4", "def7414fdb269a51", "c07e62b8d3f0475e"].concat();
        let fields = format!(
            r#""type": "http", "url": "https://h.example", "headers": {{"Authorization": "Bearer {token}"}}"#
        );
        let found = findings(ID, &entry(&fields));
        assert_eq!(
            found[0].message,
            "header `Authorization` holds a literal Supabase token (`sbp_…`)"
        );
        assert_eq!(found[0].server.as_deref(), Some("s"));
        assert!(!format!("{found:?}").contains("sbp_3"));
    }

    #[test]
    fn files_that_are_not_loaded_are_searched_all_the_same() {
        for text in [
            r#"{"servers": {"s": {"command": "x", "env": {"API_TOKEN": "not-a-real-token-4711"}}}}"#,
            r#"{"s": {"env": {"API_TOKEN": "not-a-real-token-4711"}}}"#,
            r#"{"s": {"command": "x", // note
                "env": {"API_TOKEN": "not-a-real-token-4711"}}}"#,
        ] {
            assert_eq!(pointers(ID, &plugin(text)).len(), 1, "{text}");
        }
    }

    #[test]
    fn references_placeholders_and_defaults_are_not_literals() {
        for value in [
            "${API_TOKEN}",
            "$API_TOKEN",
            "<your-token>",
            "",
            "${API_TOKEN:-not-a-real-token-4711}",
        ] {
            let fields = format!(r#""command": "x", "env": {{"API_TOKEN": "{value}"}}"#);
            assert!(pointers(ID, &entry(&fields)).is_empty(), "{value}");
        }
    }

    #[test]
    fn the_hint_for_a_comment_is_one_that_can_be_followed() {
        let text = r#"{"s": {"command": "x"} // {"env": {"API_TOKEN": "not-a-real-token-4711"}}
            }"#;
        let found = findings(ID, &plugin(text));
        assert!(found[0].message.starts_with("a comment holds"), "{found:?}");
        let hint = found[0].hint.as_deref().unwrap();
        assert!(hint.starts_with("delete it there") && !hint.contains("migrate"));
    }

    #[test]
    fn no_fix_is_offered_since_it_would_destroy_the_value() {
        let found = findings(
            ID,
            &entry(r#""command": "x", "env": {"API_TOKEN": "not-a-real-token-4711"}"#),
        );
        assert!(found[0].fix.is_none());
        assert!(
            found[0]
                .hint
                .as_ref()
                .unwrap()
                .contains("keyway migrate env")
        );
    }
}
