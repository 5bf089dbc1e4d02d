//! How many messages may be in flight, and which wait for the handshake.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock, Semaphore};

use crate::error::TransportError;

/// The queues of one connection.
#[derive(Debug)]
pub(crate) struct SendQueue {
    /// A permit is held by the task of a request until its answer has been passed on.
    requests: Arc<Semaphore>,
    /// A permit is held by the task of a notification or an answer until it was posted.
    notifications: Arc<Semaphore>,
    /// Written while a message of the handshake is under way.
    /// Other messages pass through a read lock, which they release at once: what was let through
    /// does not hold the handshake up. Taken before a permit, so that nothing that waits for the
    /// handshake holds one.
    handshake: Arc<RwLock<()>>,
}

/// What a message is to the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageClass {
    /// A request of the handshake: all others wait until it is done.
    HandshakeRequest,
    /// A notification of the handshake: all others wait until it is done.
    HandshakeNotification,
    /// Another request.
    Request,
    /// Another notification.
    Notification,
    /// An answer to the server, which does not wait for a handshake: the server may need it to
    /// continue.
    Response,
}

/// What a task holds while it works on a message.
#[derive(Debug)]
pub(crate) struct SendPermit {
    _permit: OwnedSemaphorePermit,
    _handshake: Option<OwnedRwLockWriteGuard<()>>,
}

impl SendQueue {
    pub(crate) fn new() -> Self {
        Self {
            requests: Arc::new(Semaphore::new(MAX_UNDER_WAY)),
            // Apart from the requests, which may themselves wait for an answer of ours.
            notifications: Arc::new(Semaphore::new(MAX_UNDER_WAY)),
            handshake: Arc::new(RwLock::new(())),
        }
    }

    /// Waits until a message may be sent.
    pub(crate) async fn wait(&self, class: MessageClass) -> Result<SendPermit, TransportError> {
        let handshake = match class {
            MessageClass::HandshakeRequest | MessageClass::HandshakeNotification => {
                Some(Arc::clone(&self.handshake).write_owned().await)
            }
            MessageClass::Request | MessageClass::Notification => {
                drop(self.handshake.read().await);
                None
            }
            MessageClass::Response => None,
        };
        let queue = match class {
            MessageClass::HandshakeRequest | MessageClass::Request => &self.requests,
            _ => &self.notifications,
        };
        let permit = Arc::clone(queue).acquire_owned().await;
        Ok(SendPermit {
            _permit: permit.map_err(|_| TransportError::Closed)?,
            _handshake: handshake,
        })
    }
}

const MAX_UNDER_WAY: usize = 512;
