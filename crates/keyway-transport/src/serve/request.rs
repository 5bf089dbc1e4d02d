//! A request as it arrived, and the answer to it.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use hyper::body::{Body as _, Incoming};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::body::{Content, Outgoing};
use super::patience::Busy;
use super::sockets::Guest;
use super::{Ends, owner};
use crate::gather::Gathered;

/// A request whose body has not been read yet.
#[derive(Debug)]
pub struct Inbound {
    /// Who sent it.
    pub guest: Guest,
    /// The method.
    pub method: Method,
    /// The address; with an authority in HTTP/2, or where a client sent a whole address.
    pub uri: Uri,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    ends: Option<Ends>,
}

impl Inbound {
    pub(super) fn new((guest, ends): (Guest, Option<Ends>), request: Request<Incoming>) -> Self {
        let (head, body) = request.into_parts();
        Self {
            ends,
            guest,
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body,
        }
    }

    /// Says whether the kernel tells that somebody else than our own user, or the superuser, sent
    /// it. Where it tells nothing, nobody is accused.
    ///
    /// Looks through a table of the kernel: not for every request.
    #[must_use]
    pub fn is_of_another_user(&self) -> bool {
        let Some((theirs, ours)) = self.ends else {
            return false;
        };
        let own = rustix::process::geteuid().as_raw();
        owner::of(theirs, ours).is_some_and(|user| user != own && user != 0)
    }

    /// Reads the body; called again, it returns nothing.
    ///
    /// # Errors
    ///
    /// Returns [`BodyFault::TooLarge`] above [`MAX_BODY_BYTES`], and [`BodyFault::TooSlow`] if
    /// nothing comes for half a minute.
    pub async fn body(&mut self) -> Result<Bytes, BodyFault> {
        let told = self.headers.get(CONTENT_LENGTH);
        let told = told.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if told.is_some_and(|length| length > MAX_BODY_BYTES) {
            return Err(BodyFault::TooLarge);
        }
        let mut body = Gathered::told(told);
        while !self.body.is_end_stream() {
            let Some(piece) = self.piece().await? else {
                break;
            };
            if body.len() + piece.len() > MAX_BODY_BYTES {
                return Err(BodyFault::TooLarge);
            }
            body.push(piece);
        }
        Ok(body.finish())
    }

    async fn piece(&mut self) -> Result<Option<Bytes>, BodyFault> {
        loop {
            let frame = poll_fn(|context| Pin::new(&mut self.body).poll_frame(context));
            let frame = timeout(PIECE_TIME, frame).await;
            match frame.map_err(|_| BodyFault::TooSlow)? {
                None => return Ok(None),
                Some(Err(_)) => return Err(BodyFault::Broken),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    content: Content,
}

impl Reply {
    /// Answers with a status and nothing else.
    #[must_use]
    pub fn new(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            content: Content::Whole(Bytes::new()),
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sends all of a body.
    #[must_use]
    pub fn body(mut self, bytes: impl Into<Bytes>) -> Self {
        self.content = Content::Whole(bytes.into());
        self
    }

    /// Sends pieces as they come, until there are no more senders.
    #[must_use]
    pub fn pieces(mut self, pieces: mpsc::Receiver<Bytes>) -> Self {
        self.content = Content::Pieces(pieces);
        self
    }

    /// Returns the status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn into_response(self, busy: Busy) -> Response<Outgoing> {
        let mut response = Response::new(Outgoing::new(self.content, busy));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BodyFault {
    /// Larger than [`MAX_BODY_BYTES`].
    #[error("the body is too large")]
    TooLarge,
    /// Nothing came for too long.
    #[error("the body did not come in time")]
    TooSlow,
    /// The guest went away.
    #[error("the body is incomplete")]
    Broken,
}

/// The largest body.
pub const MAX_BODY_BYTES: usize = crate::frame::MAX_FRAME_BYTES;
const PIECE_TIME: Duration = Duration::from_secs(30);
