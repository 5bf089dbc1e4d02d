//! What a client says, as the transport sees it.

use crate::error::TransportError;
use crate::frame::{Frame, RequestId};
use crate::peer::is_repeatable;
use crate::turn::Place;

/// One message on its way to the server.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) frame: Frame,
    /// Of a request.
    pub(super) id: Option<RequestId>,
    /// Where it queues.
    pub(super) place: Place,
    /// Whether it may be sent twice.
    pub(super) is_repeatable: bool,
}

impl Message {
    pub(super) fn read(frame: Frame) -> Result<Self, TransportError> {
        let envelope = frame.envelope()?;
        let id = envelope.id().filter(|_| envelope.method.is_some());
        let place = match envelope.method.as_deref() {
            None => Place::Answer,
            Some("initialize") => Place::HandshakeRequest,
            Some("notifications/initialized") => Place::HandshakeNote,
            Some(_) if id.is_some() => Place::Request,
            Some(_) => Place::Note,
        };
        let is_repeatable = envelope.method.as_deref().is_some_and(is_repeatable);
        drop(envelope);
        Ok(Self {
            frame,
            id,
            place,
            is_repeatable,
        })
    }
}
