//! `--events FILE`: what changes, as JSON lines. Names and codes only: never a value, an address or
//! a token.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use keyway::aggregate::Observer;
use keyway::states::{Reason, Standing, State, Trouble};
use serde::Serialize;

use crate::commands::status::rfc3339;
use crate::report::mask::in_name;

/// Where events go; nowhere unless a file was named.
#[derive(Debug, Clone, Default)]
pub(crate) struct Events(Option<Arc<Mutex<Out>>>);

#[derive(Debug)]
struct Out {
    file: File,
    seq: u64,
}

#[derive(Serialize)]
struct Event<'a> {
    schema_version: u32,
    seq: u64,
    ts: String,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
}

impl Events {
    /// Opens the file, which only its owner may read; events are added to its end.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).mode(0o600).open(path)?;
        Ok(Self(Some(Arc::new(Mutex::new(Out { file, seq: 0 })))))
    }

    /// Writes one event; a disk that is full stops no server.
    pub(crate) fn emit(&self, event: &'static str, server: Option<&str>, code: Option<&str>) {
        let Some(out) = &self.0 else { return };
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        let written = Event {
            schema_version: 1,
            seq: out.seq,
            ts: rfc3339(now()),
            event,
            server: server.map(in_name),
            code,
        };
        out.seq = out.seq.saturating_add(1);
        let mut line = serde_json::to_string(&written).unwrap_or_default();
        line.push('\n');
        drop(out.file.write_all(line.as_bytes()));
    }

    /// Writes what the failure of a server means.
    pub(crate) fn failed(&self, server: &str, code: &str) {
        let event = match code {
            "sign-in-required" => "auth.required",
            "refresh-failed" => "token.refresh_failed",
            "auth-rejected" | "insufficient-scope" | "auth-failed" | "oauth-loop" => "auth.failed",
            code if code.starts_with("helper-") => "helper.failed",
            _ => "server.failed",
        };
        self.emit(event, Some(server), Some(code));
    }
}

impl Observer for Events {
    fn changed(&self, server: &str, standing: Standing, trouble: Option<&Trouble>) {
        match (standing.state, standing.reason, trouble) {
            (State::Connected, _, _) => self.emit("server.connected", Some(server), None),
            (State::NeedsAuth, Some(Reason::Authorizing), _) => {
                self.emit("auth.started", Some(server), None);
            }
            (State::NeedsAuth, None, _) => self.emit("auth.required", Some(server), None),
            // The person's own decision is recorded where it is made.
            (State::Pending, Some(Reason::Connecting | Reason::PendingTrust), _) => {}
            (_, _, Some(trouble)) => self.failed(server, trouble.code),
            _ => {}
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an event says when it happened, by the clock of this machine"
)]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
}
