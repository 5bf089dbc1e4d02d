//! Messages of clients, counted towards the limits before they reach a server.

use std::sync::Arc;

use keyway_mcp::aggregate::RequestTarget;
use keyway_transport::Envelope;

use super::Gateway;
use super::client_message::ClientMessage;
use super::limits::{Message, Permits, TooMuch};
use super::upstream_connection::UpstreamConnection;

impl Gateway {
    /// Counts a message towards the limits of its client and, if that is known, of its server.
    pub(super) fn admit(
        &self,
        message: &ClientMessage,
        envelope: &Envelope<'_>,
    ) -> Result<Arc<Permits>, TooMuch> {
        let counted = counted(message, envelope);
        let permits = self.limits.admit(&message.principal, counted)?;
        if let Some(server) = message.route.only() {
            let server = (&*server.plugin, &*server.name);
            self.limits.admit_to(&permits, server, counted)?;
        }
        Ok(Arc::new(permits))
    }

    /// Counts a message to all servers towards the limit of the one that it names.
    pub(super) fn admit_named(
        &self,
        message: &ClientMessage,
        envelope: &Envelope<'_>,
        connection: &UpstreamConnection,
    ) -> Result<(), TooMuch> {
        let (Some(permits), None) = (&message.permits, message.route.only()) else {
            return Ok(());
        };
        let target = || RequestTarget::of(envelope.method.as_deref()?, envelope.params?.get());
        let Some((plugin, name)) = target().and_then(|target| connection.server_of(&target)) else {
            return Ok(());
        };
        let counted = counted(message, envelope);
        self.limits.admit_to(permits, (&plugin, &name), counted)
    }
}

fn counted(message: &ClientMessage, envelope: &Envelope<'_>) -> Message {
    Message {
        bytes: message.frame.bytes().len(),
        is_call: envelope.method.is_some(),
        is_request: envelope.method.is_some() && envelope.id().is_some(),
    }
}

/// Says whether a message asks for something without an id for the answer. A server may do it all the
/// same, of which no audit would tell: only notifications have no id.
pub(super) fn lacks_id(envelope: &Envelope<'_>) -> bool {
    let method = envelope.method.as_deref();
    let asks = method.is_some_and(|method| !method.starts_with("notifications/"));
    asks && envelope.id().is_none()
}

/// What is said of such a message.
pub(super) const LACKS_ID: &str = "a request needs an `id`";
