//! Which HTTP a connection speaks, found out without losing what was read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// What a guest speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    /// HTTP/1.0 or HTTP/1.1.
    Http1,
    /// HTTP/2, without being asked (RFC 9113 §3.3).
    Http2,
}

/// A stream of which the first bytes have been read already.
///
/// They are given out together with what follows them: whoever reads them alone, and needs more,
/// makes room for as much again.
#[derive(Debug)]
pub(super) struct Prelude<S> {
    stream: S,
    read: [u8; PREFACE.len()],
    length: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Prelude<S> {
    /// Reads until it is known what is spoken; the end of the stream is for others to notice.
    pub(super) async fn of(mut stream: S) -> io::Result<(Self, Spoken)> {
        let mut read = [0; PREFACE.len()];
        let mut length = 0;
        let spoken = loop {
            let more = read.get_mut(length..).unwrap_or_default();
            if more.is_empty() {
                break Spoken::Http2;
            }
            let count = stream.read(more).await?;
            length += count;
            let so_far = read.get(..length).unwrap_or_default();
            if count == 0 || !PREFACE.starts_with(so_far) {
                break Spoken::Http1;
            }
        };
        let prelude = Self {
            stream,
            read,
            length,
        };
        Ok((prelude, spoken))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prelude<S> {
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
            // Nobody reads in pieces that small; whoever does gets less than there is.
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Prelude<S> {
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
    async fn what_is_spoken_is_known_from_the_first_bytes_and_none_is_lost() {
        for (text, expected) in [
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", Spoken::Http1),
            ("PRI * HTTP/1.1\r\n\r\n", Spoken::Http1),
            ("P", Spoken::Http1),
            ("", Spoken::Http1),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nrest", Spoken::Http2),
        ] {
            for size in [1, 1024] {
                let (mut guest, host) = tokio::io::duplex(size);
                let sent = text.as_bytes().to_vec();
                let sending = tokio::spawn(async move {
                    drop(tokio::io::AsyncWriteExt::write_all(&mut guest, &sent).await);
                });
                let (mut stream, spoken) = Prelude::of(host).await.unwrap();
                assert_eq!(spoken, expected, "{text:?}");
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
