//! A client without a socket, so that tests can stop the clock.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use keyway_transport::{ReadBytes, WriteBytes};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, ReadHalf, WriteHalf};

/// One end of a pipe in memory.
pub(crate) struct MemoryPipe<T>(pub(crate) T);

/// Returns the client's end of a pipe that holds `bytes`, and both directions of ours.
pub(crate) fn memory_pipe(
    bytes: usize,
) -> (
    DuplexStream,
    MemoryPipe<ReadHalf<DuplexStream>>,
    MemoryPipe<WriteHalf<DuplexStream>>,
) {
    let (client, ours) = tokio::io::duplex(bytes);
    let (read, write) = tokio::io::split(ours);
    (client, MemoryPipe(read), MemoryPipe(write))
}

impl<R: AsyncRead + Unpin> ReadBytes for MemoryPipe<R> {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut read = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.0).poll_read(context, &mut read))?;
        Poll::Ready(Ok(read.filled().len()))
    }
}

impl<W: AsyncWrite + Unpin + Send> WriteBytes for MemoryPipe<W> {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }
}
