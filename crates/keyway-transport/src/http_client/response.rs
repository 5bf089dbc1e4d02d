//! An answer, checked for what no honest server sends, and its body in bounded pieces.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};

use hyper::body::{Body, Incoming};
#[cfg(feature = "ws")]
use hyper_util::rt::TokioIo;
use keyway_auth::retry_after;
use keyway_secret::{Clock as _, SystemClock};

use super::pool::{Exchange, Lease};
use crate::body_buffer::BodyBuffer;
use crate::error::TransportError;
use crate::frame::FrameError;
use crate::message_memory::MemoryReservation;
use crate::timeouts::DRAIN_TIMEOUT;

/// A connection that has changed to another protocol.
#[cfg(feature = "ws")]
pub(crate) type Upgraded = TokioIo<hyper::upgrade::Upgraded>;

/// The head of an answer, with a body still to be read.
#[derive(Debug)]
pub(crate) struct Response {
    inner: http::Response<Incoming>,
    /// The connection, until the body has been read to its end.
    lease: Option<Lease>,
}

impl Response {
    /// Refuses two lengths at once (RFC 9112 §6.3), and compression we did not ask for.
    pub(super) fn new(exchange: Exchange) -> Result<Self, TransportError> {
        let headers = exchange.response.headers();
        if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
            return Err(protocol("both Content-Length and Transfer-Encoding"));
        }
        let encodings = headers.get_all(CONTENT_ENCODING);
        if encodings
            .iter()
            .any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"))
        {
            return Err(protocol(
                "a compressed response although `identity` was requested",
            ));
        }
        let mut response = Self {
            inner: exchange.response,
            lease: exchange.lease,
        };
        response.release_at_end();
        Ok(response)
    }

    /// Gives the connection back if nothing more comes on it for us.
    fn release_at_end(&mut self) {
        if self.inner.body().is_end_stream() && self.status() != SWITCHING_PROTOCOLS {
            self.release();
        }
    }

    fn release(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.end();
        }
    }

    /// Returns the status code.
    pub(crate) fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// Returns the headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// Drops the headers, and with them the buffer in which they arrived.
    ///
    /// For long-lived bodies, once the headers are not needed any more.
    pub(crate) fn forget_head(&mut self) {
        *self.inner.headers_mut() = HeaderMap::new();
    }

    /// Says what the body claims to be.
    pub(crate) fn media(&self) -> Media {
        let Some(value) = self.headers().get(CONTENT_TYPE) else {
            return Media::Other;
        };
        let end = value.as_bytes().iter().position(|&byte| byte == b';');
        let essence = value.as_bytes().get(..end.unwrap_or(value.len()));
        let essence = essence.unwrap_or_default().trim_ascii();
        if essence.eq_ignore_ascii_case(b"application/json") {
            Media::Json
        } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
            Media::EventStream
        } else {
            Media::Other
        }
    }

    /// Returns the error for a failing status, with the seconds it asks to wait.
    pub(crate) fn status_error(&self) -> TransportError {
        TransportError::Status {
            status: self.status(),
            retry_after: self.retry_after(),
        }
    }

    /// Returns the seconds after which to ask again (RFC 9110 section 10.2.3).
    ///
    /// A date is held against the time that the server itself tells, so that a wrong clock on
    /// either side does no harm; one without that, against ours, for an hour at most.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        retry_after(self.headers(), Some(SystemClock.wall()))
    }

    /// Waits for the next piece of the body; `None` is its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        loop {
            let body = self.inner.body_mut();
            let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
            let frame = frame.transpose().map_err(|_| TransportError::Closed)?;
            let Some(frame) = frame else {
                self.release();
                return Ok(None);
            };
            // A frame without data is a trailer.
            if let Ok(data) = frame.into_data() {
                self.release_at_end();
                return Ok(Some(data));
            }
        }
    }

    /// Reads the whole body, of at most `limit` bytes.
    pub(crate) async fn collect(&mut self, limit: usize) -> Result<Bytes, TransportError> {
        let length = self.inner.body().size_hint().exact();
        let length = length.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        if let Some(bytes) = length.filter(|&bytes| bytes > limit) {
            return Err(FrameError::TooLarge { bytes }.into());
        }
        let mut body = BodyBuffer::with_expected_len(length);
        let mut reservation = MemoryReservation::default();
        while let Some(piece) = self.chunk().await? {
            let bytes = body.len() + piece.len();
            if bytes > limit {
                return Err(FrameError::TooLarge { bytes }.into());
            }
            reservation.grow_to(bytes).await?;
            body.push(piece);
        }
        Ok(reservation.attach(body.finish()))
    }

    /// Takes the connection over, after an answer that changes its protocol.
    #[cfg(feature = "ws")]
    pub(crate) async fn upgrade(self) -> Result<Upgraded, TransportError> {
        let upgraded = hyper::upgrade::on(self.inner).await;
        upgraded
            .map(TokioIo::new)
            .map_err(|_| TransportError::Closed)
    }

    /// Reads on to the end if it is near, so that the connection can be used again.
    pub(crate) async fn finish(mut self) {
        if self.lease.is_none() {
            return;
        }
        let drain = async {
            let mut left = DRAIN_BYTES;
            while let Ok(Some(piece)) = self.chunk().await {
                if piece.len() > left {
                    break;
                }
                left -= piece.len();
            }
        };
        // Too slow is as good as too long: the connection is given up.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, drain).await;
    }
}

/// What a body claims to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    /// `application/json`.
    Json,
    /// `text/event-stream`.
    EventStream,
    /// Anything else, or nothing.
    Other,
}

const fn protocol(what: &'static str) -> TransportError {
    TransportError::Protocol { what }
}

const SWITCHING_PROTOCOLS: u16 = 101;
const DRAIN_BYTES: usize = 64 * 1024;
