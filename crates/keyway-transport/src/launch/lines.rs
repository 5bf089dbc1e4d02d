//! Lines from a child's pipe, bounded, without copying what fits into the buffer.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::net::unix::pipe;

use super::process::ExitWatch;
use crate::body_buffer;
use crate::message_memory::MemoryReservation;

/// The lines of one pipe.
#[derive(Debug)]
pub(crate) struct Lines {
    pipe: pipe::Receiver,
    ended: ExitWatch,
    overflow: Overflow,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line break.
    searched: usize,
    /// For the line that is being read.
    reservation: MemoryReservation,
    /// How much was read since other tasks last had their turn.
    unyielded: usize,
}

/// What happens to a line above the limit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Overflow {
    /// Reading fails with [`io::ErrorKind::FileTooLarge`]; with [`io::ErrorKind::OutOfMemory`] if
    /// there is not enough memory for a large one.
    Fail(usize),
    /// It is handed out in pieces.
    Split(usize),
}

impl Lines {
    /// Reads from a pipe of a child; `ended` says when to stop waiting for another process that
    /// still holds it open.
    pub(crate) fn new(pipe: pipe::Receiver, ended: ExitWatch, overflow: Overflow) -> Self {
        Self {
            pipe,
            ended,
            overflow,
            buffer: BytesMut::new(),
            searched: 0,
            reservation: MemoryReservation::default(),
            unyielded: 0,
        }
    }

    /// Returns the next line without its line break, `None` at the end. A last line without a line
    /// break counts.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if let Some(line) = self.buffered()? {
                return Ok(Some(line));
            }
            if !self.fill().await? {
                let rest = self.take(self.buffer.len(), 0);
                return Ok(Some(rest).filter(|rest| !rest.is_empty()));
            }
        }
    }

    fn buffered(&mut self) -> io::Result<Option<Bytes>> {
        let fresh = self.buffer.get(self.searched..).unwrap_or_default();
        let found = memchr::memchr(b'\n', fresh).map(|at| self.searched + at);
        let length = found.unwrap_or(self.buffer.len());
        match self.overflow {
            Overflow::Fail(limit) if length > limit => Err(io::ErrorKind::FileTooLarge.into()),
            Overflow::Split(limit) if length > limit => Ok(Some(self.take(limit, 0))),
            _ => {
                self.searched = self.buffer.len();
                Ok(found.map(|at| self.take(at, 1)))
            }
        }
    }

    fn take(&mut self, length: usize, line_break: usize) -> Bytes {
        let line = body_buffer::take_front(&mut self.buffer, length);
        bytes::Buf::advance(&mut self.buffer, line_break);
        self.searched = 0;
        self.reservation.attach(line)
    }

    /// Reads what is there, waiting for something to be; `false` at the end.
    async fn fill(&mut self) -> io::Result<bool> {
        let length = self.buffer.len() + READ_BYTES;
        let room = self.reservation.grow_to(length).await;
        room.map_err(|_| io::ErrorKind::OutOfMemory)?;
        body_buffer::reserve(&mut self.buffer, READ_BYTES);
        loop {
            match self.pipe.try_read_buf(&mut self.buffer) {
                Ok(count) => {
                    self.unyielded += count;
                    if self.unyielded >= YIELD_BYTES {
                        self.unyielded = 0;
                        // A child that writes as fast as it is read keeps the pipe ready, and one
                        // thread serves every other connection.
                        tokio::task::yield_now().await;
                    }
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            self.unyielded = 0;
            // A grandchild may hold the pipe open: what comes after the exit is not waited for.
            // Not biased: what is in the pipe was read above.
            tokio::select! {
                ready = self.pipe.readable() => ready?,
                () = self.ended.exited_and_drained() => return Ok(false),
            }
        }
    }
}

/// What a pipe holds on Linux.
const READ_BYTES: usize = 64 * 1024;
/// Some hundred microseconds of reading.
const YIELD_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[tokio::test]
    async fn pipe_that_is_never_empty_does_not_keep_other_tasks_from_their_turn() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let held = rustix::pipe::fcntl_setpipe_size(&writer, 1024 * 1024).unwrap();
        writer.write_all(&vec![b'x'; held - 1]).unwrap();
        writer.write_all(b"\n").unwrap();
        let reader = pipe::Receiver::from_owned_fd(reader.into()).unwrap();
        let (_running, ended) = ExitWatch::of_running();
        let mut lines = Lines::new(reader, ended, Overflow::Fail(held));
        // The runtime has to see once that the pipe is ready.
        lines.pipe.readable().await.unwrap();
        let mut turns = 0;
        let mut next = pin!(lines.next());
        let line = loop {
            // All of it is there: a reader that did not yield would be ready at once.
            match next.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(line) => break line.unwrap().unwrap(),
                Poll::Pending => turns += 1,
            }
        };
        assert_eq!(line.len(), held - 1);
        assert!(turns >= held / YIELD_BYTES - 1, "{turns} turns");
    }
}
