//! Visits to all servers of a demo, one after the other.

use std::sync::Arc;
use std::time::Duration;

use keyway_mcp::states::{Reason, ServerState, State};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::clock::DemoClock;
use crate::demo::Open;
use crate::journal::Event;
use crate::outcome::Renewal;
use crate::tour::Row;

/// Visits to all servers, one after the other; dropping this gives up the one under way.
#[derive(Debug)]
pub struct Visits {
    receiver: mpsc::Receiver<Row>,
    /// Held for the task in it.
    _tasks: JoinSet<()>,
}

impl Visits {
    /// Begins; needs a runtime. The server that a person signs in to comes last, so that nothing waits
    /// for it; and one by one, so that the time of a call is its own.
    #[must_use]
    pub fn start(open: &Open) -> Self {
        let mut names = open.tour.servers();
        names.sort_by_key(|name| name == DOCS);
        let (sender, receiver) = mpsc::channel(names.len().max(1));
        let tour = Arc::clone(&open.tour);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            for name in names {
                if let Some(row) = tour.visit(&name).await {
                    drop(sender.send(row).await);
                }
            }
        });
        Self {
            receiver,
            _tasks: tasks,
        }
    }

    /// Waits for the next server; `None` after the last.
    ///
    /// Cancel safety: dropping the future loses no row.
    pub async fn next(&mut self) -> Option<Row> {
        self.receiver.recv().await
    }
}

impl Open {
    /// Puts rows in the order of the file; a server that was not waited for waits for a sign-in.
    #[must_use]
    pub fn in_order(&self, rows: &[Row]) -> Vec<Row> {
        let names = self.tour.servers();
        let in_order = names.iter().filter_map(|name| {
            let found = rows.iter().find(|row| row.server == *name).cloned();
            found.or_else(|| {
                let mut row = self.tour.unvisited(name)?;
                row.state = ServerState::new(State::NeedsAuth, Reason::Authorizing);
                Some(row)
            })
        });
        in_order.collect()
    }

    /// Moves the clock until the token of the server with a sign-in has expired, and visits it again.
    ///
    /// Cancel safety: the clock stays moved.
    pub async fn renew(&self, rows: &[Row], clock: &DemoClock, token_life: Duration) -> Renewal {
        let refreshes = || self.journal.count(DOCS, Event::Refreshed);
        let before = refreshes();
        if !rows.iter().any(|row| row.server == DOCS && row.is_good()) {
            return Renewal::default();
        }
        clock.advance(token_life);
        let again = self.tour.visit(DOCS).await;
        Renewal {
            works: again.is_some_and(|row| row.is_good()),
            refreshes: refreshes().saturating_sub(before),
            sign_ins: self.journal.count(DOCS, Event::Consented),
            token_life,
        }
    }
}

/// The server that is signed in to.
const DOCS: &str = "docs";
