//! The stream of notifications that a legacy client gets without asking for one.
//!
//! There is one stream at a time. A change of what is listened to opens another and ends the former
//! only when the server has acknowledged it, so that nothing falls in between.

use std::collections::BTreeSet;

use keyway_code::Code;
use keyway_transport::RequestId;
use tokio::time::Instant;

use super::super::adapter::Outbox;
use super::super::capability::offers;
use super::super::message;
use super::super::names::{LISTS, MAX_PENDING};
use crate::splice::quoted;
use crate::timeouts::LISTEN_RETRY_DELAY;

/// What is listened to.
#[derive(Debug)]
pub(super) struct ListenStream {
    /// The list changes that the server tells of, as names in the filter.
    lists: Vec<&'static str>,
    takes_resources: bool,
    has_begun: bool,
    uris: BTreeSet<String>,
    current: Option<Stream>,
    /// Goes on until the current one is acknowledged.
    former: Option<RequestId>,
    /// Subscriptions that the client waits for.
    waiting: Vec<(RequestId, String)>,
    failures: u32,
    reopen_at: Option<Instant>,
}

#[derive(Debug)]
struct Stream {
    id: RequestId,
    is_acknowledged: bool,
}

/// How a stream ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// The server does not want it; the error as JSON.
    Refused(String),
    /// It may be opened again.
    Broken,
}

impl ListenStream {
    pub(super) fn new(capabilities: &str) -> Self {
        let lists = LISTS.iter();
        let lists = lists.filter(|list| offers(capabilities, list.capability, "listChanged"));
        Self {
            lists: lists.map(|list| list.filter).collect(),
            takes_resources: offers(capabilities, "resources", "subscribe"),
            has_begun: false,
            uris: BTreeSet::new(),
            current: None,
            former: None,
            waiting: Vec::new(),
            failures: 0,
            reopen_at: None,
        }
    }

    /// Says whether the server tells of changes to a resource.
    pub(super) const fn takes_resources(&self) -> bool {
        self.takes_resources
    }

    /// Notes that the client is ready; says whether there is something to listen to.
    pub(super) fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.has_begun, true) && !self.lists.is_empty()
    }

    /// Adds a resource; says whether a stream has to be opened, which then answers the client.
    pub(super) fn add(&mut self, uri: String, client: RequestId, out: &mut Outbox) -> bool {
        if self.uris.len() >= MAX_PENDING || self.waiting.len() >= MAX_PENDING {
            let error = message::own_error(Code::Busy, "too many subscriptions");
            out.client(message::error_event(&client, &error));
            return false;
        }
        let is_open = self
            .current
            .as_ref()
            .is_some_and(|stream| stream.is_acknowledged);
        if !self.uris.insert(uri.clone()) && is_open {
            done(&client, out);
            return false;
        }
        self.waiting.push((client, uri));
        true
    }

    /// Takes a resource out and answers the client; says whether the stream has to be changed.
    pub(super) fn remove(&mut self, uri: &str, client: &RequestId, out: &mut Outbox) -> bool {
        done(client, out);
        self.uris.remove(uri)
    }

    /// Opens a stream under this id, or ends the present one if there is nothing to listen to.
    pub(super) fn open(&mut self, id: RequestId, meta: &str, out: &mut Outbox) {
        self.reopen_at = None;
        if let Some(stream) = self.current.take() {
            if stream.is_acknowledged && self.former.is_none() {
                self.former = Some(stream.id);
            } else {
                end(&stream.id, out);
            }
        }
        let Some(filter) = self.filter() else {
            if let Some(former) = self.former.take() {
                end(&former, out);
            }
            return;
        };
        let params = format!(r#"{{"notifications":{filter},"_meta":{meta}}}"#);
        out.note(message::request(&id, "subscriptions/listen", &params));
        self.current = Some(Stream {
            id,
            is_acknowledged: false,
        });
    }

    /// Says whether an id is that of a stream.
    pub(super) fn is_about(&self, id: &RequestId) -> bool {
        let current = self.current.as_ref().map(|stream| &stream.id);
        current == Some(id) || self.former.as_ref() == Some(id)
    }

    pub(super) fn acknowledged(&mut self, id: &RequestId, out: &mut Outbox) {
        let Some(stream) = self.current.as_mut().filter(|stream| stream.id == *id) else {
            return;
        };
        stream.is_acknowledged = true;
        self.failures = 0;
        if let Some(former) = self.former.take() {
            end(&former, out);
        }
        for (client, _) in self.waiting.drain(..) {
            done(&client, out);
        }
    }

    pub(super) fn ended(&mut self, id: &RequestId, ending: Ending, out: &mut Outbox) {
        if self.former.take_if(|former| former == id).is_some() {
            return;
        }
        if self.current.take_if(|stream| stream.id == *id).is_none() {
            return;
        }
        self.current = self.former.take().map(|id| Stream {
            id,
            is_acknowledged: true,
        });
        self.failures += 1;
        let error = match ending {
            Ending::Refused(error) => error,
            Ending::Broken if self.failures <= MAX_FAILURES => {
                let pause = LISTEN_RETRY_DELAY.saturating_mul(1 << self.failures.min(MAX_FAILURES));
                self.reopen_at = Some(out.now() + pause);
                return;
            }
            Ending::Broken => message::own_error(Code::ConnectionClosed, "the subscription ended"),
        };
        for (client, uri) in self.waiting.drain(..) {
            self.uris.remove(&uri);
            out.client(message::error_event(&client, &error));
        }
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.reopen_at
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.reopen_at.is_some_and(|time| time <= now)
    }

    /// Never opens a stream again.
    pub(super) fn stop(&mut self) {
        self.reopen_at = None;
        self.current = None;
        self.former = None;
    }

    /// Writes what to listen to; `None` if there is nothing.
    fn filter(&self) -> Option<String> {
        let lists = self.lists.iter().filter(|_| self.has_begun);
        let mut filter: Vec<_> = lists.map(|name| format!("\"{name}\":true")).collect();
        if !self.uris.is_empty() {
            let uris: Vec<_> = self.uris.iter().map(|uri| quoted(uri)).collect();
            filter.push(format!("\"resourceSubscriptions\":[{}]", uris.join(",")));
        }
        (!filter.is_empty()).then(|| format!("{{{}}}", filter.join(",")))
    }
}

fn done(client: &RequestId, out: &mut Outbox) {
    out.client(message::to_event(client, message::result(client, "{}")));
}

fn end(stream: &RequestId, out: &mut Outbox) {
    out.abandon(stream);
    out.note(message::cancelled(stream));
}

const MAX_FAILURES: u32 = 7;
