//! Credentials in comments: in entries that were commented out, and in plain words.

use keyway_config::document::Document;
use keyway_config::json::{self, FaultKind};
use keyway_config::source::{Pointer, Span};
use keyway_secret::hint_of;

use super::{Literal, LiteralPlace, StringRole, Walk};
use crate::secrets::{self, Position};

/// Returns the literal credentials in the comments of a file, each once.
pub(super) fn in_comments(document: &Document) -> Vec<Literal> {
    let spans = if document.syntax.is_json() {
        let faults = document.tree.faults.iter();
        let comments = faults.filter(|fault| fault.kind == FaultKind::Comment);
        comments.map(|fault| fault.span).collect()
    } else {
        hash_comments(document.source.text())
    };
    if spans.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    if document.syntax.is_json() {
        found.extend(in_entries(document.source.text(), &spans));
    }
    for span in &spans {
        for literal in in_words(document.source.text(), *span) {
            let is_new = |known: &Literal| {
                known.span.end <= literal.span.start || literal.span.end <= known.span.start
            };
            if found.iter().all(is_new) {
                found.push(literal);
            }
        }
    }
    found
}

/// Reads what stands in comments as members of objects: a whole entry, or a line of one.
fn in_entries(text: &str, spans: &[Span]) -> Vec<Literal> {
    let readable = uncommented(text, spans);
    let tree = json::read(&readable);
    let mut walk = Walk {
        text: &readable,
        server: None,
        program: None,
        found: Vec::new(),
    };
    if let Some(root) = &tree.root {
        walk.value(root, "", StringRole::Field, &Pointer::default());
    }
    let found = walk.found.into_iter().map(|literal| Literal {
        place: LiteralPlace::Comment,
        pointer: Pointer::default(),
        ..literal
    });
    found.collect()
}

/// Blanks out everything but the comments, and puts brackets around each run of them; every byte
/// keeps its offset.
fn uncommented(text: &str, spans: &[Span]) -> String {
    let mut bytes: Vec<u8> = vec![b' '; text.len()];
    let mut set = |at: usize, byte: u8| {
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
    };
    let mut end_of_last = None;
    let is_blank = |from: usize, to: usize| {
        let between = text.get(from..to);
        between.is_some_and(|between| between.trim().is_empty())
    };
    for span in spans {
        let range = span.range();
        let body = text.get(range.clone()).unwrap_or_default();
        let is_block = body.starts_with("/*");
        let continues = end_of_last.is_some_and(|end| is_blank(end, range.start));
        if let Some(end) = end_of_last.filter(|_| !continues) {
            set(end, b'}');
        }
        let inner = body.len().saturating_sub(if is_block { 4 } else { 2 });
        for (at, byte) in body.bytes().enumerate().skip(2).take(inner) {
            // What is not ASCII is not part of a credential, and would be split.
            set(range.start + at, if byte.is_ascii() { byte } else { b'?' });
        }
        if !continues {
            set(range.start + 1, b'{');
        }
        end_of_last = Some(range.end);
    }
    if let Some(end) = end_of_last {
        set(end, b'}');
    }
    let first = spans.first().map_or(0, |span| span.start as usize);
    set(first.saturating_sub(1).min(first), b'[');
    String::from_utf8(bytes).unwrap_or_default()
}

/// Searches a comment as prose is searched.
fn in_words(text: &str, span: Span) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut start = span.start as usize;
    let body = text.get(span.range()).unwrap_or_default();
    for line in body.split_inclusive('\n') {
        for finding in secrets::find(line.trim_end(), Position::Prose) {
            let literal = line.get(finding.range.clone()).unwrap_or_default();
            let place = Span::new(start + finding.range.start, start + finding.range.end);
            found.push(Literal {
                server: None,
                place: LiteralPlace::Comment,
                pointer: Pointer::default(),
                string_span: place,
                span: place,
                hint: hint_of(literal),
                default_of: None,
                finding,
            });
        }
        start += line.len();
    }
    found
}

/// The comments of TOML and YAML that have a line of their own.
fn hash_comments(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('#') && spans.len() < MOST_COMMENTS {
            spans.push(Span::new(start, start + line.trim_end().len()));
        }
        start += line.len();
    }
    spans
}

const MOST_COMMENTS: usize = 2_000;

#[cfg(test)]
mod tests {
    use keyway_config::document::DocumentKind;
    use keyway_config::source::Source;

    use super::*;

    const TOKEN: &str = "not-a-real-token-4711";

    fn found(path: &str, text: &str) -> Vec<String> {
        let text = text.replace("TOKEN4711", TOKEN);
        let source = Source::new(path, text.as_bytes());
        let document = Document::parse(source, DocumentKind::Entries);
        let found = in_comments(&document);
        let found = found
            .iter()
            .map(|it| document.source.slice(it.span).to_owned());
        found.collect()
    }

    #[test]
    fn an_entry_that_was_commented_out_is_searched() {
        for text in [
            "{\n  \"servers\": {\n    // \"a\": {\n    //   \"command\": \"x\", \"env\": {\"API_TOKEN\": \"TOKEN4711\"}\n    // },\n    \"b\": {\"command\": \"y\"}\n  }\n}\n",
            "{ \"servers\": { /* \"a\": {\"command\": \"x\", \"args\": [\"--token\", \"TOKEN4711\"]} */ } }\n",
            "// {\"a\": {\"env\": {\"API_TOKEN\": \"TOKEN4711\"}}}\n{\"servers\": {}}\n",
            "{\"servers\": {\"b\": {\"command\": \"y\",\n // é \"env\": {\"API_TOKEN\": \"TOKEN4711\"}\n}}}\n",
        ] {
            assert_eq!(found(".vscode/mcp.json", text), [TOKEN], "{text}");
        }
    }

    #[test]
    fn words_and_other_syntaxes_are_searched_for_tokens() {
        let token = ["sbp_38db93c4", "def7414fdb269a51", "c07e62b8d3f0475e"].concat();
        let text = format!("{{ // the old one: {token}\n\"servers\": {{}} }}\n");
        assert_eq!(
            found(".vscode/mcp.json", &text),
            std::slice::from_ref(&token)
        );
        let text = format!("# API_KEY = \"{token}\"\n[mcp_servers.a]\ncommand = \"x\"\n");
        assert_eq!(found(".codex/config.toml", &text), [token]);
        let text = "{ // set your token in the environment, see https://h.example/docs\n\"servers\": {} }\n";
        assert!(found(".vscode/mcp.json", text).is_empty());
    }
}
