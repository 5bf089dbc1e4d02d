//! How clients get to servers: which there are now, and what a connection goes over.

use std::sync::{Arc, PoisonError, RwLock};

use super::closing_tasks::ClosingTasks;
use super::principal::Principal;
use super::routes::Route;
use super::served_servers::{Binding, BoundConnection, DynamicConnections, ServedServer};
use keyway::sign_in::AccountPin;
use keyway_mcp::aggregate::{AggregateSettings, Naming};
use keyway_mcp::session::ClientInfo;

/// The servers as they are now, and the ways to them.
#[derive(Debug)]
pub(super) struct Router {
    servers: RwLock<Arc<[Arc<ServedServer>]>>,
    dynamic: DynamicConnections,
    info: ClientInfo,
    pub(super) closing: ClosingTasks,
}

impl Router {
    pub(super) fn new(servers: Vec<ServedServer>, info: ClientInfo) -> Self {
        Self {
            servers: RwLock::new(servers.into_iter().map(Arc::new).collect()),
            dynamic: DynamicConnections::default(),
            info,
            closing: ClosingTasks::default(),
        }
    }

    pub(super) fn servers(&self) -> Arc<[Arc<ServedServer>]> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&servers)
    }

    /// Puts others in the place of the servers that there are.
    pub(super) fn change(
        &self,
        how: impl FnOnce(&[Arc<ServedServer>]) -> Arc<[Arc<ServedServer>]>,
    ) {
        let mut current = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        *current = how(&current);
    }

    /// Puts the servers as they are now behind the connections that adapt themselves.
    pub(super) fn adapt(&self) {
        self.dynamic.adapt(&self.servers());
    }

    /// Makes a connection for a client: to the server itself where that can be talked to, else to
    /// one that says what is missing. `account` is the account that it keeps to, if it has a session.
    pub(super) async fn connect(
        &self,
        principal: &Principal,
        route: &Route,
        account: Option<&AccountPin>,
    ) -> BoundConnection {
        if let Some(server) = route.only()
            && let Some(connection) = server.upstream.open(account).await
        {
            let binding = Some(Binding::new(server, principal, route));
            return BoundConnection {
                connection,
                binding,
                members: None,
            };
        }
        self.connect_dynamic(principal, route, account)
    }

    /// Makes a connection that adapts itself to what becomes of the servers.
    pub(super) fn connect_dynamic(
        &self,
        principal: &Principal,
        route: &Route,
        account: Option<&AccountPin>,
    ) -> BoundConnection {
        let mut settings = AggregateSettings::new(ClientInfo::clone(&self.info));
        if route.only().is_some() {
            settings.naming = Naming::Bare;
        }
        let owner = (principal, route, account);
        let (connection, members) = self.dynamic.connect(&self.servers(), owner, settings);
        BoundConnection {
            connection,
            binding: None,
            members: Some(members),
        }
    }
}
