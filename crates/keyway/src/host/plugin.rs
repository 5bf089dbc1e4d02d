//! A plugin that was read, under a host.

use std::path::Path;
use std::sync::Arc;

use keyway_approval::program_start::runs_package;
use keyway_config::declared::{DeclaredServer, Endpoint};
use keyway_config::document::Document;
use keyway_mcp::declaration_site::DeclarationSite;

use super::error::Error;
use super::plan::Plan;
use super::sign_out::SignOutPlan;
use super::{Host, entry};
use crate::approval::Question;
use crate::load::Loaded;

/// A plugin that was read. Nothing of it has run or been resolved.
#[derive(Debug, Clone)]
pub struct Plugin {
    host: Host,
    loaded: Arc<Loaded>,
}

impl Plugin {
    pub(super) const fn new(host: Host, loaded: Arc<Loaded>) -> Self {
        Self { host, loaded }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> String {
        self.loaded.plugin.name()
    }

    /// Returns its folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.loaded.plugin.root
    }

    /// Returns what was read: documents, entries and the files that they speak of.
    #[must_use]
    pub const fn loaded(&self) -> &Arc<Loaded> {
        &self.loaded
    }

    /// Returns the host.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the names of its servers that can be used and are not switched off, sorted.
    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        entry::usable_names(&self.loaded)
    }

    /// Finds the entry that a name means: `SERVER`, or `PLUGIN:SERVER`; without a name, the only one.
    ///
    /// # Errors
    ///
    /// Returns [`Error::UnknownServer`], [`Error::Disabled`], or [`Error::WhichServer`] if there are
    /// several or none.
    pub fn entry(&self, name: Option<&str>) -> Result<(&Document, &DeclaredServer), Error> {
        entry::find(&self.loaded, name)
    }

    /// Says whether the program of a server is run by a package runner, which may fetch it first:
    /// those start a few at a time.
    #[must_use]
    pub fn runs_package(&self, name: &str) -> bool {
        let Ok((_, entry)) = self.entry(Some(name)) else {
            return false;
        };
        let Endpoint::Local(local) = &entry.endpoint else {
            return false;
        };
        let words = std::iter::once(&local.command).chain(&local.args);
        let words: Vec<&str> = words.map(|word| word.template.as_str()).collect();
        runs_package(&words)
    }

    /// Plans one server: what it would run, which variable would go where, and where it leads.
    ///
    /// Variables are read, in memory; nothing runs and nothing is sent. A variable that is not set
    /// is one of the plan's [problems](Plan::problems), and no error yet.
    ///
    /// # Errors
    ///
    /// As [`Self::entry`], and [`Error::Load`] if the env file cannot be read.
    pub fn plan(&self, name: &str) -> Result<Plan, Error> {
        self.plan_of(self.entry(Some(name))?)
    }

    /// Starts what starts programs, for a local server that is planned next: that takes about as long
    /// as planning and approving it. Nothing of the plugin runs before it is approved. What waits ends if
    /// the plan is not in the ledger, and with the last clone of the host.
    #[cfg(feature = "stdio")]
    pub fn start_launcher_ahead(&self, name: &str) {
        if let Ok((_, server)) = self.entry(Some(name)) {
            self.host.start_launcher_ahead(&self.loaded, server);
        }
    }

    /// Plans the only server.
    ///
    /// # Errors
    ///
    /// As [`Self::plan`].
    pub fn plan_only(&self) -> Result<Plan, Error> {
        self.plan_of(self.entry(None)?)
    }

    /// Plans the sign-out from one server: nothing of it runs, and nothing is sent to it.
    ///
    /// # Errors
    ///
    /// As [`Self::plan`], and [`Error::Unresolved`] if the address cannot be filled in.
    pub fn plan_sign_out(&self, name: &str) -> Result<SignOutPlan, Error> {
        SignOutPlan::new(&self.host, &self.loaded, self.entry(Some(name))?)
    }

    /// Returns what a person has to approve of a server; `None` if it runs and gets nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::plan`].
    pub fn question(&self, name: &str) -> Result<Option<Question>, Error> {
        Ok(self.plan(name)?.question().cloned())
    }

    /// Says where a server is declared, for a person who is told a command.
    #[must_use]
    pub fn declaration_site(&self, server: &str) -> DeclarationSite {
        DeclarationSite::new(self.name(), server.to_owned(), self.loaded.config())
    }

    fn plan_of(&self, (_, server): (&Document, &DeclaredServer)) -> Result<Plan, Error> {
        let plan = Plan::new(&self.host, &self.loaded, server);
        if plan.is_err() {
            self.host.end_launcher_ahead();
        }
        plan
    }
}
