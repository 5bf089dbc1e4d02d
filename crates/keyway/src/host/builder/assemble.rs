//! From the ports that were given to a host: the defaults of those that were not.

use std::path::PathBuf;
use std::sync::Arc;

use keyway_auth::oauth::RefreshTraffic;
use keyway_auth::ports::Interaction;
use keyway_mcp::session::ClientInfo;
use keyway_secret::{Clock, SystemClock};
use keyway_transport::HttpClient;
#[cfg(feature = "stdio")]
use keyway_transport::{Isolation, Launcher};
#[cfg(feature = "vault")]
use keyway_vault::{Folders, KeySources, Vault};

use super::{Consent, HostBuilder, Storage};
use crate::approval::ApprovalStore;
use crate::connect::ConnectError;
use crate::events::Events;
#[cfg(not(feature = "vault"))]
use crate::host::approving::MemoryApprovals;
use crate::host::approving::RunApprovals;
#[cfg(feature = "vault")]
use crate::host::approving::VaultApprovals;
use crate::host::error::Error;
#[cfg(feature = "stdio")]
use crate::host::package_starts::PackageStarts;
#[cfg(feature = "stdio")]
use crate::host::places;
use crate::host::process::ProcessEnvironment;
#[cfg(feature = "vault")]
use crate::host::process::keyway_folders;
#[cfg(feature = "stdio")]
use crate::host::programs::{Levels, Programs};
use crate::host::{Approvals, Host, VariableSources};
use crate::identity::Keeper;
use crate::in_flight::InFlight;
use crate::load;
use crate::runtime::TokioTasks;
use crate::settings::Settings;
#[cfg(feature = "callback")]
use crate::sign_in::Loopback;
use crate::sign_in::{Accounts, Attendance, ClientIdentity, PromptPolicy, Stores};
#[cfg(feature = "vault")]
use crate::vault::KeptVault;

impl HostBuilder {
    /// Puts the host together. Nothing is opened, read or sent yet, but for a client certificate.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`] if the network settings cannot be used.
    pub fn build(self) -> Result<Host, Error> {
        let settings = self.settings.unwrap_or_default();
        let profile = self.profile.unwrap_or_else(|| "default".to_owned());
        let mut kept = self.storage.open(&self.in_flight);
        kept.own = self.sign_in_stores.or(kept.own);
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock));
        let http = HttpClient::new(self.http.unwrap_or_default()).map_err(ConnectError::from)?;
        if let Some(files) = self.certificate
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            drop(runtime.spawn(Keeper::new(files, http.clone()).keep()));
        }
        let home = self.home.or_else(ProcessEnvironment::home);
        let store = self.approval_store;
        let store = store.or_else(|| kept.approvals(&profile, home.as_ref()));
        let accounts = kept
            .sign_in_stores((&profile, &self.identity), &clock)
            .map(|stores| Accounts {
                attendance: Attendance::default(),
                stores,
                in_flight: kept.in_flight.clone(),
                interaction: self.consent.port(&kept),
                identity: self.identity,
                redirect_path: self.redirect_path,
                #[cfg(feature = "vault")]
                vault: kept.vault.clone(),
                asking: self.asking.unwrap_or(PromptPolicy::WhenNeeded),
                account: account(self.account, &settings),
                settings: Arc::clone(&settings),
                profile,
                device: self.device,
                client_shows_codes: false,
                account_pin: None,
            });
        let own_folders = own_folders(&kept, &self.own_files);
        let data = self.data.or_else(|| kept.data());
        let environment = self.child_environment;
        let environment = environment.unwrap_or_else(ProcessEnvironment::all);
        let usual = || Arc::new(ProcessEnvironment) as _;
        Ok(Host {
            http,
            #[cfg(feature = "stdio")]
            programs: Programs {
                launcher: self.launcher.unwrap_or_else(this_program),
                isolation: hiding(self.isolation.unwrap_or_default(), &kept),
                levels: Levels::default(),
                package_starts: PackageStarts::new(),
            },
            environment: environment.into(),
            variables: VariableSources {
                overrides: self.overrides,
                environment: self.environment.unwrap_or_else(usual),
                env_file: self.env_file,
                data: data.clone(),
                #[cfg(feature = "vault")]
                vault: kept.vault,
                stores: None,
                is_alone: false,
                project: self.project.unwrap_or_else(repository_here),
                home,
                own_folders,
            },
            #[cfg(all(feature = "stdio", feature = "vault"))]
            renewals: self.renewals,
            log: self.log,
            log_folder: self.server_logs.folder(data),
            accounts,
            events: self.events.unwrap_or_else(|| Events::new(Vec::new())),
            redaction_values: None,
            refresh_traffic: Arc::new(RefreshTraffic::new(settings.oauth.refresh_limits())),
            clock,
            tasks: self.tasks.unwrap_or_else(|| Arc::new(TokioTasks)),
            client: self.client.unwrap_or_else(this_crate),
            approvals: Approvals {
                store,
                prompt: self.approval_prompt,
                for_this_run: RunApprovals::default(),
                dangerous_all: self.dangerous_all,
            },
            settings,
        })
    }
}

/// Returns what no program of a plugin may see: Keyway's folders, and files that the host named.
fn own_folders(kept: &HostStores, own_files: &[PathBuf]) -> Arc<[PathBuf]> {
    let files = own_files.iter();
    let files = files.map(|file| std::fs::canonicalize(file).unwrap_or_else(|_| file.clone()));
    kept.own_folders().iter().cloned().chain(files).collect()
}

/// What a host keeps things in.
struct HostStores {
    #[cfg(feature = "vault")]
    vault: Option<Arc<KeptVault>>,
    #[cfg(feature = "vault")]
    folders: Option<Folders>,
    /// Stores of the host's own.
    own: Option<Stores>,
    /// Where approvals go if no store for them is given.
    #[cfg(not(feature = "vault"))]
    approvals: Option<Arc<dyn ApprovalStore>>,
    in_flight: InFlight,
}

impl HostStores {
    fn none(in_flight: &InFlight) -> Self {
        Self {
            #[cfg(feature = "vault")]
            vault: None,
            #[cfg(feature = "vault")]
            folders: None,
            own: None,
            #[cfg(not(feature = "vault"))]
            approvals: None,
            in_flight: in_flight.clone(),
        }
    }

    /// Returns the stores of sign-ins, those of the host's own before those of the vault.
    fn sign_in_stores(
        &self,
        (profile, identity): (&str, &ClientIdentity),
        clock: &Arc<dyn Clock>,
    ) -> Option<Stores> {
        match &self.own {
            Some(own) => Some(own.clone().counting(&self.in_flight, clock)),
            None => self.stores(profile, identity),
        }
    }
}

#[cfg(feature = "vault")]
impl HostStores {
    fn in_vault(vault: Arc<KeptVault>, folders: Folders) -> Self {
        Self {
            in_flight: vault.in_flight().clone(),
            vault: Some(vault),
            folders: Some(folders),
            own: None,
        }
    }

    fn approvals(&self, profile: &str, home: Option<&PathBuf>) -> Option<Arc<dyn ApprovalStore>> {
        let vault = Arc::clone(self.vault.as_ref()?);
        Some(Arc::new(VaultApprovals::new(vault, profile, home.cloned())))
    }

    fn own_folders(&self) -> Arc<[PathBuf]> {
        let folders = self.folders.iter();
        let folders = folders.flat_map(|it| [&it.data, &it.config, &it.runtime]);
        // As a walk through a plugin's folder would find them.
        let real = folders.map(|it| std::fs::canonicalize(it).unwrap_or_else(|_| it.clone()));
        real.collect()
    }

    fn stores(&self, profile: &str, identity: &ClientIdentity) -> Option<Stores> {
        Some(Stores::of_vault(self.vault.as_ref()?, profile, identity))
    }

    fn data(&self) -> Option<PathBuf> {
        self.folders.as_ref().map(|folders| folders.data.clone())
    }
}

#[cfg(not(feature = "vault"))]
impl HostStores {
    fn approvals(&self, _: &str, _: Option<&PathBuf>) -> Option<Arc<dyn ApprovalStore>> {
        self.approvals.clone()
    }

    fn own_folders(&self) -> Arc<[PathBuf]> {
        Arc::default()
    }

    const fn stores(&self, _: &str, _: &ClientIdentity) -> Option<Stores> {
        None
    }

    const fn data(&self) -> Option<PathBuf> {
        None
    }
}

impl Storage {
    /// Prepares the vault, if there is one; nothing is opened yet.
    fn open(self, in_flight: &InFlight) -> HostStores {
        match self {
            #[cfg(feature = "vault")]
            Self::Usual => match keyway_folders() {
                Some(folders) => made(folders, KeySources::default(), in_flight),
                None => HostStores::none(in_flight),
            },
            #[cfg(not(feature = "vault"))]
            Self::Usual => HostStores {
                approvals: Some(Arc::<MemoryApprovals>::default()),
                ..HostStores::none(in_flight)
            },
            #[cfg(feature = "vault")]
            Self::Folders(folders, key) => made(folders, key, in_flight),
            #[cfg(feature = "vault")]
            Self::Vault(vault, folders) => HostStores::in_vault(vault, folders),
            Self::Own(stores) => HostStores {
                own: Some(stores),
                ..HostStores::none(in_flight)
            },
            Self::Nowhere => HostStores::none(in_flight),
        }
    }
}

impl Consent {
    /// Returns the port; a question waits for its turn where processes share a vault.
    #[cfg_attr(
        not(all(feature = "callback", feature = "vault")),
        expect(
            unused_variables,
            reason = "turns are a matter of processes that share a vault"
        )
    )]
    fn port(self, kept: &HostStores) -> Option<Arc<dyn Interaction>> {
        match self {
            Self::Unavailable => None,
            Self::Port(port) => Some(port),
            #[cfg(feature = "callback")]
            Self::Presenter(presenter) => {
                let loopback = Loopback::new(presenter);
                #[cfg(feature = "vault")]
                let loopback = match &kept.vault {
                    Some(vault) => loopback.in_turn(Arc::clone(vault)),
                    None => loopback,
                };
                Some(Arc::new(loopback))
            }
        }
    }
}

fn account(given: Option<String>, settings: &Settings) -> Option<String> {
    given.or_else(|| settings.defaults.account.clone())
}

/// Returns the repository around the working directory, or that directory.
fn repository_here() -> PathBuf {
    let here = ProcessEnvironment::current_folder();
    load::repository_of(&here).unwrap_or(here)
}

fn this_crate() -> ClientInfo {
    ClientInfo::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}

/// The running binary. Without [`init`](crate::init) it starts nothing: the launcher refuses then,
/// and a host whose plugins run no program need not care.
#[cfg(feature = "stdio")]
fn this_program() -> Launcher {
    // The file may have been replaced meanwhile, which the kernel's link survives.
    if cfg!(target_os = "linux") {
        return Launcher::new("/proc/self/exe");
    }
    Launcher::new(std::env::current_exe().unwrap_or_default())
}

/// Hides the folders of the vault from children.
#[cfg(all(feature = "stdio", feature = "vault"))]
fn hiding(mut isolation: Isolation, kept: &HostStores) -> Isolation {
    let folders = kept.folders.iter();
    let folders = folders.flat_map(|it| [it.data.clone(), it.config.clone(), it.runtime.clone()]);
    isolation.hidden.extend(folders);
    hiding_others(isolation)
}

#[cfg(all(feature = "stdio", not(feature = "vault")))]
fn hiding(isolation: Isolation, _: &HostStores) -> Isolation {
    hiding_others(isolation)
}

/// Hides what other processes of this user keep elsewhere, and remembers our own.
#[cfg(feature = "stdio")]
fn hiding_others(mut isolation: Isolation) -> Isolation {
    isolation.also_hidden.extend(places::all());
    isolation.remember_folders();
    isolation
}

#[cfg(feature = "vault")]
fn made(folders: Folders, key: KeySources, in_flight: &InFlight) -> HostStores {
    let at = folders.clone();
    let open = move || {
        let vault = Vault::open(&at, key.clone())?;
        #[cfg(feature = "stdio")]
        places::record_vault(&at);
        Ok(vault)
    };
    let vault = KeptVault::new(folders.clone(), Box::new(open));
    HostStores::in_vault(Arc::new(vault.counting(in_flight.clone())), folders)
}
