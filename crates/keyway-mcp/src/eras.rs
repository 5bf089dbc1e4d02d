//! Client and server of different protocol eras: a connection that speaks the other one.
//!
//! A face takes a [`Connection`] to a server of one era and is itself a connection that speaks the
//! other; whoever uses it cannot tell. Where both speak the same, there is no face.

mod adapter;
mod capability;
mod legacy_client;
mod message;
mod modern_client;
pub mod names;
mod probe;

use keyway_transport::{Connection, Envelope, Frame};

use self::adapter::attach;
use crate::splice::RawObject;

/// Which era a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientEra {
    /// 2026-07-28: every request carries its version.
    Modern,
    /// Before: `initialize` comes first.
    Legacy,
}

impl ClientEra {
    /// Reads the era from a client's first request; `None` if it could be of either.
    #[must_use]
    pub fn of(envelope: &Envelope<'_>) -> Option<Self> {
        match envelope.method.as_deref()? {
            "initialize" => Some(Self::Legacy),
            "server/discover" => Some(Self::Modern),
            _ => {
                let params = envelope.params?.get();
                params
                    .contains(names::PROTOCOL_VERSION)
                    .then_some(Self::Modern)
            }
        }
    }
}

/// Greets the server in the era that the client does not speak, and puts a face in front of it.
///
/// `first` is the client's first request, which the server did not understand; it is still to be
/// sent, to the connection that this returns. The server has ten seconds to answer the greeting.
///
/// # Errors
///
/// Gives the connection back if the server does not understand the other era either. What it said
/// meanwhile is not lost.
pub async fn translate(
    connection: Connection,
    client: ClientEra,
    first: &Frame,
) -> Result<Connection, Connection> {
    match client {
        ClientEra::Legacy => {
            let (connection, adapter) = legacy_client::greet(connection, first).await?;
            Ok(attach(connection, adapter))
        }
        ClientEra::Modern => {
            let (connection, adapter) = modern_client::greet(connection, first).await?;
            Ok(attach(connection, adapter))
        }
    }
}

/// Asks a server whether it is a modern one, with the metadata of a client's first request.
///
/// # Errors
///
/// Gives the connection back if it is not. What the server said meanwhile is not lost either way.
pub(crate) async fn answers_discovery(
    connection: Connection,
    first: &Frame,
) -> Result<Connection, Connection> {
    let params = message::params_of(first).and_then(RawObject::read);
    let meta = params.as_ref().and_then(|params| params.object("_meta"));
    let mut meta = meta.unwrap_or_default();
    meta.remove("progressToken");
    let params = format!(r#"{{"_meta":{meta}}}"#);
    let id = message::own_id("probe:", 1);
    let Ok(question) = message::request(&id, "server/discover", &params) else {
        return Err(connection);
    };
    match probe::ask(connection, &id, question).await {
        (connection, Some(answer)) if is_modern(&answer) => Ok(connection),
        (connection, _) => Err(connection),
    }
}

/// Says whether an answer to `server/discover` comes from a modern server.
fn is_modern(answer: &Frame) -> bool {
    let Ok(envelope) = answer.envelope() else {
        return false;
    };
    let result = envelope.result.and_then(|body| RawObject::read(body.get()));
    let error = envelope.error.and_then(|body| RawObject::read(body.get()));
    let code = error.as_ref().and_then(|error| error.get("code"));
    result.is_some_and(|result| result.get("supportedVersions").is_some())
        || code.is_some_and(|code| names::MODERN_CODES.contains(&code))
}

#[cfg(test)]
pub(crate) mod testing;
