//! What a client says, as the transport sees it.

use crate::authorized_client::is_idempotent;
use crate::error::TransportError;
use crate::frame::{Frame, RequestId};
use crate::send_queue::MessageClass;

/// One message on its way to the server.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) frame: Frame,
    /// Of a request.
    pub(super) id: Option<RequestId>,
    /// Where it queues.
    pub(super) class: MessageClass,
    /// Whether it may be sent twice.
    pub(super) is_idempotent: bool,
}

impl Message {
    pub(super) fn read(frame: Frame) -> Result<Self, TransportError> {
        let envelope = frame.envelope()?;
        let id = envelope.id().filter(|_| envelope.method.is_some());
        let class = match envelope.method.as_deref() {
            None => MessageClass::Response,
            Some("initialize") => MessageClass::HandshakeRequest,
            Some("notifications/initialized") => MessageClass::HandshakeNotification,
            Some(_) if id.is_some() => MessageClass::Request,
            Some(_) => MessageClass::Notification,
        };
        let is_idempotent = envelope.method.as_deref().is_some_and(is_idempotent);
        drop(envelope);
        Ok(Self {
            frame,
            id,
            class,
            is_idempotent,
        })
    }
}
