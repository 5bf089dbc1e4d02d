//! What a client is written: frames as they came, and errors of our own in the same form.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use keyway_code::Reason;
use keyway_transport::{Event, RequestId, TransportError, WriteBytes};
use serde_json::json;

use super::input::Refusal;
use super::traffic_observer::TrafficObserver;
use crate::declaration_site::DeclarationSite;
use crate::explain::{Explained, Explainer, SourcePlace, explain, with_hint};
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
    /// How much of the buffer the client has been written already.
    written: usize,
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

impl<W: WriteBytes> Output<W> {
    /// Writes messages to `output`, one on each line.
    pub const fn new(output: W) -> Self {
        Self {
            output,
            buffer: Vec::new(),
            written: 0,
            muted: None,
            observer: None,
            explainer: None,
        }
    }

    /// Reports what is written to the client.
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
    /// Cancel safety: cancel safe. The next call continues with what was not written yet, so that
    /// every message is written once, and whole.
    pub async fn flush(&mut self) -> io::Result<()> {
        // Not `write_all`, which would not say how far it came.
        while let Some(rest) = self.buffer.get(self.written..)
            && !rest.is_empty()
        {
            match poll_fn(|context| self.output.poll_write(context, rest)).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                bytes => self.written += bytes,
            }
        }
        poll_fn(|context| self.output.poll_flush(context)).await?;
        self.buffer.clear();
        self.written = 0;
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
        "message": with_hint(&explained.message, explained.hint.as_deref()),
        "data": {
            "state": explained.state.state.as_str(),
            "reason": explained.state.reason.map(Reason::as_str),
            "code": explained.code.as_str(),
            "hint": explained.hint,
            "source": explained.source.as_ref().map(SourcePlace::to_json),
            "fixable_by": explained.code.fixer().as_str(),
        },
    });
    jsonrpc::error(Some(id), &body.to_string())
}

const KEPT_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::super::testing::MemoryPipe;
    use super::*;
    use keyway_testkit::{drop_at_every_await, poll_at_most};
    use keyway_transport::Frame;
    use tokio::io::AsyncReadExt;

    fn message(text: &str) -> Event {
        Event::Frame(Frame::new(format!(r#"{{"method":"{text}"}}"#)).unwrap())
    }

    #[tokio::test]
    async fn a_flush_that_is_dropped_anywhere_writes_every_message_once() {
        let expected = "{\"method\":\"first\"}\n{\"method\":\"second\"}\n";
        let dropped = drop_at_every_await(async |polls| {
            let (ours, mut client) = tokio::io::duplex(4);
            let reading = tokio::spawn(async move {
                let mut text = String::new();
                client.read_to_string(&mut text).await.unwrap();
                text
            });
            let mut output = Output::new(MemoryPipe(ours));
            output.push(message("first"));
            let is_written = poll_at_most(polls, output.flush()).await.is_some();
            output.push(message("second"));
            output.flush().await.unwrap();
            drop(output);
            assert_eq!(reading.await.unwrap(), expected, "dropped at await {polls}");
            is_written
        })
        .await;
        assert!(dropped >= 3, "{dropped}");
    }
}
