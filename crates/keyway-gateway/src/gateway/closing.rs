//! Connections that are being ended, each on its own: a server that does not go holds up nobody.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::room::Room;
use super::stay::Stay;

/// What is being ended.
#[derive(Debug, Default)]
pub(super) struct Closings(Arc<()>);

impl Closings {
    /// Ends something aside. Must be called inside a runtime.
    pub(super) fn begin(&self, closing: impl Future<Output = ()> + Send + 'static) {
        let own = Arc::clone(&self.0);
        drop(tokio::spawn(async move {
            closing.await;
            drop(own);
        }));
    }

    /// Ends the stays of clients aside.
    pub(super) fn end(&self, stays: impl IntoIterator<Item = Arc<Stay>>) {
        for stay in stays {
            self.begin(async move { stay.close().await });
        }
    }

    /// Ends rooms aside.
    pub(super) fn close(&self, rooms: impl IntoIterator<Item = Arc<Room>>) {
        for room in rooms {
            self.begin(async move { room.close().await });
        }
    }

    /// Waits until all has ended.
    pub(super) async fn settled(&self) {
        while Arc::strong_count(&self.0) > 1 {
            sleep(PAUSE).await;
        }
    }
}

const PAUSE: Duration = Duration::from_millis(10);
