//! What changes while servers are connected to, as a stream (contract §8): names and codes, never
//! a value, a query string or a token.
//!
//! [`Events`] is handed to everything that something can happen in. A [`Listener`] is called where it
//! happens; an [`EventStream`] is read later, is bounded and blocks nothing. Listeners may also take
//! notes: lines for a person who looks for a fault.

mod event;
mod stream;

pub use keyway_auth::{Observer, ServerEvent, ServerObserver, Topic};
use keyway_code::Code;
use keyway_config::declared::EntryFault;
use keyway_config::document::Entry;
use keyway_config::plugin::Plugin;
use keyway_secret::{Clock as _, SystemClock};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

pub use self::event::{Event, Kind, SCHEMA_VERSION, rfc3339};
pub use self::stream::EventStream;
use self::stream::Queue;

use crate::load::Loaded;

/// Is told of events, and may read notes. Must not wait for anything.
pub trait Listener: Send + Sync + fmt::Debug {
    /// Takes an event; they come in the order of their numbers.
    fn event(&self, _event: &Event) {}

    /// Says whether notes about a topic are read.
    fn wants(&self, _topic: Topic) -> bool {
        false
    }

    /// Takes a line about a topic, fit to print.
    fn note(&self, _topic: Topic, _server: Option<&str>, _line: &str) {}
}

/// Where events go; nowhere by default, which costs one branch.
#[derive(Debug, Clone, Default)]
pub struct Events {
    hub: Option<Arc<Hub>>,
    scope: Scope,
}

/// What every event of a handle says.
#[derive(Debug, Clone, Default)]
struct Scope {
    plugin: Option<Arc<str>>,
    client: Option<Arc<str>>,
}

#[derive(Debug)]
struct Hub {
    /// The next number; held while listeners are told, so that they see events in order.
    /// Taken before `streams`. A listener that emits an event itself would wait for itself.
    seq: Mutex<u64>,
    listeners: Vec<Arc<dyn Listener>>,
    /// The queues of streams; those whose reader is gone are taken out at the next event.
    /// Held while an event is put into every queue; the lock of a queue is taken under it.
    streams: Mutex<Vec<Weak<Queue>>>,
    /// What was last told of the entries of each plugin.
    /// Released before events are emitted.
    plugins: Mutex<HashMap<PathBuf, HashMap<EntryId, Option<Code>>>>,
}

/// The file and the name of an entry.
type EntryId = (Arc<str>, String);

impl Events {
    /// Events for these listeners, and for those that [subscribe](Self::subscribe).
    #[must_use]
    pub fn new(listeners: Vec<Arc<dyn Listener>>) -> Self {
        let hub = Hub {
            seq: Mutex::new(0),
            listeners,
            streams: Mutex::default(),
            plugins: Mutex::default(),
        };
        Self {
            hub: Some(Arc::new(hub)),
            scope: Scope::default(),
        }
    }

    /// Returns a handle whose events name a plugin.
    #[must_use]
    pub fn for_plugin(&self, plugin: &str) -> Self {
        let mut scoped = self.clone();
        scoped.scope.plugin = self.hub.as_ref().map(|_| shown(plugin));
        scoped
    }

    /// Tells what was read of a plugin.
    pub fn loaded(&self, loaded: &Loaded) {
        self.plugin(&loaded.plugin);
        for document in &loaded.plugin.documents {
            self.note(Topic::Config, None, || {
                let (file, count) = (document.source.path(), document.entries.len());
                format!("read `{file}`, entries: {count}")
            });
        }
    }

    /// Returns the same with one more listener; the count of events restarts.
    #[must_use]
    pub fn with(&self, listener: Arc<dyn Listener>) -> Self {
        let before = self.hub.iter().flat_map(|hub| &hub.listeners);
        let listeners = before.cloned().chain([listener]);
        Self::new(listeners.collect())
    }

    /// Reads events from now on; a slow reader loses the oldest, and learns how many.
    #[must_use]
    pub fn subscribe(&self) -> EventStream {
        let Some(hub) = &self.hub else {
            return EventStream::ended();
        };
        let (stream, queue) = EventStream::new();
        let mut streams = hub.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.push(Arc::downgrade(&queue));
        stream
    }

    /// Says whether events are recorded at all.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.hub.is_some()
    }

    /// Tells of an event.
    pub fn emit(&self, kind: Kind, server: Option<&str>, code: Option<Code>) {
        let Some(hub) = &self.hub else { return };
        let mut seq = hub.seq.lock().unwrap_or_else(PoisonError::into_inner);
        let event = Event {
            seq: *seq,
            pid: std::process::id(),
            at: SystemClock.wall(),
            kind,
            plugin: self.scope.plugin.clone(),
            server: server.map(shown),
            client: self.scope.client.clone(),
            code,
        };
        *seq = seq.saturating_add(1);
        for listener in &hub.listeners {
            listener.event(&event);
        }
        let mut streams = hub.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|stream| match stream.upgrade() {
            Some(queue) => {
                queue.push(event.clone());
                true
            }
            None => false,
        });
    }

    /// Tells that a server cannot be used.
    pub fn failed(&self, server: &str, code: Code) {
        self.emit(Kind::ServerFailed, Some(server), Some(code));
    }

    /// Tells which entries of a plugin are used and which are left out, and why; of a plugin that
    /// is read again, what is new.
    pub fn plugin(&self, plugin: &Plugin) {
        let Some(hub) = &self.hub else { return };
        let entries = plugin.entries().map(|(document, entry)| {
            let id = (document.source.shared_path(), entry.name.clone());
            (id, left_out(document.is_usable(), entry))
        });
        let entries: Vec<_> = entries.collect();
        let now = entries.iter().cloned().collect();
        let mut plugins = hub.plugins.lock().unwrap_or_else(PoisonError::into_inner);
        let before = plugins.insert(plugin.root.clone(), now).unwrap_or_default();
        drop(plugins);
        let events = self.for_plugin(&plugin.name());
        for (id, code) in entries {
            if before.get(&id) == Some(&code) {
                continue;
            }
            let kind = match code {
                None => Kind::ConfigLoaded,
                Some(_) => Kind::ConfigSkipped,
            };
            events.emit(kind, Some(&id.1), code);
        }
    }

    /// Returns the observer of one server.
    #[must_use]
    pub fn watch(&self, server: &str) -> ServerObserver {
        match &self.hub {
            Some(_) => ServerObserver::new(Arc::new(Bound(self.clone())), server),
            None => ServerObserver::default(),
        }
    }

    /// Returns the observer of requests that belong to no server; none, unless a listener reads
    /// notes about them.
    #[must_use]
    pub fn observer(&self) -> Option<Arc<dyn keyway_auth::Observer>> {
        let hub = self.hub.as_ref()?;
        let is_read = hub.wants(Topic::Transport);
        is_read.then(|| Arc::new(Bound(self.clone())) as _)
    }

    /// Says whether a listener reads notes of a topic.
    #[must_use]
    pub fn wants(&self, topic: Topic) -> bool {
        self.hub.as_ref().is_some_and(|hub| hub.wants(topic))
    }

    /// Writes a note; the line is made only if a listener reads it.
    pub fn note(&self, topic: Topic, server: Option<&str>, line: impl FnOnce() -> String) {
        if let Some(hub) = &self.hub
            && hub.wants(topic)
        {
            hub.note(topic, server, &keyway_secret::printable(&line()));
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let streams = self.streams.get_mut();
        for stream in streams.unwrap_or_else(PoisonError::into_inner) {
            if let Some(queue) = stream.upgrade() {
                queue.close();
            }
        }
    }
}

impl Hub {
    fn wants(&self, topic: Topic) -> bool {
        self.listeners.iter().any(|one| one.wants(topic))
    }

    fn note(&self, topic: Topic, server: Option<&str>, line: &str) {
        let server = server.map(shown);
        for listener in self.listeners.iter().filter(|one| one.wants(topic)) {
            listener.note(topic, server.as_deref(), line);
        }
    }
}

/// What authorizers and transports tell.
#[derive(Debug)]
struct Bound(Events);

impl keyway_auth::Observer for Bound {
    fn emit(&self, server: &str, event: ServerEvent) {
        if let Some((kind, code)) = kind_of(event) {
            self.0.emit(kind, Some(server), code);
        }
    }

    fn emit_for_client(&self, server: &str, client: &str, event: ServerEvent) {
        let mut scoped = self.0.clone();
        scoped.scope.client = Some(shown(client));
        Self(scoped).emit(server, event);
    }

    fn wants(&self, topic: Topic) -> bool {
        self.0.wants(topic)
    }

    fn note(&self, topic: Topic, server: Option<&str>, line: &str) {
        if let Some(hub) = &self.0.hub {
            hub.note(topic, server, line);
        }
    }
}

/// Returns the contract's word for an event of a server, and its code.
const fn kind_of(event: ServerEvent) -> Option<(Kind, Option<Code>)> {
    Some(match event {
        ServerEvent::Connected => (Kind::ServerConnected, None),
        ServerEvent::NotConnected { code } => (Kind::ServerFailed, Some(code)),
        ServerEvent::Required { code } => (Kind::AuthRequired, Some(code)),
        ServerEvent::Started => (Kind::AuthStarted, None),
        ServerEvent::Completed => (Kind::AuthCompleted, None),
        ServerEvent::Failed { code } => (Kind::AuthFailed, Some(code)),
        ServerEvent::Refreshed => (Kind::TokenRefreshed, None),
        ServerEvent::RefreshFailed { code } => (Kind::TokenRefreshFailed, Some(code)),
        ServerEvent::Cleared => (Kind::TokenCleared, None),
        ServerEvent::HelperRan => (Kind::HelperRan, None),
        ServerEvent::HelperFailed { code } => (Kind::HelperFailed, Some(code)),
        _ => return None,
    })
}

/// Returns why an entry is left out, whatever the variables are.
fn left_out(is_file_usable: bool, entry: &Entry) -> Option<Code> {
    if !is_file_usable {
        return Some(Code::InvalidJson);
    }
    match &entry.server {
        Ok(server) => server.disabled.then_some(Code::Disabled),
        Err(faults) => Some(match faults.first() {
            Some(EntryFault::UnknownType { .. }) => Code::UnknownType,
            _ => Code::InvalidEntry,
        }),
    }
}

/// A name may hold a token: what looks like one is masked.
fn shown(name: &str) -> Arc<str> {
    let mut shown = String::with_capacity(name.len());
    let mut from = 0;
    for found in keyway_lint::secrets::find(name, keyway_lint::secrets::Position::Prose) {
        let range = found.range;
        shown.push_str(name.get(from..range.start).unwrap_or_default());
        shown.push('…');
        from = range.end.max(from);
    }
    shown.push_str(name.get(from..).unwrap_or_default());
    keyway_secret::printable(&shown).into()
}

#[cfg(test)]
mod tests;
