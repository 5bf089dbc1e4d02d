//! Taking over the remote servers that clients have, and programs whose entries hold a credential.
//!
//! A server becomes an entry of the person's own plugin, its literal credentials become variables for
//! the vault, and the client's entry becomes one of ours under the same name. Nothing is written
//! before [`Takeover::write`], and every byte can be restored afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use keyway_config::environment::Environment;
use keyway_secret::printable;
use thiserror::Error;

use crate::claude_code::{ClaudeCode, is_trusted};
use crate::clients::CLIENTS;
use crate::install::{
    ClientFile, Home, InstallError, LocalProgram, OwnEntry, Receipt, Receipts, Recognised, Remote,
    StandsFor, entry_name,
};
use crate::own_entries::{OwnEntries, Via, is_plain};
use crate::survey::{EntryKind, EntryScope, Machine, ShadowedEntry, SurveyedClient, SurveyedEntry};

/// Servers that are taken over from clients.
#[derive(Debug)]
pub struct Takeover<'a> {
    machine: &'a Machine<'a>,
    entries: OwnEntries,
    via: Via,
    /// Whether the project's own files are changed as well.
    with_project: bool,
    home: Home,
    records: Receipts,
    files: BTreeMap<PathBuf, (ClientFile, Vec<Receipt>)>,
    notes: Vec<TakeoverNote>,
    servers: Vec<String>,
}

/// Where an entry of ours goes.
#[derive(Debug)]
struct Target {
    file: PathBuf,
    keys: Vec<String>,
    /// Whether others read the file too.
    is_shared: bool,
}

/// Why an entry stays, or what a person has to do for one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TakeoverNote {
    /// A file of the client cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The entry has an option that has no counterpart.
    #[error(
        "`{}` of {client} has `{}`, which Keyway does not take over; keeping it",
        printable(name),
        printable(option)
    )]
    Unsupported {
        /// The entry.
        name: String,
        /// The client, as people know it.
        client: &'static str,
        /// The option.
        option: String,
    },
    /// The program is given variables that only its client fills in.
    #[error(
        "`{}` of {client} uses variables that only {client} knows; keeping it",
        printable(name)
    )]
    OwnVariables {
        /// The entry.
        name: String,
        /// The client, as people know it.
        client: &'static str,
    },
    /// An entry of ours would not count.
    #[error("{client} reads `{}` from {} first, which belongs to the project; keeping it, `--project` takes it over there", printable(name), printable(&file.to_string_lossy()))]
    ProjectFirst {
        /// The entry.
        name: String,
        /// The client, as people know it.
        client: &'static str,
        /// The project's file.
        file: PathBuf,
    },
    /// An entry of the project's has a header, whose value others would not have.
    #[error("`{}` of {client} in {} has a header, which is each person's own; keeping it", printable(name), printable(&file.to_string_lossy()))]
    ProjectHeaders {
        /// The entry.
        name: String,
        /// The client, as people know it.
        client: &'static str,
        /// The project's file.
        file: PathBuf,
    },
    /// Claude Code runs no helper in a folder that is not trusted.
    #[error(
        "Claude Code runs no helper for `{}` before you trust this folder: start `claude` here once",
        printable(name)
    )]
    FolderNotTrusted {
        /// The entry.
        name: String,
    },
}

/// What was written.
#[derive(Debug)]
#[non_exhaustive]
pub struct TakenOver {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The servers of the person's own plugin, each once, in the order of the alphabet.
    pub servers: Vec<String>,
    /// Entries that do not count, since one of another scope stands above.
    pub shadowed: Vec<ShadowedEntry>,
}

impl<'a> Takeover<'a> {
    /// Begins with the person's own plugin in `own`, and the record below Keyway's folder for data.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if one of them cannot be read.
    pub fn open(
        machine: &'a Machine<'a>,
        (own, data): (&Path, &Path),
        entries: OwnEntries,
    ) -> Result<Self, InstallError> {
        Ok(Self {
            machine,
            entries,
            via: Via::default(),
            with_project: false,
            home: Home::open(own)?,
            records: Receipts::open(data)?,
            files: BTreeMap::new(),
            notes: Vec::new(),
            servers: Vec::new(),
        })
    }

    /// Sets how clients that have a choice reach the servers.
    pub const fn set_via(&mut self, via: Via) {
        self.via = via;
    }

    /// Sets whether the project's own files of clients are changed as well, which others read too.
    pub const fn set_project(&mut self, with_project: bool) {
        self.with_project = with_project;
    }

    /// Plans what becomes of a client's entries. A variable that `known` has is not used for another
    /// value.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if a file cannot be changed.
    pub fn add(
        &mut self,
        surveyed: &SurveyedClient,
        known: &dyn Environment,
    ) -> Result<(), InstallError> {
        for problem in &surveyed.problems {
            let problem = problem.to_string();
            self.notes.push(TakeoverNote::Unreadable(problem));
        }
        for entry in &surveyed.entries {
            let remote = match &entry.kind {
                EntryKind::Other(Recognised::Remote(remote)) => remote,
                EntryKind::Other(Recognised::Unsupported { option }) => {
                    self.notes.push(TakeoverNote::Unsupported {
                        name: entry.name.clone(),
                        client: surveyed.client.title,
                        option: option.clone(),
                    });
                    continue;
                }
                _ => continue,
            };
            if let Some(target) = self.target(surveyed, (entry, remote)) {
                self.replace(surveyed, (entry, Taken::Remote(remote)), (&target, known))?;
            }
        }
        Ok(())
    }

    /// Plans what becomes of the programs of a client whose entries hold a credential.
    ///
    /// # Errors
    ///
    /// As [`Takeover::add`].
    pub fn add_programs(
        &mut self,
        surveyed: &SurveyedClient,
        known: &dyn Environment,
    ) -> Result<(), InstallError> {
        let is_one = |entry: &&SurveyedEntry| {
            let is_program = matches!(entry.kind, EntryKind::Other(Recognised::Other));
            is_program && entry.holds_secret && entry.scope == EntryScope::User
        };
        for entry in surveyed.entries.iter().filter(is_one) {
            let document = ClientFile::read(surveyed.client, entry.file.clone())?.document();
            let mut servers = document.servers();
            let server = servers.find(|server| server.name == entry.name);
            let Some(program) = server.and_then(LocalProgram::of) else {
                self.notes.push(TakeoverNote::OwnVariables {
                    name: entry.name.clone(),
                    client: surveyed.client.title,
                });
                continue;
            };
            let target = Target {
                file: surveyed.user_file.clone(),
                keys: vec![surveyed.client.key.to_owned()],
                is_shared: false,
            };
            let taken = Taken::Program(&program);
            self.replace(surveyed, (entry, taken), (&target, known))?;
        }
        Ok(())
    }

    /// Says whether nothing would change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns what a person should know before it is written.
    #[must_use]
    pub fn notes(&self) -> &[TakeoverNote] {
        &self.notes
    }

    /// Returns the person's own plugin as it would be. Its values are for the vault: they have to be
    /// there before [`Takeover::write`].
    #[must_use]
    pub const fn home(&self) -> &Home {
        &self.home
    }

    /// Returns the files of clients as they would be, with the entries of ours in each.
    pub fn files(&self) -> impl Iterator<Item = (&ClientFile, Vec<&OwnEntry>)> {
        let files = self.files.values();
        files.map(|(file, receipts)| (file, receipts.iter().map(|it| &it.entry).collect()))
    }

    /// Returns where an entry of ours wins; `None` if nowhere.
    fn target(
        &mut self,
        surveyed: &SurveyedClient,
        (entry, remote): (&SurveyedEntry, &Remote),
    ) -> Option<Target> {
        let of_person = |keys: &[&str]| {
            Some(Target {
                file: surveyed.user_file.clone(),
                keys: keys.iter().map(|key| (*key).to_owned()).collect(),
                is_shared: false,
            })
        };
        let usual = [surveyed.client.key];
        match &entry.scope {
            EntryScope::User | EntryScope::Plugin { .. } => of_person(&usual),
            EntryScope::Local { project } => of_person(&["projects", project, "mcpServers"]),
            EntryScope::Project if surveyed.client.name == "claude-code" => {
                let project = self.machine.project.to_string_lossy();
                of_person(&["projects", &project, "mcpServers"])
            }
            // Its fields are merged with those of the project, which has the address.
            EntryScope::Project if surveyed.client.name == "codex" && self.via == Via::Direct => {
                of_person(&usual)
            }
            EntryScope::Project if self.with_project && is_plain(remote) => Some(Target {
                file: entry.file.clone(),
                keys: vec![surveyed.client.key.to_owned()],
                is_shared: true,
            }),
            EntryScope::Project => {
                let (name, file) = (entry.name.clone(), entry.file.clone());
                let client = surveyed.client.title;
                self.notes.push(if self.with_project {
                    TakeoverNote::ProjectHeaders { name, client, file }
                } else {
                    TakeoverNote::ProjectFirst { name, client, file }
                });
                None
            }
        }
    }

    fn replace(
        &mut self,
        surveyed: &SurveyedClient,
        (entry, taken): (&SurveyedEntry, Taken<'_>),
        (target, known): (&Target, &dyn Environment),
    ) -> Result<(), InstallError> {
        let path = target.file.clone();
        if !self.files.contains_key(&path) {
            let file = ClientFile::read(surveyed.client, path.clone())?;
            self.files.insert(path.clone(), (file, Vec::new()));
        }
        let keys: Vec<&str> = target.keys.iter().map(String::as_str).collect();
        let is_ours = self.files.get_mut(&path).map(|(file, _)| {
            file.turn_to(&keys);
            let entries = file.entries();
            entries.map(|all| {
                all.iter()
                    .any(|it| it.name == entry.name && it.runs_keyway())
            })
        });
        if is_ours.transpose()?.unwrap_or(false) {
            self.files.retain(|_, (_, receipts)| !receipts.is_empty());
            return Ok(());
        }
        let (server, own) = match taken {
            Taken::Remote(remote) => {
                let server = self.own_server(entry, remote, known)?;
                let own = if target.is_shared {
                    OwnEntries::anywhere(remote)
                } else {
                    let way = (self.via, remote);
                    self.entries.entry(surveyed.client, &server, way)
                };
                (server, own)
            }
            Taken::Program(program) => {
                let name = entry_name(&entry.name);
                let server = self.home.adopt_program(&name, program, known)?.server;
                self.servers.push(server.clone());
                let own = self.entries.run(&server);
                (server, own)
            }
        };
        let Some((file, receipts)) = self.files.get_mut(&path) else {
            return Ok(());
        };
        let patch = file.put(&entry.name, &own)?;
        let mut receipt = Receipt::new(file, (&entry.name, &own), &patch);
        receipt.own_server = Some(server);
        if let (EntryScope::Plugin { id, .. }, Taken::Remote(remote)) = (&entry.scope, taken) {
            receipt.stands_for = Some(StandsFor {
                plugin: id.clone(),
                url: remote.url().expose().clone(),
            });
        }
        receipts.push(receipt);
        let project = self.machine.project.to_string_lossy();
        if matches!(own, OwnEntry::Helper(_))
            && entry.scope == EntryScope::Project
            && !is_trusted(&path, &project)
        {
            let name = entry.name.clone();
            self.notes.push(TakeoverNote::FolderNotTrusted { name });
        }
        Ok(())
    }

    /// Returns the server of the person's own plugin for an entry; one address is one server.
    fn own_server(
        &mut self,
        entry: &SurveyedEntry,
        remote: &Remote,
        known: &dyn Environment,
    ) -> Result<String, InstallError> {
        let there = self.home.name_at(remote.url().expose());
        if let Some(name) = there.filter(|_| remote.has_no_headers()) {
            self.servers.push(name.clone());
            return Ok(name);
        }
        let name = match &entry.scope {
            EntryScope::Plugin { plugin, server, .. } if plugin == server => server.clone(),
            EntryScope::Plugin { plugin, server, .. } => format!("{plugin}-{server}"),
            _ => entry.name.clone(),
        };
        let adopted = self.home.adopt(&entry_name(&name), remote, known)?;
        self.servers.push(adopted.server.clone());
        Ok(adopted.server)
    }

    /// Writes everything: what entries need before the entries, and the record of the change before
    /// the change.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`]; the record then has what is needed to undo what was written.
    pub fn write(mut self) -> Result<TakenOver, InstallError> {
        let mut written = self.home.write()?;
        let files: Vec<(ClientFile, Vec<Receipt>)> =
            std::mem::take(&mut self.files).into_values().collect();
        for (file, _) in &files {
            written.extend(self.records.back_up(file)?);
        }
        for (_, receipts) in &files {
            self.records.all.extend(receipts.iter().cloned());
        }
        self.records.save()?;
        for (file, _) in &files {
            file.write(false)?;
            written.push(file.path().to_path_buf());
        }
        let receipts: Vec<&Receipt> = files.iter().flat_map(|(_, it)| it).collect();
        let of_claude = receipts.iter().filter(|it| it.client == "claude-code");
        let names: Vec<String> = of_claude.map(|it| it.name.clone()).collect();
        ClaudeCode::find(&self.machine.homes).forget_needs_auth(&names)?;
        self.servers.sort_unstable();
        self.servers.dedup();
        Ok(TakenOver {
            files: written,
            shadowed: shadowed(self.machine, &receipts),
            servers: self.servers,
        })
    }
}

/// What is taken over.
#[derive(Clone, Copy)]
enum Taken<'a> {
    Remote(&'a Remote),
    Program(&'a LocalProgram),
}

/// Looks again which entries count: one of another scope may stand above ours.
fn shadowed(machine: &Machine<'_>, receipts: &[&Receipt]) -> Vec<ShadowedEntry> {
    let mut found = Vec::new();
    for client in CLIENTS {
        let ours = receipts.iter().filter(|it| it.client == client.name);
        let names: Vec<&str> = ours.map(|it| it.name.as_str()).collect();
        if !names.is_empty() {
            found.extend(machine.shadowed(client, &names));
        }
    }
    found
}
