//! A file's text under the name a person knows it by, and positions inside it.

#![expect(
    clippy::exhaustive_enums,
    reason = "rules, approvals and transports decide about every variant; a new one must not compile unnoticed"
)]

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The text of one file, read once. Clones share it; `Debug` shows the path alone.
#[derive(Clone)]
pub struct Source {
    path: Arc<str>,
    text: Arc<Text>,
    defect: Option<Defect>,
    folder: Option<Arc<Path>>,
}

/// A text with what is needed to find a line and a column quickly.
struct Text {
    text: String,
    line_starts: Vec<u32>,
    /// How many characters stand before each block of [`BLOCK`] bytes.
    characters: Vec<u32>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("path", &self.path)
            .field("defect", &self.defect)
            .finish_non_exhaustive()
    }
}

/// What is wrong with a file as a whole, before its text is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// It is larger than is read; its text was dropped.
    TooLarge {
        /// How many bytes it has.
        bytes: usize,
    },
    /// It is not UTF-8; the text has replacement characters from `offset` on.
    NotUtf8 {
        /// Where the first invalid byte stands.
        offset: u32,
    },
}

impl Source {
    /// Takes a file's bytes under the name to show in messages.
    ///
    /// A file that is too large keeps no text; one that is not UTF-8 keeps what can be read.
    #[must_use]
    pub fn new(path: &str, bytes: &[u8]) -> Self {
        Self::with_limit(path, bytes, MAX_BYTES)
    }

    /// The same with another limit, for files in which entries are a small part: some clients keep
    /// their history beside them.
    #[must_use]
    pub fn with_limit(path: &str, bytes: &[u8], limit: usize) -> Self {
        if bytes.len() > limit {
            let defect = Some(Defect::TooLarge { bytes: bytes.len() });
            return Self {
                path: path.into(),
                text: Arc::new(Text::new(String::new())),
                defect,
                folder: None,
            };
        }
        let (text, defect) = match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), None),
            Err(error) => {
                let offset = offset(error.valid_up_to());
                (
                    String::from_utf8_lossy(bytes),
                    Some(Defect::NotUtf8 { offset }),
                )
            }
        };
        Self {
            path: path.into(),
            text: Arc::new(Text::new(text.into_owned())),
            defect,
            folder: None,
        }
    }

    /// The same for a file whose own folder is not the plugin's: the manifest of a bundle speaks of
    /// the folder to which that was unpacked.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Returns the folder of the files that it speaks of; `None` if that is the plugin's.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the name of the file as a person would write it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the name in the form that [`Location`] shares.
    #[must_use]
    pub fn shared_path(&self) -> Arc<str> {
        Arc::clone(&self.path)
    }

    /// Returns the whole text, a byte order mark included.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text.text
    }

    /// Returns what is wrong with the file as a whole.
    #[must_use]
    pub const fn defect(&self) -> Option<Defect> {
        self.defect
    }

    /// Returns the text that `span` covers, or nothing if the span is not of this file.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text().get(span.range()).unwrap_or_default()
    }

    /// Converts a byte offset to a line and a column, both counted from 1, columns in characters.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let text = &*self.text;
        let line = text.line_starts.partition_point(|&start| start <= offset);
        let start = text.line_start(offset);
        let has_mark = start == 0 && offset > 0 && text.text.starts_with(BYTE_ORDER_MARK);
        let before = text.characters_before(offset) - text.characters_before(start);
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: before - u32::from(has_mark) + 1,
        }
    }

    /// Returns where the line begins in which `offset` stands.
    #[must_use]
    pub fn line_start(&self, offset: u32) -> u32 {
        self.text.line_start(offset)
    }

    /// Returns where `span` is, in the form that a diagnostic carries.
    #[must_use]
    pub fn locate(&self, span: Span, pointer: &Pointer) -> Location {
        Location {
            file: self.shared_path(),
            span,
            start: self.position(span.start),
            end: self.position(span.end),
            pointer: pointer.clone(),
        }
    }
}

impl Text {
    fn new(text: String) -> Self {
        let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(breaks.map(|(index, _)| offset(index + 1)))
            .collect();
        let characters = text.as_bytes().chunks(BLOCK).scan(0, |before, block| {
            let first = *before;
            *before += beginnings(block);
            Some(first)
        });
        Self {
            characters: characters.collect(),
            line_starts,
            text,
        }
    }

    fn line_start(&self, offset: u32) -> u32 {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1));
        start.copied().unwrap_or(0)
    }

    /// Counts from the nearest block on: a file may be a single line with findings all over it.
    fn characters_before(&self, offset: u32) -> u32 {
        let offset = (offset as usize).min(self.text.len());
        let block = offset / BLOCK;
        let Some(&before) = self.characters.get(block) else {
            let last = self.characters.len().saturating_sub(1);
            let tail = self.text.as_bytes().get(last * BLOCK..);
            return self.characters.last().copied().unwrap_or(0)
                + beginnings(tail.unwrap_or_default());
        };
        let inside = self.text.as_bytes().get(block * BLOCK..offset);
        before + beginnings(inside.unwrap_or_default())
    }
}

/// A range of bytes in a [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// Makes a span of two offsets; files are small enough for `u32`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start: offset(start),
            end: offset(end),
        }
    }

    /// Makes a span of two offsets of other spans.
    #[must_use]
    pub const fn between(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Returns the span as a range that can index the text.
    #[must_use]
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the empty span where this one begins.
    #[must_use]
    pub const fn at_start(self) -> Self {
        Self {
            start: self.start,
            end: self.start,
        }
    }
}

/// A line and a column, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Position {
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1, in characters.
    pub column: u32,
}

/// A place in a file, complete enough to print.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// The file as a person would write it.
    pub file: Arc<str>,
    /// The bytes.
    pub span: Span,
    /// Where the span begins.
    pub start: Position,
    /// Where the span ends.
    pub end: Position,
    /// The JSON pointer of the value, empty for the whole file.
    pub pointer: Pointer,
}

/// A JSON pointer (RFC 6901), built while walking down a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Pointer(String);

impl Pointer {
    /// Returns the pointer of a member or an array element below this one.
    #[must_use]
    pub fn child(&self, key: &str) -> Self {
        Self(format!(
            "{}/{}",
            self.0,
            key.replace('~', "~0").replace('/', "~1")
        ))
    }

    /// Returns the pointer of the object or array around this one; of the whole file, itself.
    #[must_use]
    pub fn parent(&self) -> Self {
        let parent = self.0.rsplit_once('/').map_or("", |(parent, _)| parent);
        Self(parent.to_owned())
    }

    /// Returns the keys and indices on the way down, unescaped.
    pub fn segments(&self) -> impl Iterator<Item = String> {
        self.0
            .split('/')
            .skip(1)
            .map(|key| key.replace("~1", "/").replace("~0", "~"))
    }

    /// Returns the pointer as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Counts the characters that begin in `bytes`.
fn beginnings(bytes: &[u8]) -> u32 {
    let is_beginning = |byte: &&u8| (**byte).cast_signed() >= -64;
    offset(bytes.iter().filter(is_beginning).count())
}

fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The largest file that is read.
pub const MAX_BYTES: usize = 1024 * 1024;

const BLOCK: usize = 256;

/// U+FEFF, tolerated at the very beginning of a file.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_skip_the_byte_order_mark() {
        let source = Source::new("f", "\u{feff}ab\r\nö\"x".as_bytes());
        assert_eq!(source.position(3), Position { line: 1, column: 1 });
        assert_eq!(source.position(9), Position { line: 2, column: 2 });
    }

    #[test]
    fn columns_of_a_long_line_are_counted_from_its_beginning() {
        let text = format!("ü\n{}", "aü€😀".repeat(1000));
        let source = Source::new("f", text.as_bytes());
        let line = text.get(3..).unwrap();
        for (column, (index, _)) in line.char_indices().enumerate() {
            let position = source.position(u32::try_from(index + 3).unwrap());
            assert_eq!((position.line, position.column as usize), (2, column + 1));
        }
        let end = source.position(u32::try_from(text.len()).unwrap());
        assert_eq!(end.column, 4001);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_located_and_the_rest_is_kept() {
        let source = Source::new("f", b"{\"a\": \"\xff\"}");
        assert_eq!(source.defect(), Some(Defect::NotUtf8 { offset: 7 }));
        assert!(source.text().ends_with("\"}"));
    }

    #[test]
    fn pointer_escapes_slash_and_tilde() {
        let pointer = Pointer::default().child("a/b~c");
        assert_eq!(pointer.as_str(), "/a~1b~0c");
        assert_eq!(pointer.child("d/e").parent(), pointer);
    }
}
