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
    /// Begins a message with this announced length.
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
            // An empty piece would still keep its whole buffer alive.
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
        let wanted = capacity_for(needed.max(self.expected), self.all.capacity());
        // Where so much may not even be reserved, it grows as it comes.
        let _grows = self.all.try_reserve_exact(wanted - self.all.len());
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

/// Reserves memory for `more` bytes after those that are there.
#[cfg(feature = "stdio")]
pub(crate) fn reserve(buffer: &mut BytesMut, more: usize) {
    if buffer.capacity() - buffer.len() >= more {
        return;
    }
    let wanted = capacity_for(buffer.len() + more, buffer.capacity());
    let mut moved = Vec::new();
    if wanted < NEVER_KEPT_BYTES || moved.try_reserve_exact(wanted).is_err() {
        return buffer.reserve(more);
    }
    moved.extend_from_slice(buffer);
    *buffer = Bytes::from(moved).into();
}

/// Takes the first bytes out of a buffer, and gives back the memory of a large one: what is left
/// would otherwise hold all of it until the next message.
#[cfg(feature = "stdio")]
pub(crate) fn take_front(buffer: &mut BytesMut, length: usize) -> Bytes {
    let was_large = buffer.capacity() > KEPT_BYTES;
    let front = buffer.split_to(length).freeze();
    if was_large && buffer.len() <= KEPT_BYTES {
        *buffer = BytesMut::from(&buffer[..]);
    }
    front
}

/// Returns the capacity for a message of `needed` bytes, where the buffer has `current`.
///
/// At least twice as much as before: however large a message becomes, each of its bytes is moved
/// less than twice on average.
fn capacity_for(needed: usize, current: usize) -> usize {
    let doubled = needed.max(current.saturating_mul(2));
    if doubled <= KEPT_BYTES {
        return doubled;
    }
    doubled.max(NEVER_KEPT_BYTES)
}

/// Up to here, memory that was used once is kept for the next.
const KEPT_BYTES: usize = 1024 * 1024;
/// The allocator of glibc keeps what it has had back before, up to twice 32 MiB, for good; what is
/// larger goes back to the system at once. Pages that were never written to take no memory, so
/// asking for more than is needed costs nothing.
const NEVER_KEPT_BYTES: usize = 33 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "stdio")]
    use crate::frame::MAX_FRAME_BYTES;

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

    #[cfg(feature = "stdio")]
    #[test]
    fn the_largest_message_is_moved_a_few_times_however_small_its_pieces() {
        let (piece, mut buffer, mut moves) = (vec![0; 64 * 1024], BytesMut::new(), 0);
        let (mut body, mut body_moves) = (BodyBuffer::with_expected_len(None), 0);
        for _ in 0..MAX_FRAME_BYTES / piece.len() {
            let (before, body_before) = (buffer.as_ptr(), body.all.as_ptr());
            reserve(&mut buffer, piece.len());
            buffer.extend_from_slice(&piece);
            moves += usize::from(buffer.as_ptr() != before);
            body.push(piece.clone().into());
            body_moves += usize::from(body.all.as_ptr() != body_before);
        }
        assert_eq!(
            (buffer.len(), body.len()),
            (MAX_FRAME_BYTES, MAX_FRAME_BYTES)
        );
        assert!(moves <= 8 && body_moves <= 8, "{moves} and {body_moves}");
    }

    #[cfg(feature = "stdio")]
    #[test]
    fn the_memory_of_a_large_line_is_not_kept_for_the_next() {
        let mut buffer = BytesMut::new();
        reserve(&mut buffer, 10_000_000);
        buffer.extend_from_slice(&vec![b'x'; 10_000_000]);
        buffer.extend_from_slice(b"rest");
        let line = take_front(&mut buffer, 10_000_000);
        assert_eq!((line.len(), &buffer[..]), (10_000_000, &b"rest"[..]));
        assert!(buffer.capacity() < KEPT_BYTES, "{}", buffer.capacity());
        // Small lines share one buffer.
        let place = buffer.as_ptr();
        assert_eq!(&take_front(&mut buffer, 2)[..], b"re");
        assert_eq!(buffer.as_ptr(), place.wrapping_add(2));
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
