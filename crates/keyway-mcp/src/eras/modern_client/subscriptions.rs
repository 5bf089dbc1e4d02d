//! Subscriptions of a modern client, kept here because a legacy server has only one for all.

use std::collections::HashMap;

use keyway_code::Code;
use keyway_transport::{Event, Frame, FrameError, RequestId};

use super::super::adapter::Outbox;
use super::super::capability::offers;
use super::super::message;
use super::super::names::{LISTS, MAX_PENDING, SUBSCRIPTION_ID};
use crate::jsonrpc;
use crate::splice::{RawObject, quoted};

/// The open subscriptions.
#[derive(Debug)]
pub(super) struct Subscriptions {
    /// The list changes that the server tells of, as names in a filter.
    lists: Vec<&'static str>,
    takes_resources: bool,
    open: Vec<Subscription>,
    /// What the server was asked to tell of, by the id of that request.
    asked: HashMap<RequestId, (RequestId, String)>,
    last_id: u64,
}

#[derive(Debug)]
struct Subscription {
    id: RequestId,
    lists: Vec<&'static str>,
    uris: Vec<String>,
    /// Answers of the server that are missing before it can be acknowledged.
    missing: usize,
}

impl Subscriptions {
    pub(super) fn new(capabilities: &str) -> Self {
        let lists = LISTS.iter();
        let lists = lists.filter(|list| offers(capabilities, list.capability, "listChanged"));
        Self {
            lists: lists.map(|list| list.filter).collect(),
            takes_resources: offers(capabilities, "resources", "subscribe"),
            open: Vec::new(),
            asked: HashMap::new(),
            last_id: 0,
        }
    }

    /// Opens a subscription; it is acknowledged when the server has agreed to tell of its resources.
    pub(super) fn open(&mut self, id: RequestId, params: Option<&str>, out: &mut Outbox) {
        let params = params.and_then(RawObject::read).unwrap_or_default();
        let Some(filter) = params.object("notifications") else {
            let error =
                jsonrpc::error_object(jsonrpc::INVALID_PARAMS, "`notifications` is missing");
            out.client(message::error_event(&id, &error));
            return;
        };
        let wanted = filter.get("resourceSubscriptions").unwrap_or("[]");
        let mut uris: Vec<String> = serde_json::from_str(wanted).unwrap_or_default();
        uris.sort();
        uris.dedup();
        uris.retain(|_| self.takes_resources);
        let known: usize = self.open.iter().map(|open| open.uris.len()).sum();
        if self.open.len() >= MAX_PENDING || known + uris.len() > MAX_PENDING {
            let error = message::own_error(Code::Busy, "too many subscriptions");
            out.client(message::error_event(&id, &error));
            return;
        }
        self.end(&id, out);
        let unknown = uris.iter().filter(|uri| !self.is_known(uri));
        let unknown: Vec<_> = unknown.cloned().collect();
        let missing = unknown.len();
        for uri in unknown {
            let request = self.next_id();
            out.note(message::request(
                &request,
                "resources/subscribe",
                &about(&uri),
            ));
            self.asked.insert(request, (id.clone(), uri));
        }
        let lists = self.lists.iter().copied();
        let subscription = Subscription {
            lists: lists
                .filter(|name| filter.get(name) == Some("true"))
                .collect(),
            id,
            uris,
            missing,
        };
        if missing == 0 {
            subscription.acknowledge(out);
        }
        self.open.push(subscription);
    }

    /// Takes an answer of the server; says whether it was one to a request from here.
    pub(super) fn answered(&mut self, id: &RequestId, is_good: bool, out: &mut Outbox) -> bool {
        let Some((subscription, uri)) = self.asked.remove(id) else {
            return false;
        };
        let mut open = self.open.iter_mut();
        let Some(subscription) = open.find(|open| open.id == subscription) else {
            return true;
        };
        if !is_good {
            subscription.uris.retain(|wanted| *wanted != uri);
        }
        subscription.missing = subscription.missing.saturating_sub(1);
        if subscription.missing == 0 {
            subscription.acknowledge(out);
        }
        true
    }

    /// Ends a subscription; says whether there was one.
    pub(super) fn end(&mut self, id: &RequestId, out: &mut Outbox) -> bool {
        let Some(place) = self.open.iter().position(|open| open.id == *id) else {
            return false;
        };
        let ended = self.open.swap_remove(place);
        self.asked.retain(|_, (subscription, _)| subscription != id);
        for uri in ended.uris {
            if self.is_known(&uri) {
                continue;
            }
            let request = self.next_id();
            out.note(message::request(
                &request,
                "resources/unsubscribe",
                &about(&uri),
            ));
        }
        true
    }

    /// Copies a notification to its subscribers; says whether one can subscribe to it.
    pub(super) fn notified(&self, method: &str, frame: &Frame, out: &mut Outbox) -> bool {
        let list = LISTS.iter().find(|list| list.notification == method);
        if list.is_none() && method != "notifications/resources/updated" {
            return false;
        }
        let params = message::params_of(frame).and_then(RawObject::read);
        let uri = params.and_then(|params| params.text("uri"));
        for open in self.open.iter().filter(|open| open.missing == 0) {
            let is_wanted = match (list, &uri) {
                (Some(list), _) => open.lists.contains(&list.filter),
                (None, Some(uri)) => open.uris.iter().any(|wanted| is_within(uri, wanted)),
                (None, None) => false,
            };
            if let (true, Ok(copy)) = (is_wanted, open.copy(frame)) {
                out.client(Event::Frame(copy));
            }
        }
        true
    }

    /// Forgets all; returns which there were.
    pub(super) fn stop(&mut self) -> Vec<RequestId> {
        self.asked.clear();
        self.open.drain(..).map(|open| open.id).collect()
    }

    fn next_id(&mut self) -> RequestId {
        self.last_id += 1;
        message::own_id("uri:", self.last_id)
    }

    fn is_known(&self, uri: &str) -> bool {
        let mut known = self.open.iter().flat_map(|open| &open.uris);
        known.any(|known| known == uri)
    }
}

impl Subscription {
    fn acknowledge(&self, out: &mut Outbox) {
        let mut filter = RawObject::default();
        for list in &self.lists {
            filter.set(list, "true");
        }
        if !self.uris.is_empty() {
            let uris: Vec<_> = self.uris.iter().map(|uri| quoted(uri)).collect();
            filter.set("resourceSubscriptions", format!("[{}]", uris.join(",")));
        }
        let mut meta = RawObject::default();
        meta.set(SUBSCRIPTION_ID, self.id.as_json());
        let params = format!(r#"{{"_meta":{meta},"notifications":{filter}}}"#);
        let method = "notifications/subscriptions/acknowledged";
        if let Ok(frame) = message::notification(method, &params) {
            out.client(Event::Frame(frame));
        }
    }

    /// Returns a notification as one of this subscription.
    fn copy(&self, frame: &Frame) -> Result<Frame, FrameError> {
        let params = message::params_of(frame).and_then(RawObject::read);
        let mut params = params.unwrap_or_default();
        let mut meta = params.object("_meta").unwrap_or_default();
        meta.set(SUBSCRIPTION_ID, self.id.as_json());
        let meta = meta.to_string();
        params.set("_meta", meta);
        message::with(frame, &[("params", &params.to_string())])
    }
}

/// Says whether a resource is the one subscribed to or a part of it.
fn is_within(uri: &str, wanted: &str) -> bool {
    uri.strip_prefix(wanted).is_some_and(|rest| {
        rest.is_empty() || wanted.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}

fn about(uri: &str) -> String {
    format!(r#"{{"uri":{}}}"#, quoted(uri))
}
