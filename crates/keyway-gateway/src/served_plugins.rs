//! The plugins that are served, looked at again when a file, an approval, a variable or a sign-in
//! has changed.

mod known_server;
mod serving_context;
mod signed_in;
mod watched_plugin;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use keyway::config_files::CONFIG_FILES;
use keyway::connect::FingerprintKey;
use keyway::error::LoadError;
use keyway::load::Loaded;
use keyway::sign_in::PromptPolicy;
use keyway::store::ChangeFeed;
use keyway::vault::Folders;
use keyway::{Error, Plugin};
use keyway_mcp::timeouts::SIGN_IN_TIMEOUT;
use keyway_secret::printable;
use tokio::time::{MissedTickBehavior, interval};

use self::known_server::KnownServer;
use self::serving_context::Hosts;
pub use self::serving_context::ServingContext;
use self::signed_in::SignedIn;
use self::watched_plugin::WatchedPlugin;
use crate::gateway::{Gateway, ServedServer};
use crate::lazy_server::{LazyServer, LazyServerOptions};
use crate::local_backend::LocalBackend;
use crate::team::Team;
use crate::timeouts::LOOK_INTERVAL;
use keyway::stamps::Stamps;
use keyway_dashboard::ServerId;

/// Everything that is served, and how it looked last.
pub struct ServedPlugins {
    context: ServingContext,
    backend: Arc<LocalBackend>,
    hosts: Arc<Hosts>,
    key: FingerprintKey,
    plugins: Vec<WatchedPlugin>,
    /// The servers, by plugin and name.
    known: HashMap<(String, String), KnownServer>,
    /// How many servers were replaced or added so far: each gets a number of its own.
    last_number: u64,
    /// How often a server was planned at a look.
    plan_count: u64,
    /// Every server that the gateway or a session may still have.
    upstreams: Vec<Weak<LazyServer>>,
    /// The files of the plugins, apart from those that entries run.
    stamps: Stamps,
    vault: Stamps,
    /// Tells of sign-ins that others made, where they are not in the vault's files.
    feeds: Vec<Box<dyn ChangeFeed>>,
    settings: Stamps,
    /// Whether to look again in any case.
    in_doubt: bool,
    /// How often the vault is still looked at after its files have changed.
    unsettled_looks: u8,
}

impl fmt::Debug for ServedPlugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedPlugins")
            .field("plugins", &self.plugins)
            .finish_non_exhaustive()
    }
}

/// What a look found.
#[derive(Debug)]
enum Look {
    Nothing,
    /// Approvals, variables or sign-ins have changed, which concerns no connection.
    Records,
    /// The servers may be others.
    Servers(Vec<ServedServer>),
}

impl ServedPlugins {
    /// Serves plugins that were read, each with the path by which it is read again.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Harden`] if the operating system gives no random bytes.
    pub fn new(
        plugins: Vec<(PathBuf, Plugin)>,
        backend: &Arc<LocalBackend>,
        context: ServingContext,
    ) -> Result<Self, Error> {
        let host = |asking| {
            let host = backend.host().with_asking(asking);
            let host = host.with_codes_shown_by_clients();
            match (context.terminal)() {
                Some(terminal) => host.with_presenter(terminal),
                None => host,
            }
        };
        let no_randomness =
            || std::io::Error::other("cannot get random bytes from the operating system");
        let key = FingerprintKey::random().ok_or_else(no_randomness);
        let plugins = plugins.into_iter().map(|(path, plugin)| WatchedPlugin {
            path,
            loaded: Some(Arc::clone(plugin.loaded())),
            told: None,
            is_missed: false,
        });
        let Folders { data, config, .. } = &context.folders;
        Ok(Self {
            backend: Arc::clone(backend),
            hosts: Arc::new(Hosts {
                together: host(PromptPolicy::Never),
                direct: host(PromptPolicy::AtMost(SIGN_IN_TIMEOUT)),
                backend: Arc::clone(backend),
                terminal: Arc::clone(&context.terminal),
            }),
            key: key.map_err(|source| Error::Harden { source })?,
            plugins: plugins.collect(),
            known: HashMap::new(),
            last_number: 0,
            plan_count: 0,
            upstreams: Vec::new(),
            stamps: Stamps::default(),
            vault: Stamps::of_own(VAULT_FILES.map(|name| data.join(name))),
            feeds: change_feeds(backend, context.team.as_ref()),
            settings: Stamps::of([config.join("config.toml")]),
            in_doubt: false,
            unsettled_looks: 0,
            context,
        })
    }

    /// Serves one more plugin as soon as it is there; one that is served already, or whose name is
    /// taken, is left out.
    pub fn serve_when_there(&mut self, path: PathBuf) {
        let place = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let loaded = self.hosts.direct.load(&path).ok();
        let loaded = loaded.map(|plugin| Arc::clone(plugin.loaded()));
        let name = loaded.as_ref().map(|it| it.plugin.name());
        let is_served = |it: &WatchedPlugin| {
            let root = it.loaded.as_ref().map(|it| place(&it.plugin.root));
            place(&it.path) == place(&path)
                || root == Some(place(&path))
                || name.is_some() && it.name() == name
        };
        if !self.plugins.iter().any(is_served) {
            self.plugins.push(WatchedPlugin {
                path,
                loaded,
                told: None,
                is_missed: true,
            });
        }
    }

    /// Returns the plugins as they were when they last could be read.
    #[must_use]
    pub fn loaded(&self) -> Vec<Arc<Loaded>> {
        let loaded = self.plugins.iter().filter_map(|it| it.loaded.clone());
        loaded.collect()
    }

    /// Returns how often a server was planned because something had changed that may concern it.
    #[must_use]
    pub const fn plan_count(&self) -> u64 {
        self.plan_count
    }

    /// Tells the gateway and its dashboard of every change; never returns.
    ///
    /// Cancel safety: dropping the future ends it between two looks.
    pub async fn follow(mut self, gateway: Arc<Gateway>) {
        let mut beat = interval(LOOK_INTERVAL);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut awaited = gateway.awaited_looks();
        loop {
            // In no particular order: either begins the same look, which answers all who have asked
            // before it began.
            let mut asked = tokio::select! {
                _ = beat.tick() => Vec::new(),
                asked = awaited.asked() => asked,
            };
            asked.extend(awaited.taken());
            // Files and the vault are slow at times; clients do not wait for them.
            let looked = tokio::task::spawn_blocking(move || {
                let found = self.look();
                (self, found)
            });
            let Ok((plugins, found)) = looked.await else {
                return std::future::pending().await;
            };
            self = plugins;
            match found {
                Look::Nothing => continue,
                Look::Records => {}
                Look::Servers(servers) => gateway.replace(servers),
            }
            gateway.refresh_policies().await;
            self.backend.set_plugins(self.loaded());
            // Told last, by dropping it: what was found is in use everywhere.
            drop(asked);
        }
    }

    /// Looks whether anything has changed.
    fn look(&mut self) -> Look {
        let settings = self.settings.again();
        if settings != self.settings {
            self.settings = settings;
            self.say("`config.toml` has changed; restart the gateway to apply it");
        }
        let (stamps, vault) = (self.stamps.again(), self.vault.again());
        let has_new_files = stamps != self.stamps || std::mem::take(&mut self.in_doubt);
        // What is written counts only when it is on the disk, and then no file changes any more.
        let is_unsettled = self.unsettled_looks > 0;
        let mut is_told = false;
        for feed in &mut self.feeds {
            is_told |= feed.changed().unwrap_or(false);
        }
        let has_new_records = vault != self.vault || is_unsettled || is_told;
        self.unsettled_looks = match vault == self.vault {
            true => self.unsettled_looks.saturating_sub(1),
            false => UNSETTLED_LOOKS,
        };
        let has_news = |known: &KnownServer| known.is_newly_used() || known.has_new_programs();
        let has_news = self.known.values().any(has_news);
        self.stamps = stamps;
        self.vault = vault;
        for upstream in self.upstreams.iter().filter_map(Weak::upgrade) {
            upstream.look_at_people(has_new_records || has_new_files || has_news);
        }
        if !has_new_files && !has_news && !has_new_records {
            let upstreams = self.upstreams.iter().filter_map(Weak::upgrade);
            upstreams.for_each(|upstream| upstream.drop_unused());
            return Look::Nothing;
        }
        // What no client uses depends on nothing yet.
        if !has_new_files && !self.known.values().any(KnownServer::is_used) {
            return Look::Records;
        }
        if has_new_files {
            self.load_again();
        }
        Look::Servers(self.servers_after(has_new_records))
    }

    /// Describes the servers as they are now.
    pub fn servers(&mut self) -> Vec<ServedServer> {
        self.servers_after(false)
    }

    /// Describes the servers; those in use are planned again where something has changed that may
    /// concern them, and no other is planned.
    fn servers_after(&mut self, has_new_records: bool) -> Vec<ServedServer> {
        let files = self.files();
        self.stamps = std::mem::take(&mut self.stamps).with(files);
        // Those that are as before stay where they are, and sessions hold on to others.
        self.upstreams.retain(|it| it.strong_count() > 0);
        let mut before = std::mem::take(&mut self.known);
        let mut servers = Vec::new();
        for loaded in &self.loaded() {
            let plugin = loaded.plugin.name();
            for name in self.hosts.together.plugin(Arc::clone(loaded)).servers() {
                let key = (plugin.clone(), name);
                let known = match before.remove(&key) {
                    Some(known) => self.follow_server((&key, known), loaded, has_new_records),
                    None => self.add_server(&key, loaded, SignedIn::default()),
                };
                servers.push(known.served(&key));
                self.known.insert(key, known);
            }
        }
        servers
    }

    /// Looks at a server again.
    fn follow_server(
        &mut self,
        (key, mut known): (&(String, String), KnownServer),
        loaded: &Arc<Loaded>,
        has_new_records: bool,
    ) -> KnownServer {
        let is_same_file = known.is_of(loaded);
        let Some(before) = known.first_use() else {
            // No connection depends on it.
            return match is_same_file {
                true => known,
                false => self.add_server(key, loaded, known.into_sign_in()),
            };
        };
        let has_news = known.is_newly_used() || known.has_new_programs();
        if is_same_file && !has_new_records && !has_news {
            return known;
        }
        // Stamped before they are read: a change in between shows at the next look.
        let stamps = Stamps::of(before.files);
        let mut new = self.add_server(key, loaded, known.take_sign_in());
        let ready = new.plan(stamps);
        self.plan_count += 1;
        // A vault that cannot be read is not a sign-out.
        if let Some(Ok(sign_in)) = ready.map(|ready| ready.stored_sign_in()) {
            new.see(sign_in);
        }
        match new.first_use() {
            Some(now) if now.fingerprint == before.fingerprint => known.renewed_as(new),
            _ => new,
        }
    }

    /// Makes a server that no client has used yet.
    fn add_server(
        &mut self,
        (plugin, name): &(String, String),
        loaded: &Arc<Loaded>,
        sign_in: SignedIn,
    ) -> KnownServer {
        let settings = self.backend.host().settings();
        let options = LazyServerOptions {
            direct: None,
            presence: Arc::clone(&sign_in.presence),
            process_facts: Arc::clone(&self.context.process_facts),
            shared: None,
            watch: Some(self.key.clone()),
            idle_timeout: settings.gateway.idle_timeout(&format!("{plugin}:{name}")),
            team: self.context.team.clone(),
        };
        let id = ServerId::new(&**plugin, &**name);
        let (hosts, of) = (Arc::clone(&self.hosts), Arc::clone(loaded));
        let hosts = move || hosts.of(&id, of);
        let upstream = LazyServer::with_hosts(name.clone(), options, hosts);
        self.upstreams.push(Arc::downgrade(&upstream));
        self.last_number += 1;
        KnownServer::new(upstream, Arc::clone(loaded), self.last_number, sign_in)
    }

    /// Reads the plugins again; one that cannot be read stays as it was.
    fn load_again(&mut self) {
        let mut plugins = std::mem::take(&mut self.plugins);
        for at in 0..plugins.len() {
            let (before, rest) = plugins.split_at_mut(at);
            let Some((watched, after)) = rest.split_first_mut() else {
                continue;
            };
            let others = before.iter().chain(after.iter());
            let taken: Vec<String> = others.filter_map(WatchedPlugin::name).collect();
            let trouble = self.load_one(watched, &taken);
            if trouble != watched.told {
                if let Some(trouble) = &trouble {
                    self.say(trouble);
                } else if watched.loaded.is_some() {
                    self.say(&format!("reloaded {}", shown(&watched.path)));
                }
            }
            watched.told = trouble;
        }
        self.plugins = plugins;
    }

    /// Reads one plugin again; returns what is wrong with it.
    fn load_one(&mut self, watched: &mut WatchedPlugin, taken: &[String]) -> Option<String> {
        let path = shown(&watched.path);
        let goes_on = "keeping the previous configuration";
        let plugin = match self.hosts.direct.load(&watched.path) {
            Ok(plugin) => plugin,
            Err(Error::Load(
                LoadError::Missing { .. }
                | LoadError::NoConfiguration { .. }
                | LoadError::NothingFound,
            )) => {
                if watched.loaded.is_none() {
                    return watched.told.clone();
                }
                // An editor that replaces a file may remove it for a moment.
                if !std::mem::replace(&mut watched.is_missed, true) {
                    self.in_doubt = true;
                    return watched.told.clone();
                }
                watched.loaded = None;
                return Some(format!("{path} is gone; its servers were removed"));
            }
            Err(error) => return Some(format!("{path}: {error}; {goes_on}")),
        };
        watched.is_missed = false;
        let loaded = plugin.loaded();
        if taken.contains(&loaded.plugin.name()) {
            return Some(format!("{path} has the name of another plugin; {goes_on}"));
        }
        if let Some(broken) = watched.newly_broken(loaded) {
            let file = printable(&broken);
            return Some(format!(
                "`{file}` of {path} cannot be used as it is; {goes_on} (keyway check says why)"
            ));
        }
        watched.loaded = Some(Arc::clone(loaded));
        None
    }

    /// Returns every file in which a change may show, apart from those that entries run.
    fn files(&self) -> Vec<PathBuf> {
        let loaded = self.plugins.iter().filter_map(|it| it.loaded.as_ref());
        let mut files: Vec<PathBuf> = loaded.flat_map(|loaded| loaded.watched()).collect();
        for WatchedPlugin { path, .. } in &self.plugins {
            // A folder changes with everything in it; of one that is gone it counts what comes back.
            files.extend(CONFIG_FILES.iter().map(|(name, _)| path.join(name)));
            files.extend((!path.is_dir()).then(|| path.clone()));
        }
        files.extend(self.hosts.direct.env_file().map(Path::to_owned));
        files
    }

    fn say(&self, what: &str) {
        (self.context.print_note)(what);
    }
}

/// Returns what tells of sign-ins, variables and approvals in a store other than the vault; a store that
/// cannot be heard is asked when something of it is needed.
fn change_feeds(backend: &LocalBackend, team: Option<&Team>) -> Vec<Box<dyn ChangeFeed>> {
    let accounts = backend.host().accounts();
    let sign_ins = accounts.and_then(|accounts| accounts.change_feed().ok().flatten());
    let shared = team.map(|team| team.change_feeds(None));
    sign_ins
        .into_iter()
        .chain(shared.into_iter().flatten())
        .collect()
}

fn shown(path: &Path) -> String {
    format!("`{}`", printable(&path.to_string_lossy()))
}

/// Approvals, variables and sign-ins are in here.
const VAULT_FILES: [&str; 2] = ["vault.db", "vault.db-wal"];
/// No disk takes as many looks.
const UNSETTLED_LOOKS: u8 = 3;

#[cfg(test)]
mod tests;
