//! Whose turn it is: how many messages may be under way, and which wait for the handshake.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock, Semaphore};

use crate::error::TransportError;

/// The queues of one connection.
#[derive(Debug)]
pub(crate) struct Turns {
    requests: Arc<Semaphore>,
    notes: Arc<Semaphore>,
    /// Written while a message of the handshake is under way.
    handshake: Arc<RwLock<()>>,
}

/// What a message is to the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A request of the handshake: all others wait until it is done.
    HandshakeRequest,
    /// A notification of the handshake: all others wait until it is done.
    HandshakeNote,
    /// Another request.
    Request,
    /// Another notification.
    Note,
    /// An answer to the server, which waits for no handshake: the server may need it to go on.
    Answer,
}

/// What a task holds while it works on a message.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
    _handshake: Option<OwnedRwLockWriteGuard<()>>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self {
            requests: Arc::new(Semaphore::new(MAX_UNDER_WAY)),
            // Apart from the requests, which may themselves wait for an answer of ours.
            notes: Arc::new(Semaphore::new(MAX_UNDER_WAY)),
            handshake: Arc::new(RwLock::new(())),
        }
    }

    /// Waits until a message may be sent.
    pub(crate) async fn wait(&self, place: Place) -> Result<Turn, TransportError> {
        let handshake = match place {
            Place::HandshakeRequest | Place::HandshakeNote => {
                Some(Arc::clone(&self.handshake).write_owned().await)
            }
            Place::Request | Place::Note => {
                drop(self.handshake.read().await);
                None
            }
            Place::Answer => None,
        };
        let queue = match place {
            Place::HandshakeRequest | Place::Request => &self.requests,
            _ => &self.notes,
        };
        let permit = Arc::clone(queue).acquire_owned().await;
        Ok(Turn {
            _permit: permit.map_err(|_| TransportError::Closed)?,
            _handshake: handshake,
        })
    }
}

const MAX_UNDER_WAY: usize = 512;
