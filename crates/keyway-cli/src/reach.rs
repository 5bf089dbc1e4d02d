//! From a name on the command line to a connected server: find the entry, get it approved,
//! resolve it, connect.

mod approval;
mod error;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use keyway::connect::{Connected, Host, Target};
use keyway::load::{Loaded, Loader};
use keyway::session::{ClientInfo, Handler, Session as Conversation};
use keyway::trust::Ledger;
use keyway::trust::Vault;
use keyway_config::declared::DeclaredServer;
use keyway_config::document::Document;
use keyway_config::environment::HostVariables;
use keyway_config::names::nearest_name;
use keyway_config::resolve::{ServerSpec, resolve};
use keyway_secret::printable;

use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::session::Session;
use crate::surroundings::Surroundings;

pub(crate) use self::approval::{describe, open_vault};
pub(crate) use self::error::ReachError;

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
    /// Whose approvals to use; otherwise `KEYWAY_PROFILE`, otherwise `default`
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

/// A server that is approved and resolved.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The server.
    pub(crate) spec: ServerSpec,
    host: HostVariables,
    grants: Vec<String>,
}

impl Reach {
    /// Reads the plugin, `path` before `--config` before where the person stands.
    pub(crate) fn load(&self, path: Option<&Path>) -> Result<Loaded, CliError> {
        let loader = Loader::default().home(ProcessEnvironment::home());
        let loaded = match path.or(self.config.as_deref()) {
            Some(path) => loader.load(path),
            None => loader.discover(Path::new(".")),
        };
        Ok(loaded?)
    }

    /// Returns the profile in force.
    pub(crate) fn profile(&self) -> String {
        self.profile.clone().unwrap_or_else(default_profile)
    }

    /// Makes one server ready: approved, by this run or before, and resolved.
    pub(crate) fn prepare(
        &self,
        session: &Session,
        loaded: &Loaded,
        (document, server): (&Document, &DeclaredServer),
    ) -> Result<Ready, CliError> {
        let surroundings = Surroundings::open(self.env_file.as_deref())?;
        let host = surroundings.host_variables(&loaded.plugin);
        surroundings.with_scope(loaded, |scope| {
            let around = keyway::trust::Surroundings {
                plugin: &loaded.plugin.name(),
                root: &loaded.plugin.root,
                document,
                host: &host,
            };
            let question = keyway::trust::Question::about(server, around, &scope);
            let grants = match &question {
                Some(question) if !self.trust => {
                    approval::require(session, question, &self.profile())?
                }
                _ => Vec::new(),
            };
            let spec = resolve(server, &scope).map_err(|errors| ReachError::Unresolved {
                server: server.name.clone(),
                errors,
            })?;
            Ok(Ready {
                spec,
                host: host.clone(),
                grants,
            })
        })
    }
}

impl Ready {
    /// Connects, or prepares to where the transport needs no greeting.
    pub(crate) async fn connect(&self, host: &Host) -> Result<Connected, CliError> {
        let target = Target {
            spec: &self.spec,
            host: &self.host,
            grants: &self.grants,
        };
        Ok(host.connect(target).await?)
    }

    /// Connects and greets the server.
    pub(crate) async fn converse(
        &self,
        host: &Host,
        handler: Arc<dyn Handler>,
    ) -> Result<Conversation, CliError> {
        let Connected {
            connection, offer, ..
        } = self.connect(host).await?;
        let opened = Conversation::open(connection, client_info(), handler, offer).await;
        Ok(opened.map_err(|error| ReachError::talk(&self.spec, error))?)
    }
}

/// Returns the profile that counts where none is named.
pub(crate) fn default_profile() -> String {
    ProcessEnvironment::profile().unwrap_or_else(|| "default".to_owned())
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
    let vault: Vault = open_vault()?;
    let ledger = Ledger::new(&vault, profile)?;
    look(&ledger)
}
