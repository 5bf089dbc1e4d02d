//! A conversation with one server: requests matched to answers, in either protocol era.
//!
//! Results are handed on as the server wrote them. What the server asks of its client goes to a
//! [`Handler`]; in the modern era such questions come inside a result, and the request is repeated
//! with the answers until it is complete.

mod era;
mod error;
mod handler;
mod input;
mod pump;
mod typed;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use keyway_auth::ServerEvent;
use keyway_transport::{Connection, RequestId};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use keyway_transport::Frame;

pub use crate::timeouts::REQUEST_TIMEOUT as DEFAULT_TIMEOUT;

pub use self::era::{Era, OfferedEras, ServerFacts};
pub use self::error::{RpcError, SessionError};
pub use self::handler::{Handler, NoHandler};
use self::pump::{Call, Exchange, Running};
pub use self::typed::{CallResult, ReadResult, Tool};
use crate::jsonrpc;
use crate::timeouts::WHOLE_LIST_TIMEOUT;

/// A conversation with one server.
///
/// ```text
///   open ──negotiate──▶ initialized ──close──▶ closing ──▶ closed
///     │                     │                                ▲
///     │ no version, refused └── the server ends it ──────────┘
///     ▼                         waiting requests get the reason
///   closed
/// ```
///
/// Dropping it ends the connection, and every task of the session that holds a copy of its link: the
/// one that reads, those that answer questions of the server, and those that tell it of
/// cancellations. To let those leave first, call [`Session::close`].
#[derive(Debug)]
pub struct Session {
    exchange: Running,
    facts: ServerFacts,
    client: ClientInfo,
}

/// How we introduce ourselves.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientInfo {
    /// The name of the program.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl ClientInfo {
    /// Names a program and its version.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
        }
    }
}

/// One request to a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The method.
    pub method: &'static str,
    /// Its parameters, without `_meta`.
    pub params: Map<String, Value>,
    /// How long to wait; progress restarts the time.
    pub timeout: Duration,
}

impl Request {
    /// Asks for `method` with the usual time to wait.
    #[must_use]
    pub const fn new(method: &'static str, params: Map<String, Value>) -> Self {
        Self {
            method,
            params,
            timeout: DEFAULT_TIMEOUT,
        }
    }
}

/// A request passed on for a client: its parameters stay as they were written.
#[derive(Clone)]
#[non_exhaustive]
pub struct Forward<'a> {
    /// The method.
    pub method: &'a str,
    /// Its parameters, an object; a progress token in them is replaced by one of ours.
    pub params: &'a str,
    /// How long to wait; progress restarts the time.
    pub timeout: Duration,
    /// Is given the notifications of progress, before the result comes.
    pub progress: Option<Progress>,
}

impl<'a> Forward<'a> {
    /// Waits for the usual time, and drops notifications of progress.
    #[must_use]
    pub const fn new(method: &'a str, params: &'a str) -> Self {
        Self {
            method,
            params,
            timeout: DEFAULT_TIMEOUT,
            progress: None,
        }
    }
}

impl fmt::Debug for Forward<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forward")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Takes notifications of progress.
pub type Progress = Arc<dyn Fn(&Frame) + Send + Sync>;

impl Session {
    /// Opens a conversation: finds out the era, introduces us, and learns what the server offers.
    ///
    /// # Errors
    ///
    /// Returns why the server cannot be talked to; a refused credential is
    /// [`SessionError::Transport`].
    ///
    /// Cancel safety: dropping the future ends the connection, and kills a child.
    pub async fn open(
        connection: Connection,
        client: ClientInfo,
        handler: Arc<dyn Handler>,
        offer: OfferedEras,
    ) -> Result<Self, SessionError> {
        Self::open_within(connection, client, handler, (offer, DEFAULT_TIMEOUT)).await
    }

    /// The same with a limit for the first answer: a package runner may fetch its program first.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    ///
    /// Cancel safety: as [`Self::open`].
    pub async fn open_within(
        connection: Connection,
        client: ClientInfo,
        handler: Arc<dyn Handler>,
        (offer, limit): (OfferedEras, Duration),
    ) -> Result<Self, SessionError> {
        let Connection {
            link,
            events,
            watch,
            ..
        } = connection;
        // Owns the reading task from the start, so that dropping this future ends that too.
        let exchange = Running::start(Exchange::new(link, handler), events);
        match era::negotiate(&exchange, &client, (offer, limit)).await {
            Ok(facts) => {
                watch.emit(ServerEvent::Connected);
                exchange.initialized(watch);
                Ok(Self {
                    exchange,
                    facts,
                    client,
                })
            }
            Err(error) => {
                let code = error.code();
                watch.emit(ServerEvent::NotConnected { code });
                exchange.close().await;
                Err(error)
            }
        }
    }

    /// Returns what the server said of itself.
    #[must_use]
    pub const fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// Sends a request and returns its result as the server wrote it.
    ///
    /// Dropping the future cancels the request.
    ///
    /// # Errors
    ///
    /// Returns the server's own error as [`SessionError::Rpc`].
    ///
    /// Cancel safety: as [`Session::forward`].
    pub async fn request(&self, request: Request) -> Result<Box<RawValue>, SessionError> {
        let params = Value::Object(request.params).to_string();
        let forward = Forward {
            method: request.method,
            params: &params,
            timeout: request.timeout,
            progress: None,
        };
        self.forward(forward).await
    }

    /// Passes a request on and returns its result as the server wrote it.
    ///
    /// Dropping the future cancels the request.
    ///
    /// # Errors
    ///
    /// As [`Session::request`].
    ///
    /// Cancel safety: a task of its own sends `notifications/cancelled`; the server may have
    /// carried the request out, and its answer is dropped. A question of the server that was being
    /// answered for this request gets no answer.
    pub async fn forward(&self, request: Forward<'_>) -> Result<Box<RawValue>, SessionError> {
        self.forward_of(request, None).await
    }

    /// The same; `of` is given the message that a large result was cut out of.
    pub(crate) async fn forward_of(
        &self,
        request: Forward<'_>,
        of: Option<&Mutex<Option<Bytes>>>,
    ) -> Result<Box<RawValue>, SessionError> {
        let mut params = None;
        for _ in 0..=input::MAX_ROUNDS {
            let written = params.as_deref().unwrap_or(request.params);
            let result = self.once(&request, written, of).await?;
            let Some(needed) = input::required(&result)? else {
                return Ok(result);
            };
            let handler = self.exchange.handler();
            params = Some(needed.answer(handler, request.params).await?);
        }
        Err(SessionError::Protocol {
            what: "it asks for more input again and again",
        })
    }

    /// Sends a notification; `params` is JSON.
    ///
    /// # Errors
    ///
    /// Returns why it did not leave.
    ///
    /// Cancel safety: the notification was sent whole or not at all.
    pub async fn notify(&self, method: &str, params: Option<&str>) -> Result<(), SessionError> {
        self.exchange.notify(method, params).await
    }

    /// Says whether the connection has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.exchange.is_closed()
    }

    /// Collects all pages of a list: `tools/list` gives the items of `tools`.
    ///
    /// # Errors
    ///
    /// As [`Session::request`]; a server that never ends its pages is refused: a whole list has at
    /// most 1,000 pages and 16 MiB, takes at most two minutes, and names no cursor twice in a row.
    ///
    /// Cancel safety: dropping the future cancels the request for the current page; the pages
    /// before it are lost.
    pub async fn list(
        &self,
        method: &'static str,
        key: &str,
    ) -> Result<Vec<Box<RawValue>>, SessionError> {
        let listing = self.list_pages(method, key);
        match tokio::time::timeout(WHOLE_LIST_TIMEOUT, listing).await {
            Ok(listed) => listed,
            Err(_) => Err(SessionError::Timeout {
                method: method.to_owned(),
                seconds: WHOLE_LIST_TIMEOUT.as_secs(),
            }),
        }
    }

    async fn list_pages(
        &self,
        method: &'static str,
        key: &str,
    ) -> Result<Vec<Box<RawValue>>, SessionError> {
        let mut items = Vec::new();
        let mut params = Map::new();
        let mut bytes = 0_usize;
        for _ in 0..MAX_PAGES {
            let result = self.request(Request::new(method, params.clone())).await?;
            bytes = bytes.saturating_add(result.get().len());
            if bytes > MAX_LIST_BYTES {
                return Err(ENDLESS_LIST);
            }
            let page: Page<'_> =
                serde_json::from_str(result.get()).map_err(|_| SessionError::Protocol {
                    what: "a list that is not one",
                })?;
            items.extend(self::items(&page, key)?);
            let Some(cursor) = next_cursor(&page).map(Value::from) else {
                return Ok(items);
            };
            // The same page would come again.
            if params.get("cursor") == Some(&cursor) {
                return Err(ENDLESS_LIST);
            }
            params.insert("cursor".to_owned(), cursor);
        }
        Err(ENDLESS_LIST)
    }

    /// Ends the conversation in good order; a request that still waits then gets
    /// [`TransportError::Closed`](keyway_transport::TransportError::Closed).
    ///
    /// Cancel safety: no request is accepted once it was polled, and those that wait are ended at the
    /// latest when the future is dropped. The connection then ends when the session is dropped.
    pub async fn close(&self) {
        self.exchange.close().await;
    }

    async fn once(
        &self,
        request: &Forward<'_>,
        params: &str,
        of: Option<&Mutex<Option<Bytes>>>,
    ) -> Result<Box<RawValue>, SessionError> {
        let id = self.exchange.next_id();
        let handler = self.exchange.handler();
        let params = self.facts.era.params(params, &id, &self.client, handler);
        let call = Call {
            method: request.method,
            params: &params,
            timeout: request.timeout,
            progress: request.progress.clone(),
            of,
        };
        self.exchange.call(id, call).await
    }
}

/// One page of a list, its members as written.
type Page<'a> = BTreeMap<String, &'a RawValue>;

fn items(page: &Page<'_>, key: &str) -> Result<Vec<Box<RawValue>>, SessionError> {
    let list = page
        .get(key)
        .and_then(|list| serde_json::from_str(list.get()).ok());
    list.ok_or(SessionError::Protocol {
        what: "a list without its items",
    })
}

fn next_cursor(page: &Page<'_>) -> Option<String> {
    let cursor: Option<String> = serde_json::from_str(page.get("nextCursor")?.get()).ok()?;
    cursor.filter(|cursor| !cursor.is_empty())
}

/// Writes a request as a frame.
fn request_frame(id: &RequestId, method: &str, params: &str) -> Result<Frame, SessionError> {
    let text = jsonrpc::request(id, method, Some(params));
    Frame::new(text).map_err(|error| SessionError::Transport(error.into()))
}

const MAX_PAGES: usize = 1000;
/// For all pages of one list together.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;
const ENDLESS_LIST: SessionError = SessionError::Protocol {
    what: "an endless list",
};

#[cfg(test)]
mod tests;
