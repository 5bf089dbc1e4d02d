//! The middle of the aggregate: takes the client's messages, and merges the servers' lists.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyway_transport::{Envelope, Frame, Raw, RequestId, TransportError};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::client::Client;
use super::list_kind::ListKind;
use super::names::Prefixes;
use super::outbox::Outbox;
use super::owners::Owners;
use super::server::Server;
use super::{AggregateSettings, Member};
use crate::jsonrpc;
use crate::splice::{member, quoted, string, with_member};
use crate::states::{ServerProblem, ServerState, State};

/// All servers and their one client.
pub(super) struct Hub {
    pub(super) client: Arc<Client>,
    pub(super) servers: Vec<Arc<Server>>,
    pub(super) prefixes: Prefixes,
    pub(super) settings: Arc<AggregateSettings>,
    /// Held for one look or one change, never across an await.
    owners: Mutex<Owners>,
    /// The client's requests under way, by their id as written.
    /// Shared by successive hubs of one client. Removing an entry decides whether a request is
    /// answered or cancelled.
    /// Held for one entry, or while a task is started and entered.
    running: Arc<Mutex<HashMap<String, AbortHandle>>>,
}

impl Hub {
    pub(super) fn new(
        members: Vec<Member>,
        settings: AggregateSettings,
        outbox: Arc<Outbox>,
    ) -> Self {
        let settings = Arc::new(settings);
        let client = Arc::new(Client::new(outbox));
        let prefixes = Prefixes::new(
            members.iter().map(|member| member.name.as_str()),
            settings.naming,
        );
        let server = |member| Server::new(member, Arc::clone(&client), Arc::clone(&settings));
        let servers = members.into_iter().map(server).map(Arc::new).collect();
        Self {
            client,
            servers,
            prefixes,
            settings,
            owners: Mutex::default(),
            running: Arc::default(),
        }
    }

    /// Returns the same for other members, which keep what they have; `None` if they are the same.
    pub(super) fn succeeded_by(&self, members: Vec<Member>) -> Option<Self> {
        let is_same = |(server, member): (&Arc<Server>, &Member)| server.is_for(member);
        if self.servers.len() == members.len() && self.servers.iter().zip(&members).all(is_same) {
            return None;
        }
        let prefixes = Prefixes::new(
            members.iter().map(|member| member.name.as_str()),
            self.settings.naming,
        );
        let server = |member: Member| {
            let kept = self.servers.iter().find(|server| server.is_for(&member));
            let make = || Server::new(member, Arc::clone(&self.client), Arc::clone(&self.settings));
            kept.cloned().unwrap_or_else(|| Arc::new(make()))
        };
        Some(Self {
            client: Arc::clone(&self.client),
            servers: members.into_iter().map(server).collect(),
            prefixes,
            settings: Arc::clone(&self.settings),
            owners: Mutex::default(),
            running: Arc::clone(&self.running),
        })
    }

    /// Tells the client that what it listed of those before has changed.
    pub(super) fn announce(&self, before: &Self) {
        for kind in ListKind::ALL {
            let was_shown = |server: &Arc<Server>| server.lock().shown.contains_key(&kind);
            if before.servers.iter().any(was_shown) || before.servers.is_empty() {
                let method = kind.changed();
                let text = jsonrpc::notification(method, None);
                self.client.outbox.enqueue_coalesced(text);
            }
        }
    }

    /// Returns the client's requests under way.
    pub(super) fn under_way(&self) -> Vec<String> {
        self.running().keys().cloned().collect()
    }

    /// Says whether any of these has not been answered.
    pub(super) fn is_any_under_way(&self, requests: &[String]) -> bool {
        let running = self.running();
        requests.iter().any(|request| running.contains_key(request))
    }

    /// Ends the connections that another has not taken over.
    pub(super) async fn close_all_but(&self, kept: &Self) {
        let is_kept = |server: &Arc<Server>| kept.servers.iter().any(|it| Arc::ptr_eq(it, server));
        for server in self.servers.iter().filter(|server| !is_kept(server)) {
            server.close().await;
        }
    }

    /// Takes a message of the client.
    pub(super) async fn receive(self: &Arc<Self>, frame: Frame) -> Result<(), TransportError> {
        let envelope = frame.envelope()?;
        match (envelope.id(), envelope.method.is_some()) {
            (Some(id), true) => {
                drop(envelope);
                self.start(frame, id);
            }
            (Some(id), false) => self.client.answered(&id, &envelope),
            (None, true) => self.notified(&envelope).await,
            (None, false) => {}
        }
        Ok(())
    }

    /// Ends a request of the client, which gets no answer then.
    pub(super) fn cancel(&self, id: &str) {
        let task = self.running().remove(id);
        if let Some(task) = task {
            task.abort();
        }
    }

    /// Ends all requests of the client.
    pub(super) fn cancel_all(&self) {
        let tasks = std::mem::take(&mut *self.running());
        for task in tasks.into_values() {
            task.abort();
        }
    }

    /// Ends all requests, tasks and sessions at once.
    pub(super) fn end(&self) {
        self.cancel_all();
        for server in &self.servers {
            drop(server.end());
        }
    }

    /// Ends all connections in good order.
    pub(super) async fn close(&self) {
        self.cancel_all();
        let closing = self.servers.iter().map(|server| {
            let server = Arc::clone(server);
            tokio::spawn(async move { server.close().await })
        });
        for closed in closing.collect::<Vec<_>>() {
            let _panicked = closed.await;
        }
        self.client.outbox.close();
    }

    /// Merges a list of all servers into one page.
    pub(super) async fn list(&self, kind: ListKind) -> String {
        let deadline = Instant::now() + self.settings.list_wait;
        let listings = self.servers.iter().map(|server| server.start_list(kind));
        let listings: Vec<_> = listings.collect();
        let mut seen = HashSet::new();
        let mut page = Vec::new();
        for (index, (server, listing)) in self.servers.iter().zip(listings).enumerate() {
            match listing.wait_until(deadline).await {
                Ok(items) => {
                    let named = self.learn(index, kind, &items);
                    page.extend(named.into_iter().filter_map(|item| {
                        let is_new = seen.insert(item.name);
                        is_new.then_some(item.text)
                    }));
                    server.show(kind, ServerState::CONNECTED);
                }
                Err(problem) => {
                    page.extend(self.without(index, kind, &problem).await);
                    server.show(kind, problem.state);
                }
            }
        }
        format!(r#"{{"{}":[{}]}}"#, kind.key(), page.join(","))
    }

    /// Returns what a server shows that is not there: what it had when it was, or what is wrong.
    async fn without(&self, index: usize, kind: ListKind, problem: &ServerProblem) -> Vec<String> {
        let server = self.servers.get(index);
        let memory = server.filter(|_| kind == ListKind::Tools);
        let memory = memory.and_then(|server| server.tool_memory());
        let recalled = match memory {
            Some(memory) => memory.recall().await,
            None => None,
        };
        // A call of one of them leads to the sign-in.
        if let Some(tools) = &recalled
            && server.is_some_and(|server| server.can_sign_in(problem))
        {
            let named = self.learn(index, kind, tools);
            return named.into_iter().map(|item| item.text).collect();
        }
        // What it had is still there when it comes back; a call says what is wrong until then.
        let before = server.and_then(|server| server.lock().lists.get(&kind).cloned());
        let before = before.or_else(|| recalled.map(Into::into));
        let named = before.map(|items| self.learn(index, kind, &items));
        let mut shown: Vec<String> = named.into_iter().flatten().map(|item| item.text).collect();
        shown.extend(self.status_tool(index, kind, problem));
        shown
    }

    /// Remembers whose the items are, and returns them as the client sees them.
    pub(super) fn learn(
        &self,
        server: usize,
        kind: ListKind,
        items: &[Box<RawValue>],
    ) -> Vec<Named> {
        let key = kind.name_key();
        let named = |item: &RawValue| Some((string(item.get(), key)?, item.get().to_owned()));
        let (names, texts): (Vec<_>, Vec<_>) = items.iter().filter_map(|item| named(item)).unzip();
        let exposed = match kind {
            ListKind::Tools | ListKind::Prompts => self.prefixes.exposed_all(server, &names),
            ListKind::Resources | ListKind::Templates => names.clone(),
        };
        let mut owners = self.owners();
        let pairs = exposed.iter().cloned().zip(names);
        let kept = owners.replace(kind, server, pairs);
        drop(owners);
        let items = exposed.into_iter().zip(texts);
        let items = items.filter(|(name, _)| kept.contains(name));
        let shown = items.map(|(name, text)| {
            let text = with_member(&text, key, &quoted(&name)).unwrap_or(text);
            Named { name, text }
        });
        shown.collect()
    }

    pub(super) fn owners(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name of the tool that says what is wrong with a server.
    pub(super) fn status_name(&self, server: usize) -> String {
        self.prefixes.exposed(server, "status")
    }

    /// Returns the name of the tool that signs in to a server.
    pub(super) fn sign_in_tool_name(&self, server: usize) -> String {
        self.prefixes.exposed(server, "sign_in")
    }

    fn status_tool(
        &self,
        server: usize,
        kind: ListKind,
        problem: &ServerProblem,
    ) -> Option<String> {
        let is_off = problem.state.state == State::Disabled;
        if kind != ListKind::Tools || is_off {
            return None;
        }
        let found = self.servers.get(server)?;
        let name = &found.name;
        if found.can_sign_in(problem) {
            let tool = json!({
                "name": self.sign_in_tool_name(server),
                "description": format!(
                    "Not signed in to the server `{name}`. Call this to sign in in the \
                     browser; its tools are listed afterwards."
                ),
                "inputSchema": { "type": "object", "properties": {} },
            });
            return Some(tool.to_string());
        }
        let ServerProblem { state, message, .. } = problem;
        let description = format!(
            "The server `{name}` is not available ({state}): {message}. Call this to try again \
             and to learn what to do."
        );
        let tool = json!({
            "name": self.status_name(server),
            "description": description,
            "inputSchema": { "type": "object", "properties": {} },
            "annotations": { "readOnlyHint": true },
        });
        Some(tool.to_string())
    }

    /// Answers a request aside.
    fn start(self: &Arc<Self>, frame: Frame, id: RequestId) {
        let hub = Arc::clone(self);
        let key = id.as_json().to_owned();
        // The lock is held until the task is in the table from which it removes itself.
        let mut running = self.running();
        let task = tokio::spawn(async move {
            let answer = match frame.envelope() {
                Ok(envelope) => hub.answer(&envelope).await,
                Err(_) => return,
            };
            // From here on it is answered, cancelled or not.
            hub.running().remove(id.as_json());
            hub.client.outbox.answer(&id, answer).await;
        });
        running.insert(key, task.abort_handle());
    }

    /// Takes a notification of the client.
    async fn notified(&self, envelope: &Envelope<'_>) {
        let params = envelope.params.map_or("{}", Raw::get);
        match envelope.method.as_deref() {
            Some("notifications/cancelled") => {
                if let Some(id) = member(params, "requestId") {
                    self.cancel(id);
                }
            }
            Some("notifications/progress") => self.client.progressed(params).await,
            Some("notifications/roots/list_changed") => {
                for server in &self.servers {
                    server
                        .notify("notifications/roots/list_changed", None)
                        .await;
                }
            }
            _ => {}
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An item of a list as the client sees it.
pub(super) struct Named {
    name: String,
    text: String,
}
