//! Many servers as one [`Connection`] that speaks the legacy era (2025-11-25).
//!
//! Servers are opened side by side when first needed. One that fails takes nothing away from the
//! others: it contributes a tool that says what is wrong. Whatever a server wrote is passed on as
//! written, except for names, which tell the servers apart.

mod client;
mod hub;
mod list_kind;
mod members;
mod names;
mod outbox;
mod owners;
mod request_target;
mod resources;
mod result_text;
mod router;
mod server;
mod sign_in;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_transport::Connection;

use self::hub::Hub;
use self::members::AggregateLink;
pub use self::members::AggregateMembers;
use self::outbox::Outbox;
pub use self::request_target::RequestTarget;
pub use self::sign_in::SignInPort;
use crate::declaration_site::DeclarationSite;
use crate::explain::Explainer;
use crate::jsonrpc::INVALID_PARAMS;
use crate::session::{ClientInfo, OfferedEras, RpcError};
use crate::states::{ServerProblem, ServerState};
use crate::timeouts::{CONNECT_TIMEOUT, LIST_TIMEOUT, REQUEST_TIMEOUT, SIGN_IN_TIMEOUT};
use crate::tool_memory::ToolMemory;

/// Puts all members behind one connection. Nothing is opened yet.
///
/// Must be called inside a runtime.
pub fn aggregate(members: Vec<Member>, settings: AggregateSettings) -> Connection {
    aggregate_with_members(members, settings).0
}

/// The same for members that are going to change.
///
/// Must be called inside a runtime.
pub fn aggregate_with_members(
    members: Vec<Member>,
    settings: AggregateSettings,
) -> (Connection, AggregateMembers) {
    let (outbox, events) = Outbox::open();
    let link = AggregateLink::new(Hub::new(members, settings, outbox));
    let members = link.members();
    (Connection::new(link, events), members)
}

/// One server to put behind the aggregate.
#[derive(Debug)]
#[non_exhaustive]
pub struct Member {
    /// The name of the server, as in its entry.
    pub name: String,
    /// How to reach it.
    pub connector: Arc<dyn Connector>,
    /// How long one call may take; without it, the client decides.
    pub timeout: Option<Duration>,
    /// Its plugin and its own name, for those that record where a request went.
    pub server_id: Option<(String, String)>,
}

impl Member {
    /// Puts a server behind the aggregate, without a limit of time and without an id.
    #[must_use]
    pub fn new(name: impl Into<String>, connector: Arc<dyn Connector>) -> Self {
        Self {
            name: name.into(),
            connector,
            timeout: None,
            server_id: None,
        }
    }
}

/// Reaches one server: trust, credential and transport are behind this.
pub trait Connector: Send + Sync + fmt::Debug {
    /// Makes a new connection. Called at the first use, and at the next use after one has ended.
    ///
    /// Cancel safety: dropped when it takes too long or the aggregate is closed. An implementation
    /// must then drop what it has opened so far, which kills a child; a sign-in that it started may
    /// continue.
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>>;

    /// Returns how long a connection may take; longer for one that waits for others first.
    fn connect_timeout(&self) -> Duration {
        CONNECT_TIMEOUT
    }

    /// Finds out whether there is a way in, without connecting.
    ///
    /// Cancel safety: must be cancel safe; the next call starts over.
    fn find_sign_in(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Returns the way in, if the server is one that a person signs in to, and that is known: after
    /// a connection was tried, or a [find_sign_in](Self::find_sign_in) taken. Must not block.
    fn sign_in_port(&self) -> Option<&dyn SignInPort> {
        None
    }

    /// Returns what remembers the tools of the server, once that is known as
    /// [`sign_in_port`](Self::sign_in_port) is. Must not block.
    fn tool_memory(&self) -> Option<&dyn ToolMemory> {
        None
    }

    /// Returns what words the errors of the server, if more is known about it than they say.
    fn explainer(&self) -> Option<Explainer> {
        None
    }

    /// Returns where the server is declared, if that is known.
    fn declaration_site(&self) -> Option<DeclarationSite> {
        None
    }
}

/// A connection on which nothing has been said yet.
#[derive(Debug)]
#[non_exhaustive]
pub struct Opened {
    /// The connection.
    pub connection: Connection,
    /// Which protocol eras to offer on it.
    pub offer: OfferedEras,
    /// How long the first answer may take: a package runner may fetch its program first.
    pub start_limit: Duration,
}

impl Opened {
    /// Takes a new connection and what to offer on it.
    #[must_use]
    pub const fn new(connection: Connection, offer: OfferedEras) -> Self {
        Self {
            connection,
            offer,
            start_limit: REQUEST_TIMEOUT,
        }
    }

    /// Waits so long for the first answer.
    #[must_use]
    pub const fn within(mut self, start_limit: Duration) -> Self {
        self.start_limit = start_limit;
        self
    }
}

/// How an aggregate presents itself, and its observer.
#[derive(Debug)]
#[non_exhaustive]
pub struct AggregateSettings {
    /// How we introduce ourselves, to servers and to the client.
    pub info: ClientInfo,
    /// How long a list waits for a server; one that is slower is listed later.
    pub list_wait: Duration,
    /// How long a call waits for a person to sign in, before it is answered with the page.
    pub sign_in_wait: Duration,
    /// Whether names are told apart by that of their server; a single one needs no telling.
    pub naming: Naming,
    /// Gets every change of a server's state.
    pub observer: Arc<dyn Observer>,
}

impl AggregateSettings {
    /// Takes the usual time to wait, and no observer.
    #[must_use]
    pub fn new(info: ClientInfo) -> Self {
        Self {
            info,
            list_wait: LIST_TIMEOUT,
            sign_in_wait: SIGN_IN_TIMEOUT,
            naming: Naming::Prefixed,
            observer: Arc::new(NoObserver),
        }
    }
}

/// How names are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Naming {
    /// By the name of the server in front.
    Prefixed,
    /// Not at all.
    Bare,
}

/// Watches the states of servers.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Is told of a server's new state, with what is wrong, if anything is. Must not block.
    fn changed(&self, server: &str, state: ServerState, problem: Option<&ServerProblem>);
}

/// Observes nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn changed(&self, _: &str, _: ServerState, _: Option<&ServerProblem>) {}
}

/// Makes the error for parameters that cannot be used.
fn invalid(message: &str) -> RpcError {
    RpcError::new(INVALID_PARAMS, message)
}

#[cfg(test)]
mod tests;
