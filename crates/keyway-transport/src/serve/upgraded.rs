//! A connection that has changed its protocol.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

/// The bytes of a connection after status 101; dropping it closes the connection.
///
/// Its methods are those of an asynchronous stream on any runtime; a caller that needs the traits
/// of one forwards to them.
#[derive(Debug)]
pub struct UpgradedStream(pub(super) TokioIo<Upgraded>);

impl UpgradedStream {
    /// Reads into `buffer` and returns how many bytes came; none at the end.
    ///
    /// # Errors
    ///
    /// Returns what the operating system reports.
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.0).poll_read(context, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Writes from `bytes` and returns how many were taken.
    ///
    /// # Errors
    ///
    /// Returns what the operating system reports.
    pub fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    /// Sends what was written.
    ///
    /// # Errors
    ///
    /// Returns what the operating system reports.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    /// Sends what was written, and says that nothing more comes.
    ///
    /// # Errors
    ///
    /// Returns what the operating system reports.
    pub fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
