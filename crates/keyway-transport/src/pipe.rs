//! Bytes of a client on this machine: standard input and output, or a socket of the same user.
//!
//! The two traits name no runtime, so that a host can bring what it has: a pipe of another
//! runtime, a channel, a buffer.

use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, Stdin, Stdout};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// Something that bytes are read from.
pub trait ReadBytes: Unpin {
    /// Reads into `buffer` and returns how much; nothing is the end, if the buffer has room.
    ///
    /// Where nothing is there yet, nothing is taken, and the task of `context` is woken later.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>>;
}

/// Something that bytes are written to.
pub trait WriteBytes: Unpin + Send {
    /// Writes the beginning of `bytes` and returns how much; nothing where no more is taken.
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Makes sure that what was written is on its way.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// All that there is to read is there already.
impl ReadBytes for &[u8] {
    fn poll_read(&mut self, _: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(io::Read::read(self, buffer))
    }
}

/// The reading end of a pipe or a socket.
#[derive(Debug)]
pub struct PipeReader(Reading);

#[derive(Debug)]
enum Reading {
    Pipe(pipe::Receiver),
    Socket(OwnedReadHalf),
    /// With a thread between: a file or a terminal cannot be waited for.
    Blocking(Stdin),
}

/// The writing end of a pipe or a socket.
#[derive(Debug)]
pub struct PipeWriter(Writing);

#[derive(Debug)]
enum Writing {
    Pipe(pipe::Sender),
    Socket(OwnedWriteHalf),
    /// With a thread between: a file or a terminal cannot be waited for.
    Blocking(Stdout),
}

/// Returns standard input and output, without a thread between where both are pipes. Has to be
/// called inside a Tokio runtime.
///
/// # Errors
///
/// Returns why they cannot be used.
pub fn standard_pipes() -> io::Result<(PipeReader, PipeWriter)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    // Non-blocking mode applies to every process that shares a pipe, so set it on both or none.
    if is_pipe(&input)
        && is_pipe(&output)
        && let Ok(input) = pipe::Receiver::from_owned_fd(input)
        && let Ok(output) = pipe::Sender::from_owned_fd(output)
    {
        return Ok((
            PipeReader(Reading::Pipe(input)),
            PipeWriter(Writing::Pipe(output)),
        ));
    }
    Ok((
        PipeReader(Reading::Blocking(tokio::io::stdin())),
        PipeWriter(Writing::Blocking(tokio::io::stdout())),
    ))
}

/// Returns both directions of a socket; dropping the writer ends its direction. Has to be called
/// inside a Tokio runtime.
///
/// # Errors
///
/// Returns why the socket cannot be waited for.
pub fn socket_pipes(socket: StdUnixStream) -> io::Result<(PipeReader, PipeWriter)> {
    socket.set_nonblocking(true)?;
    let (input, output) = UnixStream::from_std(socket)?.into_split();
    Ok((
        PipeReader(Reading::Socket(input)),
        PipeWriter(Writing::Socket(output)),
    ))
}

impl ReadBytes for PipeReader {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut read = ReadBuf::new(buffer);
        ready!(match &mut self.0 {
            Reading::Pipe(pipe) => Pin::new(pipe).poll_read(context, &mut read),
            Reading::Socket(socket) => Pin::new(socket).poll_read(context, &mut read),
            Reading::Blocking(input) => Pin::new(input).poll_read(context, &mut read),
        })?;
        Poll::Ready(Ok(read.filled().len()))
    }
}

impl PipeWriter {
    /// Writes all of `bytes`.
    ///
    /// # Errors
    ///
    /// Returns why the other side cannot be written to.
    ///
    /// Cancel safety: a part may have been written, and it is not known which.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match poll_fn(|context| self.poll_write(context, bytes)).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => bytes = bytes.get(written..).unwrap_or_default(),
            }
        }
        Ok(())
    }
}

impl WriteBytes for PipeWriter {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Writing::Pipe(pipe) => Pin::new(pipe).poll_write(context, bytes),
            Writing::Socket(socket) => Pin::new(socket).poll_write(context, bytes),
            Writing::Blocking(output) => Pin::new(output).poll_write(context, bytes),
        }
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Writing::Pipe(pipe) => Pin::new(pipe).poll_flush(context),
            Writing::Socket(socket) => Pin::new(socket).poll_flush(context),
            Writing::Blocking(output) => Pin::new(output).poll_flush(context),
        }
    }
}

fn is_pipe(descriptor: &OwnedFd) -> bool {
    let file = descriptor.try_clone().map(File::from);
    let metadata = file.and_then(|file| file.metadata());
    metadata.is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_to_end(reader: &mut impl ReadBytes) -> Vec<u8> {
        let (mut all, mut buffer) = (Vec::new(), [0; 7]);
        loop {
            let read = poll_fn(|context| reader.poll_read(context, &mut buffer));
            match read.await.unwrap() {
                0 => return all,
                count => all.extend_from_slice(&buffer[..count]),
            }
        }
    }

    #[tokio::test]
    async fn a_socket_carries_all_bytes_and_ends_with_its_writer() {
        let (ours, theirs) = StdUnixStream::pair().unwrap();
        let (mut reader, our_writer) = socket_pipes(ours).unwrap();
        let (their_reader, mut writer) = socket_pipes(theirs).unwrap();
        // More than the buffers of a socket hold, so that writing has to wait for the reader.
        let sent: Vec<u8> = (0..1_000_000).map(|at: u32| at.to_le_bytes()[0]).collect();
        let writing = async {
            writer.write_all(&sent).await.unwrap();
            drop(writer);
        };
        let (read, ()) = tokio::join!(read_to_end(&mut reader), writing);
        assert!(read == sent, "{} bytes", read.len());
        drop((our_writer, their_reader));
    }

    #[tokio::test]
    async fn bytes_in_memory_are_read_to_their_end() {
        let mut bytes = b"more than one buffer".as_slice();
        assert_eq!(read_to_end(&mut bytes).await, b"more than one buffer");
    }
}
