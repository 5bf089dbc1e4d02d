//! Bytes that were read and not taken yet.

use std::future::poll_fn;
use std::io;

use keyway_transport::ReadBytes;

/// Reads as much as there is at once, and hands it out in pieces.
pub(super) struct ReadBuffer<R> {
    source: R,
    buffer: Box<[u8]>,
    /// What is left: from the first byte that was not taken to the last that was read.
    start: usize,
    end: usize,
}

impl<R: ReadBytes> ReadBuffer<R> {
    pub(super) fn new(source: R, capacity: usize) -> Self {
        Self {
            source,
            buffer: vec![0; capacity].into_boxed_slice(),
            start: 0,
            end: 0,
        }
    }

    /// Returns what is left, without waiting for more.
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns what is left, after reading if that is nothing; empty at the end.
    ///
    /// Cancel safety: cancel safe; what was read is left for the next call.
    pub(super) async fn fill(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            let read = poll_fn(|context| self.source.poll_read(context, &mut self.buffer));
            self.end = read.await?;
            self.start = 0;
        }
        Ok(self.bytes())
    }

    /// Takes `count` bytes off the beginning of what is left.
    pub(super) fn consume(&mut self, count: usize) {
        self.start = self.start.saturating_add(count).min(self.end);
    }
}
