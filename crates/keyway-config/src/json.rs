//! JSON as people write it: a tree with a span on everything, and every departure from strict JSON.
//!
//! Reading never gives up. Comments, trailing or missing commas, wrong quotes and missing brackets
//! are each recorded as a [`Fault`] and read as what was meant, so that the rest of the file is
//! still reported. Whether a faulty file may be *used* is decided by the caller. Nesting is bounded.

mod reader;

use std::collections::HashMap;
use std::ops::Range;

use crate::source::{Pointer, Span};

pub use self::reader::{MAX_DEPTH, read};

/// What a text contains.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tree {
    /// The one value; `None` for a text without any.
    pub root: Option<Node>,
    /// Departures from strict JSON in the order of the text, at most [`MAX_FAULTS`].
    pub faults: Vec<Fault>,
}

impl Tree {
    /// Makes a tree of a value in which there are no departures, or none that count.
    #[must_use]
    pub const fn new(root: Option<Node>) -> Self {
        Self {
            root,
            faults: Vec::new(),
        }
    }
}

/// A value and where it stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// From its first byte to its last, quotes and brackets included.
    pub span: Span,
}

/// A JSON value; numbers stay text, since nothing here calculates.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Value {
    /// `null`, or something that could not be read.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as written.
    Number(String),
    /// A string with its escapes resolved.
    String(String),
    /// An array.
    Array(Vec<Node>),
    /// An object.
    Object(Object),
}

/// The members of an object in the order of the text, repeated keys included.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Object {
    /// All members.
    pub members: Vec<Member>,
}

/// A key and its value.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Member {
    /// The key with its escapes resolved.
    pub key: String,
    /// Where the key stands, quotes included.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

/// A departure from strict JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What it is.
    pub kind: FaultKind,
    /// Where.
    pub span: Span,
}

/// The ways in which a text is not strict JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// There is no value at all.
    Empty,
    /// A `//` or `/* */` comment.
    Comment,
    /// A `/*` that never ends.
    UnclosedComment,
    /// A comma before a closing bracket.
    TrailingComma,
    /// Two values with nothing between them.
    MissingComma,
    /// A key that is not followed by a colon.
    MissingColon,
    /// Something other than a key, where a key must stand.
    ExpectedKey,
    /// Something other than a value, where a value must stand.
    ExpectedValue,
    /// A string whose closing quote is missing on its line.
    UnclosedString,
    /// A bracket that is never closed.
    UnclosedBracket,
    /// A closing bracket that fits no opening one.
    StrayBracket,
    /// A string in single quotes.
    SingleQuotes,
    /// A key without quotes.
    UnquotedKey,
    /// A backslash followed by something that JSON does not know.
    BadEscape,
    /// One half of a surrogate pair.
    LoneSurrogate,
    /// A raw control character inside a string.
    ControlCharacter,
    /// A number that JSON does not allow.
    BadNumber,
    /// More text after the value.
    TrailingText,
    /// Nested deeper than [`MAX_DEPTH`]; the inner part was skipped.
    TooDeep,
    /// A file of TOML that is not TOML.
    Toml,
    /// A file of YAML that is not YAML, or more of it than is read.
    Yaml,
}

impl Tree {
    /// Returns the value that a pointer leads to; of a repeated key the last one.
    #[must_use]
    pub fn at(&self, pointer: &Pointer) -> Option<&Node> {
        pointer
            .segments()
            .try_fold(self.root.as_ref()?, |node, key| match &node.value {
                Value::Object(object) => Some(&object.get(&key)?.value),
                Value::Array(items) => items.get(key.parse::<usize>().ok()?),
                _ => None,
            })
    }
}

impl Node {
    /// Returns the string, if it is one.
    #[must_use]
    pub const fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// Returns the object, if it is one.
    #[must_use]
    pub const fn as_object(&self) -> Option<&Object> {
        match &self.value {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Writes the value in one form that does not depend on layout or on the syntax of its file.
    #[must_use]
    pub fn canonical(&self) -> String {
        match &self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(text) => text.clone(),
            Value::String(text) => quote(text),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(Self::canonical).collect();
                format!("[{}]", items.join(","))
            }
            Value::Object(object) => {
                let members = object.members.iter();
                let members: Vec<String> = members
                    .map(|it| format!("{}:{}", quote(&it.key), it.value.canonical()))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }

    /// Returns the kind of value in a person's words.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

impl Object {
    /// Returns the member that counts for `key`: the last one, as in most readers.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Member> {
        self.members.iter().rev().find(|member| member.key == key)
    }

    /// Returns each repeated member together with the first one of that key.
    #[must_use]
    pub fn repeated(&self) -> Vec<(&Member, &Member)> {
        let mut first = HashMap::with_capacity(self.members.len());
        let mut repeated = Vec::new();
        for member in &self.members {
            if let Some(&earlier) = first.get(member.key.as_str()) {
                repeated.push((member, earlier));
            } else {
                first.insert(member.key.as_str(), member);
            }
        }
        repeated
    }
}

impl FaultKind {
    /// Says what is wrong, in a form that follows "not strict JSON:".
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Empty => "the file is empty",
            Self::Comment => "comments are not allowed",
            Self::UnclosedComment => "this comment is not closed",
            Self::TrailingComma => "a comma before a closing bracket is not allowed",
            Self::MissingComma => "a comma is missing here",
            Self::MissingColon => "a colon is missing after this key",
            Self::ExpectedKey => "expected a key in double quotes",
            Self::ExpectedValue => "expected a value",
            Self::UnclosedString => "this string has no closing quote",
            Self::UnclosedBracket => "this bracket is never closed",
            Self::StrayBracket => "this bracket closes nothing",
            Self::SingleQuotes => "strings need double quotes",
            Self::UnquotedKey => "keys need double quotes",
            Self::BadEscape => "unknown escape in a string",
            Self::LoneSurrogate => "half of a surrogate pair",
            Self::ControlCharacter => "raw control character in a string",
            Self::BadNumber => "not a number that JSON allows",
            Self::TrailingText => "text after the end of the document",
            Self::TooDeep => "nested too deeply",
            Self::Toml => "reading stopped here",
            Self::Yaml => "reading stopped here, or the aliases expand to too much",
        }
    }

    /// Says whether the text means the same to every reader that tolerates the fault.
    ///
    /// Such a file is still an error, but what was meant is not in doubt.
    #[must_use]
    pub const fn is_cosmetic(self) -> bool {
        matches!(self, Self::Comment | Self::TrailingComma)
    }
}

/// Returns the part of the text that a range of a decoded string came from.
///
/// `text` is the whole file and `span` the string's, quotes included.
#[must_use]
pub fn span_inside(text: &str, span: Span, decoded: &Range<usize>) -> Span {
    Inside::new(text, span).span_of(decoded)
}

/// The inside of a string as it is written; for many ranges of one string.
#[derive(Debug)]
pub struct Inside {
    /// Where it begins and ends in the file, quotes left out.
    written: Range<usize>,
    /// For each character its offset decoded and as written; empty where the two are the same.
    offsets: Vec<(usize, usize)>,
}

impl Inside {
    /// Reads the string at `span` of the file `text`, quotes included.
    #[must_use]
    pub fn new(text: &str, span: Span) -> Self {
        let string = text.get(span.range()).unwrap_or_default();
        // A scalar of YAML may have no quotes at all, and nothing in it is an escape then.
        if !string.starts_with(['"', '\'']) {
            let written = span.range();
            let offsets = Vec::new();
            return Self { written, offsets };
        }
        // The three quotes of TOML; what is escaped between them is not looked at.
        for quotes in ["\"\"\"", "'''"] {
            if string.len() >= 6 && string.starts_with(quotes) && string.ends_with(quotes) {
                let range = span.range();
                let written = range.start + quotes.len()..range.end - quotes.len();
                let offsets = Vec::new();
                return Self { written, offsets };
            }
        }
        let length = reader::inner_length(string);
        let start = span.start as usize + usize::from(!string.is_empty());
        let inner = text.get(start..start + length).unwrap_or_default();
        let offsets = if inner.contains('\\') {
            reader::decoded_offsets(inner)
        } else {
            Vec::new()
        };
        Self {
            written: start..start + inner.len(),
            offsets,
        }
    }

    /// Returns the part of the file that a range of the decoded string came from.
    #[must_use]
    pub fn span_of(&self, decoded: &Range<usize>) -> Span {
        let find = |offset: usize| {
            if self.offsets.is_empty() {
                return (self.written.start + offset).min(self.written.end);
            }
            let index = self.offsets.partition_point(|&(at, _)| at < offset);
            let found = self.offsets.get(index);
            found.map_or(self.written.end, |&(_, raw)| self.written.start + raw)
        };
        Span::new(find(decoded.start), find(decoded.end))
    }
}

/// Writes `text` as a JSON string, quotes included.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if u32::from(c) < 0x20 => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// How many faults are recorded; a text with more is not worth listing further.
pub const MAX_FAULTS: usize = 64;

#[cfg(test)]
mod tests;
