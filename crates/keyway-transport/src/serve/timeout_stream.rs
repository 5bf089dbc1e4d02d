//! How long a peer may take: to send the head of a request, to read an answer, to say nothing.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};

use http::Version;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::request_head::{HeadLengths, HeadScanner};
use crate::timeouts::{KEEP_ALIVE_TIMEOUT, REQUEST_HEAD_TIMEOUT, WRITE_TIMEOUT};

/// What a connection is doing, as far as waiting for its peer is concerned.
///
/// ```text
/// HEAD ──head read──▶ BUSY ──response sent──▶ IDLE ──first byte──▶ HEAD
///   └── HTTP/2 ──▶ UNTIMED ◀── status 101 ──┘
/// ```
///
/// Relaxed is enough: the stream and the service of one connection are polled by one task, and
/// nothing else is read on the strength of the state.
#[derive(Debug, Default)]
pub(super) struct ActivityClock {
    state: AtomicU8,
    /// What the head that is parsed next says of its length.
    head: AtomicU8,
}

/// The first bytes of a head have to be followed by the rest.
const HEAD: u8 = 0;
/// A request is being answered, and nothing is expected of the peer.
const BUSY: u8 = 1;
/// The peer may send another request.
const IDLE: u8 = 2;
/// HTTP/2, or not HTTP any more: silence means nothing.
const UNTIMED: u8 = 3;

impl ActivityClock {
    /// Notes that a head has been read; the request lasts until the value is dropped.
    pub(super) fn begin(self: &Arc<Self>, version: Version) -> ActiveRequest {
        let state = if version == Version::HTTP_2 {
            UNTIMED
        } else {
            BUSY
        };
        self.state.store(state, Ordering::Relaxed);
        ActiveRequest(Arc::clone(self))
    }

    /// Returns what the head that was just parsed says of its length; that of the next is not known.
    pub(super) fn take_head(&self) -> HeadLengths {
        let unseen = HeadLengths::Unseen as u8;
        HeadLengths::from_u8(self.head.swap(unseen, Ordering::Relaxed))
    }

    fn state(&self) -> u8 {
        self.state.load(Ordering::Relaxed)
    }

    /// Notes that something arrived.
    fn data_received(&self) {
        let _other = self
            .state
            .compare_exchange(IDLE, HEAD, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<ActivityClock>);

impl ActiveRequest {
    /// Notes that the connection speaks another protocol from now on, with limits of its own.
    pub(super) fn upgrade(&self) {
        self.0.state.store(UNTIMED, Ordering::Relaxed);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let _many = self
            .0
            .state
            .compare_exchange(BUSY, IDLE, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// A stream that fails when its peer takes too long.
#[derive(Debug)]
pub(super) struct TimeoutStream<S> {
    stream: S,
    clock: Arc<ActivityClock>,
    /// For which state the clock runs.
    armed: Option<u8>,
    read_clock: Pin<Box<Sleep>>,
    /// For the head that is being read; none while a request is answered.
    scanner: Option<HeadScanner>,
    write_clock: Option<Pin<Box<Sleep>>>,
}

impl<S> TimeoutStream<S> {
    pub(super) fn new(stream: S, clock: Arc<ActivityClock>) -> Self {
        Self {
            stream,
            clock,
            armed: Some(HEAD),
            read_clock: Box::pin(sleep(REQUEST_HEAD_TIMEOUT)),
            scanner: Some(HeadScanner::default()),
            write_clock: None,
        }
    }

    /// Looks at what arrived, if it is part of a head that is seen from its first byte.
    fn scan(&mut self, bytes: &[u8]) {
        let found = self.scanner.as_mut().and_then(|it| it.push(bytes));
        if let Some(lengths) = found {
            self.clock.head.store(lengths as u8, Ordering::Relaxed);
            self.scanner = None;
        }
    }

    /// Looks at the clock while nothing arrives.
    fn wait_for_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let state = self.clock.state();
        let limit = match state {
            HEAD => REQUEST_HEAD_TIMEOUT,
            IDLE => KEEP_ALIVE_TIMEOUT,
            _ => {
                self.armed = None;
                return Poll::Pending;
            }
        };
        if self.armed != Some(state) {
            self.armed = Some(state);
            self.read_clock.as_mut().reset(Instant::now() + limit);
        }
        ready!(self.read_clock.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Looks at the clock while nothing can be written.
    fn wait_for_reader(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let clock = self
            .write_clock
            .get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        ready!(clock.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        match Pin::new(&mut this.stream).poll_read(context, buffer) {
            Poll::Ready(read) => {
                if buffer.filled().len() > before {
                    if this.clock.state() == IDLE {
                        this.armed = None;
                        this.scanner = Some(HeadScanner::default());
                    }
                    this.clock.data_received();
                    this.scan(buffer.filled().get(before..).unwrap_or_default());
                }
                Poll::Ready(read)
            }
            Poll::Pending => this.wait_for_more(context),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_write(context, bytes) {
            Poll::Ready(written) => {
                this.write_clock = None;
                Poll::Ready(written)
            }
            Poll::Pending => this.wait_for_reader(context),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_write_vectored(context, slices) {
            Poll::Ready(written) => {
                this.write_clock = None;
                Poll::Ready(written)
            }
            Poll::Pending => this.wait_for_reader(context),
        }
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
