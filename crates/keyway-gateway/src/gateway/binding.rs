//! What binds a client's connection to a served server, and whether it is still valid.
//!
//! ```text
//!            the server object is replaced          its entry changes, or
//!            by one with the same entry digest      the route leads elsewhere
//!  Current ────────────────────────────► Reconnect ─────────────────► Expired
//!     └───────────────────────────────────────────────────────────────►┘
//! ```
//!
//! A dynamic connection follows its servers by itself: it stays `Current` until it is `Expired`.

use std::sync::Arc;

use keyway_transport::Connection;

use super::principal::Principal;
use super::routes::Route;
use super::served_servers::ServedServer;
use keyway_mcp::aggregate::AggregateMembers;
use keyway_mcp::declaration_site::DeclarationSite;
use keyway_mcp::tool_memory::ToolMemory;

/// A connection for a client, on which nothing has been sent yet.
#[derive(Debug)]
pub(super) struct BoundConnection {
    pub(super) connection: Connection,
    /// `None` for a connection that follows its servers by itself.
    pub(super) binding: Option<Binding>,
    /// The servers behind it, if it is an aggregate.
    pub(super) members: Option<AggregateMembers>,
    /// Takes the tools that the server lists on it: for a connection to the server itself that no
    /// policy takes tools out of. An aggregate remembers those of its servers by itself.
    pub(super) tool_memory: Option<Arc<dyn ToolMemory>>,
    /// Whether its program starts at the first request that needs it, on another connection.
    pub(super) is_dormant: bool,
}

/// Binds a connection to the server that it goes to.
#[derive(Debug)]
pub(super) struct Binding {
    server: Arc<ServedServer>,
    /// Set if the client asked for all servers and this is the only one it may use.
    only_server_for: Option<Principal>,
    /// Whether the connection itself follows sign-ins and sign-outs.
    is_dynamic: bool,
    /// Whether it is a person's, who has to be told by another connection where to sign in.
    is_persons: bool,
}

/// Whether a connection is still what its client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Validity {
    /// It leads to the server as it is served now.
    Current,
    /// The entry is the same, but the session needs another connection.
    Reconnect,
    /// No connection would be what the client asked for: the session ends.
    Expired,
}

impl Binding {
    pub(super) fn new(server: &Arc<ServedServer>, principal: &Principal, route: &Route) -> Self {
        Self {
            server: Arc::clone(server),
            only_server_for: matches!(route, Route::All(_)).then(|| principal.clone()),
            is_dynamic: false,
            is_persons: principal.person().is_some(),
        }
    }

    /// Says whether the connection ends with an answer that only a sign-in helps.
    pub(super) const fn ends_without_sign_in(&self) -> bool {
        self.is_persons
    }

    /// Binds a connection that itself follows sign-ins and sign-outs.
    pub(super) const fn for_dynamic(mut self) -> Self {
        self.is_dynamic = true;
        self
    }

    /// Returns where the server is declared, if that is known.
    pub(super) fn declaration_site(&self) -> Option<DeclarationSite> {
        let site = self.server.upstream.declaration_site()?;
        Some(match self.is_persons {
            true => site.without_path(),
            false => site,
        })
    }

    /// Says whether the connection is still what its client asked for.
    pub(super) fn validity(&self, servers: &[Arc<ServedServer>]) -> Validity {
        let mut bound = servers.iter().filter(|it| match &self.only_server_for {
            Some(principal) => principal.opens(&it.plugin, &it.name),
            None => it.has_same_name_as(&self.server),
        });
        let (Some(server), None) = (bound.next(), bound.next()) else {
            return Validity::Expired;
        };
        let is_same = server.has_same_name_as(&self.server)
            && server.entry_digest == self.server.entry_digest;
        match (Arc::ptr_eq(server, &self.server), is_same, self.is_dynamic) {
            (true, ..) | (_, true, true) => Validity::Current,
            (_, true, false) => Validity::Reconnect,
            (_, false, _) => Validity::Expired,
        }
    }
}
