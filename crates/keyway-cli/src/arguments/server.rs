//! Which servers a command works on: `[SERVER]… [--config PLUGIN]`, the same for every command.
//!
//! A word on the command line names a server, or else the plugin itself:
//!
//! - the name of a server of the plugin that `--config` names is that server;
//! - with a `/` in it, ending in `.json` or `.toml`, or `.`, `..` or `-`, it is a path;
//! - otherwise, if no file or folder has that name, it is a server;
//! - otherwise it is a server if the plugin in force declares one of that name, else a path. If both
//!   would do (the folder is a plugin as well), the command ends and says how to write it.
//!
//! An `https://` or `http://` URL is a server as well: an entry of the person's own plugin that has
//! this URL, else one that exists for this command only.
//!
//! `--server NAME` is always a server, and `--config PATH` is always a path.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use keyway::error::LoadError;
use keyway::load::{Loaded, Loader};
use keyway::{Approved, Host, Plan, Plugin};
use keyway_clients::new_server::NewServer;
use keyway_config::declared::{DeclaredServer, Endpoint};
use keyway_config::dialect::is_bundle;
use keyway_config::method::Method;
use keyway_secret::printable;
use url::Url;

use crate::arguments::connect::{ConnectArgs, no_server, plan, server_name, tell_notes};
use crate::arguments::own_plugin;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;

/// Any number of servers of one plugin.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServerArgs {
    /// Servers of the plugin; a path stands for `--config`
    #[arg(value_name = "SERVER")]
    words: Vec<OsString>,
    /// Name of a server, even if a file or folder has the same name
    #[arg(long = "server", value_name = "SERVER", hide = true)]
    named: Vec<String>,
}

/// At most one server of a plugin.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServerArg {
    /// Server of the plugin, if it declares several; a path stands for `--config`
    #[arg(value_name = "SERVER")]
    word: Option<OsString>,
    /// Name of a server, even if a file or folder has the same name
    #[arg(
        long = "server",
        value_name = "SERVER",
        hide = true,
        conflicts_with = "word"
    )]
    named: Option<String>,
}

/// What the words turned out to be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The plugin, if a word or `--config` names it.
    pub(crate) path: Option<PathBuf>,
    pub(crate) names: Vec<String>,
    /// The addresses of servers.
    pub(crate) addresses: Vec<Url>,
}

impl ServerArgs {
    /// Reads the plugin, and returns it with the names of the servers; none of them: not named.
    pub(crate) fn load(
        &self,
        host: &Host,
        connect: &ConnectArgs,
    ) -> Result<(Plugin, Vec<String>), CliError> {
        let chosen = self.chosen(connect.config.as_deref())?;
        chosen.load(host, connect)
    }

    /// Tells servers and the plugin's path apart.
    pub(crate) fn chosen(&self, config: Option<&Path>) -> Result<Chosen, CliError> {
        let mut chosen = choose(&self.words, config)?;
        chosen.names.extend(self.named.iter().cloned());
        let mut seen = Vec::new();
        chosen.names.retain(|name| {
            let is_new = !seen.contains(name);
            seen.push(name.clone());
            is_new
        });
        Ok(chosen)
    }
}

impl ServerArg {
    /// Reads the plugin, and returns it with the name of the server, if one was given.
    pub(crate) fn load(
        &self,
        host: &Host,
        connect: &ConnectArgs,
    ) -> Result<(Plugin, Option<String>), CliError> {
        let mut chosen = choose(self.word.as_slice(), connect.config.as_deref())?;
        chosen.names.extend(self.named.iter().cloned());
        let (plugin, mut names) = chosen.load(host, connect)?;
        Ok((plugin, names.pop()))
    }

    /// Reads the plugin and gets the server approved; without a name, the only one.
    pub(crate) async fn approved(
        &self,
        context: &CommandContext,
        host: &Host,
        connect: &ConnectArgs,
    ) -> Result<Approved<Plan>, CliError> {
        let (plugin, server) = self.load(host, connect)?;
        let plan = plan(&plugin, server.as_deref())?;
        tell_notes(context, &plan);
        Ok(plan.approve().await?)
    }
}

impl ServerArg {
    /// Returns plugin and server if both are named, `PLUGIN:SERVER`; nothing is read for that.
    pub(crate) fn qualified(&self) -> Option<(&str, &str)> {
        let word = self.word.as_ref().and_then(|word| word.to_str());
        let name = word.or(self.named.as_deref())?;
        let is_plain = !name.contains('/') && std::fs::symlink_metadata(name).is_err();
        let (plugin, server) = name.split_once(':').filter(|_| is_plain)?;
        (!plugin.is_empty() && !server.is_empty()).then_some((plugin, server))
    }
}

impl Chosen {
    /// Reads the plugin that is meant; returns the names of its servers that were given.
    fn load(self, host: &Host, connect: &ConnectArgs) -> Result<(Plugin, Vec<String>), CliError> {
        let Self {
            path,
            names,
            addresses,
        } = self;
        match addresses.as_slice() {
            [] => {}
            [url] if names.is_empty() && path.is_none() => return own_plugin::at(host, url),
            _ => {
                return Err(CliError::Usage {
                    what: "a URL cannot be combined with other servers or a plugin",
                });
            }
        }
        let is_own = |name: &String| name.starts_with(own_plugin::PREFIX);
        if path.is_none() && !names.is_empty() && names.iter().all(is_own) {
            return Ok((own_plugin::load(host)?, names));
        }
        Ok((connect.load(host, path.as_deref())?, names))
    }
}

impl From<OsString> for ServerArg {
    fn from(word: OsString) -> Self {
        let word = Some(word);
        Self { word, named: None }
    }
}

/// Returns the declared names of the servers that were given; without any, of the only one.
pub(crate) fn named(plugin: &Plugin, given: &[String]) -> Result<Vec<String>, CliError> {
    if given.is_empty() {
        return Ok(vec![server_name(plugin, None)?]);
    }
    let found = given.iter().map(|name| server_name(plugin, Some(name)));
    found.collect()
}

/// Returns the servers of a plugin that are signed in to.
pub(crate) fn by_oauth(loaded: &Loaded) -> Vec<String> {
    let is_oauth = |server: &DeclaredServer| {
        matches!(server.endpoint, Endpoint::Remote(_)) && Method::declared(server) == Method::OAuth
    };
    let servers = loaded.plugin.servers();
    let usable = servers.filter(|(document, _)| document.is_usable());
    let names = usable.filter(|(_, server)| is_oauth(server));
    names.map(|(_, server)| server.name.clone()).collect()
}

/// Returns the names of all servers that can be used, each once.
pub(crate) fn all(plugin: &Plugin) -> Result<Vec<String>, CliError> {
    let names = plugin.servers();
    if names.is_empty() {
        return Err(no_server([plugin.loaded().as_ref()]));
    }
    Ok(names)
}

/// Tells the names of servers from the path of a plugin.
pub(crate) fn choose(words: &[OsString], config: Option<&Path>) -> Result<Chosen, CliError> {
    let mut chosen = Chosen {
        path: config.map(Path::to_owned),
        ..Chosen::default()
    };
    for word in words {
        match kind(word, config)? {
            Word::Server(name) => chosen.names.push(name),
            Word::Address(url) => chosen.addresses.push(url),
            Word::Path if chosen.path.is_some() => {
                return Err(CliError::Usage {
                    what: "one plugin at a time: give one path, as an argument or as `--config`",
                });
            }
            Word::Path => chosen.path = Some(PathBuf::from(word)),
        }
    }
    Ok(chosen)
}

/// Tells the names of servers from the paths of any number of plugins, in the order given.
pub(crate) fn split(words: &[OsString]) -> Result<(Vec<PathBuf>, Vec<String>), CliError> {
    let (mut paths, mut names) = (Vec::new(), Vec::new());
    for word in words {
        match kind(word, None)? {
            Word::Server(name) => names.push(name),
            Word::Address(_) => {
                return Err(CliError::Usage {
                    what: "a URL is not a plugin; `keyway add URL` keeps it as a server",
                });
            }
            Word::Path => paths.push(PathBuf::from(word)),
        }
    }
    Ok((paths, names))
}

/// What a word on the command line is.
enum Word {
    Server(String),
    Address(Url),
    Path,
}

/// Says whether a plugin was read and declares a server of that name.
fn declares(loaded: Result<Loaded, LoadError>, name: &str) -> bool {
    loaded.is_ok_and(|loaded| {
        let mut servers = loaded.plugin.servers();
        servers.any(|(_, server): (_, &DeclaredServer)| server.name == name)
    })
}

fn kind(word: &OsString, config: Option<&Path>) -> Result<Word, CliError> {
    let Some(name) = word.to_str() else {
        return Ok(Word::Path);
    };
    let path = Path::new(name);
    // The plugin is given already, so that a name it declares is that server, whatever it looks like.
    if config.is_some_and(|config| declares(Loader::default().load(config), name)) {
        return Ok(Word::Server(name.to_owned()));
    }
    if let Some(url) = NewServer::address(name) {
        return Ok(Word::Address(url));
    }
    let is_file = path
        .extension()
        .is_some_and(|it| it == "json" || it == "toml")
        || is_bundle(name);
    if name.contains('/') || is_file || matches!(name, "." | ".." | "-") {
        return Ok(Word::Path);
    }
    // A link that leads nowhere is a path as well; the error then says so.
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(Word::Server(name.to_owned()));
    }
    let loader = Loader::default().home(ProcessEnvironment::home());
    let here = match config {
        Some(config) => loader.load(config),
        None => loader.discover(Path::new(".")),
    };
    let is_server = declares(here, name);
    let is_plugin = || {
        loader
            .load(path)
            .is_ok_and(|it| it.plugin.servers().next().is_some())
    };
    match (is_server, is_server && is_plugin()) {
        (false, _) => Ok(Word::Path),
        (true, false) => Ok(Word::Server(name.to_owned())),
        (true, true) => Err(CliError::ServerOrPath {
            word: printable(name),
        }),
    }
}
