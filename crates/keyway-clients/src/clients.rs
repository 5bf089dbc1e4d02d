//! The MCP clients that [`crate::install`] writes to: one file each, and the table of them.
//!
//! A client is data: where its file is, under which key the servers stand, and in which syntax.
//! Each file says where these facts are from. A new client is a new file and a line in [`CLIENTS`].

mod claude_code;
mod claude_desktop;
mod cline;
mod codex;
mod continue_dev;
mod copilot_cli;
mod cursor;
mod gemini_cli;
mod goose;
mod jetbrains;
mod lm_studio;
mod opencode;
mod roo;
mod vs_code;
mod windsurf;
mod zed;

use std::path::PathBuf;

use keyway_config::environment::Environment;

/// Every client, in the order of the alphabet.
pub static CLIENTS: &[&Client] = &[
    &claude_code::CLIENT,
    &claude_desktop::CLIENT,
    &cline::CLIENT,
    &codex::CLIENT,
    &continue_dev::CLIENT,
    &copilot_cli::CLIENT,
    &cursor::CLIENT,
    &gemini_cli::CLIENT,
    &goose::CLIENT,
    &jetbrains::CLIENT,
    &lm_studio::CLIENT,
    &opencode::CLIENT,
    &roo::CLIENT,
    &vs_code::CLIENT,
    &windsurf::CLIENT,
    &zed::CLIENT,
];

/// What is known of a client.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Client {
    /// The name on the command line.
    pub name: &'static str,
    /// The name that people know.
    pub title: &'static str,
    /// Where the person's own file is.
    pub user: fn(&Homes<'_>) -> PathBuf,
    /// The same in words, for people.
    pub user_in_words: &'static str,
    /// Where a project's file is, below the project's folder; not every client has one.
    pub project: Option<&'static str>,
    /// How the file is written.
    pub syntax: Syntax,
    /// The key or table that holds the servers.
    pub key: &'static str,
    /// How an entry that starts a program is written.
    pub form: Form,
    /// The field that names a program which prints headers; not every client has one.
    pub helper: Option<&'static str>,
    /// A path by which `keyway_config` knows the file for this host's.
    pub read_as: &'static str,
    /// What the person has to do before the client sees a change.
    pub afterwards: &'static str,
    /// Where the facts are from.
    pub source: &'static str,
}

/// How a client's file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Syntax {
    /// JSON, with what the client tolerates in it.
    Json(Tolerance),
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// How an entry that starts a program is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// `command` and `args`.
    Plain,
    /// The same, and a word for the transport.
    Typed(&'static str),
    /// opencode's: the program and its arguments in one array.
    CommandArray,
    /// Copilot's: the tools have to be named.
    WithTools,
    /// Goose's: `cmd`, and the name once more.
    Goose,
    /// Continue's: an item of a list, which has a `name`.
    Named,
}

/// What a client's JSON may hold besides JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Tolerance {
    /// Nothing.
    Strict,
    /// Comments.
    Comments,
    /// Comments, and commas before closing brackets.
    Commas,
}

/// The folders and variables by which clients find their files.
#[derive(Clone)]
#[non_exhaustive]
pub struct Homes<'a> {
    /// The person's home.
    pub home: PathBuf,
    /// Where programs keep settings: `XDG_CONFIG_HOME`, or `.config` in the home.
    pub config: PathBuf,
    /// Where clients look for the names of other folders.
    pub variables: &'a (dyn Environment + Sync),
}

impl Client {
    /// Finds a client by its name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().copied().find(|client| client.name == name)
    }
}

impl<'a> Homes<'a> {
    /// Begins at the person's home; programs keep settings in its `.config` unless `config` says where.
    #[must_use]
    pub fn new(
        home: PathBuf,
        config: Option<PathBuf>,
        variables: &'a (dyn Environment + Sync),
    ) -> Self {
        let config = config.unwrap_or_else(|| home.join(".config"));
        Self {
            home,
            config,
            variables,
        }
    }

    /// Returns the folder that a variable names, if it is set and absolute.
    pub(crate) fn named(&self, variable: &str) -> Option<PathBuf> {
        let folder = PathBuf::from(self.variables.get(variable)?.expose().clone());
        folder.is_absolute().then_some(folder)
    }

    /// Returns where a desktop program keeps its settings.
    fn desktop(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            self.home.join("Library/Application Support")
        } else {
            self.config.clone()
        }
    }
}

impl std::fmt::Debug for Homes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Homes")
            .field("home", &self.home)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
