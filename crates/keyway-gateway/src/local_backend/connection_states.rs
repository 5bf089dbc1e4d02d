//! What the connections of clients told of each server: whether it answered last, and since when.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use keyway::diagnosis::Diagnosis;
use keyway::events::{Event, EventStream, Kind, rfc3339};
use keyway_code::{Code, ServerState};
use keyway_mcp::explain::naming;

use keyway_dashboard::ServerId;

/// The last thing that is known of each server.
#[derive(Debug, Default)]
pub(super) struct ConnectionStates {
    /// Held for a look or a change.
    all: Mutex<HashMap<ServerId, LastSeen>>,
}

/// How a server answered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LastSeen {
    /// What was wrong; `None` if it answered.
    code: Option<Code>,
    /// Since when that has been so.
    since: SystemTime,
    /// When it was last told.
    pub(super) at: SystemTime,
}

impl LastSeen {
    /// Says in a diagnosis that knows nothing yet how the server is.
    pub(super) fn apply(self, found: &mut Diagnosis) {
        let since = self.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        found.since = Some(rfc3339(since));
        match self.code {
            None => found.state = ServerState::CONNECTED,
            Some(code) => {
                found.state = code.state();
                found.code = Some(code);
                found.message = "the last connection of a client failed".to_owned();
                found.hint = Some(naming(code.hint(), None, &found.server));
            }
        }
    }
}

impl ConnectionStates {
    /// Takes notice of events until there are no more.
    pub(super) async fn follow(self: Arc<Self>, mut events: EventStream) {
        while let Some(event) = events.next().await {
            self.note(&event);
        }
    }

    /// Returns what is known of a server.
    pub(super) fn of(&self, id: &ServerId) -> Option<LastSeen> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(id).copied()
    }

    fn note(&self, event: &Event) {
        let code = match event.kind {
            Kind::ServerConnected => None,
            Kind::ServerFailed => Some(event.code.unwrap_or(Code::NetworkError)),
            _ => return,
        };
        let (Some(plugin), Some(server)) = (&event.plugin, &event.server) else {
            return;
        };
        let id = ServerId::new(&**plugin, &**server);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.get(&id).filter(|before| before.code == code);
        let since = before.map_or(event.at, |before| before.since);
        let at = event.at;
        all.insert(id, LastSeen { code, since, at });
    }
}
