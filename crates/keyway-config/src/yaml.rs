//! YAML as the same tree that JSON is read into, so that one reader of entries serves both.
//!
//! The grammar is `saphyr-parser`'s, of which only the events are used. Only the first document of
//! a stream counts. An alias is read as a copy of what it names, within a budget, since a few lines
//! of aliases can stand for gigabytes. Like JSON's, the tree keeps a repeated key.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span as YamlSpan};

use crate::json::{Fault, FaultKind, MAX_DEPTH, Member, Node, Object, Tree, Value};
use crate::source::{BYTE_ORDER_MARK, Span};

/// Reads `text`, which may begin with a byte order mark.
#[must_use]
pub fn read(text: &str) -> Tree {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut reader = Reader {
        parser: Parser::new_from_str(body),
        offsets: Offsets::new(body, text.len() - body.len()),
        anchors: HashMap::new(),
        budget: MAX_NODES,
    };
    match reader.document() {
        Ok(root) => Tree {
            root,
            faults: Vec::new(),
        },
        Err(span) => {
            let kind = FaultKind::Yaml;
            Tree {
                root: None,
                faults: vec![Fault { kind, span }],
            }
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    offsets: Offsets,
    /// What an alias stands for, and how many nodes that are.
    anchors: HashMap<usize, (Node, usize)>,
    /// How many nodes may still be made.
    budget: usize,
}

/// Where reading stopped; the parser's own words may quote the file and are left out.
type Stopped = Span;

impl Reader<'_> {
    /// Reads the first document; `None` for a stream without one.
    fn document(&mut self) -> Result<Option<Node>, Stopped> {
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
                (Event::StreamEnd | Event::DocumentEnd, _) => return Ok(None),
                (event, span) => return self.node(event, span, 0).map(Some),
            }
        }
    }

    fn node(&mut self, event: Event<'_>, span: Span, depth: usize) -> Result<Node, Stopped> {
        let before = self.budget;
        self.budget = before.checked_sub(1).ok_or(span)?;
        if depth > MAX_DEPTH {
            return Err(span);
        }
        let (value, anchor, end) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.is_some();
                let value = if is_text {
                    Value::String(text.into_owned())
                } else {
                    plain(&text)
                };
                (value, anchor, span.end)
            }
            Event::SequenceStart(anchor, _) => {
                let (items, end) = self.sequence(depth)?;
                (Value::Array(items), anchor, end)
            }
            Event::MappingStart(anchor, _) => {
                let (object, end) = self.mapping(depth)?;
                (Value::Object(object), anchor, end)
            }
            Event::Alias(anchor) => return self.alias(anchor, span),
            _ => return Err(span),
        };
        let span = Span {
            start: span.start,
            end: end.max(span.end),
        };
        let node = Node { value, span };
        if anchor > 0 {
            self.anchors
                .insert(anchor, (node.clone(), before - self.budget));
        }
        Ok(node)
    }

    /// Copies what an anchor names; the copy stands where the alias does.
    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, Stopped> {
        let (node, size) = self.anchors.get(&anchor).ok_or(span)?;
        self.budget = self.budget.checked_sub(*size).ok_or(span)?;
        Ok(Node {
            value: node.value.clone(),
            span,
        })
    }

    fn sequence(&mut self, depth: usize) -> Result<(Vec<Node>, u32), Stopped> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok((items, span.end));
            }
            items.push(self.node(event, span, depth + 1)?);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<(Object, u32), Stopped> {
        let mut object = Object::default();
        loop {
            let (event, key_span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok((object, key_span.end));
            }
            let Event::Scalar(key, ..) = event else {
                return Err(key_span);
            };
            let key = key.into_owned();
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            object.members.push(Member {
                key,
                key_span,
                value,
            });
        }
    }

    fn next(&mut self) -> Result<(Event<'static>, Span), Stopped> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((owned(event), self.offsets.span(span))),
            Some(Err(error)) => {
                let at = self.offsets.byte(error.marker().index());
                Err(Span::new(at, at))
            }
            None => Err(Span::default()),
        }
    }
}

/// Separates an event from the text that it was read from.
fn owned(event: Event<'_>) -> Event<'static> {
    let tag = |tag: Option<std::borrow::Cow<'_, saphyr_parser::Tag>>| {
        tag.map(|tag| std::borrow::Cow::Owned(tag.into_owned()))
    };
    match event {
        Event::Nothing => Event::Nothing,
        Event::StreamStart => Event::StreamStart,
        Event::StreamEnd => Event::StreamEnd,
        Event::DocumentStart(explicit) => Event::DocumentStart(explicit),
        Event::DocumentEnd => Event::DocumentEnd,
        Event::Alias(anchor) => Event::Alias(anchor),
        Event::Scalar(text, style, anchor, given) => {
            Event::Scalar(text.into_owned().into(), style, anchor, tag(given))
        }
        Event::SequenceStart(anchor, given) => Event::SequenceStart(anchor, tag(given)),
        Event::SequenceEnd => Event::SequenceEnd,
        Event::MappingStart(anchor, given) => Event::MappingStart(anchor, tag(given)),
        Event::MappingEnd => Event::MappingEnd,
    }
}

/// What a scalar without quotes is, by YAML's core schema as far as configuration uses it.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => {
            let begins =
                text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
            if begins && text.parse::<f64>().is_ok() {
                Value::Number(text.to_owned())
            } else {
                Value::String(text.to_owned())
            }
        }
    }
}

/// The parser counts characters, a span counts bytes.
struct Offsets {
    /// The byte at which each block of [`BLOCK`] characters begins; empty if every character is one
    /// byte.
    blocks: Vec<usize>,
    text: String,
    skipped: usize,
}

impl Offsets {
    fn new(text: &str, skipped: usize) -> Self {
        let blocks = if text.is_ascii() {
            Vec::new()
        } else {
            let starts = text.char_indices().step_by(BLOCK);
            starts.map(|(at, _)| at).collect()
        };
        let text = if blocks.is_empty() { "" } else { text };
        Self {
            blocks,
            text: text.to_owned(),
            skipped,
        }
    }

    fn span(&self, span: YamlSpan) -> Span {
        Span::new(self.byte(span.start.index()), self.byte(span.end.index()))
    }

    fn byte(&self, character: usize) -> usize {
        let Some(&start) = self.blocks.get(character / BLOCK) else {
            let end = if self.blocks.is_empty() {
                character
            } else {
                self.text.len()
            };
            return self.skipped + end;
        };
        let rest = self.text.get(start..).unwrap_or_default();
        let inside = rest.char_indices().nth(character % BLOCK);
        self.skipped + start + inside.map_or(rest.len(), |(at, _)| at)
    }
}

/// How many values one file may hold, aliases counted as what they stand for.
const MAX_NODES: usize = 200_000;

const BLOCK: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Pointer;

    fn at(text: &str, keys: &[&str]) -> (String, String) {
        let tree = read(text);
        assert!(tree.faults.is_empty(), "{:?}", tree.faults);
        let pointer = keys
            .iter()
            .fold(Pointer::default(), |pointer, key| pointer.child(key));
        let node = tree.at(&pointer).unwrap();
        let written = text.get(node.span.range()).unwrap().to_owned();
        (format!("{:?}", node.value), written)
    }

    const TEXT: &str = "# é\nextensions:\n  a:\n    cmd: npx\n    args: [-y, \"b c\"]\n    timeout: 300\n    \
                        enabled: true\n    envs: {K: 'ü'}\n";

    #[test]
    fn every_value_keeps_its_kind_and_place() {
        for (keys, value, written) in [
            (&["cmd"][..], "String(\"npx\")", "npx"),
            (&["args", "1"], "String(\"b c\")", "\"b c\""),
            (&["timeout"], "Number(\"300\")", "300"),
            (&["enabled"], "Bool(true)", "true"),
            (&["envs", "K"], "String(\"ü\")", "'ü'"),
        ] {
            let path = [&["extensions", "a"], keys].concat();
            assert_eq!(at(TEXT, &path), (value.to_owned(), written.to_owned()));
        }
    }

    #[test]
    fn an_alias_is_a_copy_and_aliases_of_aliases_are_bounded() {
        let (value, written) = at("a: &x {k: v}\nb: *x\n", &["b", "k"]);
        assert_eq!((value.as_str(), written.as_str()), ("String(\"v\")", "v"));
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = level - 1;
            let many = vec![format!("*a{before}"); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{many}]\n"));
        }
        assert_eq!(read(&text).faults[0].kind, FaultKind::Yaml);
    }

    #[test]
    fn a_fault_is_located_and_leaves_no_tree() {
        let tree = read("a: [1\nb: 2\n");
        assert!(tree.root.is_none());
        assert_eq!(tree.faults[0].kind, FaultKind::Yaml);
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(!read(&deep).faults.is_empty());
    }

    #[test]
    fn repeated_keys_stay_and_only_the_first_document_counts() {
        let tree = read("a: 1\na: 2\n---\nb: 3\n");
        let root = tree.root.unwrap();
        let object = root.as_object().unwrap();
        assert_eq!(object.members.len(), 2);
        assert_eq!(object.repeated().len(), 1);
    }
}
