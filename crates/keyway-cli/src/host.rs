//! The process as a host: its HTTP client, its launcher, and what children are kept from.

use keyway::connect::{
    ConnectError, Host, HttpClient, HttpSettings, Isolation, Launcher, harden_self,
};
use keyway::identity::Keeper;

use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::reach::ReachError;
use crate::settings;

/// Hardens this process, which is about to hold secrets, and describes it as a host.
pub(crate) fn open(context: &CommandContext) -> Result<Host, CliError> {
    harden_self().map_err(|source| ReachError::Harden { source })?;
    let network = &context.settings()?.network;
    let http = HttpSettings {
        observer: context.events.observer(),
        ..settings::http(network)?
    };
    let http = HttpClient::new(http).map_err(ConnectError::from)?;
    if let Some(files) = settings::identity_files(network)
        && let Ok(runtime) = tokio::runtime::Handle::try_current()
    {
        drop(runtime.spawn(Keeper::new(files, http.clone()).keep()));
    }
    Ok(Host {
        http,
        launcher: launcher(),
        environment: ProcessEnvironment::all(),
        isolation: isolation(),
        log: None,
        accounts: None,
        events: context.events.clone(),
        supplied: None,
    })
}

/// Returns the binary that starts children: this one.
pub(crate) fn launcher() -> Launcher {
    Launcher::new("/proc/self/exe")
}

/// Returns what every child is kept from.
pub(crate) fn isolation() -> Isolation {
    let folders = ProcessEnvironment::folders();
    let hidden = folders.map(|folders| vec![folders.data, folders.config, folders.runtime]);
    let mut hidden = hidden.unwrap_or_default();
    let credential = ProcessEnvironment::key_credential();
    hidden.extend(credential.and_then(|path| Some(path.parent()?.to_owned())));
    Isolation {
        hidden,
        ..Isolation::default()
    }
}
