//! `foreign-schema`: `$schema` is another tool's, so it says nothing about this file here.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::DocumentKind;
use keyway_config::schema_id::SchemaKind;

use super::walk::shown;
use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::ForeignSchema,
    severity: Severity::Info,
    strict: Severity::Info,
    fix: None,
    summary: "`$schema` belongs to another tool and is not used",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    // A manifest's `$schema` describes the manifest, which is not ours to describe.
    let documents = context.plugin.documents.iter();
    for document in documents
        .filter(|document| document.kind == DocumentKind::Entries && document.dialect.is_contract())
    {
        let Some(schema) = &document.schema else {
            continue;
        };
        let id = schema.template.as_str();
        if SchemaKind::of(id) == SchemaKind::Foreign {
            let message = format!("`{}` is another tool's schema and is not used", shown(id));
            report
                .at(&document.source, schema.span, &schema.pointer, message)
                .hint("leave it, or map the file in your editor to what `keyway schema` prints");
        }
    }
}

#[cfg(test)]
mod tests {
    use keyway_config::schema_id::SCHEMA_ID;

    use crate::rules::fixture::{plugin, pointers, with_manifest};

    const ID: &str = "foreign-schema";

    #[test]
    fn another_tools_id_is_reported_and_ours_is_not() {
        let with = |id: &str| plugin(&format!(r#"{{"$schema": "{id}", "mcpServers": {{}}}}"#));
        assert_eq!(
            pointers(ID, &with("https://other.example/mcp.json")),
            ["/$schema"]
        );
        assert!(pointers(ID, &with(SCHEMA_ID)).is_empty());
        assert!(pointers(ID, &with("urn:keyway:mcp:9")).is_empty());
    }

    #[test]
    fn the_schema_of_a_manifest_is_its_own_affair() {
        let manifest = r#"{"$schema": "https://other.example/plugin.json", "name": "p"}"#;
        assert!(pointers(ID, &with_manifest("{}", manifest)).is_empty());
    }
}
