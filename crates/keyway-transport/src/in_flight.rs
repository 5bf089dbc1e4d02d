//! Which requests wait for an answer, so that each gets exactly one end.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

use crate::error::TransportError;
use crate::frame::RequestId;
#[cfg(any(feature = "sse", feature = "ws"))]
use crate::responses::same_id;

/// The requests in flight on one connection. The lock is never held across an await.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<InFlightState>);

#[derive(Debug, Default)]
struct InFlightState {
    /// With the task that works on it, where each has its own.
    waiting: HashMap<RequestId, Option<AbortHandle>>,
    is_closed: bool,
}

impl InFlight {
    /// Notes a request together with the task that `start` begins for it.
    ///
    /// The lock is held meanwhile, so that a task cannot end before it is recorded.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Closed`] after [`Self::close`]; then nothing is started.
    pub(crate) fn begin(
        &self,
        id: RequestId,
        start: impl FnOnce() -> AbortHandle,
    ) -> Result<(), TransportError> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(TransportError::Closed);
        }
        let task = start();
        state.waiting.insert(id, Some(task));
        Ok(())
    }

    /// Notes a request that `enqueue` hands to a task for all; `None` is a message without answer.
    ///
    /// The lock is held meanwhile, so that nothing is queued after the last end was reported.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError::Closed`] after [`Self::close`]; then nothing is queued.
    #[cfg(feature = "ws")]
    pub(crate) fn begin_queued(
        &self,
        id: Option<RequestId>,
        enqueue: impl FnOnce(),
    ) -> Result<(), TransportError> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(TransportError::Closed);
        }
        enqueue();
        state.waiting.extend(id.map(|id| (id, None)));
        Ok(())
    }

    /// Ends a request; says whether it was still waiting.
    pub(crate) fn end(&self, id: &RequestId) -> bool {
        self.lock().waiting.remove(id).is_some()
    }

    /// Ends the request that a server answers with `id`, which it may spell in its own way.
    #[cfg(any(feature = "sse", feature = "ws"))]
    pub(crate) fn end_like(&self, id: &RequestId) -> Option<RequestId> {
        let waiting = &mut self.lock().waiting;
        let (own, _) = waiting.remove_entry(id).or_else(|| {
            let own = waiting.keys().find(|own| same_id(own, id))?.clone();
            waiting.remove_entry(&own)
        })?;
        Some(own)
    }

    /// Ends a request and the task that works on it.
    pub(crate) fn abandon(&self, id: &RequestId) {
        if let Some(Some(task)) = self.lock().waiting.remove(id) {
            task.abort();
        }
    }

    /// Ends all requests and their tasks, for good, and returns which they were.
    pub(crate) fn close(&self) -> Vec<RequestId> {
        let mut state = self.lock();
        state.is_closed = true;
        state.drain()
    }

    /// Ends all requests and their tasks, and returns which they were; others may begin.
    #[cfg(feature = "sse")]
    pub(crate) fn drain(&self) -> Vec<RequestId> {
        self.lock().drain()
    }

    /// Says whether no request can begin any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    fn lock(&self) -> MutexGuard<'_, InFlightState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlightState {
    fn drain(&mut self) -> Vec<RequestId> {
        let ended = self.waiting.drain().map(|(id, task)| {
            if let Some(task) = task {
                task.abort();
            }
            id
        });
        ended.collect()
    }
}
