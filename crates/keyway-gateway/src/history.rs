//! What happened lately: the events of the host since the gateway started, bounded and in memory.
//!
//! Events hold names and codes, never a value. Those that only say that all is well are left out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use keyway::events::{Event, EventStream, Kind};

/// The latest events.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Oldest first. Held for one look or one change.
    events: Mutex<VecDeque<Event>>,
}

impl History {
    /// Records events until there are no more; calls `tell` after each.
    pub(crate) async fn follow(self: Arc<Self>, mut events: EventStream, tell: impl Fn()) {
        while let Some(event) = events.next().await {
            if self.record(event) {
                tell();
            }
        }
    }

    /// Returns the events, latest first.
    pub(crate) fn latest(&self) -> Vec<Event> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().rev().cloned().collect()
    }

    /// Records an event, if it belongs here.
    fn record(&self, event: Event) -> bool {
        if matches!(event.kind, Kind::ConfigLoaded | Kind::ServerConnected) {
            return false;
        }
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() >= MOST_EVENTS {
            events.pop_front();
        }
        events.push_back(event);
        true
    }
}

const MOST_EVENTS: usize = 512;

#[cfg(test)]
mod tests {
    use keyway::events::Events;

    use super::*;

    #[tokio::test]
    async fn the_latest_come_first_and_the_oldest_go() {
        let events = Events::new(Vec::new());
        let history = Arc::new(History::default());
        let stream = events.subscribe();
        let (told, mut tells) = tokio::sync::mpsc::unbounded_channel();
        let following = Arc::clone(&history).follow(stream, move || {
            let _sent = told.send(());
        });
        let following = tokio::spawn(following);
        for number in 0..=MOST_EVENTS {
            events.emit(Kind::ServerConnected, Some("all is well"), None);
            events.emit(Kind::TokenRefreshed, Some(&format!("s{number}")), None);
            tells.recv().await.unwrap();
        }
        let latest = history.latest();
        assert_eq!(latest.len(), MOST_EVENTS);
        let name = |event: Option<&Event>| event.unwrap().server.clone().unwrap().to_string();
        assert_eq!(name(latest.first()), format!("s{MOST_EVENTS}"));
        assert_eq!(name(latest.last()), "s1");
        following.abort();
    }
}
