//! Lines from a child's pipe, bounded, without copying what fits into the buffer.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::net::unix::pipe;

use super::process::ExitWatch;
use crate::body_buffer;

/// The lines of one pipe.
#[derive(Debug)]
pub(crate) struct Lines {
    pipe: pipe::Receiver,
    ended: ExitWatch,
    overflow: Overflow,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line break.
    searched: usize,
}

/// What happens to a line above the limit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Overflow {
    /// Reading fails with [`io::ErrorKind::FileTooLarge`].
    Fail(usize),
    /// It is handed out in pieces.
    Split(usize),
}

impl Lines {
    /// Reads from a pipe of a child; `ended` says when to stop waiting for somebody else who still
    /// holds it open.
    pub(crate) fn new(pipe: pipe::Receiver, ended: ExitWatch, overflow: Overflow) -> Self {
        Self {
            pipe,
            ended,
            overflow,
            buffer: BytesMut::new(),
            searched: 0,
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
        let line = self.buffer.split_to(length).freeze();
        bytes::Buf::advance(&mut self.buffer, line_break);
        self.searched = 0;
        line
    }

    /// Reads what is there, waiting for something to be; `false` at the end.
    async fn fill(&mut self) -> io::Result<bool> {
        body_buffer::reserve(&mut self.buffer, READ_BYTES);
        loop {
            match self.pipe.try_read_buf(&mut self.buffer) {
                Ok(count) => return Ok(count > 0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            // A grandchild may hold the pipe open: what comes after the exit is not waited for.
            tokio::select! {
                ready = self.pipe.readable() => ready?,
                () = self.ended.exited_and_drained() => return Ok(false),
            }
        }
    }
}

/// What a pipe holds on Linux.
const READ_BYTES: usize = 64 * 1024;
