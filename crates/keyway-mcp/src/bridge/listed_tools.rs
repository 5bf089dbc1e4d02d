//! Finds the tools of a server in the traffic of a client.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_transport::{Event, Frame, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::traffic_observer::TrafficObserver;
use crate::tool_memory::ToolMemory;

/// Remembers the tools that a server lists to a client.
///
/// ```text
///   idle ──request for the first page──▶ waiting ──last page──▶ remembered, idle
///                                        │   ▲
///                 page with a next cursor▼   │request for that page
///                                       between pages
/// ```
pub struct ListedTools {
    memory: Arc<dyn ToolMemory>,
    /// Whether a page is waited for.
    ///
    /// Relaxed: it only spares most answers a look at `listing`, and the request that sets it was
    /// sent before its answer can come.
    is_waiting: AtomicBool,
    /// Whether the client talks to something else by now. Relaxed: it guards no other data.
    is_stopped: AtomicBool,
    /// Held for one message.
    listing: Mutex<Listing>,
}

#[derive(Default)]
struct Listing {
    request: Option<RequestId>,
    tools: Vec<Box<RawValue>>,
}

impl ListedTools {
    /// Tells `memory` of every list that is complete.
    #[must_use]
    pub fn new(memory: Arc<dyn ToolMemory>) -> Self {
        Self {
            memory,
            is_waiting: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            listing: Mutex::default(),
        }
    }

    /// Takes no notice from now on: it is not the server that answers.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Listing> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrafficObserver for ListedTools {
    fn client_sent(&self, frame: &Frame) {
        if self.is_stopped.load(Ordering::Relaxed) || frame.bytes().len() > MAX_REQUEST {
            return;
        }
        // The bridge has read it already, and a frame keeps where its parts are.
        let Ok(envelope) = frame.envelope() else {
            return;
        };
        let (Some(id), Some("tools/list")) = (envelope.id(), envelope.method.as_deref()) else {
            return;
        };
        let params = envelope.params.map(|params| params.get());
        let is_first = !params.is_some_and(|params| params.contains("\"cursor\""));
        let mut listing = self.lock();
        if is_first {
            listing.tools.clear();
        }
        listing.request = Some(id);
        self.is_waiting.store(true, Ordering::Relaxed);
    }

    fn client_received(&self, event: &Event) {
        if !self.is_waiting.load(Ordering::Relaxed) {
            return;
        }
        let Event::Frame(frame) = event else { return };
        let Ok(envelope) = frame.envelope() else {
            return;
        };
        let mut listing = self.lock();
        if !envelope.is_response() || envelope.id() != listing.request {
            return;
        }
        listing.request = None;
        self.is_waiting.store(false, Ordering::Relaxed);
        let page = envelope.result.map(|result| result.get());
        let page = page.filter(|page| page.len() <= MAX_PAGE);
        let Some(page) = page.and_then(|page| serde_json::from_str::<Page>(page).ok()) else {
            return;
        };
        listing.tools.extend(page.tools);
        if page.next_cursor.is_none() {
            let tools = std::mem::take(&mut listing.tools);
            drop(listing);
            self.memory.remember(&tools);
        } else if listing.tools.len() > MAX_TOOLS {
            listing.tools.clear();
        }
    }
}

impl fmt::Debug for ListedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListedTools").finish_non_exhaustive()
    }
}

/// One page of a list.
#[derive(Deserialize)]
struct Page {
    tools: Vec<Box<RawValue>>,
    #[serde(rename = "nextCursor")]
    next_cursor: Option<Box<RawValue>>,
}

const MAX_REQUEST: usize = 4 << 10;
/// What is longer is not remembered.
const MAX_PAGE: usize = 1 << 20;
const MAX_TOOLS: usize = 2_000;

#[cfg(test)]
mod tests {
    use keyway_auth::BoxFuture;

    use super::*;

    #[derive(Debug, Default)]
    struct Remembered(Mutex<Vec<Vec<String>>>);

    impl ToolMemory for Remembered {
        fn recall(&self) -> BoxFuture<'_, Option<Vec<Box<RawValue>>>> {
            Box::pin(std::future::ready(None))
        }

        fn remember(&self, tools: &[Box<RawValue>]) {
            let tools = tools.iter().map(|tool| tool.get().to_owned());
            self.0.lock().unwrap().push(tools.collect());
        }
    }

    fn frame(text: &str) -> Frame {
        Frame::new(text.to_owned()).unwrap()
    }

    #[test]
    fn tools_of_all_pages_are_remembered_and_nothing_else_is() {
        let memory = Arc::new(Remembered::default());
        let listed = ListedTools::new(Arc::clone(&memory) as _);
        let sent = |text: &str| listed.client_sent(&frame(text));
        let received = |text: &str| listed.client_received(&Event::Frame(frame(text)));
        sent(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tools/list"}}"#);
        received(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"no"}]}}"#);
        sent(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
        received(r#"{"jsonrpc":"2.0","id":9,"result":{"tools":[{"name":"no"}]}}"#);
        received(r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"}],"nextCursor":"x"}}"#);
        assert!(memory.0.lock().unwrap().is_empty(), "there is more");
        sent(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"x"}}"#);
        received(r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"b"}]}}"#);
        sent(r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{}}"#);
        received(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"no"}}"#);
        sent(r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{}}"#);
        received(r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"c"}]}}"#);
        let expected = [
            vec![r#"{"name":"a"}"#.to_owned(), r#"{"name":"b"}"#.to_owned()],
            vec![r#"{"name":"c"}"#.to_owned()],
        ];
        assert_eq!(*memory.0.lock().unwrap(), expected);
    }
}
