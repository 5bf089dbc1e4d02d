//! [rmcp](rmcp), the official Rust SDK of MCP, over connections that [Keyway](keyway) makes.
//!
//! Keyway reads the plugin's file, gets the entry approved, supplies and renews the credential, and
//! opens the connection: stdio, Streamable HTTP, HTTP with SSE or WebSocket. The SDK speaks MCP over
//! it and sees no credential. Several processes share one sign-in, and an expired token is renewed by
//! one of them.
//!
//! ```no_run
//! use keyway_rmcp::KeywayTransport;
//! use rmcp::ServiceExt as _;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let host = keyway::Host::builder().build()?;
//! let server = host.load(".")?.plan("docs")?.approve().await?;
//! let client = ().serve(KeywayTransport::open(&server).await?).await?;
//! println!("{} tools", client.list_all_tools().await?.len());
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `credential-store`, `VaultCredentialStore` keeps what the SDK's *own* OAuth
//! obtains in Keyway's vault, for programs that cannot give up the SDK's HTTP client.

#[cfg(feature = "credential-store")]
mod credential_store;

use std::future::Future;
use std::sync::Arc;

use keyway::connect::{Connection, TransportError};
use keyway::{Approved, Error, Plan};
use keyway_mcp::bridge::output::failure;
use keyway_transport::{Event, Frame, FrameError};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use thiserror::Error as ThisError;

#[cfg(feature = "credential-store")]
pub use self::credential_store::VaultCredentialStore;

/// A connection of Keyway as a transport of the SDK's client.
///
/// Dropping it ends the connection at once and kills a server that was started here; the SDK closes
/// it in good order when its client is cancelled.
#[derive(Debug)]
pub struct KeywayTransport {
    connection: Connection,
}

impl KeywayTransport {
    /// Opens a connection to an approved server. A sign-in that is needed is begun when the first
    /// message is sent, by the host's own ports.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`].
    pub async fn open(server: &Approved<Plan>) -> Result<Self, Error> {
        Ok(Self::from(server.open().await?.connection))
    }
}

impl From<Connection> for KeywayTransport {
    fn from(connection: Connection) -> Self {
        Self { connection }
    }
}

/// Why a message was not sent.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum SendError {
    /// The SDK's message is not JSON.
    #[error("cannot serialize the message")]
    Serialize(#[from] serde_json::Error),
    /// It is too large.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The server cannot be reached, or refuses the credential.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

impl Transport<RoleClient> for KeywayTransport {
    type Error = SendError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        let link = Arc::clone(&self.connection.link);
        async move {
            let frame = Frame::new(serde_json::to_vec(&item)?)?;
            Ok(link.send(frame).await?)
        }
    }

    /// Returns the next message. A request that gets no answer from the server is answered here with
    /// an error whose data has Keyway's `code` and `hint`; what is no message of MCP is left out.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = match self.connection.events.recv().await? {
                Event::Frame(frame) => serde_json::from_slice(frame.bytes()),
                Event::Failed { id, error } => serde_json::from_str(&failure(&id, &error, None)),
                Event::Closed(_) => return None,
                _ => continue,
            };
            if let Ok(message) = message {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), SendError> {
        self.connection.link.close().await;
        Ok(())
    }
}
