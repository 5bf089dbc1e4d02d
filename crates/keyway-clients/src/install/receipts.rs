//! What was written into which file, so that it can be undone; and the files as they were.
//!
//! Both are in Keyway's own folder for data and for the owner's eyes only: what was replaced may
//! hold a credential.

use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use keyway_secret::Secret;
use serde_json::{Value, json};

use super::{ClientFile, Command, HelperEntry, InstallError, OWNER_ONLY, OwnEntry, Patch};
use crate::clients::Client;
use keyway_files::{read, write};

/// The record of everything that is installed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Receipts {
    folder: PathBuf,
    before: Option<Vec<u8>>,
    /// The receipts, in the order in which they were written.
    pub all: Vec<Receipt>,
}

/// One entry that was written.
#[derive(Clone)]
#[non_exhaustive]
pub struct Receipt {
    /// The name of the client.
    pub client: String,
    /// The file.
    pub file: PathBuf,
    /// The entry.
    pub name: String,
    /// What it is.
    pub entry: OwnEntry,
    /// The keys that lead to the entries it stands among.
    pub keys: Vec<String>,
    /// The server of the person's own plugin that was taken from the entry, or made for it.
    pub own_server: Option<String>,
    /// The plugin of the client that the entry stands in for, and the digest of its declaration.
    pub stands_for: Option<StandsFor>,
    /// Whether the file was not there before.
    pub is_new_file: bool,
    pub(super) inserted: String,
    pub(super) replaced: Secret<String>,
    pub(super) is_replacement: bool,
}

/// A server of a client's plugin in whose place an entry of ours stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StandsFor {
    /// The plugin, as the client names it.
    pub plugin: String,
    /// The server's address when the entry was written.
    pub url: String,
}

impl Receipt {
    /// Makes a receipt for a patch that is about to be written.
    #[must_use]
    pub fn new(file: &ClientFile, (name, entry): (&str, &OwnEntry), patch: &Patch) -> Self {
        Self {
            client: file.client.name.to_owned(),
            file: file.path.clone(),
            name: name.to_owned(),
            entry: entry.clone(),
            keys: file.keys.clone(),
            own_server: None,
            stands_for: None,
            is_new_file: file.before.is_none(),
            inserted: patch.inserted.clone(),
            replaced: patch.replaced.clone(),
            is_replacement: patch.is_replacement,
        }
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt")
            .field("client", &self.client)
            .field("file", &self.file)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Receipts {
    /// Reads the record below Keyway's folder for data; without one it is empty.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::Records`] for one that cannot be read: it is not replaced.
    pub fn open(data: &Path) -> Result<Self, InstallError> {
        let folder = data.join("clients");
        let path = folder.join(RECORD);
        let before = match read::bounded(&path, MAX_BYTES) {
            Ok(bytes) => Some(bytes),
            Err(keyway_files::error::LoadError::Missing { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let unreadable = || InstallError::Records {
            path: path.clone(),
            source: io::ErrorKind::InvalidData.into(),
        };
        let all = match &before {
            None => Vec::new(),
            Some(bytes) => parse(bytes).ok_or_else(unreadable)?,
        };
        Ok(Self {
            folder,
            before,
            all,
        })
    }

    /// Keeps a file as it is before it is changed; returns where.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::Records`] or [`InstallError::Write`]; the file must then stay.
    pub fn back_up(&self, file: &ClientFile) -> Result<Option<PathBuf>, InstallError> {
        let Some(before) = &file.before else {
            return Ok(None);
        };
        let folder = self.folder.join("backups");
        make(&folder)?;
        let end = file.path.extension().unwrap_or_default().to_string_lossy();
        for number in 1_u32..MOST_BACKUPS {
            let path = folder.join(format!("{}-{number:04}.{end}", file.client.name));
            match write::create(&path, before.as_bytes(), OWNER_ONLY) {
                Ok(()) => return Ok(Some(path)),
                Err(keyway_files::error::WriteError::Exists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(InstallError::Records {
            path: folder,
            source: io::ErrorKind::StorageFull.into(),
        })
    }

    /// Writes the record.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::Write`] if another process wrote it meanwhile.
    pub fn save(&mut self) -> Result<(), InstallError> {
        make(&self.folder)?;
        let path = self.folder.join(RECORD);
        let all: Vec<Value> = self.all.iter().map(Receipt::to_json).collect();
        let text = format!("{:#}\n", json!({ "version": 1, "receipts": all }));
        let text = Secret::new(text);
        let bytes = text.expose().as_bytes();
        match &self.before {
            None => write::create(&path, bytes, OWNER_ONLY)?,
            Some(before) => write::replace_private(&path, before, bytes)?,
        }
        self.before = Some(bytes.to_vec());
        Ok(())
    }
}

impl Receipt {
    fn to_json(&self) -> Value {
        let mut object = json!({
            "client": self.client,
            "file": self.file.to_string_lossy(),
            "name": self.name,
            "keys": self.keys,
            "own_server": self.own_server,
            "is_new_file": self.is_new_file,
            "is_replacement": self.is_replacement,
            "inserted": self.inserted,
            "replaced": self.replaced.expose(),
        });
        let more = match &self.entry {
            OwnEntry::Run(command) => json!({ "program": command.program, "args": command.args }),
            OwnEntry::Helper(entry) => json!({
                "transport": entry.transport, "url": entry.url, "helper": entry.helper,
            }),
        };
        let stands_for = self.stands_for.as_ref();
        let plugin = stands_for.map(|it| json!({ "plugin": it.plugin, "url": it.url }));
        if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
            object.extend(more);
            object.extend(plugin.map(|it| ("stands_for".to_owned(), it)));
        }
        object
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let texts = |key: &str| -> Option<Vec<String>> {
            let items = value.get(key)?.as_array()?.iter();
            items.map(|item| Some(item.as_str()?.to_owned())).collect()
        };
        let entry = match text("program") {
            Some(program) => OwnEntry::Run(Command {
                program,
                args: texts("args")?,
            }),
            None => OwnEntry::Helper(HelperEntry {
                transport: text("transport")?,
                url: text("url")?,
                helper: text("helper")?,
            }),
        };
        let client = text("client")?;
        // Earlier versions wrote below one key alone.
        let usual = || Some(vec![Client::by_name(&client)?.key.to_owned()]);
        let stands_for = value.get("stands_for").and_then(|it| {
            Some(StandsFor {
                plugin: it.get("plugin")?.as_str()?.to_owned(),
                url: it.get("url")?.as_str()?.to_owned(),
            })
        });
        Some(Self {
            keys: texts("keys").or_else(usual)?,
            client,
            file: text("file")?.into(),
            name: text("name")?,
            entry,
            own_server: text("own_server"),
            stands_for,
            is_new_file: value.get("is_new_file")?.as_bool()?,
            inserted: text("inserted").filter(|inserted| !inserted.is_empty())?,
            replaced: Secret::new(text("replaced")?),
            is_replacement: value.get("is_replacement")?.as_bool()?,
        })
    }
}

fn parse(bytes: &[u8]) -> Option<Vec<Receipt>> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    if value.get("version")?.as_u64()? != 1 {
        return None;
    }
    let receipts = value.get("receipts")?.as_array()?.iter();
    receipts.map(Receipt::from_json).collect()
}

pub(super) fn make(folder: &Path) -> Result<(), InstallError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| InstallError::Records {
        path: folder.to_path_buf(),
        source,
    })
}

const RECORD: &str = "installed.json";
const MAX_BYTES: usize = 16 * 1024 * 1024;
const MOST_BACKUPS: u32 = 10_000;
