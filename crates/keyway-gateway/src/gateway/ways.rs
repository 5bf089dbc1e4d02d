//! How clients get to servers: which there are now, and what a connection goes over.

use std::sync::{Arc, PoisonError, RwLock};

use super::closing::Closings;
use super::holders::Principal;
use super::roster::{Adapting, Reached, Served, Tie};
use super::routes::Route;
use keyway::sign_in::AccountPin;
use keyway_mcp::aggregate::{Naming, Settings};
use keyway_mcp::session::ClientInfo;

/// The servers as they are now, and the ways to them.
#[derive(Debug)]
pub(super) struct Ways {
    servers: RwLock<Arc<[Arc<Served>]>>,
    adapting: Adapting,
    info: ClientInfo,
    pub(super) closings: Closings,
}

impl Ways {
    pub(super) fn new(servers: Vec<Served>, info: ClientInfo) -> Self {
        Self {
            servers: RwLock::new(servers.into_iter().map(Arc::new).collect()),
            adapting: Adapting::default(),
            info,
            closings: Closings::default(),
        }
    }

    pub(super) fn servers(&self) -> Arc<[Arc<Served>]> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&servers)
    }

    /// Puts others in the place of the servers that there are.
    pub(super) fn change(&self, how: impl FnOnce(&[Arc<Served>]) -> Arc<[Arc<Served>]>) {
        let mut current = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        *current = how(&current);
    }

    /// Puts the servers as they are now behind the connections that adapt themselves.
    pub(super) fn adapt(&self) {
        self.adapting.adapt(&self.servers());
    }

    /// Makes a connection for a client: to the server itself where that can be talked to, else to
    /// one that says what is missing. `whose` is the account that it keeps to, if it has a session.
    pub(super) async fn connect(
        &self,
        principal: &Principal,
        route: &Route,
        whose: Option<&AccountPin>,
    ) -> Reached {
        if let Some(server) = route.only()
            && let Some(connection) = server.upstream.open(whose).await
        {
            let tie = Some(Tie::new(server, principal, route));
            return Reached {
                connection,
                tie,
                roster: None,
            };
        }
        self.adapted(principal, route, whose)
    }

    /// Makes a connection that adapts itself to what becomes of the servers.
    pub(super) fn adapted(
        &self,
        principal: &Principal,
        route: &Route,
        whose: Option<&AccountPin>,
    ) -> Reached {
        let mut settings = Settings::new(ClientInfo::clone(&self.info));
        if route.only().is_some() {
            settings.naming = Naming::Bare;
        }
        let guest = (principal, route, whose);
        let (connection, roster) = self.adapting.connect(&self.servers(), guest, settings);
        Reached {
            connection,
            tie: None,
            roster: Some(roster),
        }
    }
}
