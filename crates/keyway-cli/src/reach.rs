//! From a name on the command line to a connected server: find the entry, get it approved,
//! resolve it, connect.

mod approval;
mod error;
mod resolved;
mod tail;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use keyway::connect::{
    ConnectError, Connected, Host, Likeness, LikenessKey, Target, TransportError,
};
use keyway::events::{Events, Kind, Topic};
use keyway::health::{Checked, Health};
use keyway::load::{Loaded, Loader};
use keyway::session::{ClientInfo, DEFAULT_TIMEOUT, Handler, Session as Conversation};
use keyway::settings::Confinement;
use keyway::sign_in::{Accounts, Asking, AuthError, Door, KeptVault, Loopback, OAuth, SignIn};
use keyway::trust::{Files, Ledger};
use keyway::vault::Vault;
use keyway_config::declared::{DeclaredServer, Transport};
use keyway_config::document::Document;
use keyway_config::environment::{HostVariables, Variables};
use keyway_config::names::nearest_name;
use keyway_config::resolve::{ServerSpec, SpecEndpoint, resolve};
use keyway_secret::printable;

use crate::browser::Browser;
use crate::consent::Terminal;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::host;
use crate::session::Session;
use crate::surroundings::Surroundings;
use crate::vault::{open_vault, sources};

pub(crate) use self::approval::{approve, describe};
pub(crate) use self::error::ReachError;
use self::error::Said;
use self::resolved::resolved;
use self::tail::Tail;

/// The flags of every command that connects.
#[derive(Debug, Clone, Args)]
pub(crate) struct Reach {
    /// Plugin folder or file; without it, this folder or the nearest above it in the same
    /// repository
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// Approve what the entry runs and sends, for this time only
    #[arg(long)]
    trust: bool,
    /// Take variables that are not in the environment from this file
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise as in `config.toml`,
    /// otherwise `default`
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Which of several accounts at one server
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// The program that opens pages; otherwise `BROWSER`, otherwise as in `config.toml`, otherwise
    /// the desktop's
    #[arg(long, value_name = "COMMAND")]
    browser: Option<String>,
    /// Whoever serves clients does not stop for a question at the terminal.
    #[arg(skip)]
    asks_nobody: bool,
    /// Values that are tried, and stand above all others.
    #[arg(skip)]
    tried: Variables,
}

impl Reach {
    /// Says whether a page could be opened here.
    pub(crate) fn has_browser(&self, session: &Session) -> Result<bool, CliError> {
        let named = self.browser_named(session)?;
        Ok(Browser::find(named.as_deref()).is_some())
    }

    /// Returns the file of `--env-file`.
    pub(crate) fn env_file(&self) -> Option<&Path> {
        self.env_file.as_deref()
    }

    fn browser_named(&self, session: &Session) -> Result<Option<String>, CliError> {
        let named = self.browser.clone().or_else(ProcessEnvironment::browser);
        let kept = &session.settings()?.defaults.browser;
        Ok(named.or_else(|| kept.clone()))
    }
}

/// How a command deals with servers that want a sign-in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// Whether a request waits for a person.
    pub(crate) asking: Asking,
    /// How the person gets to the page.
    pub(crate) way: Way,
    /// Whether the person asked for a sign-in by name.
    pub(crate) insists: bool,
}

/// How a person gets to a consent page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A browser opens it, where there is one.
    Browser,
    /// Its address is printed.
    Address,
    /// On another device, where a code is typed in.
    Code,
}

/// Nobody is asked, and nothing waits.
pub(crate) const NOBODY: Manner = Manner {
    asking: Asking::Never,
    way: Way::Browser,
    insists: false,
};

impl Default for Manner {
    fn default() -> Self {
        Self {
            asking: Asking::WhenNeeded,
            way: Way::Browser,
            insists: false,
        }
    }
}

/// How an entry comes to be approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Approval {
    /// Before, or now by whoever is at the terminal.
    Asked,
    /// Before.
    Kept,
    /// By the command line.
    Unneeded,
    /// By nobody: what the entry would send is left out.
    Spared,
}

/// A server that is approved and resolved.
#[derive(Debug, Clone)]
pub(crate) struct Ready {
    /// The server.
    pub(crate) spec: ServerSpec,
    host: HostVariables,
    grants: Vec<String>,
    files: Option<Files>,
    confinement: Confinement,
    plugin: String,
    events: Events,
}

impl Reach {
    /// Reads the plugin, `path` before `--config` before where the person stands.
    pub(crate) fn load(&self, session: &Session, path: Option<&Path>) -> Result<Loaded, CliError> {
        let loader = Loader::default().home(ProcessEnvironment::home());
        let loaded = match path.or(self.config.as_deref()) {
            Some(path) => loader.load(path),
            None => loader.discover(Path::new(".")),
        };
        let loaded = loaded?;
        session.read(&loaded);
        Ok(loaded)
    }

    /// Flags for who tries something: `trust` as on the command line, and values to try.
    pub(crate) fn for_trial(trust: bool, tried: Variables) -> Self {
        Self {
            config: None,
            trust,
            env_file: None,
            profile: None,
            account: None,
            browser: None,
            asks_nobody: false,
            tried,
        }
    }

    /// The same flags with values to try.
    pub(crate) fn trying(&self, tried: Variables) -> Self {
        Self {
            tried,
            ..self.clone()
        }
    }

    /// Says whether everything is approved for this time.
    pub(crate) const fn trusts_all(&self) -> bool {
        self.trust
    }

    /// Returns the same flags for who must not stop for a question.
    pub(crate) fn unattended(&self) -> Self {
        let mut unattended = self.clone();
        unattended.asks_nobody = true;
        unattended
    }

    /// Says whether no flag makes this call differ from what a gateway does for everybody.
    pub(crate) const fn is_plain(&self) -> bool {
        !self.trust && self.profile.is_none() && self.account.is_none() && self.browser.is_none()
    }

    /// Returns the profile in force.
    pub(crate) fn profile(&self, session: &Session) -> Result<String, CliError> {
        match &self.profile {
            Some(profile) => Ok(profile.clone()),
            None => default_profile(session),
        }
    }

    /// Describes this process as a host that signs in as the flags say.
    pub(crate) fn host(&self, session: &Session, manner: Manner) -> Result<Host, CliError> {
        let mut host = host::open(session)?;
        let settings = session.settings()?;
        let Some(vault) = kept_vault()? else {
            return Ok(host);
        };
        let named = self.browser_named(session)?;
        let browser = match manner.way {
            Way::Browser => Browser::find(named.as_deref()),
            Way::Address | Way::Code => None,
        };
        let presenter = Terminal::new(browser, manner.insists);
        let vault = Arc::new(vault);
        let interaction = presenter.map(|terminal| {
            let asking = Loopback::new(Arc::new(terminal));
            Arc::new(asking.in_turn(Arc::clone(&vault))) as _
        });
        host.accounts = Some(Accounts {
            vault,
            interaction,
            asking: manner.asking,
            settings: Arc::new(settings.clone()),
            profile: self.profile(session)?,
            account: self
                .account
                .clone()
                .or_else(|| settings.defaults.account.clone()),
            device: manner.way == Way::Code,
        });
        Ok(host)
    }

    /// Makes one server ready: approved, by this run or before, and resolved.
    pub(crate) fn prepare(
        &self,
        session: &Session,
        loaded: &Loaded,
        entry: (&Document, &DeclaredServer),
    ) -> Result<Ready, CliError> {
        self.make_ready(session, loaded, entry, self.approval(Approval::Asked))
    }

    /// The same where nobody is asked: what is not approved is refused.
    pub(crate) fn prepare_quietly(
        &self,
        session: &Session,
        loaded: &Loaded,
        entry: (&Document, &DeclaredServer),
    ) -> Result<Ready, CliError> {
        self.make_ready(session, loaded, entry, self.approval(Approval::Kept))
    }

    const fn approval(&self, otherwise: Approval) -> Approval {
        match (self.trust, self.asks_nobody) {
            (true, _) => Approval::Unneeded,
            (false, true) => Approval::Kept,
            (false, false) => otherwise,
        }
    }

    /// Makes one server ready to be signed out of: nothing of it runs and nothing is sent to it.
    pub(crate) fn prepare_unasked(
        &self,
        session: &Session,
        loaded: &Loaded,
        entry: (&Document, &DeclaredServer),
    ) -> Result<Ready, CliError> {
        self.make_ready(session, loaded, entry, Approval::Spared)
    }

    fn make_ready(
        &self,
        session: &Session,
        loaded: &Loaded,
        (document, server): (&Document, &DeclaredServer),
        approval: Approval,
    ) -> Result<Ready, CliError> {
        let surroundings = Surroundings::open(self.env_file.as_deref())?;
        let surroundings = surroundings.trying(self.tried.clone());
        let host = surroundings.host_variables(&loaded.plugin);
        let events = &session.events;
        let made = surroundings.with_scope(loaded, |scope| {
            let around = keyway::trust::Surroundings {
                plugin: &loaded.plugin.name(),
                root: &loaded.plugin.root,
                document,
                host: &host,
            };
            let question = keyway::trust::Question::about(server, around, &scope);
            let profile = || self.profile(session);
            let mut spares_secret = false;
            let grants = match (&question, approval) {
                (None, _) => Vec::new(),
                (Some(question), Approval::Unneeded) => {
                    approval::granted(question, &profile()?).unwrap_or_default()
                }
                (Some(question), Approval::Spared) => {
                    let granted = approval::granted(question, &profile()?);
                    spares_secret = granted.is_none();
                    granted.unwrap_or_default()
                }
                (Some(question), Approval::Asked) => {
                    approval::require(events, Some(session), question, &profile()?)?
                }
                (Some(question), Approval::Kept) => {
                    approval::require(events, None, question, &profile()?)?
                }
            };
            let mut spec = resolve(server, &scope).map_err(|errors| {
                let code = "unresolved-variable";
                events.emit(Kind::ConfigSkipped, Some(&server.name), Some(code));
                ReachError::Unresolved {
                    server: server.name.clone(),
                    errors,
                }
            })?;
            if let SpecEndpoint::Remote(remote) = &mut spec.endpoint
                && spares_secret
            {
                remote.oauth.retain(|(name, _)| name != "clientSecret");
            }
            if matches!(spec.endpoint, SpecEndpoint::NotConfigured) {
                let code = "not-configured";
                events.emit(Kind::ConfigSkipped, Some(&server.name), Some(code));
            }
            events.note(Topic::Config, Some(&server.name), || {
                resolved(server, &spec, &scope)
            });
            let files = question.map(|question| question.files);
            let id = format!("{}:{}", loaded.plugin.name(), server.name);
            Ok(Ready {
                confinement: session.settings()?.sandbox.of(&id),
                spec,
                host: host.clone(),
                grants,
                plugin: loaded.plugin.name(),
                files,
                events: session.events.clone(),
            })
        });
        match (made, surroundings.take_trouble()) {
            // What is missing may be where nobody could look.
            (Err(CliError::Reach(ReachError::Unresolved { .. })), Some(error)) => Err(error.into()),
            (made, _) => made,
        }
    }
}

impl Ready {
    /// Returns how long to wait for a result: as asked for, as in the entry, or as usual.
    pub(crate) fn timeout(&self, seconds: Option<u64>) -> Duration {
        let entry = self.spec.timeout_ms.map(Duration::from_millis);
        let asked = seconds.map(Duration::from_secs);
        asked.or(entry).unwrap_or(DEFAULT_TIMEOUT)
    }

    /// Connects, or prepares to where the transport needs no greeting.
    pub(crate) async fn connect(&self, host: &Host) -> Result<Connected, CliError> {
        Ok(host.connect(self.target()).await?)
    }

    /// Returns the sign-in of this server; none if it is not by OAuth.
    pub(crate) fn oauth(&self, host: &Host) -> Option<OAuth> {
        host.oauth(self.target())
    }

    /// Returns the way in for who serves this server to a client.
    pub(crate) fn door(&self, host: &Host) -> Option<Door> {
        host.door(self.target())
    }

    /// Returns what is kept of its sign-in.
    pub(crate) fn sign_in(&self, host: &Host) -> Result<Option<SignIn>, CliError> {
        let (Some(accounts), SpecEndpoint::Remote(remote)) = (&host.accounts, &self.spec.endpoint)
        else {
            return Ok(None);
        };
        let kept = accounts.status(&self.plugin, &self.spec.name, remote);
        Ok(kept.map_err(ReachError::from)?)
    }

    /// Returns what a connection would depend on; `around` is what else counts in this process.
    pub(crate) fn likeness(&self, host: &Host, around: &[&[u8]], key: &LikenessKey) -> Likeness {
        host.likeness(self.target(), around, key)
    }

    /// Returns the name of its plugin.
    pub(crate) fn plugin(&self) -> &str {
        &self.plugin
    }

    /// Returns the files that run.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let files = self.files.iter().flat_map(Files::paths);
        files.map(Path::to_owned).collect()
    }

    /// Says whether the files that run are still those that were approved.
    fn verify(&self) -> Result<(), CliError> {
        let verified = self.files.as_ref().map_or(Ok(()), Files::verify);
        verified.map_err(|file| ConnectError::from(TransportError::Changed { file }).into())
    }

    fn target(&self) -> Target<'_> {
        Target {
            plugin: &self.plugin,
            spec: &self.spec,
            host: &self.host,
            grants: &self.grants,
            files: self.files.as_ref(),
            confinement: self.confinement,
        }
    }

    /// Asks the server's health address.
    pub(crate) async fn health(&self, host: &Host) -> Result<Health, CliError> {
        Ok(host.health(self.target()).await?)
    }

    /// The same, with how far the server's clock is from ours.
    pub(crate) async fn health_and_clock(&self, host: &Host) -> Result<Checked, CliError> {
        Ok(host.health_and_clock(self.target()).await?)
    }

    /// Finds out whether the server offers a sign-in by OAuth.
    pub(crate) async fn offers_oauth(&self, host: &Host) -> Result<(), AuthError> {
        host.offers_oauth(self.target()).await
    }

    /// Returns the same server, spoken to in another way.
    pub(crate) fn with_transport(&self, transport: Transport) -> Self {
        let mut other = self.clone();
        other.spec.transport = transport;
        if let SpecEndpoint::Remote(remote) = &mut other.spec.endpoint
            && let Some(address) = remote.address.over(transport)
        {
            remote.address = address;
        }
        other
    }

    /// Connects and greets the server.
    pub(crate) async fn converse(
        &self,
        host: &Host,
        handler: Arc<dyn Handler>,
    ) -> Result<Conversation, CliError> {
        let tail = Tail::default();
        let Connected {
            connection, offer, ..
        } = self.connect(&tail.listen(host)).await?;
        let opened = Conversation::open(connection, client_info(), handler, offer).await;
        // By now a script has been read by whatever runs it.
        if let Err(changed) = self.verify() {
            self.events.failed(&self.spec.name, changed.code());
            return Err(changed);
        }
        match opened {
            Ok(conversation) => Ok(conversation),
            Err(error) => {
                let said = Said {
                    withheld: host.withheld(self.target()),
                    lines: tail.lines().await,
                };
                Err(ReachError::start(&self.spec, said, error).into())
            }
        }
    }
}

/// Returns the vault, to be opened when it is needed; none without a place to keep anything.
pub(crate) fn kept_vault() -> Result<Option<KeptVault>, CliError> {
    let Some(folders) = ProcessEnvironment::folders() else {
        return Ok(None);
    };
    let sources = sources()?;
    let at = folders.clone();
    let open = move || Vault::open(&at, sources.clone());
    Ok(Some(KeptVault::new(folders, Box::new(open))))
}

/// Returns the profile that counts where none is named.
pub(crate) fn default_profile(session: &Session) -> Result<String, CliError> {
    if let Some(profile) = ProcessEnvironment::profile() {
        return Ok(profile);
    }
    let kept = session.settings()?.defaults.profile.clone();
    Ok(kept.unwrap_or_else(|| "default".to_owned()))
}

/// How we introduce ourselves to servers.
pub(crate) fn client_info() -> ClientInfo {
    ClientInfo {
        name: "keyway".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Finds the entry that a name means: `SERVER`, or `PLUGIN:SERVER`; without a name, the only one.
pub(crate) fn find<'a>(
    loaded: &'a Loaded,
    name: Option<&str>,
) -> Result<(&'a Document, &'a DeclaredServer), CliError> {
    let plugin = loaded.plugin.name();
    let usable = |(document, _): &(&Document, &DeclaredServer)| document.is_usable();
    let servers: Vec<_> = loaded.plugin.servers().filter(usable).collect();
    let Some(name) = name else {
        let enabled: Vec<_> = servers
            .iter()
            .filter(|(_, server)| !server.disabled)
            .collect();
        return match enabled.as_slice() {
            [only] => Ok(**only),
            several => Err(CliError::from(ReachError::WhichServer {
                names: several
                    .iter()
                    .map(|(_, server)| server.name.clone())
                    .collect(),
            })),
        };
    };
    let own = name.strip_prefix(&format!("{plugin}:")).unwrap_or(name);
    // Of a name that stands twice the manifest's wins, which comes last.
    let found = servers.iter().rev().find(|(_, server)| server.name == own);
    match found {
        Some((_, server)) if server.disabled => Err(CliError::from(ReachError::Disabled {
            server: server.name.clone(),
        })),
        Some(found) => Ok(*found),
        None => Err(CliError::UnknownServer {
            name: printable(name),
            near: nearest_name(own, servers.iter().map(|(_, server)| server.name.as_str())),
        }),
    }
}

/// Opens the ledger of approvals for as long as `look` takes.
pub(crate) fn with_ledger<T>(
    profile: &str,
    look: impl FnOnce(&Ledger<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let vault = open_vault()?;
    let ledger = Ledger::new(&vault, profile)?;
    look(&ledger)
}
