//! Signs of life: bytes that come and go, so that a long message on a slow line is no silence.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much a connection has moved.
#[derive(Debug, Default)]
pub(super) struct Beats {
    read: AtomicU64,
    written: AtomicU64,
    /// Whether the writer is busy with something larger than a ping.
    is_writing: AtomicBool,
}

impl Beats {
    pub(super) fn set_writing(&self, is_writing: bool) {
        self.is_writing.store(is_writing, Ordering::Relaxed);
    }
}

/// Decides from time to time whether the peer is still there.
#[derive(Debug, Default)]
pub(super) struct Watch {
    read: u64,
    written: u64,
    /// Pings since the last sign.
    unanswered: u32,
}

impl Watch {
    /// Says whether the peer may still be there, in which case it is to get a ping.
    ///
    /// What leaves is a sign only while a message blocks the pings: the system takes a little even
    /// for a peer that is gone.
    pub(super) fn is_alive(&mut self, beats: &Beats) -> bool {
        let read = beats.read.load(Ordering::Relaxed);
        let written = beats.written.load(Ordering::Relaxed);
        let is_writing = beats.is_writing.load(Ordering::Relaxed);
        let moved = read != self.read || (is_writing && written != self.written);
        (self.read, self.written) = (read, written);
        if moved {
            self.unanswered = 0;
        }
        self.unanswered += 1;
        self.unanswered <= MAX_UNANSWERED
    }
}

/// A stream that counts.
#[derive(Debug)]
pub(super) struct Pulse<S> {
    inner: S,
    beats: Arc<Beats>,
}

impl<S> Pulse<S> {
    pub(super) const fn new(inner: S, beats: Arc<Beats>) -> Self {
        Self { inner, beats }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Pulse<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        count(&self.beats.read, buf.filled().len() - before);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Pulse<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, buf);
        if let Poll::Ready(Ok(bytes)) = polled {
            count(&self.beats.written, bytes);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

fn count(counter: &AtomicU64, bytes: usize) {
    counter.fetch_add(bytes as u64, Ordering::Relaxed);
}

const MAX_UNANSWERED: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_the_end_after_two_missed_answers() {
        let (beats, mut watch) = (Beats::default(), Watch::default());
        assert!(watch.is_alive(&beats), "nobody was asked yet");
        count(&beats.read, 1);
        assert!(watch.is_alive(&beats));
        let looks: Vec<_> = (0..2).map(|_| watch.is_alive(&beats)).collect();
        assert_eq!(looks, [true, false]);
    }

    #[test]
    fn slow_upload_is_no_silence_but_a_ping_that_leaves_is() {
        let (beats, mut watch) = (Beats::default(), Watch::default());
        beats.set_writing(true);
        for _ in 0..9 {
            count(&beats.written, 1);
            assert!(watch.is_alive(&beats));
        }
        beats.set_writing(false);
        let looks = (0..2).map(|_| {
            count(&beats.written, 6);
            watch.is_alive(&beats)
        });
        assert_eq!(looks.collect::<Vec<_>>(), [true, false]);
    }
}
