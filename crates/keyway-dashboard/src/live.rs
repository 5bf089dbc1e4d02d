//! What keeps a page up to date: the parts of it that changed, as server-sent events.
//!
//! A stream renders the live parts of its page whenever something happens, at most a few times a
//! second, and sends those that differ from what it sent last. A slow reader misses states in
//! between and nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use keyway_policy::PolicyChanges;
use keyway_transport::Reply;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{sleep, timeout};
use url::form_urlencoded;

use super::backend::ServerId;
use super::browser_session::BrowserSession;
use super::html::Html;
use super::pages::{Look, Region, regions};
use super::paths::{self, DashboardRoute};
use super::words;
use super::{Dashboard, answers};
use crate::timeouts::{LIVE_REFRESH_INTERVAL, LIVE_UPDATE_PAUSE, LIVE_WRITE_TIMEOUT};
use keyway_mcp::states::ServerState;

impl Dashboard {
    /// Opens a stream for the page that the query names.
    pub(super) fn events(self: &Arc<Self>, browser: &BrowserSession, query: Option<&str>) -> Reply {
        let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let page = pairs.find(|(name, _)| name == "page");
        let place = page.and_then(|(_, path)| paths::find(&path));
        let Some(place) = place else {
            return answers::plain(StatusCode::NOT_FOUND, "not found\n");
        };
        let Ok(permit) = Arc::clone(&self.streams).try_acquire_owned() else {
            return answers::plain(StatusCode::SERVICE_UNAVAILABLE, "too many windows\n");
        };
        let (out, pieces) = mpsc::channel(QUEUE);
        let stream = Stream {
            dashboard: Arc::clone(self),
            browser: browser.clone(),
            place,
            out,
            sent: HashMap::new(),
            standings: HashMap::new(),
            _permit: permit,
        };
        drop(tokio::spawn(stream.run()));
        answers::events(pieces)
    }
}

struct Stream {
    dashboard: Arc<Dashboard>,
    browser: BrowserSession,
    place: DashboardRoute,
    out: mpsc::Sender<Bytes>,
    sent: HashMap<String, Html>,
    standings: HashMap<ServerId, ServerState>,
    _permit: OwnedSemaphorePermit,
}

impl Stream {
    /// Goes on until the window is closed, the session ends or the gateway does.
    async fn run(mut self) {
        let mut servers = self.dashboard.backend.changes();
        let mut activity = self.dashboard.activity.changes();
        let mut policies = self.dashboard.policies.as_ref().map(|it| it.changes());
        let mut stopping = self.dashboard.stopping.subscribe();
        while self.dashboard.sessions.is_open(self.browser.cookie()) {
            let look = self.dashboard.look().await;
            let text = self.changed(&look);
            if self.send(text).await.is_err() {
                return;
            }
            // Not biased: each branch only says that it is time to look again or to stop. Watch
            // channels keep a change that comes between two rounds.
            tokio::select! {
                changed = servers.changed() => if !changed { return },
                changed = activity.changed() => if changed.is_err() { return },
                () = changed(policies.as_mut()) => {}
                () = sleep(LIVE_REFRESH_INTERVAL) => {}
                () = self.out.closed() => return,
                _ = stopping.wait_for(|stopping| *stopping) => return,
            }
            sleep(LIVE_UPDATE_PAUSE).await;
        }
    }

    /// Writes what differs from what the window has. It was rendered a moment ago, so that the
    /// first round mostly says nothing new, but costs nothing either.
    fn changed(&mut self, look: &Look) -> String {
        let mut text = String::new();
        for Region { id, html } in regions(look, &self.place, &self.browser) {
            if self.sent.get(&id) != Some(&html) {
                event(&mut text, "region", &format!("{id}\n{}", html.as_str()));
                self.sent.insert(id, html);
            }
        }
        for view in &look.servers {
            let before = self.standings.insert(view.id.clone(), view.diagnosis.state);
            if before.is_some_and(|before| before != view.diagnosis.state) {
                let (name, label) = (&view.id.name, words::shown(view.diagnosis.state).label);
                let said = keyway_secret::printable(&format!("{name}: {label}"));
                event(&mut text, "say", &said);
            }
        }
        if text.is_empty() {
            text.push_str(": \n\n");
        }
        text
    }

    async fn send(&self, text: String) -> Result<(), ()> {
        // A page that reads nothing for so long is gone.
        let sent = timeout(LIVE_WRITE_TIMEOUT, self.out.send(Bytes::from(text))).await;
        sent.map_err(|_| ())?.map_err(|_| ())
    }
}

/// Waits for a change of rules or questions, where there are any.
async fn changed(policies: Option<&mut PolicyChanges>) {
    let Some(policies) = policies else {
        return std::future::pending().await;
    };
    if !policies.changed().await {
        std::future::pending::<()>().await;
    }
}

/// Writes an event; every line of its data has to say so.
fn event(text: &mut String, name: &str, data: &str) {
    text.push_str("event: ");
    text.push_str(name);
    text.push('\n');
    for line in data.split(['\n', '\r']) {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
}

const QUEUE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_an_event_early() {
        let mut text = String::new();
        event(&mut text, "region", "id\n<p>a\r\n\nevent: say</p>");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "event: region");
        assert!(
            lines[1..lines.len() - 1]
                .iter()
                .all(|line| line.starts_with("data: "))
        );
        assert!(text.ends_with("\n\n"));
    }
}
