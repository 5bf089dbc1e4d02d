//! A server's lists: fetched side by side, waited for only so long, and what the client saw of them.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::Server;
use crate::aggregate::list_kind::ListKind;
use crate::jsonrpc;
use crate::states::{ServerProblem, ServerState};

/// The items of one list as the server wrote them.
pub(in crate::aggregate) type Items = Arc<[Box<RawValue>]>;

/// A list on its way.
pub(in crate::aggregate) struct Listing {
    server: Arc<Server>,
    kind: ListKind,
    found: Result<oneshot::Receiver<Result<Items, ServerProblem>>, ServerProblem>,
}

impl Server {
    /// Starts fetching a list. It arrives even if no request waits any more: the client is then
    /// notified.
    pub(in crate::aggregate) fn start_list(self: &Arc<Self>, kind: ListKind) -> Listing {
        let found = match self.lasting_problem() {
            Some(problem) => Err(problem),
            None => Ok(self.fetch_aside(kind)),
        };
        Listing {
            server: Arc::clone(self),
            kind,
            found,
        }
    }

    /// Fetches a list, connecting if need be.
    pub(in crate::aggregate) async fn fetch(
        self: &Arc<Self>,
        kind: ListKind,
    ) -> Result<Items, ServerProblem> {
        let session = self.session().await?;
        if !session.facts().offers(kind.capability()) {
            return Ok(Items::default());
        }
        let found = session.list(kind.method(), kind.key()).await;
        self.record_result(found.as_ref().err());
        let items = found.map_err(|error| self.problem_of(&error))?;
        if let Some(memory) = self.tool_memory().filter(|_| kind == ListKind::Tools) {
            memory.remember(&items);
        }
        Ok(items.into())
    }

    /// Remembers what the client sees of this server.
    pub(in crate::aggregate) fn show(&self, kind: ListKind, state: ServerState) {
        self.lock().shown.insert(kind, state);
    }

    /// Tells everyone of a new state; the client, if it saw another.
    pub(in crate::aggregate) fn changed(
        &self,
        state: ServerState,
        problem: Option<&ServerProblem>,
    ) {
        let observer = &self.settings.observer;
        observer.changed(&self.name, state, problem);
        for kind in ListKind::ALL {
            let seen = self.lock().shown.get(&kind).copied();
            let differs = seen.is_some_and(|seen| {
                let is_there = |state| state == ServerState::CONNECTED;
                match kind {
                    ListKind::Tools => seen != state,
                    _ => is_there(seen) != is_there(state),
                }
            });
            if differs {
                self.announce(kind);
            }
        }
    }

    /// Tells the client that a list has changed; once is enough until it lists again.
    fn announce(&self, kind: ListKind) {
        self.lock().shown.remove(&kind);
        let method = kind.changed();
        let text = jsonrpc::notification(method, None);
        self.client.outbox.enqueue_coalesced(text);
    }

    fn fetch_aside(
        self: &Arc<Self>,
        kind: ListKind,
    ) -> oneshot::Receiver<Result<Items, ServerProblem>> {
        let (done, found) = oneshot::channel();
        let server = Arc::clone(self);
        drop(tokio::spawn(async move {
            let fetched = server.fetch(kind).await;
            let before = match &fetched {
                Ok(items) => server.lock().lists.insert(kind, Arc::clone(items)),
                Err(_) => None,
            };
            if let Err(late) = done.send(fetched) {
                server.arrived_late(kind, before, late);
            }
        }));
        found
    }

    fn arrived_late(
        &self,
        kind: ListKind,
        before: Option<Items>,
        late: Result<Items, ServerProblem>,
    ) {
        let was_shown = self.lock().shown.contains_key(&kind);
        let is_news = match (before, late) {
            (Some(before), Ok(now)) => !is_same(&before, &now),
            (None, Ok(now)) => kind == ListKind::Tools || !now.is_empty(),
            (_, Err(_)) => kind == ListKind::Tools,
        };
        if was_shown && is_news {
            self.announce(kind);
        }
    }
}

impl Listing {
    /// Waits for the list; a server that is slower contributes what it had before, if anything.
    pub(in crate::aggregate) async fn wait_until(
        self,
        deadline: Instant,
    ) -> Result<Items, ServerProblem> {
        let mut found = self.found?;
        if let Ok(Ok(found)) = timeout_at(deadline, &mut found).await {
            return found;
        }
        found.close();
        if let Ok(found) = found.try_recv() {
            return found;
        }
        let before = self.server.lock().lists.get(&self.kind).cloned();
        before.ok_or_else(ServerProblem::connecting)
    }
}

fn is_same(one: &Items, other: &Items) -> bool {
    let texts = one.iter().map(|item| item.get());
    texts.eq(other.iter().map(|item| item.get()))
}
