//! Putting a host together: one port after the other, each with a default.

mod assemble;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use keyway_auth::ports::{Interaction, Tasks};
use keyway_config::environment::{Environment, Variables};
use keyway_mcp::session::ClientInfo;
use keyway_secret::Clock;
use keyway_transport::{HttpSettings, Log};
#[cfg(feature = "stdio")]
use keyway_transport::{Isolation, Launcher};
#[cfg(feature = "vault")]
use keyway_vault::{Folders, KeySources};

#[cfg(all(feature = "stdio", feature = "vault"))]
use super::Renewals;
use super::approving::ApprovalPrompt;
use crate::approval::ApprovalStore;
use crate::events::Events;
use crate::identity::Files;
use crate::in_flight::InFlight;
use crate::settings::Settings;
#[cfg(feature = "callback")]
use crate::sign_in::Presenter;
use crate::sign_in::{ClientIdentity, PromptPolicy, Stores};
#[cfg(feature = "vault")]
use crate::vault::KeptVault;

/// Puts a [`Host`](crate::Host) together.
///
/// Without a single call it is a host as the `keyway` program is one, except that it asks no person:
/// it has the environment of the process, the vault in Keyway's own folders, and the settings'
/// defaults. Without the feature `vault` approvals last as long as the host, and sign-ins need
/// [`Self::stores`].
#[derive(Default)]
#[must_use]
pub struct HostBuilder {
    client: Option<ClientInfo>,
    http: Option<HttpSettings>,
    certificate: Option<Files>,
    #[cfg(feature = "stdio")]
    launcher: Option<Launcher>,
    environment: Option<Arc<dyn Environment + Send + Sync>>,
    child_environment: Option<Vec<(OsString, OsString)>>,
    overrides: Variables,
    env_file: Option<PathBuf>,
    project: Option<PathBuf>,
    data: Option<PathBuf>,
    own_files: Vec<PathBuf>,
    home: Option<PathBuf>,
    #[cfg(feature = "stdio")]
    isolation: Option<Isolation>,
    log: Option<Log>,
    server_logs: ServerLogs,
    identity: ClientIdentity,
    redirect_path: Option<String>,
    storage: Storage,
    sign_in_stores: Option<Stores>,
    in_flight: InFlight,
    #[cfg(all(feature = "stdio", feature = "vault"))]
    renewals: Renewals,
    clock: Option<Arc<dyn Clock>>,
    tasks: Option<Arc<dyn Tasks>>,
    events: Option<Events>,
    settings: Option<Arc<Settings>>,
    profile: Option<String>,
    account: Option<String>,
    approval_store: Option<Arc<dyn ApprovalStore>>,
    approval_prompt: Option<Arc<dyn ApprovalPrompt>>,
    dangerous_all: bool,
    asking: Option<PromptPolicy>,
    consent: Consent,
    device: bool,
}

/// Where sign-ins, approvals and variables are kept.
#[derive(Default)]
enum Storage {
    /// In the folders of the `keyway` program; without the feature `vault`, approvals in memory.
    #[default]
    Usual,
    #[cfg(feature = "vault")]
    Folders(Folders, KeySources),
    #[cfg(feature = "vault")]
    Vault(Arc<KeptVault>, Folders),
    Own(Stores),
    Nowhere,
}

/// How a person is asked to sign in.
#[derive(Default)]
enum Consent {
    #[default]
    Unavailable,
    Port(Arc<dyn Interaction>),
    #[cfg(feature = "callback")]
    Presenter(Arc<dyn Presenter>),
}

/// Whether each server has a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ServerLogs {
    #[default]
    Off,
    Kept,
}

impl ServerLogs {
    /// Returns their folder.
    fn folder(self, data: Option<PathBuf>) -> Option<PathBuf> {
        let data = data.filter(|_| self == Self::Kept)?;
        Some(data.join("logs"))
    }
}

impl HostBuilder {
    /// How this program introduces itself to MCP servers.
    pub fn client(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.client = Some(ClientInfo::new(name, version));
        self
    }

    /// What authorization servers show to people at consent; by default the name of `keyway`.
    pub fn identity(mut self, identity: ClientIdentity) -> Self {
        self.identity = identity;
        self
    }

    /// The path of the loopback address that a browser sign-in comes back to; by default
    /// `/callback`. An entry or `config.toml` that names a whole `redirectUri` wins.
    pub fn redirect_path(mut self, path: impl Into<String>) -> Self {
        self.redirect_path = Some(path.into());
        self
    }

    /// How the network is reached: proxies, root certificates, time-outs.
    pub fn http(mut self, settings: HttpSettings) -> Self {
        self.http = Some(settings);
        self
    }

    /// The files of the client certificate, read again when they change.
    pub fn client_certificate(mut self, files: Option<Files>) -> Self {
        self.certificate = files;
        self
    }

    /// The binary that starts children; by default this one, which must call
    /// [`init`](crate::init) first in `main`.
    #[cfg(feature = "stdio")]
    pub fn launcher(mut self, launcher: Launcher) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// Where `${VAR}` comes from; by default the environment of the process.
    pub fn environment(mut self, environment: impl Environment + Send + Sync + 'static) -> Self {
        self.environment = Some(Arc::new(environment));
        self
    }

    /// The environment of which children get little; by default that of the process.
    pub fn child_environment(mut self, environment: Vec<(OsString, OsString)>) -> Self {
        self.child_environment = Some(environment);
        self
    }

    /// Values that stand above all others.
    pub fn overrides(mut self, overrides: Variables) -> Self {
        self.overrides = overrides;
        self
    }

    /// A file of variables below the environment, read again for every plan.
    pub fn env_file(mut self, file: Option<PathBuf>) -> Self {
        self.env_file = file;
        self
    }

    /// The folder that plugins know as `HOST_PROJECT_DIR`; by default the repository around the
    /// working directory.
    pub fn project_dir(mut self, folder: PathBuf) -> Self {
        self.project = Some(folder);
        self
    }

    /// Files that this program itself writes, not part of a plugin even if they lie in it.
    pub fn own_files(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own_files.extend(files);
        self
    }

    /// The folder below which each plugin has one that it knows as `HOST_PLUGIN_DATA`; by default in
    /// the data folder of the vault.
    pub fn data_dir(mut self, folder: PathBuf) -> Self {
        self.data = Some(folder);
        self
    }

    /// The person's home folder, for helpers that begin with `~/`; by default `HOME`.
    pub fn home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// What children are kept from, beside the folders of the vault.
    #[cfg(feature = "stdio")]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// Where lines go that a child prints beside the protocol, redacted.
    pub fn log(mut self, log: Option<Log>) -> Self {
        self.log = log;
        self
    }

    /// Keeps what the programs of each server print beside the protocol, redacted, in a private log
    /// of at most 2 MiB below the data folder; read by [`Plugin::log`](super::Plugin::log). Off by
    /// default.
    pub const fn server_logs(mut self, are_kept: bool) -> Self {
        self.server_logs = match are_kept {
            true => ServerLogs::Kept,
            false => ServerLogs::Off,
        };
        self
    }

    /// Keeps sign-ins, approvals and variables in a vault of these folders, opened at first use.
    #[cfg(feature = "vault")]
    pub fn vault(mut self, folders: Folders, key: KeySources) -> Self {
        self.storage = Storage::Folders(folders, key);
        self
    }

    /// The same with a vault that others of this process use as well.
    #[cfg(feature = "vault")]
    pub fn shared_vault(mut self, vault: Arc<KeptVault>, folders: Folders) -> Self {
        self.storage = Storage::Vault(vault, folders);
        self
    }

    /// Keeps sign-ins in stores of the host's own. Approvals need a store as well:
    /// [`Self::approval_store`].
    pub fn stores(mut self, stores: Stores) -> Self {
        self.storage = Storage::Own(stores);
        self
    }

    /// Keeps sign-ins in these stores, and everything else where it is kept without them.
    ///
    /// Renewals run in this process then: another one could not reach the stores.
    pub fn sign_in_stores(mut self, stores: Stores) -> Self {
        self.sign_in_stores = Some(stores);
        self
    }

    /// Counts here what the process must not end in the middle of.
    pub fn in_flight(mut self, in_flight: InFlight) -> Self {
        self.in_flight = in_flight;
        self
    }

    /// Runs each renewal of a token in a process of its own, so that its answer, which may be the
    /// only copy of a sign-in, survives the end of this process; by default renewals run here.
    ///
    /// For programs that others end when they like. The process is this program, started once more:
    /// `main` must call [`init`](crate::init) first. Where it cannot be started, the renewal runs
    /// here. Needs a vault; stores of a host's own are not reached from another process.
    #[cfg(all(feature = "stdio", feature = "vault"))]
    pub const fn detached_renewals(mut self, detached: bool) -> Self {
        self.renewals = if detached {
            Renewals::Detached
        } else {
            Renewals::Here
        };
        self
    }

    /// Keeps nothing: no person can sign in, and nothing stays approved.
    pub fn without_vault(mut self) -> Self {
        self.storage = Storage::Nowhere;
        self
    }

    /// The clock by which tokens expire.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where work runs that no caller waits for; by default the tokio runtime of the caller.
    pub fn tasks(mut self, tasks: Arc<dyn Tasks>) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Where events go; by default to those that [subscribe](crate::Host::subscribe).
    pub fn events(mut self, events: Events) -> Self {
        self.events = Some(events);
        self
    }

    /// What the person decided, as in `config.toml`.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = Some(Arc::new(settings));
        self
    }

    /// The profile of the approvals and sign-ins to use; by default `default`.
    pub fn profile(mut self, profile: impl Into<String>) -> Self {
        self.profile = Some(profile.into());
        self
    }

    /// The account to use if several are signed in.
    pub fn account(mut self, account: Option<String>) -> Self {
        self.account = account;
        self
    }

    /// Where approvals are kept; by default in the vault.
    pub fn approval_store(mut self, store: Arc<dyn ApprovalStore>) -> Self {
        self.approval_store = Some(store);
        self
    }

    /// How a person is asked to approve an entry; by default none is.
    pub fn approval_prompt(mut self, prompt: Arc<dyn ApprovalPrompt>) -> Self {
        self.approval_prompt = Some(prompt);
        self
    }

    /// Approves every entry without asking, for the life of this host.
    pub const fn dangerous_approve_all(mut self, all: bool) -> Self {
        self.dangerous_all = all;
        self
    }

    /// Whether a request waits for a person; by default it does where a person can be asked.
    pub const fn asking(mut self, asking: PromptPolicy) -> Self {
        self.asking = Some(asking);
        self
    }

    /// How a person is asked to sign in; by default none is.
    pub fn interaction(mut self, interaction: Arc<dyn Interaction>) -> Self {
        self.consent = Consent::Port(interaction);
        self
    }

    /// Shows consent pages by `presenter` and waits for the answer on a loopback port.
    #[cfg(feature = "callback")]
    pub fn presenter(mut self, presenter: Arc<dyn Presenter>) -> Self {
        self.consent = Consent::Presenter(presenter);
        self
    }

    /// Signs in by a code on another device, whatever is configured.
    pub const fn device(mut self, device: bool) -> Self {
        self.device = device;
        self
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder").finish_non_exhaustive()
    }
}
