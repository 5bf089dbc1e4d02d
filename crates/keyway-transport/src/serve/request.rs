//! A request as it arrived, and the answer to it.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;
use http::header::CONTENT_LENGTH;
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri,
};
use hyper::body::{Body as _, Incoming};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::time::timeout;

use super::body::{Content, ResponseBody};
use super::sockets::Peer;
use super::timeout_stream::ActiveRequest;
use super::upgraded::UpgradedStream;
use super::{SocketPair, peer_user};
use crate::body_buffer::BodyBuffer;
use crate::message_memory::MemoryReservation;
use crate::timeouts::BODY_CHUNK_TIMEOUT;

/// A request whose body has not been read yet.
#[derive(Debug)]
#[non_exhaustive]
pub struct Inbound {
    /// Its sender.
    pub peer: Peer,
    /// The method.
    pub method: Method,
    /// The address; with an authority in HTTP/2, or where a client sent a whole address.
    pub uri: Uri,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    addresses: Option<SocketPair>,
    /// Holds what hyper keeps of a connection that may change its protocol.
    extensions: Extensions,
}

/// A connection that changes its protocol once the answer with status 101 was sent.
#[derive(Debug)]
pub struct Upgrade(OnUpgrade);

impl Upgrade {
    /// Waits for the answer to be sent, and returns the connection. No time limit holds on it.
    ///
    /// # Errors
    ///
    /// Returns why there is none: another status was sent, or the peer went away.
    ///
    /// Cancel safety: dropping the future closes the connection.
    pub async fn stream(self) -> io::Result<UpgradedStream> {
        let upgraded = self.0.await.map_err(io::Error::other)?;
        Ok(UpgradedStream(TokioIo::new(upgraded)))
    }
}

impl Inbound {
    pub(super) fn new(
        (peer, addresses): (Peer, Option<SocketPair>),
        request: Request<Incoming>,
    ) -> Self {
        let (head, body) = request.into_parts();
        Self {
            addresses,
            peer,
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body,
            extensions: head.extensions,
        }
    }

    /// Takes the connection over, if the request asks for another protocol and is answered with
    /// status 101.
    #[must_use]
    pub fn on_upgrade(&mut self) -> Upgrade {
        let mut head = Request::new(());
        *head.extensions_mut() = std::mem::take(&mut self.extensions);
        Upgrade(hyper::upgrade::on(head))
    }

    /// Says whether the kernel reports a sender other than our own user or the superuser; `false`
    /// where it reports nothing.
    ///
    /// Looks through a table of the kernel: not for every request.
    #[must_use]
    pub fn is_from_other_user(&self) -> bool {
        let Some((theirs, ours)) = self.addresses else {
            return false;
        };
        let own = rustix::process::geteuid().as_raw();
        peer_user::of(theirs, ours).is_some_and(|user| user != own && user != 0)
    }

    /// Reads the body; called again, it returns nothing.
    ///
    /// # Errors
    ///
    /// Returns [`BodyError::TooLarge`] above [`MAX_BODY_BYTES`], and [`BodyError::TooSlow`] if
    /// nothing comes for half a minute.
    ///
    /// Cancel safety: what was read so far is lost.
    pub async fn body(&mut self) -> Result<Bytes, BodyError> {
        let told = self.headers.get(CONTENT_LENGTH);
        let told = told.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if told.is_some_and(|length| length > MAX_BODY_BYTES) {
            return Err(BodyError::TooLarge);
        }
        let mut body = BodyBuffer::with_expected_len(told);
        let mut reservation = MemoryReservation::default();
        while !self.body.is_end_stream() {
            let Some(piece) = self.piece().await? else {
                break;
            };
            if body.len() + piece.len() > MAX_BODY_BYTES {
                return Err(BodyError::TooLarge);
            }
            let room = reservation.grow_to(body.len() + piece.len()).await;
            room.map_err(|_| BodyError::NoRoom)?;
            body.push(piece);
        }
        Ok(reservation.attach(body.finish()))
    }

    async fn piece(&mut self) -> Result<Option<Bytes>, BodyError> {
        loop {
            let frame = poll_fn(|context| Pin::new(&mut self.body).poll_frame(context));
            let frame = timeout(BODY_CHUNK_TIMEOUT, frame).await;
            match frame.map_err(|_| BodyError::TooSlow)? {
                None => return Ok(None),
                Some(Err(_)) => return Err(BodyError::Broken),
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

    /// Sends pieces as they come, until the stream ends.
    #[must_use]
    pub fn pieces(mut self, pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        self.content = Content::Pieces(Box::pin(pieces));
        self
    }

    /// Returns the status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the body, unless it is sent in pieces.
    #[must_use]
    pub const fn whole_body(&self) -> Option<&Bytes> {
        match &self.content {
            Content::Whole(bytes) => Some(bytes),
            Content::Pieces(_) => None,
        }
    }

    pub(super) fn into_response(self, busy: ActiveRequest) -> Response<ResponseBody> {
        if self.status == StatusCode::SWITCHING_PROTOCOLS {
            busy.upgrade();
        }
        let mut response = Response::new(ResponseBody::new(self.content, busy));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BodyError {
    /// Larger than [`MAX_BODY_BYTES`].
    #[error("request body too large")]
    TooLarge,
    /// Too many large messages wait to be read.
    #[error("too many large messages wait to be read")]
    NoRoom,
    /// Nothing came for too long.
    #[error("timed out reading the request body")]
    TooSlow,
    /// The peer went away.
    #[error("request body incomplete")]
    Broken,
}

/// The largest body.
pub const MAX_BODY_BYTES: usize = crate::frame::MAX_FRAME_BYTES;
