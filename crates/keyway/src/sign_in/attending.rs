//! Looking after the sign-in of a connection: its session ends when a person signs out elsewhere, and
//! a renewal that another process left behind is made up for.

use std::sync::{Arc, Weak};

use keyway_auth::oauth::OAuth;
use keyway_transport::Link;

use super::orphans::OrphanWatch;
use crate::timeouts::{ATTENDANCE_POLL_INTERVAL, ORPHAN_POLL_INTERVAL};

/// Looks after a connection for as long as it is held.
///
/// A sign-out waits for the session to end, so that it ends with a token that still counts.
pub(crate) fn look_after(oauth: OAuth, orphans: Option<Arc<OrphanWatch>>, link: &Arc<dyn Link>) {
    if let Some(orphans) = orphans {
        let recovery = recover(oauth.clone(), orphans, Arc::downgrade(link));
        drop(tokio::spawn(recovery));
    }
    drop(tokio::spawn(attend(oauth, Arc::downgrade(link))));
}

async fn attend(oauth: OAuth, link: Weak<dyn Link>) {
    loop {
        tokio::time::sleep(ATTENDANCE_POLL_INTERVAL).await;
        let Some(link) = link.upgrade() else { return };
        if oauth.is_stop_requested() {
            link.end_session().await;
            oauth.leave();
        }
    }
}

/// Renews the token if the process that was renewing it died. In a task of its own, because a
/// renewal takes as long as its server.
async fn recover(oauth: OAuth, orphans: Arc<OrphanWatch>, link: Weak<dyn Link>) {
    loop {
        tokio::time::sleep(ORPHAN_POLL_INTERVAL).await;
        if link.upgrade().is_none() {
            return;
        }
        if let Some(generation) = orphans.of(oauth.grant()).await {
            // What fails here is told to the next request.
            drop(oauth.recover(generation).await);
        }
    }
}
