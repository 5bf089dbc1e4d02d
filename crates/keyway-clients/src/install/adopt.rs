//! The plugin folder that takes over servers from clients' files.
//!
//! The value of every header becomes a variable, and so does a credential inside the address. The
//! values are for the vault: the caller keeps them there before the file is written, and nothing of
//! them is in `.mcp.json`.

mod values;

use std::fs;
use std::path::{Path, PathBuf};

use keyway_config::declared::{DeclaredServer, Endpoint};
use keyway_config::document::{Document, DocumentKind, Wrapper};
use keyway_config::env_file;
use keyway_config::environment::Environment;
use keyway_config::plugin::Plugin;
use keyway_config::source::{MAX_BYTES, Source};
use keyway_lint::literals;
use keyway_lint::migrate::env::plan_named;
use keyway_lint::migrate::{PluginFiles, Selection, VariableNaming};
use keyway_secret::Secret;

use self::values::Values;
use super::receipts::make;
use super::value::Value;
use super::{Command, InstallError, LocalProgram, Patch, Remote, json};
use crate::clients::Tolerance;
use keyway_files::error::{LoadError, WriteError};
use keyway_files::{read, write};

/// A plugin folder that servers are moved to. `Debug` leaves texts out.
pub struct Home {
    folder: PathBuf,
    /// `.mcp.json`, before and after.
    document: (Option<String>, String),
    /// What goes to the vault, as lines of an env file: a form that both ends know.
    values: Option<Secret<String>>,
}

/// What became of one server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Adoption {
    /// Its name in the plugin folder.
    pub server: String,
    /// The variables that hold what stood in the client's file.
    pub variables: Vec<String>,
}

impl Home {
    /// Reads a folder, which need not be there.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] for files that cannot be added to.
    pub fn open(folder: &Path) -> Result<Self, InstallError> {
        let document = text(&folder.join(DOCUMENT))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            document: (document.clone(), document.unwrap_or_default()),
            values: None,
        })
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the values that the vault has to keep, by the names of their variables.
    #[must_use]
    pub fn values(&self) -> Vec<(String, Secret<String>)> {
        let text = self.values.as_ref().map_or("", |values| values.expose());
        let values = env_file::parse(text);
        let names = values.names().into_iter();
        names
            .filter_map(|name| Some((name.clone(), values.get(&name)?)))
            .collect()
    }

    /// Returns the file that holds the entries, its text as it was and as it will be.
    #[must_use]
    pub fn document(&self) -> (PathBuf, Option<&str>, &str) {
        let (before, after) = &self.document;
        (self.folder.join(DOCUMENT), before.as_deref(), after)
    }

    /// Takes a server over.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if one of its values cannot be kept; nothing is changed then.
    pub fn adopt(
        &mut self,
        name: &str,
        remote: &Remote,
        environment: &dyn Environment,
    ) -> Result<Adoption, InstallError> {
        let mut values = Values {
            server: name,
            environment,
            env: self.values.clone(),
            variables: Vec::new(),
        };
        let mut headers = Vec::new();
        for (header, value) in &remote.headers {
            headers.push((header.clone(), Value::Text(values.header(header, value)?)));
        }
        let url = values.address(remote.url.expose())?;
        let oauth = oauth(remote, &mut values)?;
        let Values {
            env, mut variables, ..
        } = values;
        let mut members = vec![
            ("type".to_owned(), Value::Text(remote.transport.to_owned())),
            ("url".to_owned(), Value::Text(url)),
        ];
        if !headers.is_empty() {
            members.push(("headers".to_owned(), Value::Members(headers)));
        }
        if !oauth.is_empty() {
            members.push(("oauth".to_owned(), Value::Members(oauth)));
        }
        let (server, text) = self.with_entry(name, &Value::Members(members))?;
        let (text, env) = moved(&server, text, env, environment, &mut variables)?;
        self.document.1 = text;
        self.values = env;
        Ok(Adoption { server, variables })
    }

    /// Takes a program over. Its literal credentials become variables, other texts stay.
    ///
    /// # Errors
    ///
    /// As [`Self::adopt`].
    pub fn adopt_program(
        &mut self,
        name: &str,
        program: &LocalProgram,
        environment: &dyn Environment,
    ) -> Result<Adoption, InstallError> {
        let LocalProgram {
            command,
            args,
            env,
            cwd,
        } = program;
        let text = |text: &Secret<String>| Value::Text(text.expose().clone());
        let args = args.iter().map(|it| it.expose().clone()).collect();
        let mut members = vec![
            ("type".to_owned(), Value::Text("stdio".to_owned())),
            ("command".to_owned(), text(command)),
            ("args".to_owned(), Value::Texts(args)),
        ];
        if !env.is_empty() {
            let env = env.iter().map(|(name, value)| (name.clone(), text(value)));
            members.push(("env".to_owned(), Value::Members(env.collect())));
        }
        if let Some(cwd) = cwd {
            members.push(("cwd".to_owned(), text(cwd)));
        }
        let mut variables = Vec::new();
        let (server, document) = self.with_entry(name, &Value::Members(members))?;
        let values = self.values.clone();
        let (document, values) = moved(&server, document, values, environment, &mut variables)?;
        self.document.1 = document;
        self.values = values;
        Ok(Adoption { server, variables })
    }

    /// Adds an entry that starts a program.
    ///
    /// # Errors
    ///
    /// As [`Self::adopt`].
    pub fn add_program(&mut self, name: &str, command: &Command) -> Result<String, InstallError> {
        let members = vec![
            ("type".to_owned(), Value::Text("stdio".to_owned())),
            ("command".to_owned(), Value::Text(command.program.clone())),
            ("args".to_owned(), Value::Texts(command.args.clone())),
        ];
        let (server, text) = self.with_entry(name, &Value::Members(members))?;
        self.document.1 = text;
        Ok(server)
    }

    /// Removes an entry; says whether there was one.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::NoPlace`] if it cannot be cut out alone.
    pub fn remove(&mut self, name: &str) -> Result<bool, InstallError> {
        let source = Source::new(DOCUMENT, self.document.1.as_bytes());
        if !self.names().iter().any(|own| own == name) {
            return Ok(false);
        }
        let keys = ["mcpServers".to_owned()];
        let patch = json::take(&source, &keys, name, None)?;
        self.document.1 = patch.apply(source.text());
        Ok(true)
    }

    /// Removes entries that are there, and writes the file if there were any.
    ///
    /// # Errors
    ///
    /// As [`Self::remove`] and [`Self::write`].
    pub fn remove_all(&mut self, names: &[impl AsRef<str>]) -> Result<(), InstallError> {
        let mut is_changed = false;
        for name in names {
            is_changed |= self.remove(name.as_ref())?;
        }
        if is_changed {
            self.write()?;
        }
        Ok(())
    }

    /// Returns the names of the entries.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let source = Source::new(DOCUMENT, self.document.1.as_bytes());
        let document = Document::parse(source, DocumentKind::Entries);
        document
            .entries
            .into_iter()
            .map(|entry| entry.name)
            .collect()
    }

    /// Returns the name of an entry for an address, if there is one.
    #[must_use]
    pub fn name_at(&self, url: &str) -> Option<String> {
        let source = Source::new(DOCUMENT, self.document.1.as_bytes());
        let document = Document::parse(source, DocumentKind::Entries);
        let mut servers = document.servers();
        let is_it = |server: &&DeclaredServer| match &server.endpoint {
            Endpoint::Remote(remote) => remote.url.template.as_str() == url,
            Endpoint::Local(_) => false,
        };
        Some(servers.find(is_it)?.name.clone())
    }

    /// Writes the entries. Returns the files that were written.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] if the file cannot be written.
    pub fn write(&self) -> Result<Vec<PathBuf>, InstallError> {
        make(&self.folder)?;
        let path = self.folder.join(DOCUMENT);
        let (before, after) = &self.document;
        match before {
            Some(before) if before == after => return Ok(Vec::new()),
            Some(before) => write::replace(&path, before.as_bytes(), after.as_bytes())?,
            None => write::create(&path, after.as_bytes(), READABLE)?,
        }
        Ok(vec![path])
    }

    fn with_entry(&self, name: &str, entry: &Value) -> Result<(String, String), InstallError> {
        let source = Source::new(DOCUMENT, self.document.1.as_bytes());
        let document = Document::parse(source.clone(), DocumentKind::Entries);
        let is_bare = document.wrapper == Wrapper::Bare && !document.entries.is_empty();
        if is_bare {
            let path = read::shown(&self.folder.join(DOCUMENT));
            return Err(InstallError::NoPlace { path });
        }
        let is_taken = |name: &String| document.entries.iter().any(|entry| entry.name == *name);
        let numbered = (2..MOST_NAMES).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let name = names.find(|name| !is_taken(name));
        let name = name.unwrap_or_default();
        let keys = ["mcpServers".to_owned()];
        let patch: Patch = json::put(&source, (&keys, Tolerance::Strict), &name, entry)?;
        Ok((name, patch.apply(source.text())))
    }
}

/// Writes the settings of OAuth; a client's secret becomes a variable.
fn oauth(remote: &Remote, values: &mut Values<'_>) -> Result<Vec<(String, Value)>, InstallError> {
    let mut members = Vec::new();
    for (key, value) in &remote.oauth {
        let text = match key.as_str() {
            "clientSecret" => values.header("CLIENT_SECRET", value)?,
            _ => value.expose().clone(),
        };
        members.push((key.clone(), Value::Text(text)));
    }
    if !remote.scopes.is_empty() {
        members.push(("scopes".to_owned(), Value::Text(remote.scopes.join(" "))));
    }
    if let Some(port) = remote.callback_port {
        members.push(("callbackPort".to_owned(), Value::Raw(port.to_string())));
    }
    Ok(members)
}

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// Moves what is left of literal credentials to variables as well: those that the address shows by
/// their shape alone, and all of a program.
fn moved(
    server: &str,
    text: String,
    env: Option<Secret<String>>,
    environment: &dyn Environment,
    variables: &mut Vec<String>,
) -> Result<(String, Option<Secret<String>>), InstallError> {
    let literals = |text: &str| {
        let source = Source::new(DOCUMENT, text.as_bytes());
        let document = Document::parse(source, DocumentKind::Entries);
        let found = literals::in_document(&document);
        let of_server = found
            .iter()
            .filter(|literal| literal.server.as_deref() == Some(server));
        (of_server.count(), document)
    };
    let (count, document) = literals(&text);
    if count == 0 {
        return Ok((text, env));
    }
    let plugin = Plugin::new("", vec![document]);
    let files = [DOCUMENT.into()];
    let scope = Selection::new(&plugin, &files, Some(server));
    let mut around = PluginFiles::default();
    around.env.clone_from(&env);
    around.env_is_ignored = true;
    let plan = plan_named(&scope, environment, &around, VariableNaming::ByServer);
    variables.extend(plan.variables().into_iter().map(str::to_owned));
    let text = plan.documents.first().map(|change| change.after.clone());
    let text = text.filter(|text| literals(text).0 == 0);
    let text = text.ok_or_else(|| InstallError::CredentialNotMoved {
        name: server.to_owned(),
    })?;
    Ok((text, plan.env.map(|env| env.after).or(env)))
}

fn text(path: &Path) -> Result<Option<String>, InstallError> {
    let not_text = || LoadError::NotText {
        path: read::shown(path),
    };
    match read::bounded(path, MAX_BYTES) {
        Ok(bytes) if bytes.len() <= MAX_BYTES => {
            let text = String::from_utf8(bytes).map_err(|_| not_text())?;
            Ok(Some(text))
        }
        Ok(_) => Err(not_text().into()),
        Err(LoadError::Missing { .. }) if fs::symlink_metadata(path).is_ok() => {
            let path = path.to_path_buf();
            Err(WriteError::Exists { path }.into())
        }
        Err(LoadError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

const DOCUMENT: &str = ".mcp.json";
const READABLE: u32 = 0o644;
const MOST_NAMES: u32 = 1000;
