//! An answer, checked for what no honest server sends, and its body in bounded pieces.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, RETRY_AFTER, TRANSFER_ENCODING,
};

pub(crate) use reqwest::Upgraded;

use crate::error::TransportError;
use crate::frame::FrameError;

/// The head of an answer, with a body still to be read.
#[derive(Debug)]
pub(crate) struct Response(reqwest::Response);

impl Response {
    /// Refuses two lengths at once (RFC 9112 §6.3), compression we did not ask for, and huge heads.
    pub(super) fn new(response: reqwest::Response) -> Result<Self, TransportError> {
        let headers = response.headers();
        if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
            return Err(protocol("an answer with two lengths"));
        }
        let encodings = headers.get_all(CONTENT_ENCODING);
        if encodings
            .iter()
            .any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"))
        {
            return Err(protocol("a compressed answer that nobody asked for"));
        }
        let size = |(name, value): (&HeaderName, &http::HeaderValue)| {
            name.as_str().len() + value.as_bytes().len()
        };
        if headers.iter().map(size).sum::<usize>() > super::MAX_HEADER_BYTES as usize {
            return Err(protocol("an answer with too many headers"));
        }
        Ok(Self(response))
    }

    /// Returns the status code.
    pub(crate) fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// Returns the headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        self.0.headers()
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

    /// Returns the error for an answer that is none, with the seconds it asks to wait.
    pub(crate) fn status_error(&self) -> TransportError {
        let seconds = self.headers().get(RETRY_AFTER);
        let seconds = seconds.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        TransportError::Status {
            status: self.status(),
            retry_after: seconds,
        }
    }

    /// Waits for the next piece of the body; `None` is its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        self.0.chunk().await.map_err(|_| TransportError::Closed)
    }

    /// Reads the whole body, of at most `limit` bytes.
    ///
    /// A body of known length that comes in one piece is not copied, and in several only once.
    pub(crate) async fn collect(&mut self, limit: usize) -> Result<Bytes, TransportError> {
        let length = self.0.content_length();
        let length = length.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        if let Some(bytes) = length.filter(|&bytes| bytes > limit) {
            return Err(FrameError::TooLarge { bytes }.into());
        }
        let Some(first) = self.chunk().await? else {
            return Ok(Bytes::new());
        };
        if length == Some(first.len()) {
            return Ok(first);
        }
        let mut body = BytesMut::with_capacity(length.unwrap_or(first.len() * 2));
        let mut next = Some(first);
        while let Some(piece) = next {
            let bytes = body.len() + piece.len();
            if bytes > limit {
                return Err(FrameError::TooLarge { bytes }.into());
            }
            body.extend_from_slice(&piece);
            next = self.chunk().await?;
        }
        Ok(body.freeze())
    }

    /// Takes the connection over, after an answer that changes its protocol.
    pub(crate) async fn upgrade(self) -> Result<Upgraded, TransportError> {
        self.0.upgrade().await.map_err(|_| TransportError::Closed)
    }

    /// Reads on to the end if it is near, so that the connection can be used again.
    pub(crate) async fn finish(mut self) {
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
        let _ = tokio::time::timeout(DRAIN_TIME, drain).await;
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

const DRAIN_BYTES: usize = 64 * 1024;
const DRAIN_TIME: std::time::Duration = std::time::Duration::from_millis(500);
