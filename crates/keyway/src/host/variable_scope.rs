//! What entries are filled in from: tried values, the environment, env files, variables kept in the
//! vault, and the host's own folders.
//!
//! The one place that decides what `HOST_PLUGIN_DATA` and `HOST_PROJECT_DIR` are, and which source
//! of a variable wins.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use keyway_approval::Owner;
use keyway_config::declared::DeclaredServer;
use keyway_config::environment::{Environment, HostVariables, Origin, Scope, Variables};
use keyway_config::plugin::Plugin;
use keyway_config::template::is_asked_for;
use keyway_secret::Secret;
use keyway_store::{StoreError, ValueStore};

use super::VariableSources;
use super::error::Error;
use crate::env_file;
use crate::load::Loaded;
#[cfg(feature = "vault")]
use crate::variables::LazyVariables;
#[cfg(feature = "vault")]
use crate::vault::KeptVault;

/// The variables as the entries of one plugin see them.
///
/// Read once: a value that changes later is seen by the next plan. Of itself it has what every entry
/// gets; what one entry's own env file adds is in [`DeclaredServer::scope`] of that entry.
///
/// [`DeclaredServer::scope`]: keyway_config::declared::DeclaredServer::scope
#[derive(Clone)]
pub struct VariableScope {
    layers: Layers,
    /// The same with the variables of an env file, by the text of `envFile`.
    with_env_file: BTreeMap<String, Layers>,
    host: HostVariables,
}

/// The sources of variables, in the order in which they win.
#[derive(Clone)]
struct Layers {
    shared: Arc<SharedLayers>,
    /// The variables of the file that an entry names by `envFile`.
    env_file: Option<PluginVariables>,
}

/// The sources that all entries of a plugin have.
struct SharedLayers {
    overrides: Variables,
    environment: Arc<dyn Environment + Send + Sync>,
    /// The variables of `--env-file`.
    given: Variables,
    /// The variables of `keyway env`.
    #[cfg(feature = "vault")]
    kept: Option<Arc<LazyVariables>>,
    /// What tells the values apart that different plugins ask for under one name.
    owner: Owner,
    /// Where Keyway keeps its data.
    #[cfg(feature = "vault")]
    data: Option<PathBuf>,
}

impl VariableScope {
    pub(super) fn new(sources: &VariableSources, loaded: &Loaded) -> Result<Self, Error> {
        let given = match &sources.env_file {
            Some(file) => env_file::load(file)?,
            None if sources.is_alone => Variables::default(),
            None => sources.adopted(&loaded.plugin),
        };
        let shared = SharedLayers {
            overrides: sources.overrides.clone(),
            environment: Arc::clone(&sources.environment),
            given,
            #[cfg(feature = "vault")]
            kept: sources.kept(),
            owner: Owner::new(&loaded.plugin.name(), &loaded.plugin.root),
            #[cfg(feature = "vault")]
            data: sources.data.clone(),
        };
        let mut scope = Self::of(shared, sources.host_variables(&loaded.plugin));
        if sources.is_alone {
            return Ok(scope);
        }
        // The name of an env file may hold a variable; what is in the file cannot decide it.
        let named = loaded.named_variables(&scope.scope()).into_iter();
        let layers = &scope.layers;
        scope.with_env_file = named
            .map(|(written, variables)| (written, layers.with(variables)))
            .collect();
        Ok(scope)
    }

    fn of(shared: SharedLayers, host: HostVariables) -> Self {
        let (shared, env_file) = (Arc::new(shared), None);
        Self {
            layers: Layers { shared, env_file },
            with_env_file: BTreeMap::new(),
            host,
        }
    }

    /// The same as one entry sees it: the root of a bundle's is the folder to which that was unpacked.
    pub(super) fn of_entry(mut self, server: &DeclaredServer) -> Self {
        if let Some(folder) = server.source.folder() {
            self.host.unpacked_to(folder);
        }
        self
    }

    /// Returns what templates are expanded against.
    #[must_use]
    pub fn scope(&self) -> Scope<'_> {
        Scope::new(&self.host, self)
    }

    /// Returns the host's own variables for the plugin.
    #[must_use]
    pub const fn host_variables(&self) -> &HostVariables {
        &self.host
    }

    /// Returns why variables of `keyway env` could not be read, if they had to be; once.
    #[must_use]
    pub fn take_store_error(&self) -> Option<StoreError> {
        #[cfg(feature = "vault")]
        if let Some(kept) = &self.layers.shared.kept {
            return kept.take_trouble();
        }
        None
    }

    /// Returns the name under which a value is kept that this plugin asks for.
    ///
    /// Two plugins may both ask for an `api_key`; neither may get the other's.
    #[must_use]
    pub fn kept_name(&self, name: &str) -> String {
        match is_asked_for(name) {
            true => owned_name(name, self.layers.shared.owner.id()),
            false => name.to_owned(),
        }
    }
}

impl SharedLayers {
    #[cfg(feature = "vault")]
    fn kept(&self) -> Option<&dyn Environment> {
        self.kept.as_deref().map(|kept| kept as _)
    }

    #[cfg(not(feature = "vault"))]
    const fn kept(&self) -> Option<&dyn Environment> {
        None
    }

    /// Returns the value that was kept for this plugin alone.
    #[cfg(feature = "vault")]
    fn own(&self, name: &str) -> Option<Secret<String>> {
        let is_own = is_asked_for(name) && self.overrides.get(name).is_none();
        let kept = self.kept.as_deref().filter(|_| is_own)?;
        let value = |id: &str| {
            let found = kept.owned(&owned_name(name, id));
            found.filter(|value| !value.expose().is_empty())
        };
        value(self.owner.id()).or_else(|| {
            // An earlier version kept it.
            let earlier = value(self.owner.earlier_id())?;
            self.owner
                .owns_earlier(self.data.as_deref()?)
                .then_some(earlier)
        })
    }

    #[cfg(not(feature = "vault"))]
    const fn own(&self, _: &str) -> Option<Secret<String>> {
        None
    }
}

/// Returns the name under which a value is kept for one plugin; no file can name it.
fn owned_name(name: &str, owner: &str) -> String {
    format!("{name}__{owner}")
}

impl Layers {
    fn with(&self, env_file: Variables) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            env_file: Some(PluginVariables(env_file)),
        }
    }

    /// The sources, the first of which wins.
    fn sources(&self) -> impl Iterator<Item = &dyn Environment> {
        let shared = &*self.shared;
        let env_file = self.env_file.as_ref();
        let all: [Option<&dyn Environment>; 5] = [
            Some(&shared.overrides),
            Some(&*shared.environment),
            Some(&shared.given),
            env_file.map(|file| file as _),
            shared.kept(),
        ];
        all.into_iter().flatten()
    }
}

/// The variables of a file that the plugin chose: they are its own, wherever the file lies, and not
/// the person's.
#[derive(Debug, Clone, Default)]
struct PluginVariables(Variables);

impl Environment for PluginVariables {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        self.0.get(name)
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn origin(&self) -> Origin {
        Origin::Plugin
    }
}

impl Environment for Layers {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        if let Some(own) = self.shared.own(name) {
            return Some(own);
        }
        // An empty value does not hide a later one; only the last is returned empty.
        let mut last = None;
        for source in self.sources() {
            let found = source.get(name);
            if found.as_ref().is_some_and(|it| !it.expose().is_empty()) {
                return found;
            }
            last = found;
        }
        last
    }

    fn names(&self) -> Vec<String> {
        self.sources().flat_map(Environment::names).collect()
    }

    fn origin_of(&self, name: &str) -> Option<Origin> {
        if self.shared.own(name).is_some() {
            return Some(Origin::Vault);
        }
        self.sources().find_map(|source| source.origin_of(name))
    }
}

impl Environment for VariableScope {
    fn get(&self, name: &str) -> Option<Secret<String>> {
        self.layers.get(name)
    }

    fn names(&self) -> Vec<String> {
        self.layers.names()
    }

    fn origin_of(&self, name: &str) -> Option<Origin> {
        self.layers.origin_of(name)
    }

    fn with_env_file(&self, written: &str) -> Option<&dyn Environment> {
        let layers = self.with_env_file.get(written)?;
        Some(layers)
    }
}

impl fmt::Debug for VariableScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VariableScope")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl VariableSources {
    /// Prepares the variables that are kept; nothing is read yet.
    #[cfg(feature = "vault")]
    fn kept(&self) -> Option<Arc<LazyVariables>> {
        let of_vault = |vault: &Arc<KeptVault>| LazyVariables::new(Arc::clone(vault));
        let kept = match &self.stores {
            Some(stores) => Some(LazyVariables::of_stores(Arc::clone(stores))),
            None => self.vault.as_ref().map(of_vault),
        };
        kept.map(Arc::new)
    }

    /// Takes variables from these stores alone, the first that has one.
    pub(super) fn only(&self, stores: Arc<[Arc<dyn ValueStore>]>) -> Self {
        Self {
            overrides: Variables::default(),
            environment: Arc::new(Variables::default()),
            env_file: None,
            stores: Some(stores),
            is_alone: true,
            ..self.clone()
        }
    }

    /// Returns the values that `keyway install --mcp-remote` moved beside the entries that it took
    /// over, in Keyway's own folder; a client's entry hands the same file to `keyway run`.
    fn adopted(&self, plugin: &Plugin) -> Variables {
        let folder = self.data.as_ref().map(|data| data.join("adopted"));
        let folder = folder.filter(|own| *own == plugin.root);
        let file = folder.map(|own| own.join(".env")).filter(|it| it.is_file());
        let read = file.and_then(|file| env_file::load(&file).ok());
        read.unwrap_or_default()
    }

    /// Returns the host's own variables for a plugin.
    fn host_variables(&self, plugin: &Plugin) -> HostVariables {
        let owner = Owner::new(&plugin.name(), &plugin.root);
        let below = |name: &str| {
            let data = self.data.as_deref();
            data.map_or_else(PathBuf::new, |data| owner.folder(data, &data.join(name)))
        };
        HostVariables {
            plugin_data: below("plugins"),
            // Not in the data folder: every program of the plugin may write that.
            program_folders: below("programs"),
            project_dir: self.project.clone(),
            ..plugin.host_variables()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn sources(data: Option<&str>) -> VariableSources {
        VariableSources {
            overrides: Variables::default(),
            environment: Arc::new(Variables::default()),
            env_file: None,
            #[cfg(feature = "vault")]
            vault: None,
            stores: None,
            is_alone: false,
            data: data.map(PathBuf::from),
            project: "/project".into(),
            home: None,
            own_folders: Arc::default(),
        }
    }

    fn data_of(root: &str) -> PathBuf {
        let plugin = Plugin::new(root, Vec::new());
        sources(Some("/data")).host_variables(&plugin).plugin_data
    }

    #[test]
    fn an_upgrade_keeps_its_data_folder_and_another_plugin_has_another() {
        let at = |rest: &str| data_of(&format!("/home/me/.claude/plugins/cache/market/{rest}"));
        let old = at("acme/1.2.0/tools");
        assert!(old.starts_with("/data/plugins"));
        assert_eq!(old, at("acme/v1.10.3/tools"));
        assert_ne!(old, at("other/1.2.0/tools"));
        assert_ne!(old, at("acme/1.2.0/other"));
        // Beside a plugin of the same name, in a folder of another author.
        assert_ne!(data_of("/plugs/acme"), data_of("/plugs/1.0/acme"));
    }

    #[test]
    fn without_a_home_there_is_no_data_folder() {
        let host = sources(None).host_variables(&Plugin::default());
        assert_eq!(host.get("HOST_PLUGIN_DATA").as_deref(), Some(""));
        assert_eq!(host.get("CLAUDE_PROJECT_DIR").as_deref(), Some("/project"));
    }

    fn scope(layers: [&[(&str, &str)]; 3]) -> VariableScope {
        let [overrides, environment, given] =
            layers.map(|pairs| Variables::from_pairs(pairs.iter().copied()));
        let shared = SharedLayers {
            overrides,
            environment: Arc::new(environment),
            given,
            #[cfg(feature = "vault")]
            kept: None,
            owner: Owner::new("acme", Path::new("/plugins/acme")),
            #[cfg(feature = "vault")]
            data: None,
        };
        VariableScope::of(shared, HostVariables::default())
    }

    #[test]
    fn only_what_plugins_ask_for_is_kept_under_a_name_of_its_own() {
        let scope = scope([&[], &[], &[]]);
        assert_eq!(scope.kept_name("API_KEY"), "API_KEY");
        let own = format!("INPUT_KEY__{}", scope.layers.shared.owner.id());
        assert_eq!(scope.kept_name("INPUT_KEY"), own);
    }

    #[test]
    fn the_first_source_with_a_value_wins_and_an_empty_one_hides_nothing() {
        let scope = scope([
            &[("A", "tried")],
            &[("A", "env"), ("B", ""), ("C", "env")],
            &[("B", "file"), ("C", "file"), ("D", "")],
        ]);
        let value = |name| scope.get(name).map(|it| it.expose().clone());
        assert_eq!(value("A").as_deref(), Some("tried"));
        assert_eq!(value("B").as_deref(), Some("file"));
        assert_eq!(value("C").as_deref(), Some("env"));
        assert_eq!(value("E"), None);
        assert_eq!(scope.origin_of("B"), Some(Origin::File));
        assert_eq!(scope.origin_of("D"), None);
    }
}
