//! Who owns the tasks of a session.

use std::ops::Deref;
use std::sync::Arc;

use keyway_transport::EventReceiver;
use tokio::task::JoinHandle;

use super::Exchange;

/// An exchange whose events are read.
///
/// The reading task and the exchange hold each other's link, so neither ends by itself: dropping
/// this value ends both, and with the last copy of the link the connection.
#[derive(Debug)]
pub(in crate::session) struct Running {
    exchange: Arc<Exchange>,
    reading: JoinHandle<()>,
}

impl Running {
    /// Begins to read events.
    pub(in crate::session) fn start(exchange: Exchange, events: EventReceiver) -> Self {
        let exchange = Arc::new(exchange);
        let reading = tokio::spawn(Arc::clone(&exchange).pump(events));
        Self { exchange, reading }
    }

    /// Closes the connection, then stops reading and ends every request that still waits.
    pub(in crate::session) async fn close(&self) {
        // The reading task may not have come to what the transport reports of its requests; they
        // are ended here, also if the future is dropped.
        let _end = EndOnDrop(self);
        self.exchange.close().await;
    }

    fn end(&self) {
        self.reading.abort();
        self.exchange.end();
    }
}

impl Deref for Running {
    type Target = Exchange;

    fn deref(&self) -> &Exchange {
        &self.exchange
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

struct EndOnDrop<'a>(&'a Running);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
