//! What a server listed last, for clients that come while it is not there.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use keyway_auth::BoxFuture;
use keyway_mcp::tool_memory::ToolMemory;
use keyway_store::RecordStore;
use serde_json::value::RawValue;

use crate::in_flight::InFlight;

/// The tools that a server listed last, to any process. Only a convenience: without a vault nothing
/// is kept.
pub struct RememberedTools {
    lists: Arc<dyn RecordStore>,
    in_flight: InFlight,
    name: String,
    /// What is known to be stored, so that it is not stored again.
    /// Held for one comparison.
    kept: Mutex<Option<String>>,
}

impl RememberedTools {
    /// Remembers the tools of one server under a name of its own.
    pub(crate) const fn new(
        lists: Arc<dyn RecordStore>,
        in_flight: InFlight,
        name: String,
    ) -> Self {
        Self {
            lists,
            in_flight,
            name,
            kept: Mutex::new(None),
        }
    }
}

impl fmt::Debug for RememberedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RememberedTools").finish_non_exhaustive()
    }
}

impl ToolMemory for RememberedTools {
    fn recall(&self) -> BoxFuture<'_, Option<Vec<Box<RawValue>>>> {
        Box::pin(async move {
            let (lists, name) = (Arc::clone(&self.lists), self.name.clone());
            let found = tokio::task::spawn_blocking(move || lists.get(&name));
            let record = found.await.ok()??;
            serde_json::from_slice(record.expose()).ok()
        })
    }

    fn remember(&self, tools: &[Box<RawValue>]) {
        let Ok(text) = serde_json::to_string(tools) else {
            return;
        };
        if text.len() > MAX_LIST {
            return;
        }
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.as_deref() == Some(text.as_str()) {
                return;
            }
            *kept = Some(text.clone());
        }
        let (lists, name) = (Arc::clone(&self.lists), self.name.clone());
        store(lists, &self.in_flight, name, text);
    }
}

/// Stores a list in the background; the process waits for it before it exits.
fn store(lists: Arc<dyn RecordStore>, in_flight: &InFlight, name: String, text: String) {
    // Begun here, so that it is known before the thread runs.
    let storing = in_flight.storing();
    drop(tokio::task::spawn_blocking(move || {
        let _storing = storing;
        // Most processes find what the one before them found: reading waits for no other process.
        let stored = lists.get(&name);
        if stored.is_some_and(|stored| stored.expose() == text.as_bytes()) {
            return None;
        }
        // Only a convenience: what is not kept is fetched again.
        lists.put(&name, text.as_bytes()).ok()
    }));
}

const MAX_LIST: usize = 512 * 1024;

#[cfg(test)]
#[cfg(feature = "vault")]
mod tests;
