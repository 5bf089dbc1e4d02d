//! The plugin folder that takes over servers from `mcp-remote`.
//!
//! Every header that stood on a command line becomes a variable whose value is kept in a private,
//! ignored `.env`, and so does a credential inside the address. Nothing of it is in `.mcp.json`.

mod values;

use std::fs;
use std::path::{Path, PathBuf};

use keyway_config::document::{Document, DocumentKind, Wrapper};
use keyway_config::environment::Environment;
use keyway_config::plugin::Plugin;
use keyway_config::source::{MAX_BYTES, Source};
use keyway_lint::literals;
use keyway_lint::migrate::env::plan_named;
use keyway_lint::migrate::{PluginFiles, Selection, VariableNaming};
use keyway_secret::Secret;

use self::values::Values;
use super::json::Value;
use super::receipts::make;
use super::{InstallError, OWNER_ONLY, Patch, Remote, json};
use crate::clients::Tolerance;
use keyway::error::{LoadError, WriteError};
use keyway::{migrate, read, write};

/// A plugin folder that servers are moved to. `Debug` leaves texts out.
pub struct Home {
    folder: PathBuf,
    document: (Option<String>, String),
    env: (Option<Secret<String>>, Option<Secret<String>>),
    ignore: Option<String>,
}

/// What became of one server.
#[derive(Debug, Clone)]
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
        let env = text(&folder.join(ENV))?.map(Secret::new);
        Ok(Self {
            folder: folder.to_path_buf(),
            document: (document.clone(), document.unwrap_or_default()),
            env: (env.clone(), env),
            ignore: text(&folder.join(IGNORE))?,
        })
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the file that holds the values.
    #[must_use]
    pub fn env_file(&self) -> PathBuf {
        self.folder.join(ENV)
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
            path: self.env_file(),
            environment,
            env: self.env.1.clone(),
            variables: Vec::new(),
        };
        let mut headers = Vec::new();
        for (header, value) in &remote.headers {
            headers.push((header.clone(), Value::Text(values.header(header, value)?)));
        }
        let url = values.address(remote.url.expose())?;
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
        let (server, text) = self.with_entry(name, &Value::Members(members))?;
        let (text, env) = moved(&server, text, env, environment, &mut variables)?;
        self.document.1 = text;
        self.env.1 = env;
        Ok(Adoption { server, variables })
    }

    /// Writes the folder: first what keeps the values out of version control, then the values,
    /// then the entries. Returns the files that were written.
    ///
    /// # Errors
    ///
    /// Returns an [`InstallError`] at the first file that cannot be written.
    pub fn write(&self) -> Result<Vec<PathBuf>, InstallError> {
        make(&self.folder)?;
        let mut written = Vec::new();
        let (env_before, env_after) = &self.env;
        if let Some(after) = env_after {
            self.write_ignore(&mut written)?;
            let path = self.env_file();
            let bytes = after.expose().as_bytes();
            match env_before {
                Some(before) => write::replace_private(&path, before.expose().as_bytes(), bytes)?,
                None => write::create(&path, bytes, OWNER_ONLY)?,
            }
            written.push(path);
        }
        let path = self.folder.join(DOCUMENT);
        let (before, after) = &self.document;
        match before {
            Some(before) if before == after => return Ok(written),
            Some(before) => write::replace(&path, before.as_bytes(), after.as_bytes())?,
            None => write::create(&path, after.as_bytes(), READABLE)?,
        }
        written.push(path);
        Ok(written)
    }

    /// Makes sure that `.env` is ignored, and is a file that may be written.
    fn write_ignore(&self, written: &mut Vec<PathBuf>) -> Result<(), InstallError> {
        let not_kept = || InstallError::NotKept {
            name: ENV.to_owned(),
            path: read::shown(&self.folder),
        };
        if migrate::env_obstacle(&self.folder).is_some() {
            return Err(not_kept());
        }
        if migrate::is_ignored(&self.folder) {
            return Ok(());
        }
        let path = self.folder.join(IGNORE);
        match &self.ignore {
            None => write::create(&path, IGNORED.as_bytes(), READABLE)?,
            Some(before) => {
                let end = if before.is_empty() || before.ends_with('\n') {
                    ""
                } else {
                    "\n"
                };
                let after = format!("{before}{end}{IGNORED}");
                write::replace(&path, before.as_bytes(), after.as_bytes())?;
            }
        }
        written.push(path);
        if migrate::is_ignored(&self.folder) {
            return Ok(());
        }
        Err(not_kept())
    }

    /// Returns the document with one more entry, and the name that was free.
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
        let place = ("mcpServers", Tolerance::Strict);
        let patch: Patch = json::put(&source, place, &name, entry)?;
        Ok((name, patch.apply(source.text())))
    }
}

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// Moves what is left of literal credentials, those that the address shows by their shape alone, to
/// variables as well.
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
    let plugin = Plugin {
        documents: vec![document],
        ..Plugin::default()
    };
    let scope = Selection {
        plugin: &plugin,
        files: &[DOCUMENT.into()],
        server: Some(server),
    };
    let around = PluginFiles {
        env: env.clone(),
        env_is_ignored: true,
        ..PluginFiles::default()
    };
    let plan = plan_named(&scope, environment, &around, VariableNaming::ByServer);
    variables.extend(plan.variables().into_iter().map(str::to_owned));
    let text = plan.documents.first().map(|change| change.after.clone());
    let text = text.filter(|text| literals(text).0 == 0);
    let text = text.ok_or_else(|| InstallError::CredentialInAddress {
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
const ENV: &str = ".env";
const IGNORE: &str = ".gitignore";
const IGNORED: &str = ".env\n";
const READABLE: u32 = 0o644;
const MOST_NAMES: u32 = 1000;
