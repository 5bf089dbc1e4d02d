//! The host: load a plugin, plan a server, get it approved, connect, talk.
//!
//! ```text
//! Host ──load──▶ Plugin ──plan──▶ Plan ──approve──▶ Approved<Plan> ──connect──▶ Session
//!   └─────────server(url)──────────▲                      └──────────open──────▶ Connection
//! ```
//!
//! Each step takes the one before it. Only [`Approved`] connects to a server or starts a program.

mod actions;
mod approved;
mod approving;
mod builder;
mod child_lines;
mod connecting;
mod entry;
mod error;
#[cfg(feature = "vault")]
mod moving;
mod oauth_settings;
mod offers;
#[cfg(feature = "stdio")]
mod package_starts;
#[cfg(feature = "stdio")]
mod places;
mod plan;
mod plugin;
mod process;
#[cfg(feature = "stdio")]
mod programs;
mod server;
mod server_log;
mod sign_out;
mod sign_out_summary;
mod signing_in;
mod variable_scope;
mod variants;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_approval::{EntryContext, runs_program};
use keyway_auth::oauth::RefreshTraffic;
use keyway_auth::ports::Tasks;
use keyway_config::declared::DeclaredServer;
use keyway_config::environment::{Environment, Variables};
#[cfg(feature = "bundles")]
use keyway_files::bundles::Bundles;
use keyway_mcp::session::ClientInfo;
use keyway_store::ValueStore;
use keyway_transport::{HttpClient, Log};
use url::Url;

pub use self::actions::SignInOutcome;
pub use self::approved::Approved;
pub use self::approving::ApprovalPrompt;
#[cfg(feature = "vault")]
pub use self::approving::VaultApprovals;
use self::approving::{OneLook, RunApprovals};
pub use self::builder::HostBuilder;
pub use self::child_lines::ChildLines;
pub use self::error::{ChildEnd, Error};
#[cfg(feature = "stdio")]
pub use self::places::record_places;
#[cfg(all(feature = "stdio", feature = "vault"))]
pub use self::places::{known_vaults, record_vault};
pub use self::plan::Plan;
pub use self::plugin::Plugin;
pub use self::process::ProcessEnvironment;
#[cfg(feature = "vault")]
pub use self::process::keyway_folders;
pub use self::sign_out::SignOutPlan;
pub use self::variable_scope::VariableScope;
pub use crate::approval::ApprovalStore;
pub use keyway_secret::{Clock, SystemClock};

#[cfg(feature = "stdio")]
use self::programs::Programs;
use crate::approval::{Protection, Question};
use crate::events::{EventStream, Events};
use crate::load::{Loaded, Loader};
use crate::redaction_values::RedactionValues;
use crate::settings::{Confinement, SandboxProfile, Settings};
use crate::sign_in::Accounts;
#[cfg(feature = "vault")]
use crate::vault::KeptVault;

/// Everything that loading, approving and connecting need of the process they run in.
///
/// A host is cheap to clone: clones share the HTTP client, the stores and the ports. The `with_…`
/// methods return a clone that differs in one respect, for a connection of its own kind.
#[derive(Clone)]
pub struct Host {
    /// The client for every HTTP connection.
    pub(crate) http: HttpClient,
    #[cfg(feature = "stdio")]
    pub(crate) programs: Programs,
    #[cfg(all(feature = "stdio", feature = "vault"))]
    pub(crate) renewals: Renewals,
    /// The person's environment, of which children get little.
    pub(crate) environment: Arc<[(OsString, OsString)]>,
    /// Where `${VAR}` comes from.
    pub(crate) variables: VariableSources,
    /// Where lines go that a child prints beside the protocol.
    pub(crate) log: Option<Log>,
    /// The folder of a log for each server, of the same lines.
    pub(crate) log_folder: Option<PathBuf>,
    /// The sign-ins to use and whom to ask; absent where nothing is kept.
    pub(crate) accounts: Option<Accounts>,
    /// Where events go.
    pub(crate) events: Events,
    /// Where to record what a server gets; a host that has this is for one server.
    pub(crate) redaction_values: Option<RedactionValues>,
    /// What all sign-ins share about their renewals.
    pub(crate) refresh_traffic: Arc<RefreshTraffic>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: Arc<dyn Tasks>,
    /// How this program introduces itself to MCP servers.
    pub(crate) client: ClientInfo,
    pub(crate) approvals: Approvals,
    pub(crate) settings: Arc<Settings>,
}

/// Where tokens are renewed.
#[cfg(all(feature = "stdio", feature = "vault"))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Renewals {
    /// In this process.
    #[default]
    Here,
    /// In a process of their own, which outlives this one.
    Detached,
}

/// How entries come to be approved.
#[derive(Debug, Clone)]
pub(crate) struct Approvals {
    pub(crate) store: Option<Arc<dyn ApprovalStore>>,
    pub(crate) prompt: Option<Arc<dyn ApprovalPrompt>>,
    /// What is approved for the life of this host, as it was when that was said.
    pub(crate) for_this_run: RunApprovals,
    /// Everything is approved for the life of this host.
    pub(crate) dangerous_all: bool,
}

/// Where variables come from, and which folders the host names to plugins.
#[derive(Clone)]
pub(crate) struct VariableSources {
    /// Above all others: values that are tried.
    pub(crate) overrides: Variables,
    /// Usually the process environment.
    pub(crate) environment: Arc<dyn Environment + Send + Sync>,
    /// Read again for every plan, so that a change counts.
    pub(crate) env_file: Option<PathBuf>,
    /// The variables of `keyway env`.
    #[cfg(feature = "vault")]
    pub(crate) vault: Option<Arc<KeptVault>>,
    /// Stores of variables, in the place of the vault's; the first that has one wins.
    pub(crate) stores: Option<Arc<[Arc<dyn ValueStore>]>>,
    /// Whether nothing but these stores counts: no environment, and no file.
    pub(crate) is_alone: bool,
    /// Where plugins may keep data; none without a home.
    pub(crate) data: Option<PathBuf>,
    /// `HOST_PROJECT_DIR`.
    pub(crate) project: PathBuf,
    /// For helpers that begin with `~/`, and for approvals of what lies below it.
    pub(crate) home: Option<PathBuf>,
    /// Keyway's own folders, which are not part of a plugin even if they lie in it.
    pub(crate) own_folders: Arc<[PathBuf]>,
}

impl Host {
    /// Begins a host; every port has a default.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Reads a plugin: a folder, or one file of it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Load`] if there is nothing to read. Faults inside the file are diagnostics
    /// of the plugin, not errors.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Plugin, Error> {
        let loaded = self.loader().load(path.as_ref())?;
        Ok(self.announced(loaded))
    }

    /// Reads the nearest plugin: `start`, or a folder above it in the same repository.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Load`] if there is none.
    pub fn discover(&self, start: impl AsRef<Path>) -> Result<Plugin, Error> {
        let loaded = self.loader().discover(start.as_ref())?;
        Ok(self.announced(loaded))
    }

    /// Plans a connection to one address, as the entry `{"type": "http", "url": …}` would.
    ///
    /// The server is called `server`, of a plugin named after the host of the address. It runs no
    /// program and gets no variable, so there is nothing to approve.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unresolved`] for an address that no entry may have, such as `http` to a host
    /// that is not this machine.
    pub fn server(&self, url: &Url) -> Result<Plan, Error> {
        self.at(url).plan(entry::ONLY_SERVER)
    }

    /// Returns the plugin whose only server is at an address, as [`Self::server`] plans it.
    #[must_use]
    pub fn at(&self, url: &Url) -> Plugin {
        self.plugin(Arc::new(entry::of_address(url)))
    }

    /// Puts a plugin that was read before under this host.
    #[must_use]
    pub fn plugin(&self, loaded: Arc<Loaded>) -> Plugin {
        Plugin::new(self.clone(), loaded)
    }

    /// Returns what reads plugins.
    #[must_use]
    pub fn loader(&self) -> Loader {
        let loader = Loader::default().home(self.variables.home.clone());
        #[cfg(feature = "bundles")]
        let loader = {
            let data = self.variables.data.as_ref();
            loader.bundles(data.map(|data| Bundles::new(data.join("bundles"))))
        };
        loader
    }

    /// Returns where events go.
    #[must_use]
    pub const fn events(&self) -> &Events {
        &self.events
    }

    /// Returns what all sign-ins of this host and its clones share about their renewals.
    #[must_use]
    pub const fn refresh_traffic(&self) -> &Arc<RefreshTraffic> {
        &self.refresh_traffic
    }

    /// Reads the events of this host and its clones from now on: which plugin, server and client,
    /// by which process. A slow reader loses the oldest, and learns how many.
    #[must_use]
    pub fn subscribe(&self) -> EventStream {
        self.events.subscribe()
    }

    /// Returns how this program introduces itself.
    #[must_use]
    pub const fn client(&self) -> &ClientInfo {
        &self.client
    }

    /// Returns the client for HTTP connections.
    #[must_use]
    pub const fn http(&self) -> &HttpClient {
        &self.http
    }

    /// Returns what the person decided in `config.toml`.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the sign-ins that are used; none where nothing is kept.
    #[must_use]
    pub const fn accounts(&self) -> Option<&Accounts> {
        self.accounts.as_ref()
    }

    /// Returns the variables as the entries of a plugin see them.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Load`] if the env file cannot be read.
    pub fn variable_scope(&self, loaded: &Loaded) -> Result<VariableScope, Error> {
        VariableScope::new(&self.variables, loaded)
    }

    /// Returns the variables as one entry of a plugin sees them, whose root may be its own.
    pub(crate) fn variable_scope_of(
        &self,
        loaded: &Loaded,
        server: &DeclaredServer,
    ) -> Result<VariableScope, Error> {
        Ok(self.variable_scope(loaded)?.of_entry(server))
    }

    /// Returns the env file that every plan reads.
    #[must_use]
    pub fn env_file(&self) -> Option<&Path> {
        self.variables.env_file.as_deref()
    }

    /// Says whether everything is approved for the life of this host.
    #[must_use]
    pub const fn dangerous_approves_all(&self) -> bool {
        self.approvals.dangerous_all
    }

    /// Approves every entry of a plugin, as it is now, for the life of this host and its clones. An
    /// entry that changes later, or is added, is not approved by it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Load`] if the env file cannot be read.
    pub fn dangerous_approve_for_this_run(&self, plugin: &Plugin) -> Result<(), Error> {
        for name in plugin.servers() {
            if let Some(question) = plugin.plan(&name)?.question() {
                self.approvals.for_this_run.add(question.digest);
            }
        }
        Ok(())
    }

    /// Returns where approvals are kept; none where nothing is.
    #[must_use]
    pub fn approval_store(&self) -> Option<&dyn ApprovalStore> {
        self.approvals.store.as_deref()
    }

    /// Says whether an entry is approved for the life of this host.
    #[must_use]
    pub fn is_approved_for_this_run(&self, question: &Question) -> bool {
        self.approvals.for_this_run.covers(&question.digest)
    }

    /// Returns what a person has to approve of an entry; the one place that puts it together.
    pub(crate) fn question(
        &self,
        loaded: &Loaded,
        server: &DeclaredServer,
        variables: &VariableScope,
    ) -> Option<Question> {
        let (plugin, root) = (loaded.plugin.name(), &loaded.plugin.root);
        let look = self.approvals.store.as_deref();
        let look = look.map(|store| OneLook::new(store, root, &server.name));
        let look = look.as_ref().map(|look| look as &dyn ApprovalStore);
        let confinement = self.confinement_by(look, loaded, server);
        let mut context =
            EntryContext::new(&plugin, root, variables.host_variables(), &confinement);
        context.unpacked = server.source.folder();
        context.home = self.variables.home.as_deref();
        context.skipped = &self.variables.own_folders;
        context.store = look;
        context.now = self.clock.wall();
        Question::about(server, context, &variables.scope())
    }

    /// Returns what the programs of an entry are kept from: as `config.toml` says, unless the person
    /// answered that they are confined.
    pub(crate) fn confinement(&self, loaded: &Loaded, server: &DeclaredServer) -> Confinement {
        self.confinement_by(self.approvals.store.as_deref(), loaded, server)
    }

    fn confinement_by(
        &self,
        store: Option<&dyn ApprovalStore>,
        loaded: &Loaded,
        server: &DeclaredServer,
    ) -> Confinement {
        let root = &loaded.plugin.root;
        let id = format!("{}:{}", loaded.plugin.name(), server.name);
        let mut confinement = self.settings.sandbox.of(&id, root);
        let is_settled = confinement.profile == SandboxProfile::Confine;
        if !is_settled && runs_program(server) {
            // A ledger that cannot be read approves nothing, so that nothing starts unconfined.
            let approval = store.and_then(|store| store.find(root, &server.name).ok()?);
            if approval.is_some_and(|approval| approval.confined) {
                confinement.profile = SandboxProfile::Confine;
            }
        }
        confinement
    }

    /// Adds to a question what of the confinement is in force here.
    ///
    /// Cancel safety: as [`Self::protection`].
    pub async fn with_protection(&self, question: Question) -> Question {
        let protection = match question.confinement() {
            Some(confinement) => self.protection(confinement).await,
            None => None,
        };
        question.protected_by(protection)
    }

    /// Ends a launcher that was started ahead of a plan which is not approved.
    pub(super) fn end_launcher_ahead(&self) {
        #[cfg(feature = "stdio")]
        self.programs.launcher.end_ahead();
    }

    /// Finds out what of a confinement is in force here, without starting a program of a plugin;
    /// `None` where programs are not built in. Known from the second time on.
    ///
    /// Cancel safety: a program of our own that tries the confinement is ended; nothing is noted, and
    /// the next call tries again.
    pub async fn protection(&self, confinement: &Confinement) -> Option<Protection> {
        #[cfg(feature = "stdio")]
        return Some(self.programs.protection(confinement).await);
        #[cfg(not(feature = "stdio"))]
        std::future::ready((confinement, None).1).await
    }

    fn announced(&self, loaded: Loaded) -> Plugin {
        self.events.loaded(&loaded);
        self.plugin(Arc::new(loaded))
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("client", &self.client.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(all(feature = "callback", feature = "vault"))]
mod tests;

#[cfg(test)]
#[cfg(not(feature = "stdio"))]
mod slim_tests;
