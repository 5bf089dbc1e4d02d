//! Requests for a look at the files of served plugins, ahead of the next regular one.
//!
//! A client may ask for a server that was written to a file a moment ago: `keyway add` and
//! `keyway adopt` return before the next regular look. No client is told that a server is not there
//! before the files were looked at after its request came.

use std::sync::OnceLock;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::timeouts::REQUESTED_LOOK_TIMEOUT;

/// Where looks are asked for; nothing waits while nothing looks.
#[derive(Debug, Default)]
pub(super) struct LookRequests {
    looks: OnceLock<mpsc::Sender<oneshot::Sender<()>>>,
}

/// What waits for the next look.
#[derive(Debug)]
pub(crate) struct AwaitedLooks {
    requests: mpsc::Receiver<oneshot::Sender<()>>,
}

impl LookRequests {
    /// Lets the one who looks at the files take requests; there is at most one.
    pub(super) fn follow(&self) -> AwaitedLooks {
        let (sender, requests) = mpsc::channel(WAITING);
        // A second one gets no requests, and looks at its own times.
        drop(self.looks.set(sender));
        AwaitedLooks { requests }
    }

    /// Waits for a look that began after this call.
    ///
    /// Cancel safety: a caller that has gone is not waited for.
    pub(super) async fn look(&self) {
        let Some(looks) = self.looks.get() else {
            return;
        };
        let (done, looked) = oneshot::channel();
        let look = async {
            if looks.send(done).await.is_ok() {
                drop(looked.await);
            }
        };
        // A disk that hangs keeps no client waiting: it is told what is known.
        drop(timeout(REQUESTED_LOOK_TIMEOUT, look).await);
    }
}

impl AwaitedLooks {
    /// Waits until a look is asked for, and returns all who have asked; dropping them after the look
    /// tells them. Never returns where nothing can ask any more.
    ///
    /// Cancel safety: a request is either returned or still there.
    pub(crate) async fn asked(&mut self) -> Vec<oneshot::Sender<()>> {
        match self.requests.recv().await {
            Some(first) => {
                let mut all = vec![first];
                all.extend(self.taken());
                all
            }
            None => std::future::pending().await,
        }
    }

    /// Returns those who have asked so far.
    pub(crate) fn taken(&mut self) -> Vec<oneshot::Sender<()>> {
        std::iter::from_fn(|| self.requests.try_recv().ok()).collect()
    }
}

/// How many may wait in line; others wait before it.
const WAITING: usize = 64;
