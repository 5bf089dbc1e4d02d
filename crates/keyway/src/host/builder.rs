//! Putting a host together: one port after the other, each with a default.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use keyway_auth::ports::{Interaction, Tasks};
use keyway_config::environment::{Environment, Variables};
use keyway_mcp::session::ClientInfo;
use keyway_secret::{Clock, SystemClock};
use keyway_transport::{HttpClient, HttpSettings, Isolation, Launcher, Log};
use keyway_vault::{Folders, KeySources, Vault};

use super::approving::{ApprovalPrompt, ApprovalStore, VaultApprovals};
use super::error::Error;
use super::process::{ProcessEnvironment, keyway_folders};
use super::{Approvals, Host, VariableSources};
use crate::connect::ConnectError;
use crate::events::Events;
use crate::identity::{Files, Keeper};
use crate::load;
use crate::settings::Settings;
use crate::sign_in::{
    Accounts, ClientIdentity, InFlight, KeptVault, Loopback, Presenter, PromptPolicy, Stores,
    TokioTasks,
};

/// Puts a [`Host`] together.
///
/// Without a single call it is a host as the `keyway` program is one, except that it asks nobody: it
/// has the environment of the process, the vault in Keyway's own folders, and the settings' defaults.
#[derive(Default)]
#[must_use]
pub struct HostBuilder {
    client: Option<ClientInfo>,
    http: Option<HttpSettings>,
    certificate: Option<Files>,
    launcher: Option<Launcher>,
    environment: Option<Arc<dyn Environment + Send + Sync>>,
    child_environment: Option<Vec<(OsString, OsString)>>,
    overrides: Variables,
    env_file: Option<PathBuf>,
    project: Option<PathBuf>,
    home: Option<PathBuf>,
    isolation: Option<Isolation>,
    log: Option<Log>,
    identity: ClientIdentity,
    storage: Storage,
    in_flight: InFlight,
    clock: Option<Arc<dyn Clock>>,
    tasks: Option<Arc<dyn Tasks>>,
    events: Events,
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
    /// In the folders of the `keyway` program.
    #[default]
    Keyway,
    Folders(Folders, KeySources),
    Vault(Arc<KeptVault>, Folders),
    Own(Stores),
    Nowhere,
}

/// How a person is asked to sign in.
#[derive(Default)]
enum Consent {
    #[default]
    Nobody,
    Port(Arc<dyn Interaction>),
    Presenter(Arc<dyn Presenter>),
}

impl HostBuilder {
    /// How this program introduces itself to MCP servers.
    pub fn client(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.client = Some(ClientInfo {
            name: name.into(),
            version: version.into(),
        });
        self
    }

    /// What authorization servers show to people at consent; by default the name of `keyway`.
    pub fn identity(mut self, identity: ClientIdentity) -> Self {
        self.identity = identity;
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

    /// The person's home folder, for helpers that begin with `~/`; by default `HOME`.
    pub fn home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// What children are kept from, beside the folders of the vault.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// Where lines go that a child prints beside the protocol, redacted.
    pub fn log(mut self, log: Option<Log>) -> Self {
        self.log = log;
        self
    }

    /// Keeps sign-ins, approvals and variables in a vault of these folders, opened at first use.
    pub fn vault(mut self, folders: Folders, key: KeySources) -> Self {
        self.storage = Storage::Folders(folders, key);
        self
    }

    /// The same with a vault that others of this process use as well.
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

    /// Counts here what the process must not end in the middle of.
    pub fn in_flight(mut self, in_flight: InFlight) -> Self {
        self.in_flight = in_flight;
        self
    }

    /// Keeps nothing: nobody can sign in, and nothing stays approved.
    pub fn without_vault(mut self) -> Self {
        self.storage = Storage::Nowhere;
        self
    }

    /// The clock by which tokens expire.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where work runs that nobody waits for; by default the tokio runtime of the caller.
    pub fn tasks(mut self, tasks: Arc<dyn Tasks>) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Where events go.
    pub fn events(mut self, events: Events) -> Self {
        self.events = events;
        self
    }

    /// What the person decided, as in `config.toml`.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = Some(Arc::new(settings));
        self
    }

    /// AccountPin approvals and sign-ins to use; by default those of `default`.
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

    /// How a person is asked to approve an entry; by default nobody is.
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

    /// How a person is asked to sign in; by default nobody is.
    pub fn interaction(mut self, interaction: Arc<dyn Interaction>) -> Self {
        self.consent = Consent::Port(interaction);
        self
    }

    /// Shows consent pages by `presenter` and waits for the answer on a loopback port.
    pub fn presenter(mut self, presenter: Arc<dyn Presenter>) -> Self {
        self.consent = Consent::Presenter(presenter);
        self
    }

    /// Signs in by a code on another device, whatever is configured.
    pub const fn device(mut self, device: bool) -> Self {
        self.device = device;
        self
    }

    /// Puts the host together. Nothing is opened, read or sent yet, but for a client certificate.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`] if the network settings cannot be used.
    pub fn build(self) -> Result<Host, Error> {
        let settings = self.settings.unwrap_or_default();
        let Kept {
            vault,
            folders,
            stores,
        } = self.storage.open(&self.in_flight);
        let http = HttpClient::new(self.http.unwrap_or_default()).map_err(ConnectError::from)?;
        if let Some(files) = self.certificate
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            drop(runtime.spawn(Keeper::new(files, http.clone()).keep()));
        }
        let profile = self.profile.unwrap_or_else(|| "default".to_owned());
        let mut isolation = self.isolation.unwrap_or_default();
        isolation.hidden.extend(
            folders
                .iter()
                .flat_map(|it| [it.data.clone(), it.config.clone(), it.runtime.clone()]),
        );
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock));
        let tasks = self.tasks.unwrap_or_else(|| Arc::new(TokioTasks));
        let store = self.approval_store.or_else(|| {
            let vault = Arc::clone(vault.as_ref()?);
            Some(Arc::new(VaultApprovals::new(vault, &profile)))
        });
        let stores =
            stores.or_else(|| Some(Stores::of_vault(vault.as_ref()?, &profile, &self.identity)));
        let accounts = stores.map(|stores| Accounts {
            stores,
            interaction: self.consent.port(vault.as_ref()),
            identity: self.identity,
            vault: vault.clone(),
            asking: self.asking.unwrap_or(PromptPolicy::WhenNeeded),
            settings: Arc::clone(&settings),
            profile,
            account: self.account.or_else(|| settings.defaults.account.clone()),
            device: self.device,
            whose: None,
        });
        let environment: Arc<[_]> = self
            .child_environment
            .unwrap_or_else(ProcessEnvironment::all)
            .into();
        Ok(Host {
            http,
            launcher: self.launcher.unwrap_or_else(this_program),
            environment,
            variables: VariableSources {
                overrides: self.overrides,
                environment: self
                    .environment
                    .unwrap_or_else(|| Arc::new(ProcessEnvironment)),
                env_file: self.env_file,
                vault,
                data: folders.map(|folders| folders.data),
                project: self.project.unwrap_or_else(repository_here),
                home: self.home.or_else(ProcessEnvironment::home),
            },
            isolation,
            log: self.log,
            accounts,
            events: self.events,
            supplied: None,
            clock,
            tasks,
            client: self.client.unwrap_or_else(|| ClientInfo {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            }),
            approvals: Approvals {
                store,
                prompt: self.approval_prompt,
                dangerous_all: self.dangerous_all,
            },
            settings,
        })
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder").finish_non_exhaustive()
    }
}

/// What a host keeps things in.
struct Kept {
    vault: Option<Arc<KeptVault>>,
    folders: Option<Folders>,
    /// Stores of the host's own.
    stores: Option<Stores>,
}

impl Storage {
    /// Prepares the vault, if there is one; nothing is opened yet.
    fn open(self, in_flight: &InFlight) -> Kept {
        let prepared = |vault: Option<Arc<KeptVault>>, folders| Kept {
            vault,
            folders,
            stores: None,
        };
        let made = |folders: Folders, key| {
            let vault = vault(&folders, key, in_flight);
            prepared(Some(vault), Some(folders))
        };
        match self {
            Self::Keyway => match keyway_folders() {
                Some(folders) => made(folders, KeySources::default()),
                None => prepared(None, None),
            },
            Self::Folders(folders, key) => made(folders, key),
            Self::Vault(vault, folders) => prepared(Some(vault), Some(folders)),
            Self::Own(stores) => Kept {
                stores: Some(stores),
                ..prepared(None, None)
            },
            Self::Nowhere => prepared(None, None),
        }
    }
}

impl Consent {
    /// Returns the port; a question waits for its turn where processes share a vault.
    fn port(self, vault: Option<&Arc<KeptVault>>) -> Option<Arc<dyn Interaction>> {
        match self {
            Self::Nobody => None,
            Self::Port(port) => Some(port),
            Self::Presenter(presenter) => {
                let loopback = Loopback::new(presenter);
                Some(Arc::new(match vault {
                    Some(vault) => loopback.in_turn(Arc::clone(vault)),
                    None => loopback,
                }))
            }
        }
    }
}

/// Returns the repository around the working directory, or that directory.
fn repository_here() -> PathBuf {
    let here = ProcessEnvironment::current_folder();
    load::repository_of(&here).unwrap_or(here)
}

/// The running binary. Without [`init`](crate::init) it starts nothing: the launcher refuses then,
/// and a host whose plugins run no program need not care.
fn this_program() -> Launcher {
    // The file may have been replaced meanwhile, which the kernel's link survives.
    if cfg!(target_os = "linux") {
        return Launcher::new("/proc/self/exe");
    }
    Launcher::new(std::env::current_exe().unwrap_or_default())
}

fn vault(folders: &Folders, key: KeySources, in_flight: &InFlight) -> Arc<KeptVault> {
    let at = folders.clone();
    let open = move || Vault::open(&at, key.clone());
    let vault = KeptVault::new(folders.clone(), Box::new(open));
    Arc::new(vault.counting(in_flight.clone()))
}
