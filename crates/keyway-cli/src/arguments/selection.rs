//! Which plugins a command works on: `[PATH…]` and `--config PATH`, the same everywhere.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use keyway::error::LoadError;
use keyway::load::{Loaded, Loader};

use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;

/// The flags that select plugins.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Selection {
    /// Plugin folders or files, `-` for standard input [default: this folder, or the nearest above
    /// it in the repository]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Same as PATH
    #[arg(long, value_name = "PATH")]
    config: Vec<PathBuf>,
}

impl Selection {
    /// Selects the plugins at these paths.
    pub(crate) const fn at(paths: Vec<PathBuf>) -> Self {
        let config = Vec::new();
        Self { paths, config }
    }

    /// Reads what was selected, and tells the context of it; each path fails on its own.
    pub(crate) fn read(
        &self,
        loader: &Loader,
        context: &CommandContext,
    ) -> (Vec<Loaded>, Vec<LoadError>) {
        let mut plugins = Vec::new();
        let mut failures = Vec::new();
        for loaded in self.load(loader) {
            match loaded {
                Ok(loaded) => {
                    context.read(&loaded);
                    plugins.push(loaded);
                }
                Err(error) => failures.push(error),
            }
        }
        (plugins, failures)
    }

    /// Reads what was selected, in the order given.
    fn load(&self, loader: &Loader) -> Vec<Result<Loaded, LoadError>> {
        let selected: Vec<&PathBuf> = self.paths.iter().chain(&self.config).collect();
        if selected.is_empty() {
            return vec![loader.discover(Path::new("."))];
        }
        let on_disk = selected.iter().filter(|path| !is_stdin(path));
        let on_disk: Vec<PathBuf> = on_disk.map(|path| (*path).clone()).collect();
        let mut loaded = loader.load_all(&on_disk).into_iter();
        selected
            .iter()
            .filter_map(|path| {
                if is_stdin(path) {
                    return Some(loader.read(STDIN, io::stdin()));
                }
                loaded.next()
            })
            .collect()
    }

    /// Returns the paths that were given, in their order; none means this folder.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().chain(&self.config).map(PathBuf::as_path)
    }

    /// Says whether standard input is among them.
    pub(crate) fn reads_stdin(&self) -> bool {
        self.paths
            .iter()
            .chain(&self.config)
            .any(|path| is_stdin(path))
    }
}

/// The flag that selects one plugin, for commands that write.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct One {
    /// Plugin folder or file [default: this folder, or the nearest above it in the repository]
    #[arg(value_name = "PATH", conflicts_with = "config")]
    path: Option<PathBuf>,
    /// The same as PATH
    #[arg(long, value_name = "PATH")]
    config: Option<PathBuf>,
}

impl One {
    /// Selects the plugin at a path, or the nearest.
    pub(crate) const fn at(path: Option<PathBuf>) -> Self {
        Self { path, config: None }
    }

    /// Reads the whole plugin, and says which of its documents were selected.
    pub(crate) fn load(&self) -> Result<(Loaded, Vec<Arc<str>>), CliError> {
        let loader = Loader::default().home(ProcessEnvironment::home());
        let path = match self.path()? {
            Some(path) => path.to_path_buf(),
            None => loader.nearest_root(Path::new("."))?,
        };
        Ok(loader.load_around(&path)?)
    }

    /// Reads the plugin, or every host's files in the folder where there is none.
    pub(crate) fn load_below(&self) -> Result<Vec<Loaded>, CliError> {
        let loader = Loader::default().home(ProcessEnvironment::home());
        Ok(keyway_check::plugins_below(&loader, self.path()?)?)
    }

    fn path(&self) -> Result<Option<&Path>, CliError> {
        let path = self.path.as_deref().or(self.config.as_deref());
        if path.is_some_and(is_stdin) {
            let what = "standard input is not a plugin; name a folder or a file";
            return Err(CliError::Usage { what });
        }
        Ok(path)
    }
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of standard input in messages.
pub(crate) const STDIN: &str = "<stdin>";
