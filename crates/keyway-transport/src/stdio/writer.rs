//! Writes lines to a child's standard input: one system call each, whole or not at all.

use std::io::{self, IoSlice};

use bytes::{Buf, Bytes};
use tokio::net::unix::pipe;
use tokio::sync::{Mutex, watch};

/// The child's standard input.
#[derive(Debug)]
pub(super) struct Writer {
    /// Held across writes, so that two messages never mix. `None` once closed.
    pipe: Mutex<Option<Pipe>>,
    is_closed: watch::Sender<bool>,
}

#[derive(Debug)]
struct Pipe {
    sender: pipe::Sender,
    /// What is left of a line whose sender gave up half-way: it is finished before the next.
    unfinished: Bytes,
    /// Whether that line still lacks its line break.
    owes_line_break: bool,
}

impl Writer {
    pub(super) fn new(sender: pipe::Sender) -> Self {
        let pipe = Pipe {
            sender,
            unfinished: Bytes::new(),
            owes_line_break: false,
        };
        Self {
            pipe: Mutex::new(Some(pipe)),
            is_closed: watch::Sender::new(false),
        }
    }

    /// Writes one message and a line break, waiting while the child is slower than we are.
    pub(super) async fn write(&self, message: Bytes) -> io::Result<()> {
        let message = on_one_line(message);
        let mut guard = self.pipe.lock().await;
        let pipe = guard.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        self.flush(pipe).await?;
        pipe.unfinished = message;
        pipe.owes_line_break = true;
        self.flush(pipe).await
    }

    /// Closes the pipe, and fails the writes that wait for it.
    pub(super) async fn close(&self) {
        self.refuse();
        drop(self.pipe.lock().await.take());
    }

    /// Fails the writes that wait; nothing is written any more.
    pub(super) fn refuse(&self) {
        self.is_closed.send_replace(true);
    }

    /// Says whether we closed it.
    pub(super) fn is_closed(&self) -> bool {
        *self.is_closed.borrow()
    }

    async fn flush(&self, pipe: &mut Pipe) -> io::Result<()> {
        while pipe.owes_line_break {
            if self.is_closed() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            match pipe.advance() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut closed = self.is_closed.subscribe();
                    // Closing must not wait for a child that does not read.
                    // Not biased: after either the loop looks at `is_closed` first. What is left of
                    // the line stays in `pipe`.
                    tokio::select! {
                        ready = pipe.sender.writable() => ready?,
                        _ = closed.wait_for(|is_closed| *is_closed) => {}
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Pipe {
    fn advance(&mut self) -> io::Result<()> {
        let line = [IoSlice::new(&self.unfinished), IoSlice::new(b"\n")];
        let written = self.sender.try_write_vectored(&line)?;
        if written > self.unfinished.len() {
            self.owes_line_break = false;
        }
        self.unfinished.advance(written.min(self.unfinished.len()));
        Ok(())
    }
}

/// A line break in a message can only stand between its tokens, where a blank does as well.
fn on_one_line(message: Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', &message).is_none() {
        return message;
    }
    let blank = |byte: &u8| match byte {
        b'\n' | b'\r' => b' ',
        byte => *byte,
    };
    message.iter().map(blank).collect()
}
