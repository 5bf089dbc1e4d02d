//! What programs that are started are kept from, in general and server by server.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::confinement::Confinement;

/// What programs that are started are kept from, in general and server by server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sandbox {
    /// What counts for every server.
    pub all: Confinement,
    /// What counts for one server instead, by its id.
    pub servers: BTreeMap<String, ServerConfinement>,
}

impl Sandbox {
    /// Returns what counts for the server of this id in the plugin at `root`.
    #[must_use]
    pub fn of(&self, id: &str, root: &Path) -> Confinement {
        let own = self.servers.get(id);
        let own = own.filter(|own| is_from(root, &own.source));
        own.map_or(&self.all, |own| &own.confinement).clone()
    }
}

/// What counts for one server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerConfinement {
    /// The folder of its plugin, or one above it.
    pub source: PathBuf,
    /// What its programs are kept from.
    pub confinement: Confinement,
}

impl ServerConfinement {
    /// Binds a confinement to one plugin.
    #[must_use]
    pub const fn new(source: PathBuf, confinement: Confinement) -> Self {
        Self {
            source,
            confinement,
        }
    }
}

/// Says whether a plugin is the one that a table of `config.toml` is about (threat E10).
#[must_use]
pub fn is_from(root: &Path, source: &Path) -> bool {
    let source = fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
    root.starts_with(source)
}
