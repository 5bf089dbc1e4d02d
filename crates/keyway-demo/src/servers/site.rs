//! One server: which requests it accepts, and over which transport.

use std::pin::Pin;
use std::sync::Arc;

use http::header::{ALLOW, WWW_AUTHENTICATE};
use http::{Method, StatusCode};
use keyway_transport::{Inbound, Reply, Service};
use serde_json::json;

use super::gate::{Gate, Refusal};
use super::http::{Request, empty, json, whole, with};
use super::stream::Streams;
use super::{MCP, mcp, websocket};
use crate::journal::{Event, Journal};

/// A server on its own port.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) name: &'static str,
    /// Host and port, as every request must name them.
    pub(super) authority: String,
    pub(super) talk: Talk,
    pub(super) gate: Gate,
    pub(super) journal: Journal,
}

/// How messages come and go.
#[derive(Debug)]
pub(super) enum Talk {
    /// Streamable HTTP: a request with a message, an answer with a message.
    Exchange,
    /// HTTP with SSE: messages are posted, answers come on a stream.
    Stream(Streams),
    /// A WebSocket.
    Socket,
}

impl Talk {
    /// HTTP with SSE, without a client yet.
    pub(super) fn stream() -> Self {
        Self::Stream(Streams::default())
    }
}

impl Service for Site {
    fn answer(self: Arc<Self>, request: Inbound) -> Pin<Box<dyn Future<Output = Reply> + Send>> {
        Box::pin(async move {
            match Request::read(request).await {
                Ok(request) => self.respond(request).await,
                Err(status) => empty(status),
            }
        })
    }
}

impl Site {
    async fn respond(&self, request: Request) -> Reply {
        if !self.is_addressed(&request) {
            return empty(StatusCode::FORBIDDEN);
        }
        if let Gate::OAuth(authority) = &self.gate
            && !is_mcp(&request.path)
        {
            return authority.answer(&request);
        }
        if !is_mcp(&request.path) {
            return empty(StatusCode::NOT_FOUND);
        }
        let refusal = self.gate.refuses(&request);
        let event = match &refusal {
            None => Event::Accepted,
            Some(_) => Event::Refused,
        };
        self.journal.note(self.name, event);
        match refusal {
            Some(refusal) => self.refuse(refusal),
            None => self.welcome(request).await,
        }
    }

    /// Says whether a request is meant for this server, and not sent by the page of another: a
    /// name that leads to loopback, or another origin, is turned away.
    fn is_addressed(&self, request: &Request) -> bool {
        let origin = format!("http://{}", self.authority);
        request.header("host") == Some(&self.authority)
            && (!request.headers.contains_key("origin")
                || request.header("origin") == Some(&origin))
    }

    fn refuse(&self, refusal: Refusal) -> Reply {
        let body = json!({ "error": refusal.code, "error_description": refusal.why });
        let answer = json(refusal.status, &body);
        match refusal.challenge {
            Some(challenge) => with(answer, WWW_AUTHENTICATE, &challenge),
            None => answer,
        }
    }

    async fn welcome(&self, request: Request) -> Reply {
        if request.method == Method::GET && request.path == HEALTH {
            return json(StatusCode::OK, &json!({ "status": "ok" }));
        }
        match (&self.talk, request.path.as_str(), &request.method) {
            (Talk::Exchange, MCP, &Method::POST) => match self.reply(&request.body) {
                Some(reply) => whole(StatusCode::OK, "application/json", reply),
                None => empty(StatusCode::ACCEPTED),
            },
            (Talk::Stream(streams), SSE, &Method::GET) => streams.open(MESSAGES).await,
            (Talk::Stream(streams), MESSAGES, &Method::POST) => {
                let reply = self.reply(&request.body);
                streams.post(&request.parameter("session"), reply).await
            }
            (Talk::Socket, MCP, &Method::GET) => {
                let (name, journal) = (self.name, self.journal.clone());
                websocket::open(request, move |text| mcp::answer(text, name, &journal))
            }
            (Talk::Exchange, MCP, _) => with(empty(StatusCode::METHOD_NOT_ALLOWED), ALLOW, "POST"),
            _ => empty(StatusCode::NOT_FOUND),
        }
    }

    fn reply(&self, body: &str) -> Option<String> {
        mcp::answer(body, self.name, &self.journal)
    }
}

fn is_mcp(path: &str) -> bool {
    [MCP, HEALTH, SSE, MESSAGES].contains(&path)
}

const HEALTH: &str = "/mcp/health";
const SSE: &str = "/sse";
const MESSAGES: &str = "/messages";
