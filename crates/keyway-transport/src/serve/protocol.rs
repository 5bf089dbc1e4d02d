//! Which HTTP a connection speaks, found out without losing what was read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// What a peer speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpVersion {
    /// HTTP/1.0 or HTTP/1.1.
    Http1,
    /// HTTP/2, without being asked (RFC 9113 §3.3).
    Http2,
}

/// A stream of which the first bytes have been read already.
///
/// A read returns them together with what follows them: a reader that got them alone, and needed
/// more, would double its buffer.
#[derive(Debug)]
pub(super) struct PeekedStream<S> {
    stream: S,
    read: [u8; PREFACE.len()],
    length: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> PeekedStream<S> {
    /// Reads until it is known what is spoken; the end of the stream is for others to notice.
    pub(super) async fn of(mut stream: S) -> io::Result<(Self, HttpVersion)> {
        let mut read = [0; PREFACE.len()];
        let mut length = 0;
        let version = loop {
            let more = read.get_mut(length..).unwrap_or_default();
            if more.is_empty() {
                break HttpVersion::Http2;
            }
            let count = stream.read(more).await?;
            length += count;
            let so_far = read.get(..length).unwrap_or_default();
            if count == 0 || !PREFACE.starts_with(so_far) {
                break HttpVersion::Http1;
            }
        };
        let peeked = Self {
            stream,
            read,
            length,
        };
        Ok((peeked, version))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PeekedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let stream = Pin::new(&mut this.stream);
        let first = this.read.get(..this.length).unwrap_or_default();
        if first.is_empty() {
            return stream.poll_read(context, buffer);
        }
        if buffer.remaining() < first.len() {
            // No reader of ours has a buffer that small; one that has gets less than there is.
            let (now, later) = first.split_at(buffer.remaining());
            buffer.put_slice(now);
            let rest = later.len();
            this.read.copy_within(this.length - rest..this.length, 0);
            this.length = rest;
            return Poll::Ready(Ok(()));
        }
        buffer.put_slice(first);
        this.length = 0;
        match stream.poll_read(context, buffer) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(())),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PeekedStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn protocol_is_detected_from_the_first_bytes_and_no_byte_is_lost() {
        for (text, expected) in [
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", HttpVersion::Http1),
            ("PRI * HTTP/1.1\r\n\r\n", HttpVersion::Http1),
            ("P", HttpVersion::Http1),
            ("", HttpVersion::Http1),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nrest", HttpVersion::Http2),
        ] {
            for size in [1, 1024] {
                let (mut peer, host) = tokio::io::duplex(size);
                let sent = text.as_bytes().to_vec();
                let sending = tokio::spawn(async move {
                    drop(tokio::io::AsyncWriteExt::write_all(&mut peer, &sent).await);
                });
                let (mut stream, version) = PeekedStream::of(host).await.unwrap();
                assert_eq!(version, expected, "{text:?}");
                let mut all = Vec::new();
                let mut piece = [0; 7];
                loop {
                    let read = stream.read(&mut piece).await.unwrap();
                    if read == 0 {
                        break;
                    }
                    all.extend_from_slice(&piece[..read]);
                }
                sending.await.unwrap();
                assert_eq!(String::from_utf8(all).unwrap(), text);
            }
        }
    }
}
