//! One demo: its ports, its credentials, its folder; then its servers at work.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_config::environment::Environment as _;
use keyway_secret::Secret;
use tempfile::TempDir;

use crate::credentials::Credentials;
use crate::error::DemoError;
use crate::journal::Journal;
use crate::plugin;
use crate::servers::{Manners, Ports, Servers};
use crate::settings::Settings;
use crate::tour::Tour;

/// A demo that is prepared; its folder goes when this is dropped.
#[derive(Debug)]
pub struct Demo {
    settings: Settings,
    ports: Ports,
    credentials: Credentials,
    folder: TempDir,
}

/// A demo that is served; dropping this ends its servers.
#[derive(Debug)]
pub struct Open {
    /// What the servers see.
    pub journal: Journal,
    /// The way through all of them.
    pub tour: Arc<Tour>,
    /// Held for its tasks.
    _servers: Servers,
}

impl Demo {
    /// Opens the ports, makes the credentials and writes the plugin.
    ///
    /// # Errors
    ///
    /// Returns what of these failed.
    pub fn prepare(settings: Settings) -> Result<Self, DemoError> {
        let failed = |source| DemoError::Folder { source };
        let folder = tempfile::Builder::new()
            .prefix("keyway-demo-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(failed)?;
        let demo = Self {
            settings,
            ports: Ports::open()?,
            credentials: Credentials::new()?,
            folder,
        };
        std::fs::create_dir(demo.plugin()).map_err(failed)?;
        let binary = &demo.settings.binary;
        plugin::write(&demo.plugin(), binary, &demo.ports, &demo.credentials)?;
        Ok(demo)
    }

    /// Returns the folder of the plugin.
    #[must_use]
    pub fn plugin(&self) -> PathBuf {
        self.folder.path().join("demo")
    }

    /// Returns the folder in which sign-ins are kept: what `KEYWAY_HOME` has to be to use them.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Returns the variables of this run, as the shell of a person would have them.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, Secret<String>)> {
        let variables = self.credentials.variables();
        let names = variables.names().into_iter();
        let pairs = names.filter_map(|name| Some((name.clone(), variables.get(&name)?)));
        pairs.collect()
    }

    /// Returns the folder that holds everything.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends the demo and takes its folder away.
    ///
    /// # Errors
    ///
    /// Returns [`DemoError::Folder`] if something of it is left.
    pub fn close(self) -> Result<(), DemoError> {
        let failed = |source| DemoError::Folder { source };
        self.folder.close().map_err(failed)
    }

    /// Starts the servers; needs a runtime.
    ///
    /// # Errors
    ///
    /// Returns [`DemoError::Listen`] if a port cannot be served, and otherwise why the tour cannot
    /// begin.
    pub fn open(&self) -> Result<Open, DemoError> {
        let journal = Journal::default();
        let manners = Manners {
            token_life: self.settings.token_life,
            now: self.settings.now,
            clock: Arc::clone(&self.settings.clock),
        };
        let servers = Servers::start(&self.ports, &self.credentials, &journal, &manners)?;
        let tour = Tour::new(
            &self.plugin(),
            &self.home(),
            self.credentials.variables().clone(),
            &self.settings,
        )?;
        Ok(Open {
            journal,
            tour: Arc::new(tour),
            _servers: servers,
        })
    }
}
