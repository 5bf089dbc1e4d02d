//! The person's own plugin: the servers that `keyway add` and `keyway adopt` keep, in the folder `own`
//! of Keyway's data.

use std::path::PathBuf;

use keyway::error::LoadError;
use keyway::{Error, Host, Plugin};
use keyway_config::declared::Endpoint;
use url::Url;

/// The name of the plugin, which is that of its folder.
pub(crate) use keyway_clients::own_entries::OWN_PLUGIN as NAME;

use crate::error::CliError;
use crate::vault::folders;

/// Returns the folder, which need not be there.
pub(crate) fn folder() -> Result<PathBuf, CliError> {
    Ok(folders()?.data.join(NAME))
}

/// Reads the plugin.
pub(crate) fn load(host: &Host) -> Result<Plugin, CliError> {
    Ok(host.load(folder()?)?)
}

/// Reads the plugin if there is one.
pub(crate) fn find(host: &Host) -> Result<Option<Plugin>, CliError> {
    match host.load(folder()?) {
        Ok(plugin) => Ok(Some(plugin)),
        Err(Error::Load(LoadError::Missing { .. } | LoadError::NothingFound)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the server at an address: the person's own entry for it, else one for this run.
pub(crate) fn at(host: &Host, url: &Url) -> Result<(Plugin, Vec<String>), CliError> {
    if let Some(own) = find(host)?
        && let Some(name) = name_at(&own, url)
    {
        return Ok((own, vec![name]));
    }
    let plugin = host.at(url);
    let names = plugin.servers();
    Ok((plugin, names))
}

/// Returns the name of the entry that has an address.
pub(crate) fn name_at(plugin: &Plugin, url: &Url) -> Option<String> {
    let mut servers = plugin.loaded().plugin.servers();
    let found = servers.find(|(_, server)| match &server.endpoint {
        Endpoint::Remote(remote) => {
            let declared = Url::parse(remote.url.template.as_str());
            declared.is_ok_and(|declared| declared == *url)
        }
        _ => false,
    });
    Some(found?.1.name.clone())
}

/// What its servers are called from anywhere.
pub(crate) const PREFIX: &str = "own:";
