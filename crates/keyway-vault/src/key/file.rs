//! The generated key file: 64 hexadecimal digits, 0600, named after the key's public name.
//!
//! A new key gets a new file, so that no step ever overwrites the only copy of a key.

use std::fmt::Write as _;
use std::path::Path;

use rustix::io::Errno;
use zeroize::Zeroizing;

use crate::error::VaultError;
use crate::folders::Folder;
use crate::seal::{Key, KeyId};

pub(super) fn name(id: &KeyId) -> String {
    format!("vault-{id}.key")
}

/// The name of a key whose vault is not there yet. It proves nothing about an earlier vault.
fn pending(id: &KeyId) -> String {
    format!("new-vault-{id}.key")
}

/// The file that says that a vault exists whose key is kept elsewhere.
pub(super) fn trace(vault: &KeyId) -> String {
    format!("vault-{vault}.made")
}

/// Says whether there is the key of a vault, or another trace of one.
pub(super) fn any(config: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(config) else {
        return false;
    };
    let is_key = |name: &str| {
        name.starts_with("vault-") && (name.ends_with(".key") || name.ends_with(".made"))
    };
    let mut names = entries.flatten().map(|entry| entry.file_name());
    names.any(|name| name.to_str().is_some_and(is_key))
}

/// Stores the key of a vault that is about to be made.
pub(super) fn store_pending(config: &Folder, key: &Key) -> Result<(), VaultError> {
    store_as(config, key, &pending(&key.id()?))
}

/// Gives a pending key its name, now that its vault is there.
pub(super) fn settle(config: &Folder, id: &KeyId) -> Result<(), VaultError> {
    let failed = |errno| VaultError::file("rename", &config.path().join(pending(id)), errno);
    match config.publish(&pending(id), &name(id)) {
        Ok(()) => config.sync(),
        // Another process was faster.
        Err(Errno::NOENT | Errno::EXIST) => Ok(()),
        Err(errno) => Err(failed(errno)),
    }
}

pub(super) fn store(config: &Folder, key: &Key) -> Result<(), VaultError> {
    store_as(config, key, &name(&key.id()?))
}

fn store_as(config: &Folder, key: &Key, name: &str) -> Result<(), VaultError> {
    let mut text = Zeroizing::new(String::with_capacity(65));
    for byte in key.expose() {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").map_err(|_| VaultError::Crypto {
            action: "write a key",
        })?;
    }
    text.push('\n');
    if config.create(name, text.as_bytes())? {
        Ok(())
    } else {
        let taken = std::io::ErrorKind::AlreadyExists;
        Err(VaultError::file("create", &config.path().join(name), taken))
    }
}

pub(super) fn load(config: &Folder, id: &KeyId) -> Result<Option<Key>, VaultError> {
    let mut name = name(id);
    let mut contents = config.read(&name)?;
    if contents.is_none() {
        // The process that made the vault may have ended before it gave the key its name.
        name = pending(id);
        contents = config.read(&name)?;
        drop(settle(config, id));
    }
    let Some(contents) = contents else {
        return Ok(None);
    };
    Key::parse(contents.expose())
        .map(Some)
        .ok_or_else(|| VaultError::DamagedKeyFile {
            path: config.path().join(name),
        })
}

pub(super) fn remove(config: &Folder, id: &KeyId) -> Result<(), VaultError> {
    config.remove(&pending(id))?;
    config.remove(&name(id))
}
