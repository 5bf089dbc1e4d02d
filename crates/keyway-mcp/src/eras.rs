//! Adapters between a client and a server of different protocol eras.
//!
//! An adapter takes a [`Connection`] to a server of one era and is itself a connection that speaks
//! the other; its user sees no difference. If both sides speak the same era, there is no adapter.

mod adapter;
mod capability;
mod legacy_client;
mod message;
mod modern_client;
pub(crate) mod names;
mod probe;

use keyway_transport::{Connection, Frame};

use self::adapter::attach;
use crate::era_negotiation::Answer;
use crate::splice::RawObject;
use crate::version::{ClientEra, Discovery};

/// Opens a session in the era that the client does not speak, and attaches an adapter.
///
/// `first` is the client's first request, which the server did not understand; it is still to be
/// sent, to the connection that this returns. The server has
/// [`PROBE_TIMEOUT`](crate::timeouts::PROBE_TIMEOUT) to answer.
///
/// # Errors
///
/// Gives the connection back if the server does not understand the other era either. What it said
/// meanwhile is not lost.
pub(crate) async fn translate(
    connection: Connection,
    client: ClientEra,
    first: &Frame,
) -> Result<Connection, Connection> {
    match client {
        ClientEra::Legacy => {
            let (connection, adapter) = legacy_client::initialize(connection, first).await?;
            Ok(attach(connection, adapter))
        }
        ClientEra::Modern => {
            let (connection, adapter) = modern_client::initialize(connection, first).await?;
            Ok(attach(connection, adapter))
        }
    }
}

/// Asks a server `server/discover`, with the metadata of a client's first request; `None` if it does
/// not answer. What it said meanwhile is not lost.
pub(crate) async fn discover(
    connection: Connection,
    first: &Frame,
) -> (Connection, Option<Answer>) {
    let params = message::params_of(first).and_then(RawObject::read);
    let meta = params.as_ref().and_then(|params| params.object("_meta"));
    let mut meta = meta.unwrap_or_default();
    meta.remove("progressToken");
    let params = format!(r#"{{"_meta":{meta}}}"#);
    let id = message::own_id("probe:", 1);
    let Ok(question) = message::request(&id, "server/discover", &params) else {
        return (connection, None);
    };
    let (connection, answer) = probe::ask(connection, &id, question).await;
    let envelope = answer.as_ref().and_then(|answer| answer.envelope().ok());
    let answer = envelope.map(|envelope| Discovery::of(&envelope).into());
    (connection, answer)
}

#[cfg(test)]
pub(crate) mod testing;
