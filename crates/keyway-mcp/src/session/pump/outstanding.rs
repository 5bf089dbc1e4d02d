//! A request whose caller stopped waiting is cancelled.

use std::sync::Arc;

use keyway_transport::{Frame, RequestId};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::Exchange;
use crate::jsonrpc;
use crate::timeouts::FLUSH_TIMEOUT;

/// Cancels a request when its caller goes away before the answer has come.
pub(super) struct Outstanding<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) id: &'a RequestId,
    pub(super) is_silent: bool,
}

impl Outstanding<'_> {
    /// Cancels the request, and returns when the server has been told, or is slow to be.
    pub(super) async fn give_up(self) {
        if let Some(told) = self.cancel() {
            let _late = timeout(FLUSH_TIMEOUT, told).await;
        }
    }

    /// Forgets the request, and has the server told by a task of the exchange; what is returned ends
    /// with that task.
    fn cancel(&self) -> Option<oneshot::Receiver<()>> {
        self.exchange.lock().answers.remove(self.id)?;
        self.exchange.link.abandon(self.id);
        if self.is_silent {
            return None;
        }
        let frame = Frame::new(jsonrpc::cancelled(self.id)).ok()?;
        // Without a runtime everything is ending anyway.
        let runtime = runtime::Handle::try_current().ok()?;
        let link = Arc::clone(&self.exchange.link);
        let (done, told) = oneshot::channel();
        let tell = async move {
            // A connection that is gone needs not be told.
            let _gone = link.send(frame).await;
            drop(done);
        };
        // Dropping the exchange ends its tasks, even one that is started after the end.
        let mut waiting = self.exchange.lock();
        while waiting.telling.try_join_next().is_some() {}
        waiting.telling.spawn_on(tell, &runtime);
        Some(told)
    }
}

impl Drop for Outstanding<'_> {
    fn drop(&mut self) {
        let _told = self.cancel();
    }
}
