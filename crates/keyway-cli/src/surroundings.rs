//! What entries are resolved against: the process environment, env files, variables kept in the
//! vault, and the host's folders.
//!
//! The one place that decides what `HOST_PLUGIN_DATA` and `HOST_PROJECT_DIR` are.

use std::path::{Component, Path, PathBuf};

use keyway::env_file;
use keyway::load::{self, Loaded};
use keyway::variables::LazyVariables;
use keyway::vault::VaultError;
use keyway_config::environment::{HostVariables, Layered, Scope, Variables};
use keyway_config::plugin::Plugin;

use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::fingerprint::fingerprint;
use crate::vault::kept_variables;

/// Everything around a plugin that its entries may refer to.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// Values that are tried, and stand above all others.
    tried: Variables,
    /// The variables of `--env-file`.
    given: Variables,
    /// The variables of `keyway env`.
    kept: Option<LazyVariables>,
    /// Keyway's folder for data; none without a home.
    data: Option<PathBuf>,
    project: PathBuf,
}

impl Surroundings {
    /// Looks around; `env_file` is read now.
    pub(crate) fn open(env_file: Option<&Path>) -> Result<Self, CliError> {
        let given = match env_file {
            Some(file) => env_file::load(file)?,
            None => Variables::default(),
        };
        let here = ProcessEnvironment::current_folder();
        Ok(Self {
            tried: Variables::default(),
            given,
            kept: kept_variables()?,
            data: ProcessEnvironment::data_folder(),
            project: load::repository_of(&here).unwrap_or(here),
        })
    }

    /// Puts values above all others.
    pub(crate) fn trying(mut self, tried: Variables) -> Self {
        self.tried = tried;
        self
    }

    /// Calls `look` with the variables as the plugin's entries see them.
    pub(crate) fn with_scope<T>(&self, loaded: &Loaded, look: impl FnOnce(Scope<'_>) -> T) -> T {
        let host = self.host_variables(&loaded.plugin);
        // The name of an env file may hold a variable; what is in the file cannot decide it.
        let named = self.with_outer_scope(&host, |scope| loaded.named_variables(&scope));
        let files = Layered(&self.given, &named);
        let around = Layered(&ProcessEnvironment, &files);
        let environment = Layered(&self.tried, &around);
        match &self.kept {
            Some(kept) => look(Scope::new(&host, &Layered(&environment, kept))),
            None => look(Scope::new(&host, &environment)),
        }
    }

    /// Calls `look` with the variables that there are before any file of the plugin is read.
    fn with_outer_scope<T>(&self, host: &HostVariables, look: impl FnOnce(Scope<'_>) -> T) -> T {
        let around = Layered(&ProcessEnvironment, &self.given);
        let environment = Layered(&self.tried, &around);
        match &self.kept {
            Some(kept) => look(Scope::new(host, &Layered(&environment, kept))),
            None => look(Scope::new(host, &environment)),
        }
    }

    /// Returns why variables of `keyway env` could not be looked at, if they had to be.
    pub(crate) fn take_trouble(&self) -> Option<VaultError> {
        self.kept.as_ref()?.take_trouble()
    }

    /// Returns the host's own variables for a plugin.
    pub(crate) fn host_variables(&self, plugin: &Plugin) -> HostVariables {
        let name = plugin.name();
        let source = unversioned(&plugin.root);
        let own = fingerprint(&[&name, &source.to_string_lossy()]);
        let data = self.data.as_ref();
        HostVariables {
            plugin_data: data.map_or_else(PathBuf::new, |data| data.join("plugins").join(own)),
            project_dir: self.project.clone(),
            ..plugin.host_variables()
        }
    }
}

/// Drops what looks like a version from a path, so that an upgrade keeps its data.
fn unversioned(path: &Path) -> PathBuf {
    let is_version = |component: &Component<'_>| {
        let name = component.as_os_str().to_string_lossy();
        let number = name.strip_prefix('v').unwrap_or(&name);
        number.contains('.')
            && number
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    path.components()
        .filter(|component| !is_version(component))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_of(root: &str) -> PathBuf {
        let surroundings = Surroundings {
            tried: Variables::default(),
            given: Variables::default(),
            kept: None,
            data: Some("/data".into()),
            project: "/project".into(),
        };
        let plugin = Plugin {
            root: root.into(),
            ..Plugin::default()
        };
        surroundings.host_variables(&plugin).plugin_data
    }

    #[test]
    fn an_upgrade_keeps_its_folder_and_another_plugin_has_another() {
        let old = data_of("/cache/acme/1.2.0/tools");
        assert!(old.starts_with("/data/plugins"));
        assert_eq!(old, data_of("/cache/acme/v1.10.3/tools"));
        assert_ne!(old, data_of("/cache/other/1.2.0/tools"));
        assert_ne!(old, data_of("/cache/acme/1.2.0/other"));
    }

    #[test]
    fn without_a_home_there_is_no_folder_for_data() {
        let surroundings = Surroundings {
            tried: Variables::default(),
            given: Variables::default(),
            kept: None,
            data: None,
            project: "/project".into(),
        };
        let host = surroundings.host_variables(&Plugin::default());
        assert_eq!(host.get("HOST_PLUGIN_DATA").as_deref(), Some(""));
        assert_eq!(host.get("CLAUDE_PROJECT_DIR").as_deref(), Some("/project"));
    }
}
