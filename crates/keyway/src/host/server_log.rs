//! The log of each server: what its programs print beside the protocol.

use std::path::{Path, PathBuf};
#[cfg(feature = "stdio")]
use std::time::UNIX_EPOCH;

use keyway_approval::Owner;
use keyway_config::names::path_segment;
#[cfg(feature = "stdio")]
use keyway_transport::{ChildStream, Log};

use super::{Host, Plugin};
#[cfg(feature = "stdio")]
use crate::connect::Target;
#[cfg(feature = "stdio")]
use crate::events::rfc3339;
use crate::log_file::LogFile;

impl Plugin {
    /// Returns the log of one of its servers; `None` if this host keeps none.
    #[must_use]
    pub fn log(&self, server: &str) -> Option<LogFile> {
        let path = self.host().log_path(&self.name(), self.root(), server);
        path.map(LogFile::new)
    }
}

impl Host {
    /// Returns a sink that writes to the log of a server and to `inner`.
    #[cfg(feature = "stdio")]
    pub(super) fn logging(&self, target: Target<'_>, inner: Option<Log>) -> Option<Log> {
        let (plugin, root) = (target.plugin, target.host.source());
        let Some(path) = self.log_path(plugin, root, &target.spec.name) else {
            return inner;
        };
        let (file, clock) = (LogFile::new(path), self.clock.clone());
        // Several processes write to one log.
        let process = std::process::id();
        Some(std::sync::Arc::new(move |stream, line| {
            let since = clock.wall().duration_since(UNIX_EPOCH).unwrap_or_default();
            let at = rfc3339(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
            let from = match stream {
                ChildStream::Output => " (stdout)",
                _ => "",
            };
            file.push(&format!("{at} [{process}]{from} {line}"));
            if let Some(inner) = &inner {
                inner(stream, line);
            }
        }))
    }

    fn log_path(&self, plugin: &str, root: &Path, server: &str) -> Option<PathBuf> {
        let folder = self
            .log_folder
            .as_ref()?
            .join(Owner::new(plugin, root).id());
        Some(folder.join(format!("{}.log", path_segment(server))))
    }
}
