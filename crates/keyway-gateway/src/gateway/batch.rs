//! JSON-RPC batches, which are part of 2025-03-26 alone.

use futures_util::future::join_all;
use http::header::ACCEPT;
use http::{HeaderValue, StatusCode};
use keyway_transport::Reply;

use super::Gateway;
use super::client_message::ClientMessage;
use super::message_shares::MessageShare;
use super::reply::{self, SESSION_ID, VERSION};
use keyway_mcp::bridge::input::{BATCH_VERSION, MAX_BATCH, split_batch};
use keyway_mcp::jsonrpc::{self, INVALID_REQUEST};

impl Gateway {
    /// Serves the messages of a batch side by side and answers with those of their answers; in a
    /// version without batches, with an error.
    pub(super) async fn batch(&self, batch: ClientMessage) -> Reply {
        // A client that names no version speaks 2025-03-26; `initialize` must not be in a batch.
        let version = batch.headers.get(VERSION);
        let has_batches = batch.headers.contains_key(SESSION_ID)
            && version.is_none_or(|version| version == BATCH_VERSION);
        if !has_batches {
            return refusal(
                "this protocol version has no batches: send each message in a request of its own",
            );
        }
        let Some(frames) = split_batch(&batch.frame) else {
            return refusal(&format!("a batch has 1 to {MAX_BATCH} messages"));
        };
        // What a server says meanwhile goes to the session's own stream.
        let mut headers = batch.headers;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let answers = frames.into_iter().map(|frame| {
            let message = ClientMessage {
                principal: batch.principal.clone(),
                route: batch.route.clone(),
                headers: headers.clone(),
                frame,
                recorder: None,
                permits: None,
                _share: MessageShare::default(),
            };
            self.post_one(message)
        });
        let mut bodies = Vec::new();
        for answer in join_all(answers).await {
            // The session is over for all of them, which only the status says.
            if answer.status() == StatusCode::NOT_FOUND {
                return answer;
            }
            let body = answer.whole_body().filter(|body| !body.is_empty());
            bodies.extend(body.map(|body| String::from_utf8_lossy(body).into_owned()));
        }
        if bodies.is_empty() {
            return Reply::new(StatusCode::ACCEPTED);
        }
        reply::message(StatusCode::OK, format!("[{}]", bodies.join(",")))
    }
}

fn refusal(what: &str) -> Reply {
    let error = jsonrpc::error_object(INVALID_REQUEST, what);
    reply::error(StatusCode::BAD_REQUEST, None, &error)
}
