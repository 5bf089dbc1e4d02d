//! Looks at the raw head of an HTTP/1.1 request for two lengths at once.
//!
//! A request with `Content-Length` and `Transfer-Encoding` is refused (RFC 9112 §6.3): two programs
//! that read its length differently see two different requests. hyper reads the second and removes
//! the first, so that code behind it cannot tell.

/// What is known of the head that hyper parses next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum HeadLengths {
    /// It was not seen from its first byte: it came together with the body before it.
    Unseen = 0,
    /// It has at most one of the two.
    One = 1,
    /// It has both.
    Both = 2,
}

impl HeadLengths {
    pub(super) const fn from_u8(value: u8) -> Self {
        match value {
            1 => Self::One,
            2 => Self::Both,
            _ => Self::Unseen,
        }
    }

    /// Says whether a request may have a `Transfer-Encoding`.
    pub(super) const fn allows_transfer_encoding(self) -> bool {
        matches!(self, Self::One)
    }
}

/// Collects a head until its end.
#[derive(Debug, Default)]
pub(super) struct HeadScanner {
    head: Vec<u8>,
    is_done: bool,
}

impl HeadScanner {
    /// Takes more bytes; returns what the head says, once, when it has ended.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Option<HeadLengths> {
        if self.is_done {
            return None;
        }
        if self.head.is_empty() {
            // Empty lines before a request do not count (RFC 9112 §2.2).
            let first = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
            bytes = bytes.get(first?..).unwrap_or_default();
        }
        if self.head.is_empty()
            && let Some(end) = end_of(bytes)
        {
            // Nearly every head comes in one piece.
            self.is_done = true;
            return Some(lengths(bytes.get(..end).unwrap_or_default()));
        }
        let before = self.head.len().saturating_sub(2);
        self.head.extend_from_slice(bytes);
        let end = end_of(self.head.get(before..).unwrap_or_default());
        if end.is_none() && self.head.len() <= MAX_HEAD {
            return None;
        }
        self.is_done = true;
        let head = std::mem::take(&mut self.head);
        Some(match end {
            Some(end) => lengths(head.get(..before + end).unwrap_or_default()),
            None => HeadLengths::Unseen,
        })
    }
}

/// Returns where the empty line begins that ends a head.
fn end_of(bytes: &[u8]) -> Option<usize> {
    let mut breaks = memchr::memchr_iter(b'\n', bytes);
    let end = breaks.find(|at| {
        let next = bytes.get(at + 1..).unwrap_or_default();
        next.starts_with(b"\n") || next.starts_with(b"\r\n")
    });
    end.map(|at| at + 1)
}

fn lengths(head: &[u8]) -> HeadLengths {
    let (mut has_length, mut has_encoding) = (false, false);
    let mut start = 0;
    let breaks = memchr::memchr_iter(b'\n', head);
    for end in breaks.chain([head.len()]) {
        let line = head.get(start..end).unwrap_or_default().trim_ascii_start();
        start = end + 1;
        // Few lines begin like one of the two.
        match line.first() {
            Some(b'c' | b'C') => has_length |= is_named(line, b"content-length"),
            Some(b't' | b'T') => has_encoding |= is_named(line, b"transfer-encoding"),
            _ => {}
        }
    }
    match has_length && has_encoding {
        true => HeadLengths::Both,
        false => HeadLengths::One,
    }
}

fn is_named(line: &[u8], wanted: &[u8]) -> bool {
    let colon = memchr::memchr(b':', line);
    let name = colon.and_then(|colon| line.get(..colon));
    name.is_some_and(|name| name.trim_ascii_end().eq_ignore_ascii_case(wanted))
}

/// Beyond this hyper refuses it as well.
const MAX_HEAD: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a text in pieces of each size, and returns what was found, which must be the same.
    fn scanned(text: &str) -> Option<HeadLengths> {
        let mut found = Vec::new();
        for size in 1..=text.len() {
            let mut scanner = HeadScanner::default();
            let mut pieces = text.as_bytes().chunks(size);
            found.push(pieces.find_map(|piece| scanner.push(piece)));
            assert!(scanner.push(text.as_bytes()).is_none() || found.last() == Some(&None));
        }
        found.dedup();
        assert_eq!(found.len(), 1, "{text:?}: {found:?}");
        found.pop().flatten()
    }

    #[test]
    fn both_lengths_are_found_in_either_order_and_case_and_nowhere_else() {
        let both = [
            "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "\r\n\r\nPOST / HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\ncontent-length:3\r\n\r\nabc",
            "POST / HTTP/1.1\nTransfer-Encoding : chunked\ncontent-length: 3\n\n",
        ];
        for text in both {
            assert_eq!(scanned(text), Some(HeadLengths::Both), "{text:?}");
        }
        let one = [
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nTransfer-Encoding: x\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX: content-length: 3\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
        ];
        for text in one {
            assert_eq!(scanned(text), Some(HeadLengths::One), "{text:?}");
        }
        assert_eq!(scanned("POST / HTTP/1.1\r\nContent-Length: 3\r\n"), None);
        let mut scanner = HeadScanner::default();
        let endless = "x".repeat(MAX_HEAD + 1);
        assert_eq!(scanner.push(endless.as_bytes()), Some(HeadLengths::Unseen));
    }
}
