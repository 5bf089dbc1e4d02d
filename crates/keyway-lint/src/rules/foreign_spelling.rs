//! `foreign-spelling`: a field is written as another host writes it; read, but not everywhere.

use keyway_code::Code;
use keyway_config::declared::{Spelling, SpellingKind};
use keyway_config::diagnostic::Severity;
use keyway_config::document::{Document, Entry};
use keyway_config::edit::{Applicability, Edit};
use keyway_config::json::{Node, Value, quote};

use super::{Context, Report, Rule};

pub(super) const RULE: Rule = Rule {
    id: Code::ForeignSpelling,
    severity: Severity::Warning,
    strict: Severity::Error,
    fix: Some(Applicability::Safe),
    summary: "A field is written as another host writes it: `serverUrl`, `command` as an array, a bare number",
    check,
};

fn check(context: &Context<'_>, report: &mut Report<'_>) {
    for (document, entry) in context.plugin.entries() {
        let Ok(server) = &entry.server else { continue };
        let is_json = document.syntax.is_json();
        for spelling in &server.spellings {
            let (message, hint) = match spelling.kind {
                // Only JSON has to tell a number from the text that it looks like.
                SpellingKind::BareValue { .. } if !is_json => continue,
                SpellingKind::Key { written, canonical } if !document.dialect.is_contract() => (
                    format!("{} does not read `{written}`", document.dialect.name),
                    format!("write `{canonical}`"),
                ),
                SpellingKind::Key { written, canonical } => (
                    format!("`{written}` is another host's name for `{canonical}`"),
                    format!("write `{canonical}`"),
                ),
                SpellingKind::CommandArray => (
                    "`command` is an array; other hosts take one string".to_owned(),
                    "put the program into `command` and the rest into `args`".to_owned(),
                ),
                SpellingKind::BareValue { found } => (
                    format!("this is {found}, read as its text"),
                    "put it in quotes".to_owned(),
                ),
            };
            let finding = report
                .at(&document.source, spelling.span, &spelling.pointer, message)
                .server(&entry.name)
                .hint(hint.clone());
            if let Some(edits) = edits(document, entry, spelling) {
                finding.fix(Applicability::Safe, hint, edits);
            }
        }
    }
}

fn edits(document: &Document, entry: &Entry, spelling: &Spelling) -> Option<Vec<Edit>> {
    let source = &document.source;
    match spelling.kind {
        SpellingKind::Key { canonical, .. } => {
            Some(vec![Edit::replace(source, spelling.span, quote(canonical))])
        }
        SpellingKind::BareValue { .. } => {
            let text = source.slice(spelling.span);
            Some(vec![Edit::replace(source, spelling.span, quote(text))])
        }
        SpellingKind::CommandArray => split_command(document, entry),
    }
}

/// Turns `"command": ["a", "b"]` into `"command": "a", "args": ["b"]`, unless `args` is there too.
fn split_command(document: &Document, entry: &Entry) -> Option<Vec<Edit>> {
    let object = document.object_of(entry)?;
    if object.get("args").is_some() {
        return None;
    }
    let member = object.get("command")?;
    let Value::Array(items) = &member.value.value else {
        return None;
    };
    let words: Vec<String> = items.iter().filter_map(Node::as_str).map(quote).collect();
    let (program, args) = words.split_first()?;
    let text = format!("{program}, \"args\": [{}]", args.join(", "));
    Some(vec![Edit::replace(
        &document.source,
        member.value.span,
        text,
    )])
}

#[cfg(test)]
mod tests {
    use keyway_config::declared::Endpoint;

    use crate::rules::fixture::{entry, fixed, pointers};

    #[test]
    fn what_another_host_writes_is_read_and_reported() {
        for (fields, pointer) in [
            (
                r#""type": "http", "serverUrl": "https://h.example""#,
                "/mcpServers/s/serverUrl",
            ),
            (r#""httpUrl": "https://h.example""#, "/mcpServers/s/httpUrl"),
            (
                r#""command": ["python", "-m", "x"]"#,
                "/mcpServers/s/command",
            ),
            (r#""command": "x", "env": {"N": 5}"#, "/mcpServers/s/env/N"),
            (r#""command": "x", "args": [true]"#, "/mcpServers/s/args/0"),
        ] {
            assert_eq!(
                pointers("foreign-spelling", &entry(fields)),
                [pointer],
                "{fields}"
            );
        }
        let plugin = entry(r#""command": ["python", "-m", "x"], "args": ["y"]"#);
        let (_, server) = plugin.servers().next().unwrap();
        let Endpoint::Local(local) = &server.endpoint else {
            panic!()
        };
        let args: Vec<_> = local
            .args
            .iter()
            .map(|field| field.template.as_str())
            .collect();
        assert_eq!(
            (local.command.template.as_str(), args),
            ("python", vec!["-m", "x", "y"])
        );
    }

    #[test]
    fn the_fixes_write_it_our_way() {
        for (before, after) in [
            (
                r#"{"s": {"serverUrl": "https://h.example"}}"#,
                r#"{"s": {"url": "https://h.example"}}"#,
            ),
            (
                r#"{"s": {"command": ["a", "b", "c"]}}"#,
                r#"{"s": {"command": "a", "args": ["b", "c"]}}"#,
            ),
            (
                r#"{"s": {"command": "a", "env": {"N": 0.2}}}"#,
                r#"{"s": {"command": "a", "env": {"N": "0.2"}}}"#,
            ),
        ] {
            assert_eq!(fixed("foreign-spelling", before), after);
        }
    }
}
