//! The writing half of a WebSocket: messages in order, pings between them, a close frame last.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::SinkExt;
use futures_util::stream::SplitSink;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::{Phase, Socket, WebSocketShared};
use crate::timeouts::CLOSE_TIMEOUT;

/// Everything that is written goes through here.
pub(super) struct Writer {
    shared: Arc<WebSocketShared>,
    sink: SplitSink<Socket, Message>,
    queued: mpsc::Receiver<Utf8Bytes>,
    /// What is being written, in reverse.
    batch: Vec<Utf8Bytes>,
}

impl Writer {
    pub(super) const fn new(
        shared: Arc<WebSocketShared>,
        sink: SplitSink<Socket, Message>,
        queued: mpsc::Receiver<Utf8Bytes>,
    ) -> Self {
        Self {
            shared,
            sink,
            queued,
            batch: Vec::new(),
        }
    }

    /// Writes until the connection ends, then sends the close frame.
    pub(super) async fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let phase = loop {
            // The end first: `next` keeps its batch, and `send_close` writes the rest of it.
            let written = tokio::select! {
                biased;
                phase = shared.ending() => break phase,
                written = self.next() => written,
            };
            if written.is_err() {
                shared.end(Phase::Broken);
            }
        };
        self.queued.close();
        if let Phase::Closing(code) = phase {
            drop(timeout(CLOSE_TIMEOUT, self.send_close(code)).await);
        }
    }

    /// Writes a ping, or all that waits at once.
    async fn next(&mut self) -> Result<(), Error> {
        // Pings first: a queue that never empties must not hide that the server is gone.
        tokio::select! {
            biased;
            () = self.shared.ping.notified() => {
                return self.sink.send(Message::Ping(Bytes::new())).await;
            }
            count = self.queued.recv_many(&mut self.batch, BATCH) => {
                if count == 0 {
                    // Every sender is gone, which has begun the end already.
                    std::future::pending::<()>().await;
                }
            }
        }
        self.batch.reverse();
        self.shared.traffic.set_writing(true);
        self.write_batch().await?;
        self.shared.traffic.set_writing(false);
        Ok(())
    }

    /// Writes the batch, last one first; dropping the future loses none of it.
    async fn write_batch(&mut self) -> Result<(), Error> {
        while !self.batch.is_empty() {
            poll_fn(|cx| self.sink.poll_ready_unpin(cx)).await?;
            if let Some(text) = self.batch.pop() {
                self.sink.start_send_unpin(Message::Text(text))?;
            }
        }
        self.sink.flush().await
    }

    /// Writes what is queued, if the end is clean, and the close frame.
    async fn send_close(&mut self, code: CloseCode) -> Result<(), Error> {
        if code == CloseCode::Normal {
            // A server that has closed takes nothing more; then only its close frame is answered.
            while self.write_batch().await.is_ok() {
                if self.queued.recv_many(&mut self.batch, BATCH).await == 0 {
                    break;
                }
                self.batch.reverse();
            }
        }
        let reason = Utf8Bytes::default();
        let frame = CloseFrame { code, reason };
        self.sink.send(Message::Close(Some(frame))).await
    }
}

const BATCH: usize = 32;
