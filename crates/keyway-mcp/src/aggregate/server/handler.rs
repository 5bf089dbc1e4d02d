//! What a server tells and asks its client, passed on to ours.

use std::sync::{Arc, Weak};

use keyway_auth::BoxFuture;
use keyway_transport::{Frame, TransportError};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Server;
use crate::aggregate::client::{Asker, Client};
use crate::jsonrpc::{self, INTERNAL_ERROR};
use crate::session::{Handler, RpcError};
use crate::splice::{quoted, string, with_member};

/// Speaks for our client to one server.
#[derive(Debug)]
pub(super) struct ServerHandler {
    server: Weak<Server>,
    client: Arc<Client>,
}

impl ServerHandler {
    pub(super) fn new(server: &Arc<Server>) -> Self {
        Self {
            server: Arc::downgrade(server),
            client: Arc::clone(&server.client),
        }
    }
}

impl Handler for ServerHandler {
    fn capabilities(&self) -> Value {
        self.client.capabilities()
    }

    fn answer<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(async move {
            let answer = self.pass_on(method, params).await?;
            let unreadable = |_| RpcError::new(INTERNAL_ERROR, "the answer cannot be read");
            serde_json::from_str(answer.get()).map_err(unreadable)
        })
    }

    fn pass_on<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, RpcError>> {
        Box::pin(async move {
            let Some(server) = self.server.upgrade() else {
                return Err(RpcError::new(INTERNAL_ERROR, "the client has disconnected"));
            };
            let asker: Arc<dyn Asker> = server;
            self.client.ask(&asker, method, params).await
        })
    }

    fn notified(&self, method: &str, frame: &Frame) {
        let Some(server) = self.server.upgrade() else {
            return;
        };
        let outbox = &self.client.outbox;
        match method {
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed" => {
                outbox.enqueue_coalesced(jsonrpc::notification(method, None));
            }
            "notifications/resources/updated" => {
                if let Some(uri) = updated(frame)
                    && !server.lock().subscriptions.is_empty()
                {
                    let params = format!(r#"{{"uri":{}}}"#, quoted(&uri));
                    outbox.enqueue_coalesced(jsonrpc::notification(method, Some(&params)));
                }
            }
            "notifications/message" => {
                if let Some(params) = logged(frame, &server.name) {
                    outbox.try_notify(jsonrpc::notification(method, Some(&params)));
                }
            }
            "notifications/elicitation/complete" => {
                if let Ok(envelope) = frame.envelope()
                    && let Some(params) = envelope.params
                {
                    outbox.try_notify(jsonrpc::notification(method, Some(params.get())));
                }
            }
            // Progress goes to the request that it belongs to; the client did not ask for the rest.
            _ => {}
        }
    }

    fn reserve(&self, answer: Frame) -> BoxFuture<'_, Result<Frame, Frame>> {
        Box::pin(self.client.outbox.reserve(answer))
    }

    fn closed(&self, reason: Option<&TransportError>) {
        if let Some(server) = self.server.upgrade() {
            server.connection_lost(reason.unwrap_or(&TransportError::Closed));
        }
    }
}

fn updated(frame: &Frame) -> Option<String> {
    string(frame.envelope().ok()?.params?.get(), "uri")
}

/// Puts the server's name in front of the logger's.
fn logged(frame: &Frame, server: &str) -> Option<String> {
    let envelope = frame.envelope().ok()?;
    let params = envelope.params?.get();
    let logger = match string(params, "logger") {
        Some(logger) => format!("{server}/{logger}"),
        None => server.to_owned(),
    };
    with_member(params, "logger", &quoted(&logger))
}
