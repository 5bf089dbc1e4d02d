//! The generated key file: 64 hexadecimal digits, 0600, named after the key's public name.
//!
//! A new key gets a new file, so that no step ever overwrites the only copy of a key.

use std::fmt::Write as _;

use zeroize::Zeroizing;

use crate::error::VaultError;
use crate::folders::Folder;
use crate::seal::{Key, KeyId};

pub(super) fn name(id: &KeyId) -> String {
    format!("vault-{id}.key")
}

pub(super) fn store(config: &Folder, key: &Key) -> Result<(), VaultError> {
    let mut text = Zeroizing::new(String::with_capacity(65));
    for byte in key.expose() {
        // Writing to a string with room cannot fail.
        write!(text, "{byte:02x}").map_err(|_| VaultError::Crypto {
            action: "write a key",
        })?;
    }
    text.push('\n');
    let name = name(&key.id()?);
    if config.create(&name, text.as_bytes())? {
        Ok(())
    } else {
        let taken = std::io::ErrorKind::AlreadyExists;
        Err(VaultError::file("create", &config.path().join(name), taken))
    }
}

pub(super) fn load(config: &Folder, id: &KeyId) -> Result<Option<Key>, VaultError> {
    let name = name(id);
    let Some(contents) = config.read(&name)? else {
        return Ok(None);
    };
    Key::parse(contents.expose())
        .map(Some)
        .ok_or_else(|| VaultError::MalformedKey {
            path: config.path().join(name),
        })
}

pub(super) fn remove(config: &Folder, id: &KeyId) -> Result<(), VaultError> {
    config.remove(&name(id))
}
