//! `two-entry-files`: `.mcp.json` and `mcp.json` stand in one folder, and hosts read one of them.

use keyway_code::Code;
use keyway_config::diagnostic::Severity;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::source::{Pointer, Span};

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::TwoEntryFiles,
    severity: Severity::Warning,
    strict: Severity::Error,
    fix: None,
    summary: "`mcp.json` stands beside `.mcp.json`; hosts read one of the two",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    let named = |wanted: &str| {
        let mut documents = context.plugin.documents.iter();
        documents.find(|document| is_named(document, wanted) && !document.entries.is_empty())
    };
    let (Some(read), Some(other)) = (named(".mcp.json"), named("mcp.json")) else {
        return;
    };
    // One that says by its `$schema`, or a manifest beside it, that it is another host's is meant
    // to be there.
    if !read.dialect.is_contract() || !other.dialect.is_contract() {
        return;
    }
    let whole = Span::default();
    let message =
        "Claude Code reads `.mcp.json` and not the `mcp.json` beside it; Keyway reads both";
    report
        .at(&other.source, whole, &Pointer::default(), message)
        .hint("move its servers to `.mcp.json`, or give it the `$schema` of Agent Plugins");
}

fn is_named(document: &Document, wanted: &str) -> bool {
    let name = document.source.path().rsplit(['/', '\\']).next();
    document.kind == DocumentKind::Entries && name == Some(wanted)
}

#[cfg(test)]
mod tests {
    use keyway_config::document::{Document, DocumentKind};
    use keyway_config::plugin::Plugin;
    use keyway_config::source::Source;

    use crate::rules::fixture::findings;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let documents = files.iter().map(|(path, text)| {
            let source = Source::new(path, text.as_bytes());
            Document::parse(source, DocumentKind::Entries)
        });
        let plugin = Plugin::new("/p", documents.collect());
        let found = findings("two-entry-files", &plugin).into_iter();
        found
            .map(|it| it.location.unwrap().file.to_string())
            .collect()
    }

    #[test]
    fn the_file_that_claude_code_does_not_read_is_named() {
        let one = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
        let other = r#"{"mcpServers": {"b": {"command": "x"}}}"#;
        assert_eq!(
            found(&[("p/.mcp.json", one), ("p/mcp.json", other)]),
            ["p/mcp.json"]
        );
        assert!(found(&[("p/.mcp.json", one)]).is_empty());
        assert!(found(&[("p/mcp.json", one)]).is_empty());
        assert!(found(&[("p/.mcp.json", one), ("p/mcp.json", "{}")]).is_empty());
    }

    #[test]
    fn a_file_of_another_host_may_stand_there() {
        let one = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
        let agent = r#"{"$schema": "https://agentplugins.example/schemas/1.0.0/mcp.schema.json",
            "mcpServers": {"a": {"type": "stdio", "command": "x"}}}"#;
        assert!(found(&[(".mcp.json", one), ("mcp.json", agent)]).is_empty());
    }
}
