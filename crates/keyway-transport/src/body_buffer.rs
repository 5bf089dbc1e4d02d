//! What comes in pieces, put together in memory that goes back to the system.

use bytes::Bytes;
#[cfg(feature = "stdio")]
use bytes::BytesMut;

/// What has come of a message so far.
///
/// A message that comes in one piece is not copied, and one in several only once.
#[derive(Debug, Default)]
pub(crate) struct BodyBuffer {
    /// Mostly the only piece.
    first: Bytes,
    all: Vec<u8>,
    expected: usize,
}

impl BodyBuffer {
    /// Begins with a message that is said to have so many bytes.
    pub(crate) fn with_expected_len(length: Option<usize>) -> Self {
        Self {
            expected: length.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Returns how many bytes have come.
    pub(crate) const fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            // Even so it would hold the memory that it is no part of.
            return;
        }
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        self.reserve_for(piece.len());
        self.all.extend_from_slice(&std::mem::take(&mut self.first));
        self.all.extend_from_slice(&piece);
    }

    fn reserve_for(&mut self, more: usize) {
        let needed = self.len() + more;
        if needed <= self.all.capacity() {
            return;
        }
        let wanted = capacity_for(needed.max(self.expected));
        // Where so much may not even be reserved, it grows as it comes.
        let _grows = self.all.try_reserve(wanted - self.all.len());
    }

    /// Returns all that has come.
    pub(crate) fn finish(self) -> Bytes {
        if self.all.is_empty() {
            self.first
        } else {
            self.all.into()
        }
    }
}

/// Makes room for `more` bytes behind those that are there.
#[cfg(feature = "stdio")]
pub(crate) fn reserve(buffer: &mut BytesMut, more: usize) {
    let wanted = capacity_for(buffer.len() + more);
    let mut moved = Vec::new();
    if wanted < NEVER_KEPT_BYTES
        || buffer.capacity() - buffer.len() >= more
        || moved.try_reserve_exact(wanted).is_err()
    {
        return buffer.reserve(more);
    }
    moved.extend_from_slice(buffer);
    *buffer = Bytes::from(moved).into();
}

/// Returns how much room a message of so many bytes gets.
fn capacity_for(bytes: usize) -> usize {
    if bytes <= KEPT_BYTES {
        return bytes;
    }
    bytes.max(NEVER_KEPT_BYTES)
}

/// Up to here, memory that was used once is kept for the next.
const KEPT_BYTES: usize = 1024 * 1024;
/// The allocator of glibc keeps what it has had back before, up to twice 32 MiB, for good; what is
/// larger goes back to the system at once. Pages that nobody has written to take no memory, so
/// asking for more than is needed costs nothing.
const NEVER_KEPT_BYTES: usize = 33 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(expected: Option<usize>, pieces: &[usize]) -> BodyBuffer {
        let mut body = BodyBuffer::with_expected_len(expected);
        for (number, &length) in pieces.iter().enumerate() {
            let byte = u8::try_from(number).unwrap();
            body.push(vec![byte; length].into());
        }
        body
    }

    #[test]
    fn single_chunk_is_not_copied() {
        let piece = Bytes::from(vec![1; 100]);
        let mut body = BodyBuffer::with_expected_len(None);
        body.push(piece.clone());
        assert_eq!(body.finish().as_ptr(), piece.as_ptr());
    }

    #[test]
    fn chunks_are_joined_in_order() {
        for expected in [None, Some(3), Some(6), Some(60)] {
            let body = filled(expected, &[1, 2, 3]);
            assert_eq!(body.len(), 6);
            assert_eq!(&body.finish()[..], [0, 1, 1, 2, 2, 2]);
        }
        assert!(BodyBuffer::with_expected_len(Some(9)).finish().is_empty());
    }

    #[test]
    fn buffer_keeps_its_content_and_grows_once() {
        let mut buffer = BytesMut::from(&b"begun"[..]);
        reserve(&mut buffer, 1000);
        assert!((1005..KEPT_BYTES).contains(&buffer.capacity()));
        reserve(&mut buffer, KEPT_BYTES);
        let place = buffer.as_ptr();
        buffer.extend_from_slice(&vec![0; 30_000_000]);
        reserve(&mut buffer, KEPT_BYTES);
        assert_eq!(buffer.as_ptr(), place);
        assert!(buffer.starts_with(b"begun"));
        buffer.extend_from_slice(&vec![0; 5_000_000]);
        reserve(&mut buffer, KEPT_BYTES);
        assert_eq!(buffer.len(), 35_000_005);
    }

    #[test]
    fn large_message_uses_memory_the_allocator_returns() {
        let room = |expected, pieces: &[usize]| filled(expected, pieces).all.capacity();
        assert!(room(Some(5_000_000), &[1, 1]) >= NEVER_KEPT_BYTES);
        assert!(room(None, &[KEPT_BYTES, 1]) >= NEVER_KEPT_BYTES);
        assert!(room(Some(40_000_000), &[1, 1]) >= 40_000_000);
        assert!(room(Some(100_000), &[1, 1]) < KEPT_BYTES);
    }
}
