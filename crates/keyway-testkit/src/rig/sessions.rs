//! The sessions of protocol versions before 2026-07-28: begun by `initialize`, ended by `DELETE`.

use std::collections::HashSet;

use crate::http::{Answer, Request};

/// The sessions that are open.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    begun: u32,
    open: HashSet<String>,
}

impl Sessions {
    /// Says whether a request may be looked at: it names no session, or one that is open.
    pub(super) fn admits(&self, request: &Request) -> bool {
        let named = request.header(ID);
        named.is_none_or(|id| self.open.contains(id))
    }

    /// Begins or ends a session, if that is what was answered.
    pub(super) fn note(&mut self, request: &Request, answer: Answer) -> Answer {
        if answer.status != 200 {
            return answer;
        }
        if request.method == "DELETE" {
            if let Some(id) = request.header(ID) {
                self.open.remove(id);
            }
            return answer;
        }
        if !request.body.contains("\"initialize\"") {
            return answer;
        }
        self.begun += 1;
        let id = format!("session-{}", self.begun);
        self.open.insert(id.clone());
        answer.with(ID, &id)
    }
}

const ID: &str = "mcp-session-id";
