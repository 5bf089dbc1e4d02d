//! From a name on the command line to a connected server: find the entry, get it approved,
//! resolve it, connect.

mod approval;
mod entry;
mod error;
mod leaving;
mod left_out;
mod preparing;
mod ready;
mod resolved;
mod tail;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use keyway::connect::Host;
use keyway::load::{Loaded, Loader};
use keyway::sign_in::{Accounts, KeptVault, Loopback, PromptPolicy};
use keyway::trust::Ledger;
use keyway::vault::Vault;
use keyway_config::environment::Variables;
use keyway_mcp::session::ClientInfo;

use crate::browser::Browser;
use crate::consent::Terminal;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::host;
use crate::vault::{open_vault, sources};

pub(crate) use self::approval::{approve, describe, granted};
pub(crate) use self::entry::{find, whereabouts};
pub(crate) use self::error::ReachError;
pub(crate) use self::left_out::{no_server, tell_left_out};
pub(crate) use self::ready::Ready;
pub(crate) use self::tail::Tail;

/// The flags of every command that connects.
#[derive(Debug, Clone, Args)]
pub(crate) struct Reach {
    /// Plugin folder or file [default: this folder, or the nearest above it in the repository]
    #[arg(long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// Approve this entry for this run only
    #[arg(long)]
    trust: bool,
    /// Read unset variables from FILE
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Profile whose approvals and sign-ins to use [default: `KEYWAY_PROFILE`, else config.toml,
    /// else `default`]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Account to use if several are signed in
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Command that opens pages [default: `BROWSER`, else config.toml, else the desktop's browser]
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
    pub(crate) fn has_browser(&self, context: &CommandContext) -> Result<bool, CliError> {
        let named = self.browser_named(context)?;
        Ok(Browser::find(named.as_deref()).is_some())
    }

    /// Returns the file of `--env-file`.
    pub(crate) fn env_file(&self) -> Option<&Path> {
        self.env_file.as_deref()
    }

    fn browser_named(&self, context: &CommandContext) -> Result<Option<String>, CliError> {
        let named = self.browser.clone().or_else(ProcessEnvironment::browser);
        let kept = &context.settings()?.defaults.browser;
        Ok(named.or_else(|| kept.clone()))
    }
}

/// How a command deals with servers that want a sign-in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// Whether a request waits for a person.
    pub(crate) asking: PromptPolicy,
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
    asking: PromptPolicy::Never,
    way: Way::Browser,
    insists: false,
};

impl Default for Manner {
    fn default() -> Self {
        Self {
            asking: PromptPolicy::WhenNeeded,
            way: Way::Browser,
            insists: false,
        }
    }
}

impl Reach {
    /// Reads the plugin, `path` before `--config` before where the person stands.
    pub(crate) fn load(
        &self,
        context: &CommandContext,
        path: Option<&Path>,
    ) -> Result<Loaded, CliError> {
        let loader = Loader::default().home(ProcessEnvironment::home());
        let loaded = match path.or(self.config.as_deref()) {
            Some(path) => loader.load(path),
            None => loader.discover(Path::new(".")),
        };
        let loaded = loaded?;
        context.read(&loaded);
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
    pub(crate) fn profile(&self, context: &CommandContext) -> Result<String, CliError> {
        match &self.profile {
            Some(profile) => Ok(profile.clone()),
            None => default_profile(context),
        }
    }

    /// Returns where a person is asked; `None` where nobody would see it.
    pub(crate) fn terminal(
        &self,
        context: &CommandContext,
        manner: Manner,
    ) -> Result<Option<Terminal>, CliError> {
        let named = self.browser_named(context)?;
        let browser = match manner.way {
            Way::Browser => Browser::find(named.as_deref()),
            Way::Address | Way::Code => None,
        };
        Ok(Terminal::new(browser, manner.insists))
    }

    /// Describes this process as a host that signs in as the flags say.
    pub(crate) fn host(&self, context: &CommandContext, manner: Manner) -> Result<Host, CliError> {
        let vault = kept_vault()?.map(Arc::new);
        self.asking_by(context, host::open(context)?, vault, manner)
    }

    /// Describes the same process, where it asks in another manner: connections, roots and the vault
    /// are shared.
    pub(crate) fn host_like(
        &self,
        host: &Host,
        context: &CommandContext,
        manner: Manner,
    ) -> Result<Host, CliError> {
        let vault = host.accounts.as_ref().map(|it| Arc::clone(&it.vault));
        self.asking_by(context, host.clone(), vault, manner)
    }

    fn asking_by(
        &self,
        context: &CommandContext,
        mut host: Host,
        vault: Option<Arc<KeptVault>>,
        manner: Manner,
    ) -> Result<Host, CliError> {
        let settings = context.settings()?;
        let Some(vault) = vault else {
            return Ok(host);
        };
        let presenter = self.terminal(context, manner)?;
        let interaction = presenter.map(|terminal| {
            let asking = Loopback::new(Arc::new(terminal));
            Arc::new(asking.in_turn(Arc::clone(&vault))) as _
        });
        host.accounts = Some(Accounts {
            vault,
            interaction,
            asking: manner.asking,
            settings: Arc::new(settings.clone()),
            profile: self.profile(context)?,
            account: self
                .account
                .clone()
                .or_else(|| settings.defaults.account.clone()),
            device: manner.way == Way::Code,
            whose: None,
        });
        Ok(host)
    }
}

/// Returns the vault, to be opened when it is needed; none without a place to keep anything.
fn kept_vault() -> Result<Option<KeptVault>, CliError> {
    let Some(folders) = ProcessEnvironment::folders() else {
        return Ok(None);
    };
    let sources = sources()?;
    let at = folders.clone();
    let open = move || Vault::open(&at, sources.clone());
    Ok(Some(KeptVault::new(folders, Box::new(open))))
}

/// Returns the profile that counts where none is named.
pub(crate) fn default_profile(context: &CommandContext) -> Result<String, CliError> {
    if let Some(profile) = ProcessEnvironment::profile() {
        return Ok(profile);
    }
    let kept = context.settings()?.defaults.profile.clone();
    Ok(kept.unwrap_or_else(|| "default".to_owned()))
}

/// How we introduce ourselves to servers.
pub(crate) fn client_info() -> ClientInfo {
    ClientInfo {
        name: "keyway".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
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
