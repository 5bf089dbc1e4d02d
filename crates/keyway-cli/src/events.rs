//! `--events FILE`: what changes, as JSON lines. Names and codes only: never a value, an address or
//! a token.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use keyway::events::{Event, Kind, Listener};

/// Opens a file that only its owner may read; what is written is added to its end.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path)
}

/// Writes events to a file.
pub(crate) fn to_file(file: File) -> Arc<dyn Listener> {
    Arc::new(Lines(Mutex::new(file)))
}

/// Warns on standard error of programs that are less isolated than their profile promises (threat
/// E13), once for each server.
pub(crate) fn isolation_warning() -> Arc<dyn Listener> {
    Arc::new(IsolationWarning::default())
}

/// The servers that were warned of. The lock is held while the warning is written, so that it comes
/// once.
#[derive(Debug, Default)]
struct IsolationWarning(Mutex<HashSet<String>>);

impl Listener for IsolationWarning {
    fn event(&self, event: &Event) {
        if event.kind != Kind::IsolationReduced {
            return;
        }
        let name = |name: &Option<Arc<str>>| name.as_deref().unwrap_or_default().to_owned();
        let id = format!("{}:{}", name(&event.plugin), name(&event.server));
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(id.clone()) {
            let warning = format!(
                "warning: `{id}` starts with less isolation than its profile promises; \
                 `keyway status` says what is missing, `sandbox.require = true` refuses to start it\n"
            );
            drop(io::stderr().write_all(warning.as_bytes()));
        }
    }
}

/// The lock is held for one line: events come from several threads, and a line is never torn.
#[derive(Debug)]
struct Lines(Mutex<File>);

impl Listener for Lines {
    /// Writes one event; a disk that is full stops no server.
    fn event(&self, event: &Event) {
        let mut line = event.to_json();
        line.push('\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(file.write_all(line.as_bytes()));
    }
}
