//! What a client is written: frames as they came, and errors of our own in the same form.

use std::io;
use std::sync::Arc;

use keyway_code::Reason;
use keyway_transport::{Event, RequestId, TransportError};
use serde_json::json;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::input::Refusal;
use super::traffic_observer::TrafficObserver;
use crate::declaration_site::DeclarationSite;
use crate::explain::{Explained, Explainer, explain};
use crate::jsonrpc::{self, LOCAL_ERROR};

/// What one half of a bridge gives the other to write.
pub(super) enum Pushed {
    Event(Event),
    Refusal(Refusal),
}

/// Collects what there is to write and writes it at once.
pub struct Output<W> {
    output: W,
    buffer: Vec<u8>,
    /// The request whose answer the client has already.
    muted: Option<RequestId>,
    observer: Option<Arc<dyn TrafficObserver>>,
    /// Words errors, if more is known about the server than the error says.
    explainer: Option<Explainer>,
}

impl<W> std::fmt::Debug for Output<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Messages may hold what a server answered.
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Writes messages to `output`, one on each line.
    pub const fn new(output: W) -> Self {
        Self {
            output,
            buffer: Vec::new(),
            muted: None,
            observer: None,
            explainer: None,
        }
    }

    /// Lets somebody note what the client is written.
    pub(super) fn observed_by(mut self, observer: Arc<dyn TrafficObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Words errors with what is known about the server.
    pub(super) fn explained(mut self, explainer: Explainer) -> Self {
        self.explainer = Some(explainer);
        self
    }

    /// Drops the answer to a request that is sent for the second time.
    pub fn mute(&mut self, id: RequestId) {
        self.muted = Some(id);
    }

    /// Adds an event; what concerns no client is dropped.
    pub fn push(&mut self, event: Event) {
        if self.muted.is_some() && self.muted == answered(&event) {
            self.muted = None;
            return;
        }
        if let Some(observer) = &self.observer {
            observer.client_received(&event);
        }
        match event {
            Event::Frame(frame) => self.line(frame.bytes()),
            Event::Failed { id, error } => {
                let explained = match &self.explainer {
                    Some(explainer) => explainer(&error),
                    None => explain(&error),
                };
                self.line(answer(&id, &explained).as_bytes());
            }
            _ => {}
        }
    }

    /// Answers a line that is not passed on.
    pub fn refuse(&mut self, refusal: Refusal) {
        self.line(refusal.to_json().as_bytes());
    }

    /// Writes what was pushed.
    ///
    /// # Errors
    ///
    /// Returns why the client cannot be written to.
    ///
    /// Cancel safety: not cancel safe. A part of the buffer may have been written, and the next
    /// call writes the whole buffer again, so the output must not be used any more.
    pub async fn flush(&mut self) -> io::Result<()> {
        self.output.write_all(&self.buffer).await?;
        self.output.flush().await?;
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES);
        Ok(())
    }

    fn line(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        self.buffer.push(b'\n');
    }
}

/// Returns the request that an event answers.
fn answered(event: &Event) -> Option<RequestId> {
    match event {
        Event::Failed { id, .. } => Some(id.clone()),
        Event::Frame(frame) => {
            let envelope = frame.envelope().ok()?;
            envelope.id().filter(|_| envelope.method.is_none())
        }
        _ => None,
    }
}

/// Writes the answer to a request that got none; what helps names the server, if that is known.
pub fn failure(id: &RequestId, error: &TransportError, server: Option<&DeclarationSite>) -> String {
    let mut explained = explain(error);
    if let Some(server) = server {
        explained.hint = explained.hint.map(|hint| server.word(&hint));
    }
    answer(id, &explained)
}

fn answer(id: &RequestId, explained: &Explained) -> String {
    let body = json!({
        "code": LOCAL_ERROR,
        "message": explained.message,
        "data": {
            "state": explained.state.state.as_str(),
            "reason": explained.state.reason.map(Reason::as_str),
            "code": explained.code,
            "hint": explained.hint,
            "fixable_by": explained.code.fixer().as_str(),
        },
    });
    jsonrpc::error(Some(id), &body.to_string())
}

const KEPT_BYTES: usize = 256 * 1024;
