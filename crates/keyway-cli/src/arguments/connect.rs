//! The flags of every command that connects, and the host that they describe.

mod approval_prompt;
mod setting_prompt;
mod skipped_entries;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::Args;
use keyway::approval::Ledger;
use keyway::connect::{Isolation, KnownFolders, harden_self};
use keyway::error::LoadError;
use keyway::examination::why_skipped;
use keyway::host::keyway_folders;
use keyway::sign_in::PromptPolicy;
use keyway::{Error, Host, HostBuilder, Plan, Plugin};
use keyway_database::{Database, DatabaseContext};
use keyway_gateway::team;

use crate::arguments::own_plugin;
use crate::browser::Browser;
use crate::consent::{Audience, Terminal};
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::runtime::in_flight;
use crate::settings;
use crate::vault::{folders, open_vault, sources};

pub(crate) use self::approval_prompt::{ask, ask_about};
pub(crate) use self::setting_prompt::ask_for_settings;
pub(crate) use self::skipped_entries::{no_server, tell_notes, tell_skipped};

/// The flags of every command that connects.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConnectArgs {
    /// Plugin folder or file [default: this folder, or the nearest above it in the repository]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// Approve this entry for this run only
    #[arg(long)]
    trust: bool,
    /// Read unset variables from FILE
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Use the approvals and sign-ins of this profile [default: `KEYWAY_PROFILE`, else config.toml,
    /// else `default`]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Account to use if several are signed in
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Command that opens pages [default: `BROWSER`, else config.toml, else the desktop's browser]
    #[arg(long, value_name = "COMMAND")]
    browser: Option<String>,
}

/// How a command deals with servers that want a sign-in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignInPolicy {
    /// Whether a request waits for a person.
    pub(crate) asking: PromptPolicy,
    /// How the person gets to the page.
    pub(crate) channel: SignInChannel,
    /// Whether the person asked for a sign-in by name.
    pub(crate) insists: bool,
}

/// How a person gets to a consent page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignInChannel {
    /// A browser opens it, where there is one.
    Browser,
    /// Its address is printed.
    Address,
    /// On another device, where a code is typed in.
    Code,
}

impl SignInPolicy {
    /// Asks no person, and does not wait.
    pub(crate) const NEVER: Self = Self {
        asking: PromptPolicy::Never,
        channel: SignInChannel::Browser,
        insists: false,
    };

    /// A person is asked where a request needs it, and the request waits at most so long.
    pub(crate) const fn waiting(asking: PromptPolicy) -> Self {
        Self {
            asking,
            channel: SignInChannel::Browser,
            insists: false,
        }
    }
}

impl Default for SignInPolicy {
    fn default() -> Self {
        Self::waiting(PromptPolicy::WhenNeeded)
    }
}

impl ConnectArgs {
    /// Says whether a page could be opened here.
    pub(crate) fn has_browser(&self, context: &CommandContext) -> Result<bool, CliError> {
        let named = self.browser_named(context)?;
        Ok(Browser::find(named.as_deref()).is_some())
    }

    /// Returns the file of `--env-file`.
    pub(crate) fn env_file(&self) -> Option<&Path> {
        self.env_file.as_deref()
    }

    /// The flags of a command that has only `--profile`.
    pub(crate) fn with_profile(profile: Option<String>) -> Self {
        Self {
            profile,
            ..Self::default()
        }
    }

    /// The same flags with another account.
    pub(crate) fn for_account(&self, account: &str) -> Self {
        Self {
            account: Some(account.to_owned()),
            ..self.clone()
        }
    }

    fn browser_named(&self, context: &CommandContext) -> Result<Option<String>, CliError> {
        let named = self.browser.clone().or_else(ProcessEnvironment::browser);
        let kept = &context.settings()?.defaults.browser;
        Ok(named.or_else(|| kept.clone()))
    }

    /// Says whether no flag makes this call differ from what a gateway does for all clients.
    pub(crate) const fn is_plain(&self) -> bool {
        !self.trust && self.profile.is_none() && self.account.is_none() && self.browser.is_none()
    }

    /// Returns the profile in force.
    pub(crate) fn profile(&self, context: &CommandContext) -> Result<String, CliError> {
        match &self.profile {
            Some(profile) => Ok(profile.clone()),
            None => default_profile(context),
        }
    }

    /// Returns where a person is asked to sign in; `None` where no person would see it.
    pub(crate) fn terminal(
        &self,
        context: &CommandContext,
        policy: SignInPolicy,
    ) -> Result<Option<Terminal>, CliError> {
        let named = self.browser_named(context)?;
        let browser = match policy.channel {
            SignInChannel::Browser => Browser::find(named.as_deref()),
            SignInChannel::Address | SignInChannel::Code => None,
        };
        let audience = match (policy.insists, policy.asking) {
            (true, _) => Audience::Insisting,
            (false, PromptPolicy::WhenNeeded) => Audience::Waiting,
            (false, _) => Audience::Silent,
        };
        Ok(Terminal::new(browser, audience))
    }

    /// Makes this process a host that signs in as the flags say.
    ///
    /// The process is about to hold secrets, so it is hardened first.
    pub(crate) fn host(
        &self,
        context: &CommandContext,
        policy: SignInPolicy,
    ) -> Result<Host, CliError> {
        self.host_with(context, policy, open_database(context, None)?.as_ref())
    }

    /// The same, with sign-ins in a database that is open, or in the vault.
    pub(crate) fn host_with(
        &self,
        context: &CommandContext,
        policy: SignInPolicy,
        database: Option<&Database>,
    ) -> Result<Host, CliError> {
        harden_self().map_err(|source| Error::Harden { source })?;
        let network = &context.settings()?.network;
        let mut http = settings::http(network)?;
        http.observer = context.events.observer();
        let builder = self.base(context)?;
        let builder = builder
            .http(http)
            .client_certificate(settings::identity_files(network))
            .asking(policy.asking)
            .device(policy.channel == SignInChannel::Code);
        let builder = match self.terminal(context, policy)? {
            Some(terminal) => builder.presenter(Arc::new(terminal)),
            None => builder,
        };
        let builder = match keyway_folders() {
            Some(folders) => builder.vault(folders, sources()?),
            None => builder.without_vault(),
        };
        let builder = match database {
            Some(database) => builder.sign_in_stores(database.shared_stores()?),
            None => builder,
        };
        let host = builder.build()?;
        Ok(match database {
            Some(database) => team::on_database(&host, database, ProcessEnvironment::home())?,
            None => host,
        })
    }

    /// Begins a host with everything that needs no network and no vault.
    pub(crate) fn base(&self, context: &CommandContext) -> Result<HostBuilder, CliError> {
        let settings = context.settings()?;
        Ok(Host::builder()
            .client(CLIENT_NAME, env!("CARGO_PKG_VERSION"))
            .in_flight(in_flight())
            .detached_renewals(true)
            .server_logs(true)
            .isolation(isolation())
            .events(context.events.clone())
            .own_files(context.written().iter().cloned())
            .settings(settings.clone())
            .profile(self.profile(context)?)
            .account(self.account.clone())
            .env_file(self.env_file.clone())
            .approval_prompt(Arc::new(approval_prompt::Prompt::new(context))))
    }

    /// Reads the plugin, `path` before `--config` before where the person stands.
    pub(crate) fn load(&self, host: &Host, path: Option<&Path>) -> Result<Plugin, CliError> {
        let plugin = match path.or(self.config.as_deref()) {
            Some(path) => host.load(path)?,
            None => match host.discover(".") {
                // Away from any plugin, the person's own is meant.
                Err(error @ Error::Load(LoadError::NothingFound)) => {
                    own_plugin::find(host)?.ok_or(error)?
                }
                found => found?,
            },
        };
        if self.trust {
            // What is there now. A long run asks again about whatever changes meanwhile.
            host.dangerous_approve_for_this_run(&plugin)?;
        }
        Ok(plugin)
    }
}

/// Opens the database that keeps sign-ins, the given one or that of `config.toml`; `None` if it is
/// the vault.
pub(crate) fn open_database(
    context: &CommandContext,
    given: Option<&str>,
) -> Result<Option<Database>, CliError> {
    let kept = &context.settings()?.vault;
    let Some(address) = given.or(kept.address.as_deref()) else {
        return Ok(None);
    };
    // A password and a key are about to be read.
    harden_self().map_err(|source| Error::Harden { source })?;
    let mut around = DatabaseContext::new(folders()?);
    around.pass_file = ProcessEnvironment::pass_file();
    around.environment = ProcessEnvironment::all();
    Ok(Some(Database::open(address, kept, around)?))
}

/// Plans the server that a name means. One that is not there may be in a file that was skipped,
/// which then says why.
pub(crate) fn plan(plugin: &Plugin, server: Option<&str>) -> Result<Plan, CliError> {
    let name = server_name(plugin, server)?;
    ask_for_settings(plugin, &name)?;
    Ok(plugin.plan(&name)?)
}

/// Returns the name of the server that a name means.
pub(crate) fn server_name(plugin: &Plugin, server: Option<&str>) -> Result<String, CliError> {
    match plugin.entry(server) {
        Ok((_, entry)) => Ok(entry.name.clone()),
        Err(Error::WhichServer { names }) if names.is_empty() => {
            Err(no_server([plugin.loaded().as_ref()]))
        }
        Err(error @ Error::UnknownServer { .. }) => {
            let prefix = format!("{}:", plugin.name());
            let own = server.map(|name| name.strip_prefix(&prefix).unwrap_or(name));
            let skipped = own.and_then(|own| why_skipped(plugin.loaded(), own));
            Err(match skipped {
                Some(skipped) => CliError::SkippedEntry(Box::new(skipped)),
                None => error.into(),
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns a host for commands that read plugins and connect to nothing.
pub(crate) fn reading_host() -> Result<Host, CliError> {
    Ok(Host::builder().without_vault().build()?)
}

/// Returns a host for commands that look at variables and connect to nothing.
///
/// An env file that cannot be read is an error here, before anything is looked at.
pub(crate) fn variables_host(env_file: Option<&Path>) -> Result<Host, CliError> {
    if let Some(file) = env_file {
        keyway::env_file::load(file)?;
    }
    let builder = Host::builder().env_file(env_file.map(Path::to_owned));
    let builder = match keyway_folders() {
        Some(folders) => builder.vault(folders, sources()?),
        None => builder.without_vault(),
    };
    Ok(builder.build()?)
}

/// Returns what every child is kept from, beside the folders of the vault.
pub(crate) fn isolation() -> Isolation {
    // One for all hosts of this process: a folder that one of them has met is known to the next.
    static KNOWN: OnceLock<KnownFolders> = OnceLock::new();
    let mut isolation = Isolation::default();
    isolation.known_folders = KNOWN.get_or_init(KnownFolders::default).clone();
    let credential = ProcessEnvironment::key_credential();
    let folder = credential.and_then(|path| Some(path.parent()?.to_owned()));
    isolation.hidden.extend(folder);
    isolation
}

/// Returns the profile that counts where none is named.
pub(crate) fn default_profile(context: &CommandContext) -> Result<String, CliError> {
    if let Some(profile) = ProcessEnvironment::profile() {
        return Ok(profile);
    }
    let kept = context.settings()?.defaults.profile.clone();
    Ok(kept.unwrap_or_else(|| "default".to_owned()))
}

/// Opens the ledger of approvals, in the vault or in the database, for as long as `look` takes.
pub(crate) fn with_ledger<T>(
    context: &CommandContext,
    profile: &str,
    look: impl FnOnce(&Ledger<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let home = ProcessEnvironment::home();
    if let Some(database) = open_database(context, None)? {
        return look(&Ledger::in_values(
            Box::new(database.tenant_approvals()?),
            profile,
            home,
        ));
    }
    look(&Ledger::new(&open_vault()?, profile, home)?)
}

/// How the program introduces itself to MCP servers.
const CLIENT_NAME: &str = "keyway";
