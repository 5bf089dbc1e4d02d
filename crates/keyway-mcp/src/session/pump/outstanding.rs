//! A request that nobody waits for any more is cancelled.

use std::sync::Arc;

use keyway_transport::{Frame, RequestId};
use tokio::runtime;

use super::Exchange;
use crate::jsonrpc;

/// Cancels a request when its caller goes away before the answer has come.
pub(super) struct Outstanding<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) id: &'a RequestId,
    pub(super) is_silent: bool,
}

impl Outstanding<'_> {
    /// Cancels the request, and returns when the server has been told.
    pub(super) async fn give_up(self) {
        if let Some(told) = self.cancel() {
            told.await;
        }
    }

    /// Forgets the request; what is returned tells the server, if there is anything to tell.
    fn cancel(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        self.exchange.lock().answers.remove(self.id)?;
        self.exchange.link.abandon(self.id);
        if self.is_silent {
            return None;
        }
        let frame = Frame::new(jsonrpc::cancelled(self.id)).ok()?;
        let link = Arc::clone(&self.exchange.link);
        Some(async move {
            // A connection that is gone needs not be told.
            let _gone = link.send(frame).await;
        })
    }
}

impl Drop for Outstanding<'_> {
    fn drop(&mut self) {
        // Without a runtime everything is ending anyway.
        if let Some(told) = self.cancel()
            && let Ok(runtime) = runtime::Handle::try_current()
        {
            let mut waiting = self.exchange.lock();
            waiting.telling.retain(|task| !task.is_finished());
            waiting.telling.push(runtime.spawn(told));
        }
    }
}
