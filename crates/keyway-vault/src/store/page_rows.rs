//! The rows of a database file, page by page, without the tree that leads to them.
//!
//! SQLite reaches a row from the root of its table and stops at the first page that is missing. In a
//! file that was cut off, the pages before the cut are whole, and each of them says itself which rows
//! it holds: sections 1.6 (b-tree pages, overflow pages) and 2.1 (records) of SQLite's file format.
//!
//! The bytes may be anything. Every length is checked before it is used, and all rows together hold
//! no more bytes than the file: in a file that SQLite wrote no byte belongs to two rows.

/// A row as a page holds it. What it says is not vouched for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageRow {
    /// The kind of b-tree that its page belongs to.
    pub tree: Tree,
    /// Its columns; those that were added to the table after it was written are not among them.
    pub values: Vec<PageValue>,
}

/// The two kinds of b-trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tree {
    /// Rows by their number.
    Table,
    /// Rows by their key: indexes, and tables that are `WITHOUT ROWID`.
    Index,
}

/// A column of a [`PageRow`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageValue {
    /// `NULL`.
    Null,
    /// An integer of any width.
    Integer(i64),
    /// Text, which is UTF-8 in every vault.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// Reads every row of every whole page; what cannot be read is left out.
#[must_use]
pub fn rows_of_pages(file: &[u8]) -> Vec<PageRow> {
    let mut reader = Reader {
        file,
        layout: Layout::of(file),
        bytes_left: file.len(),
    };
    let mut rows = Vec::new();
    for (number, page) in file.chunks_exact(reader.layout.page_size).enumerate() {
        // The first page begins with the header of the file.
        let header = if number == 0 { FILE_HEADER } else { 0 };
        reader.read_page(page, header, &mut rows);
    }
    rows
}

/// How the file is divided (section 1.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    page_size: usize,
    /// What of a page SQLite uses itself; the rest is for extensions, of which the vault has none.
    usable: usize,
}

impl Layout {
    /// Reads the header of a file; one that is damaged is taken for that of a new vault.
    fn of(file: &[u8]) -> Self {
        Self::read(file).unwrap_or(Self {
            page_size: 4096,
            usable: 4096,
        })
    }

    fn read(file: &[u8]) -> Option<Self> {
        if !file.starts_with(MAGIC) {
            return None;
        }
        let page_size = page_size(file)?;
        let usable = page_size.checked_sub(usize::from(*file.get(20)?))?;
        (usable >= LEAST_USABLE).then_some(Self { page_size, usable })
    }

    /// Returns how many bytes of a row stand in its own page; the others are in overflow pages.
    fn local(self, tree: Tree, length: usize) -> usize {
        let most = match tree {
            Tree::Table => self.usable - 35,
            Tree::Index => (self.usable - 12) * 64 / 255 - 23,
        };
        if length <= most {
            return length;
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let wanted = least + (length - least) % (self.usable - 4);
        if wanted <= most { wanted } else { least }
    }
}

/// Returns the size of a page by the header of a file.
pub(super) fn page_size(file: &[u8]) -> Option<usize> {
    let size = file.get(16..18)?.try_into().ok()?;
    match u16::from_be_bytes(size) {
        1 => Some(65_536),
        size if size >= 512 && size.is_power_of_two() => Some(size.into()),
        _ => None,
    }
}

struct Reader<'a> {
    file: &'a [u8],
    layout: Layout,
    bytes_left: usize,
}

impl Reader<'_> {
    fn read_page(&mut self, page: &[u8], header: usize, rows: &mut Vec<PageRow>) {
        let Some(kind) = page.get(header).and_then(|byte| PageKind::of(*byte)) else {
            return;
        };
        let count = page.get(header + 3..).and_then(two_bytes).unwrap_or(0);
        let pointers = page.get(header + kind.header..).unwrap_or_default();
        for pointer in pointers.chunks_exact(2).take(count) {
            let cell = two_bytes(pointer).and_then(|start| page.get(start..self.layout.usable));
            let row = cell.and_then(|cell| self.read_cell(cell, kind));
            rows.extend(row);
        }
    }

    fn read_cell(&mut self, cell: &[u8], kind: PageKind) -> Option<PageRow> {
        let mut rest = cell.get(kind.child..)?;
        let length = usize::try_from(varint(&mut rest)?).ok()?;
        if kind.tree == Tree::Table {
            varint(&mut rest)?;
        }
        self.bytes_left = self.bytes_left.checked_sub(length)?;
        let (local, overflow) = rest.split_at_checked(self.layout.local(kind.tree, length))?;
        let mut payload = local.to_vec();
        let mut next = overflow;
        while payload.len() < length {
            // The length was paid for, and every page adds to it: a circle comes to an end.
            let page = self.page(next.get(..4)?)?;
            let contents = page.get(4..self.layout.usable)?;
            let missing = length - payload.len();
            payload.extend_from_slice(contents.get(..missing).unwrap_or(contents));
            next = page;
        }
        Some(PageRow {
            tree: kind.tree,
            values: values(&payload)?,
        })
    }

    /// Returns the page of a number, which begins at one.
    fn page(&self, number: &[u8]) -> Option<&[u8]> {
        let number = u32::from_be_bytes(number.try_into().ok()?);
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let start = index.checked_mul(self.layout.page_size)?;
        self.file.get(start..)?.get(..self.layout.page_size)
    }
}

/// A page that has rows.
#[derive(Clone, Copy)]
struct PageKind {
    tree: Tree,
    /// The length of the page's header.
    header: usize,
    /// The length of the number of a page that stands before each row.
    child: usize,
}

impl PageKind {
    const fn of(flag: u8) -> Option<Self> {
        let (tree, header, child) = match flag {
            0x02 => (Tree::Index, 12, 4),
            0x0a => (Tree::Index, 8, 0),
            0x0d => (Tree::Table, 8, 0),
            // Pages inside of a table's tree hold numbers of rows alone.
            _ => return None,
        };
        Some(Self {
            tree,
            header,
            child,
        })
    }
}

/// Takes a record apart: the types of its columns come first, then what they hold.
fn values(record: &[u8]) -> Option<Vec<PageValue>> {
    let mut types = record;
    let header = usize::try_from(varint(&mut types)?).ok()?;
    let (header, mut body) = record.split_at_checked(header)?;
    let mut types = header.get(record.len() - types.len()..)?;
    let mut values = Vec::new();
    while !types.is_empty() {
        if values.len() == MAX_COLUMNS {
            return None;
        }
        let kind = varint(&mut types)?;
        values.push(value(kind, &mut body)?);
    }
    // Half a row is none.
    body.is_empty().then_some(values)
}

fn value(kind: u64, body: &mut &[u8]) -> Option<PageValue> {
    let mut bytes = |length: u64| {
        let (value, rest) = body.split_at_checked(usize::try_from(length).ok()?)?;
        *body = rest;
        Some(value)
    };
    Some(match kind {
        0 => PageValue::Null,
        1..=4 => PageValue::Integer(integer(bytes(kind)?)),
        5 => PageValue::Integer(integer(bytes(6)?)),
        6 => PageValue::Integer(integer(bytes(8)?)),
        8 => PageValue::Integer(0),
        9 => PageValue::Integer(1),
        12.. if kind.is_multiple_of(2) => PageValue::Blob(bytes((kind - 12) / 2)?.to_vec()),
        13.. => {
            let text = std::str::from_utf8(bytes((kind - 13) / 2)?).ok()?;
            PageValue::Text(text.to_owned())
        }
        // No table of the vault has fractions; the others are not used by SQLite.
        _ => return None,
    })
}

/// Reads a signed number, its highest byte first.
fn integer(bytes: &[u8]) -> i64 {
    let negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
    let start = if negative { -1 } else { 0 };
    bytes
        .iter()
        .fold(start, |number, byte| (number << 8) | i64::from(*byte))
}

/// Takes a number of one to nine bytes off the front: seven bits each, and all eight of the ninth.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for at in 0..9 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        if at == 8 {
            return Some((number << 8) | u64::from(*byte));
        }
        number = (number << 7) | u64::from(byte & 0x7f);
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn two_bytes(bytes: &[u8]) -> Option<usize> {
    let bytes = bytes.first_chunk()?;
    Some(u16::from_be_bytes(*bytes).into())
}

const MAGIC: &[u8] = b"SQLite format 3\0";
const FILE_HEADER: usize = 100;
/// The least that SQLite accepts.
const LEAST_USABLE: usize = 480;
/// The largest table of the vault has twenty.
const MAX_COLUMNS: usize = 32;

#[cfg(test)]
mod tests;
