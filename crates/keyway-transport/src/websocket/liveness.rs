//! Signs of life: bytes that come and go, so that a long message on a slow line does not count as
//! silence.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much a connection has moved.
///
/// Relaxed is enough: the counters are looked at every half a minute, and only for a change.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    read: AtomicU64,
    written: AtomicU64,
    /// Whether the writer is busy with something larger than a ping.
    is_writing: AtomicBool,
}

impl Traffic {
    pub(super) fn set_writing(&self, is_writing: bool) {
        self.is_writing.store(is_writing, Ordering::Relaxed);
    }
}

/// Decides from time to time whether the server is still there.
#[derive(Debug, Default)]
pub(super) struct LivenessCheck {
    read: u64,
    written: u64,
    /// Pings since the last sign.
    unanswered: u32,
}

impl LivenessCheck {
    /// Says whether the server may still be there, in which case it is to get a ping.
    ///
    /// What leaves is a sign only while a message blocks the pings: the system takes a little even
    /// for a server that is gone.
    pub(super) fn is_alive(&mut self, traffic: &Traffic) -> bool {
        let read = traffic.read.load(Ordering::Relaxed);
        let written = traffic.written.load(Ordering::Relaxed);
        let is_writing = traffic.is_writing.load(Ordering::Relaxed);
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
pub(super) struct CountingStream<S> {
    inner: S,
    traffic: Arc<Traffic>,
}

impl<S> CountingStream<S> {
    pub(super) const fn new(inner: S, traffic: Arc<Traffic>) -> Self {
        Self { inner, traffic }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountingStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        count(&self.traffic.read, buf.filled().len() - before);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountingStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, buf);
        if let Poll::Ready(Ok(bytes)) = polled {
            count(&self.traffic.written, bytes);
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
    fn two_unanswered_pings_mean_the_connection_is_dead() {
        let (traffic, mut watch) = (Traffic::default(), LivenessCheck::default());
        assert!(watch.is_alive(&traffic), "no ping was sent yet");
        count(&traffic.read, 1);
        assert!(watch.is_alive(&traffic));
        let looks: Vec<_> = (0..2).map(|_| watch.is_alive(&traffic)).collect();
        assert_eq!(looks, [true, false]);
    }

    #[test]
    fn slow_upload_counts_as_activity_but_sent_pings_do_not() {
        let (traffic, mut watch) = (Traffic::default(), LivenessCheck::default());
        traffic.set_writing(true);
        for _ in 0..9 {
            count(&traffic.written, 1);
            assert!(watch.is_alive(&traffic));
        }
        traffic.set_writing(false);
        let looks = (0..2).map(|_| {
            count(&traffic.written, 6);
            watch.is_alive(&traffic)
        });
        assert_eq!(looks.collect::<Vec<_>>(), [true, false]);
    }
}
