//! HTTP with SSE: each client has a stream, and posts its messages beside it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use keyway_transport::{QueueSender, Reply, queue};

use super::http::{empty, with};
use crate::credentials;

/// The streams that are open.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<HashMap<String, QueueSender<Bytes>>>);

impl Streams {
    /// Opens a stream, whose first event says where to post.
    pub(super) async fn open(&self, post_to: &str) -> Reply {
        let Some(session) = credentials::random_hex() else {
            return empty(StatusCode::INTERNAL_SERVER_ERROR);
        };
        let (sender, receiver) = queue(WAITING);
        let endpoint = event("endpoint", &format!("{post_to}?session={session}"));
        // The channel is empty, so that this does not wait.
        drop(sender.send(endpoint).await);
        {
            let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            streams.retain(|_, sender| !sender.is_closed());
            streams.insert(session, sender);
        }
        let answer = with(empty(StatusCode::OK), CONTENT_TYPE, "text/event-stream");
        with(answer, CACHE_CONTROL, "no-store").pieces(receiver)
    }

    /// Says a reply on a stream.
    pub(super) async fn post(&self, session: &str, reply: Option<String>) -> Reply {
        let sender = {
            let streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            streams.get(session).cloned()
        };
        let Some(sender) = sender else {
            return empty(StatusCode::NOT_FOUND);
        };
        if let Some(reply) = reply
            && sender.try_send(event("message", &reply)).is_err()
        {
            return empty(StatusCode::SERVICE_UNAVAILABLE);
        }
        empty(StatusCode::ACCEPTED)
    }
}

fn event(name: &str, data: &str) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// How many events may wait for a slow reader.
const WAITING: usize = 32;
