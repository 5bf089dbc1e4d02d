//! What the clients of this machine have: every entry with its scope, and which of them counts.

mod report;

use std::fmt;
use std::path::{Path, PathBuf};

use keyway_config::document::{Document, DocumentKind, Entry};
use keyway_config::source::Source;
use keyway_files::load::Loader;
use keyway_lint::literals;
use keyway_secret::printable;

use crate::claude_code::ClaudeCode;
use crate::clients::{CLIENTS, Client, Homes};
use crate::install::{
    ClientFile, InstallError, MAX_CLIENT_FILE, Receipt, Recognised, recognise_declared,
};
use keyway_files::read;

/// Where clients look: the person's folders, and the project that they work on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Machine<'a> {
    /// The person's folders.
    pub homes: Homes<'a>,
    /// The root of the project.
    pub project: PathBuf,
}

/// One client with its entries.
#[derive(Debug)]
#[non_exhaustive]
pub struct SurveyedClient {
    /// The client.
    pub client: &'static Client,
    /// The person's own file.
    pub user_file: PathBuf,
    /// Whether there is any sign of the client.
    pub is_here: bool,
    /// What it has.
    pub entries: Vec<SurveyedEntry>,
    /// Files that the client could not read either.
    pub problems: Vec<InstallError>,
}

/// An entry of a client.
#[derive(Debug)]
#[non_exhaustive]
pub struct SurveyedEntry {
    /// The name by which the client lists it.
    pub name: String,
    /// Whose it is.
    pub scope: EntryScope,
    /// Where it stands.
    pub file: PathBuf,
    /// What it is.
    pub kind: EntryKind,
    /// Whether a credential is written down in it.
    pub holds_secret: bool,
    /// The scope whose entry of the same name counts instead.
    pub shadowed_by: Option<EntryScope>,
    /// Why it cannot work, of Keyway's own entries.
    pub broken: Option<Breakage>,
}

/// Whose an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryScope {
    /// The person's, everywhere.
    User,
    /// The person's, in one project.
    Local {
        /// The project.
        project: String,
    },
    /// The project's.
    Project,
    /// A plugin's.
    Plugin {
        /// As the client names it.
        id: String,
        /// The plugin's own name.
        plugin: String,
        /// The server's name in the plugin.
        server: String,
    },
}

impl EntryScope {
    /// Returns the word for people.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Local { .. } => "local",
            Self::Project => "project",
            Self::Plugin { .. } => "plugin",
        }
    }
}

/// What an entry is.
#[derive(Debug)]
#[non_exhaustive]
pub enum EntryKind {
    /// It runs Keyway.
    Keyway,
    /// A server or a bridge to one, or a program of its own.
    Other(Recognised),
    /// The client itself skips it.
    Invalid,
}

/// Why an entry of Keyway's own cannot work.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Breakage {
    /// The program is gone.
    NoProgram(PathBuf),
    /// The plugin is gone.
    NoPlugin(PathBuf),
    /// It stands in for a server of a client's plugin that is changed, switched off or gone.
    Stale {
        /// The plugin, as the client names it.
        plugin: String,
    },
}

/// An entry of ours that does not count here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShadowedEntry {
    /// The client, as people know it.
    pub client: &'static str,
    /// The entry.
    pub name: String,
    /// The scope of the entry that counts.
    pub scope: EntryScope,
    /// The file of the entry that counts.
    pub file: PathBuf,
}

impl fmt::Display for ShadowedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, file) = (printable(&self.name), printable(&read::shown(&self.file)));
        let (client, scope) = (self.client, self.scope.as_str());
        write!(
            f,
            "in this project {client} prefers the {scope} entry `{name}` of `{file}` to this one"
        )
    }
}

impl<'a> Machine<'a> {
    /// Looks in the person's folders and in a project.
    #[must_use]
    pub const fn new(homes: Homes<'a>, project: PathBuf) -> Self {
        Self { homes, project }
    }

    /// Looks at every client.
    #[must_use]
    pub fn survey(&self) -> Vec<SurveyedClient> {
        CLIENTS.iter().map(|client| self.look_at(client)).collect()
    }

    /// Returns the entries of ours that stand in for a server of a client's plugin which is no longer
    /// what it was: the plugin has another address by now, is switched off or gone.
    pub fn stale<'r>(&self, receipts: &'r [Receipt]) -> Vec<&'r Receipt> {
        let mut receipts = receipts
            .iter()
            .filter(|it| it.stands_for.is_some())
            .peekable();
        if receipts.peek().is_none() {
            return Vec::new();
        }
        let mut found = SurveyedClient::of_plugins(&self.homes);
        found.retain(|it| matches!(it.scope, EntryScope::Plugin { .. }));
        let is_current = |receipt: &&Receipt| {
            let Some(known) = &receipt.stands_for else {
                return true;
            };
            found.iter().any(|entry| {
                let is_it = entry.name == receipt.name
                    && matches!(&entry.scope, EntryScope::Plugin { id, .. } if *id == known.plugin);
                let url = match &entry.kind {
                    EntryKind::Other(Recognised::Remote(remote)) => Some(remote.url().expose()),
                    _ => None,
                };
                is_it && url == Some(&known.url)
            })
        };
        receipts.filter(|it| !is_current(it)).collect()
    }

    /// Returns those of our entries with one of these names that do not count in this project,
    /// because the client prefers an entry of another scope.
    #[must_use]
    pub fn shadowed(&self, client: &'static Client, names: &[&str]) -> Vec<ShadowedEntry> {
        let entries = self.look_at(client).entries;
        let ours = entries
            .iter()
            .filter(|it| names.contains(&it.name.as_str()) && matches!(it.kind, EntryKind::Keyway));
        let shadowed = ours.filter_map(|ours| {
            let scope = ours.shadowed_by.clone()?;
            let mut others = entries.iter();
            let winner = others.find(|it| it.name == ours.name && it.scope == scope)?;
            Some(ShadowedEntry {
                client: client.title,
                name: ours.name.clone(),
                scope,
                file: winner.file.clone(),
            })
        });
        shadowed.collect()
    }

    /// Looks at one client.
    #[must_use]
    pub fn look_at(&self, client: &'static Client) -> SurveyedClient {
        let user_file = (client.user)(&self.homes);
        let folder = user_file.parent();
        // A folder that is not the home, nor the one of all programs, is the client's own.
        let is_own = |it: &Path| *it != self.homes.home && *it != self.homes.config;
        let has_folder = folder.is_some_and(|it| is_own(it) && it.is_dir());
        let mut found = SurveyedClient {
            client,
            is_here: user_file.exists() || has_folder,
            entries: Vec::new(),
            problems: Vec::new(),
            user_file,
        };
        let user_file = found.user_file.clone();
        found.read(&user_file, &|pointer| scope_of(pointer));
        if let Some(below) = client.project {
            let file = self.project.join(below);
            if file != user_file {
                found.read(&file, &|_| Some(EntryScope::Project));
            }
        }
        if client.name == "claude-code" {
            found
                .entries
                .extend(SurveyedClient::of_plugins(&self.homes));
        }
        found.decide(&self.project);
        found
    }
}

impl SurveyedClient {
    fn read(&mut self, path: &Path, scope: &dyn Fn(&str) -> Option<EntryScope>) {
        let bytes = match read::bounded(path, MAX_CLIENT_FILE) {
            Ok(bytes) => bytes,
            Err(keyway_files::error::LoadError::Missing { .. }) => return,
            Err(error) => return self.problems.push(error.into()),
        };
        if let Err(error) = ClientFile::read(self.client, path.to_owned()) {
            return self.problems.push(error);
        }
        let source = Source::with_limit(&read::shown(path), &bytes, MAX_CLIENT_FILE);
        let own = self.client.project.filter(|below| path.ends_with(below));
        let read_as = own.unwrap_or(self.client.read_as);
        let document = Document::parse_at(read_as, source, DocumentKind::Entries);
        let literals = literals::in_document(&document);
        for entry in &document.entries {
            let Some(scope) = scope(entry.pointer.as_str()) else {
                continue;
            };
            let mut found = surveyed(entry, scope, path);
            found.holds_secret = literals.iter().any(|literal| {
                literal.server.as_deref() == Some(&entry.name)
                    && literal.pointer.as_str().starts_with(entry.pointer.as_str())
            });
            self.entries.push(found);
        }
    }

    /// Returns the servers of Claude Code's plugins that are switched on.
    fn of_plugins(homes: &Homes<'_>) -> Vec<SurveyedEntry> {
        let mut entries = Vec::new();
        for installed in ClaudeCode::find(homes).plugins() {
            let folder = &installed.path;
            let Some(loaded) = installed.is_enabled.then(|| Loader::default().load(folder)) else {
                continue;
            };
            let Ok(loaded) = loaded else { continue };
            for (document, entry) in loaded.plugin.entries() {
                let scope = EntryScope::Plugin {
                    id: installed.id.clone(),
                    plugin: installed.name().to_owned(),
                    server: entry.name.clone(),
                };
                let path = loaded.path_of(document.source.path());
                let path = path.map_or_else(|| folder.clone(), Path::to_owned);
                let mut found = surveyed(entry, scope, &path);
                found.name = format!("plugin:{}:{}", installed.name(), entry.name);
                entries.push(found);
            }
        }
        entries
    }

    /// Says of each entry which other one of the same name counts instead.
    fn decide(&mut self, project: &Path) {
        let here = project.to_string_lossy().into_owned();
        let rank = |scope: &EntryScope| match scope {
            EntryScope::Local { project } if *project == here => Some(3),
            // In another project: it neither counts here nor is it in the way.
            EntryScope::Local { .. } => None,
            EntryScope::Project => Some(2),
            EntryScope::User => Some(1),
            EntryScope::Plugin { .. } => Some(0),
        };
        let ranked: Vec<(String, EntryScope, Option<u8>)> = self
            .entries
            .iter()
            .map(|it| (it.name.clone(), it.scope.clone(), rank(&it.scope)))
            .collect();
        for entry in &mut self.entries {
            let own = rank(&entry.scope);
            let above = ranked
                .iter()
                .filter(|(name, _, other)| *name == entry.name && own.is_some() && *other > own);
            let winner = above.max_by_key(|(_, _, other)| *other);
            entry.shadowed_by = winner.map(|(_, scope, _)| scope.clone());
        }
    }
}

fn surveyed(entry: &Entry, scope: EntryScope, path: &Path) -> SurveyedEntry {
    let mut broken = None;
    let kind = match &entry.server {
        Err(_) => EntryKind::Invalid,
        Ok(server) => match own_command(server) {
            Some(words) => {
                broken = breakage(&words);
                EntryKind::Keyway
            }
            None => EntryKind::Other(recognise_declared(server)),
        },
    };
    SurveyedEntry {
        name: entry.name.clone(),
        scope,
        file: path.to_owned(),
        kind,
        holds_secret: false,
        shadowed_by: None,
        broken,
    }
}

/// Returns the words of the command by which an entry runs Keyway; `None` if it does not.
fn own_command(server: &keyway_config::declared::DeclaredServer) -> Option<Vec<String>> {
    use keyway_config::declared::{Endpoint, HelperCommand};
    let words: Vec<String> = match &server.endpoint {
        Endpoint::Local(local) => {
            let args = local.args.iter().map(|it| it.template.as_str());
            let words = std::iter::once(local.command.template.as_str()).chain(args);
            words.map(str::to_owned).collect()
        }
        Endpoint::Remote(remote) => match &remote.helper.as_ref()?.command {
            HelperCommand::Words(words) => words
                .iter()
                .map(|it| it.template.as_str().to_owned())
                .collect(),
            HelperCommand::Program(line) | HelperCommand::Shell(line) => {
                let words = line.template.as_str().split_whitespace();
                words
                    .map(|word| word.trim_matches(['\'', '"']).to_owned())
                    .collect()
            }
        },
    };
    let program = words.first()?.rsplit('/').next()?;
    (program == "keyway").then_some(words)
}

fn breakage(words: &[String]) -> Option<Breakage> {
    let program = PathBuf::from(words.first()?);
    if program.is_absolute() && !program.is_file() {
        return Some(Breakage::NoProgram(program));
    }
    let at = words.iter().position(|word| word == "--config")?;
    let plugin = PathBuf::from(words.get(at + 1)?);
    (plugin.is_absolute() && !plugin.exists()).then_some(Breakage::NoPlugin(plugin))
}

/// Reads the scope of an entry in the person's own file out of where it stands.
fn scope_of(pointer: &str) -> Option<EntryScope> {
    let Some(rest) = pointer.strip_prefix("/projects/") else {
        return Some(EntryScope::User);
    };
    let (project, _) = rest.split_once("/mcpServers/")?;
    let project = project.replace("~1", "/").replace("~0", "~");
    Some(EntryScope::Local { project })
}
