//! Ending the session of a connection when somebody signs out elsewhere.

use std::sync::{Arc, Weak};
use std::time::Duration;

use keyway_auth::oauth::OAuth;
use keyway_transport::Link;

/// Looks after a connection for as long as somebody holds it.
///
/// Whoever signs out waits for the session to end, so that it ends with a token that still counts.
pub(crate) fn look_after(oauth: OAuth, link: &Arc<dyn Link>) {
    let link = Arc::downgrade(link);
    drop(tokio::spawn(attend(oauth, link)));
}

async fn attend(oauth: OAuth, link: Weak<dyn Link>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(link) = link.upgrade() else { return };
        if oauth.is_stop_requested() {
            link.end_session().await;
            oauth.leave();
        }
    }
}

const LOOK: Duration = Duration::from_millis(250);
