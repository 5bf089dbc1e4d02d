//! `unsupported-schema`: `$schema` names a version of the contract that does not exist here.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::schema_id::{SCHEMA_ID, SchemaKind};

use super::walk::shown;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::UnsupportedSchema,
    severity: Severity::Error,
    strict: Severity::Error,
    fix: None,
    summary: "`$schema` names a version of the contract that is not known",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for document in &context.plugin.documents {
        let Some(schema) = &document.schema else {
            continue;
        };
        let id = schema.template.as_str();
        if SchemaKind::of(id) == SchemaKind::Unsupported {
            let message = format!(
                "`{}` is not a version of the contract known here",
                shown(id)
            );
            report
                .at(&document.source, schema.span, &schema.pointer, message)
                .hint(format!("write `{SCHEMA_ID}`, or use a newer keyway"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixture::{plugin, pointers};

    const ID: &str = "unsupported-schema";

    #[test]
    fn only_an_unknown_id_of_ours_is_reported() {
        let with = |id: &str| plugin(&format!(r#"{{"$schema": "{id}", "mcpServers": {{}}}}"#));
        let newer = with("urn:keyway:mcp:9");
        assert_eq!(pointers(ID, &newer), ["/$schema"]);
        for id in [
            keyway_config::schema_id::SCHEMA_ID,
            "https://json.schemastore.org/mcp.json",
        ] {
            assert!(pointers(ID, &with(id)).is_empty(), "{id}");
        }
        assert!(pointers(ID, &plugin(r#"{"mcpServers": {}}"#)).is_empty());
    }
}
