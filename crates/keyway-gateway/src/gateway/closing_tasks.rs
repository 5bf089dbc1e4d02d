//! Connections that are being ended, each on its own: a server that does not go holds up nobody.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::client_session::ClientSession;
use super::upstream_connection::UpstreamConnection;

/// What is being ended.
#[derive(Debug, Default)]
pub(super) struct ClosingTasks(Arc<()>);

impl ClosingTasks {
    /// Ends something aside. Must be called inside a runtime.
    pub(super) fn spawn(&self, closing: impl Future<Output = ()> + Send + 'static) {
        let own = Arc::clone(&self.0);
        drop(tokio::spawn(async move {
            closing.await;
            drop(own);
        }));
    }

    /// Ends the stays of clients aside.
    pub(super) fn close_sessions(&self, sessions: impl IntoIterator<Item = Arc<ClientSession>>) {
        for session in sessions {
            self.spawn(async move { session.close().await });
        }
    }

    /// Ends rooms aside.
    pub(super) fn close(&self, connections: impl IntoIterator<Item = Arc<UpstreamConnection>>) {
        for connection in connections {
            self.spawn(async move { connection.close().await });
        }
    }

    /// Waits until all has ended.
    pub(super) async fn wait(&self) {
        while Arc::strong_count(&self.0) > 1 {
            sleep(PAUSE).await;
        }
    }
}

const PAUSE: Duration = Duration::from_millis(10);
