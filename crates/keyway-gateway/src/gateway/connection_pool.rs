//! Upstream connections of clients that have no session (since 2026-07-28).

use std::sync::Arc;

use keyway_transport::ToolHeaders;

use super::binding::Validity;
use super::served_servers::ServedServer;
use super::upstream_connection::UpstreamConnection;
use crate::timeouts::POOL_IDLE_TIMEOUT;

/// The connections of one principal to one route. Mostly one; another if two clients use the same
/// request id at the same time, so that no id has to be rewritten, or declare other capabilities.
#[derive(Debug, Default)]
pub(super) struct ConnectionPool {
    /// Held across `connect`, so that two first requests share one connection. Maintenance only
    /// tries this lock, and comes back a second later.
    pub(super) connections: tokio::sync::Mutex<Vec<PooledConnection>>,
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

    /// Takes out the connections that do not lead to the server as it is served now.
    pub(super) fn take_stale(&self, servers: &[Arc<ServedServer>]) -> Vec<Arc<UpstreamConnection>> {
        self.extract(|connection| connection.validity(servers) != Validity::Current)
    }

    /// Takes out all connections, waiting for one that is being made.
    pub(super) async fn take_all(&self) -> Vec<Arc<UpstreamConnection>> {
        let mut connections = self.connections.lock().await;
        connections.drain(..).map(|it| it.connection).collect()
    }

    /// Nothing is taken out of a pool in which a connection is being made.
    fn extract(&self, which: impl Fn(&UpstreamConnection) -> bool) -> Vec<Arc<UpstreamConnection>> {
        let Ok(mut connections) = self.connections.try_lock() else {
            return Vec::new();
        };
        let taken = connections.extract_if(.., |it| which(&it.connection));
        taken.map(|it| it.connection).collect()
    }
}
