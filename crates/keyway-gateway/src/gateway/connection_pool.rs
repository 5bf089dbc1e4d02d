//! Upstream connections of clients that have no session (since 2026-07-28).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_transport::ToolHeaders;
use tokio::sync::mpsc;

use super::binding::Validity;
use super::served_servers::ServedServer;
use super::upstream_connection::{Delivery, RequestInfo, UpstreamConnection};
use crate::timeouts::POOL_IDLE_TIMEOUT;

/// The connections of one principal to one route. Mostly one; another if two clients use the same
/// request id at the same time, so that no id has to be rewritten, or declare other capabilities.
#[derive(Debug, Default)]
pub(super) struct ConnectionPool {
    /// Held for a look only, never across an await. Taken under `opening` or alone.
    connections: Mutex<Vec<PooledConnection>>,
    /// Held while a connection is opened, so that two first requests share one. A request that
    /// finds a connection does not wait for it.
    pub(super) opening: tokio::sync::Mutex<()>,
    pub(super) tools: Arc<ToolHeaders>,
}

/// A connection shared by clients that declare the same capabilities: a legacy server is told them
/// once, by `initialize`.
#[derive(Debug)]
pub(super) struct PooledConnection {
    pub(super) connection: Arc<UpstreamConnection>,
    /// A hash of the clients' capabilities.
    pub(super) capabilities: u64,
}

impl ConnectionPool {
    /// Takes out the connections that are over, idle for too long, or all if the principal may not
    /// use them any more.
    pub(super) fn take_unused(&self, is_allowed: bool) -> Vec<Arc<UpstreamConnection>> {
        self.extract(|connection| {
            !is_allowed || connection.is_over() || connection.idle_time() > POOL_IDLE_TIMEOUT
        })
    }

    /// Takes out the connection that no request has used for longest; `None` if all are in use.
    pub(super) fn take_longest_idle(&self) -> Option<Arc<UpstreamConnection>> {
        let mut connections = self.lock();
        let idle = connections.iter().enumerate();
        let idle = idle.filter(|(_, it)| !it.connection.is_used());
        let (at, _) = idle.max_by_key(|(_, it)| it.connection.idle_time())?;
        Some(connections.remove(at).connection)
    }

    /// Takes out the connections that do not lead to the server as it is served now.
    pub(super) fn take_stale(&self, servers: &[Arc<ServedServer>]) -> Vec<Arc<UpstreamConnection>> {
        self.extract(|connection| connection.validity(servers) != Validity::Current)
    }

    /// Takes out all connections, waiting for one that is being made.
    pub(super) async fn take_all(&self) -> Vec<Arc<UpstreamConnection>> {
        let _opening = self.opening.lock().await;
        self.extract(|_| true)
    }

    /// Registers a request on a connection of clients with these capabilities, if one has its id
    /// free.
    pub(super) fn register(
        &self,
        capabilities: u64,
        asked: &RequestInfo,
    ) -> Option<(Arc<UpstreamConnection>, mpsc::Receiver<Delivery>)> {
        let mut connections = self.lock();
        connections.retain(|pooled| !pooled.connection.is_over());
        let mut usable = connections
            .iter()
            .filter(|pooled| pooled.capabilities == capabilities);
        usable.find_map(|pooled| {
            let deliveries = pooled.connection.register(asked).ok()?;
            Some((Arc::clone(&pooled.connection), deliveries))
        })
    }

    /// Says whether there are as many connections as there may be.
    pub(super) fn is_full(&self) -> bool {
        self.lock().len() >= MAX_CONNECTIONS
    }

    pub(super) fn insert(&self, pooled: PooledConnection) {
        self.lock().push(pooled);
    }

    /// Takes out a connection that turned out to lead nowhere.
    pub(super) fn remove(&self, connection: &Arc<UpstreamConnection>) {
        self.lock()
            .retain(|it| !Arc::ptr_eq(&it.connection, connection));
    }

    fn extract(&self, which: impl Fn(&UpstreamConnection) -> bool) -> Vec<Arc<UpstreamConnection>> {
        let mut connections = self.lock();
        let taken = connections.extract_if(.., |it| which(&it.connection));
        taken.map(|it| it.connection).collect()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<PooledConnection>> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many connections one principal may have to one route.
const MAX_CONNECTIONS: usize = 64;
