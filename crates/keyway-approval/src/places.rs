//! The folders that an approval names without saying where they are.

use std::path::Path;

use keyway_config::environment::HostVariables;

use crate::link::{self, Resolver, Target};

/// The folders around an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) host: &'a HostVariables,
    pub(crate) home: Option<&'a Path>,
}

impl Places<'_> {
    /// Returns a path seen from the folder that it lies in, so that a moved home needs no new
    /// approval.
    pub(crate) fn name(&self, path: &Path) -> String {
        let HostVariables {
            plugin_root,
            bundle_of: _,
            plugin_data,
            // Another folder each day: what it leads to counts by where it is.
            project_dir: _,
            program_folders,
            defaults: _,
        } = self.host;
        let home = self.home.unwrap_or(Path::new(""));
        let known = [
            ("${HOST_PLUGIN_ROOT}", plugin_root.as_path()),
            ("${HOST_PLUGIN_DATA}", plugin_data),
            // Not a variable, so that no `cwd` can be written that reads the same. Which of them it
            // is depends on the confinement, and is not named.
            ("${HOST_PROGRAM_FOLDER}", program_folders),
            ("~", home),
        ];
        let known = known.into_iter().filter_map(|(name, folder)| {
            let is_folder = folder.components().nth(1).is_some();
            let below = path.strip_prefix(folder).ok().filter(|_| is_folder)?;
            Some((below.components().count(), name, below))
        });
        // The nearest folder, and of two that are the same the first.
        match known.min_by_key(|(distance, ..)| *distance) {
            Some((0, name, _)) => name.to_owned(),
            Some((_, name, below)) => format!("{name}/{}", below.to_string_lossy()),
            None => path.to_string_lossy().into_owned(),
        }
    }

    /// Returns where the plugin is, seen from the person's home.
    pub(crate) fn source(root: &Path, home: Option<&Path>) -> String {
        let below = home
            .filter(|home| home.components().nth(1).is_some())
            .and_then(|home| root.strip_prefix(home).ok());
        match below {
            Some(below) => format!("~/{}", below.to_string_lossy()),
            None => root.to_string_lossy().into_owned(),
        }
    }

    /// Says whether a path lies in the plugin or in a folder for its programs, by its name or by
    /// links that only the superuser can lead elsewhere.
    pub(crate) fn contain(&self, path: &Path) -> bool {
        let path = link::normal(path, &self.host.plugin_root);
        let counts: &dyn Fn(&Path) -> bool = &|path| self.hold(path);
        let stays = link::is_systems;
        let target = || Resolver { counts, stays }.resolve(Path::new("/"), &path);
        let leads_inside = |target: Target| match target {
            Target::Path(target) => target.loose.is_empty() && self.hold(&target.path),
            Target::OfProcess(_) => false,
        };
        self.hold(&path) || leads_inside(target())
    }

    /// Says whether a path leads there today, by its name or by any links.
    pub(crate) fn lead_into(&self, path: &Path) -> bool {
        let path = link::normal(path, &self.host.plugin_root);
        self.hold(&path) || std::fs::canonicalize(path).is_ok_and(|path| self.hold(&path))
    }

    /// Says whether a path without `..` lies in one of these folders by its name.
    fn hold(&self, path: &Path) -> bool {
        let own = &self.host.program_folders;
        [&self.host.plugin_root, &self.host.plugin_data, own]
            .into_iter()
            .any(|folder| !folder.as_os_str().is_empty() && path.starts_with(folder))
    }
}
