//! The client certificate of this process: two files in PEM, the key perhaps encrypted.
//!
//! Such files are replaced while programs run. [`Keeper`] notices that and hands the new pair to
//! the HTTP client, once both files fit together; connections that are open stay as they are.

mod encrypted_key;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use keyway_files::read;
use keyway_secret::Secret;
use keyway_transport::{ClientIdentity, HttpClient};
use thiserror::Error;

use self::encrypted_key::KeyFault;
use crate::error::LoadError;
use crate::timeouts::IDENTITY_POLL_INTERVAL;

/// Where a certificate and its key are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Files {
    /// The certificate, then those that lead to a root.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// What opens the key, if it is encrypted.
    pub passphrase: Option<Secret<String>>,
}

/// Why there is no certificate to show. Never holds a part of the key.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] LoadError),
    /// A file is larger than any certificate.
    #[error("`{}` is too large", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
    },
    /// The key is encrypted, and there is no passphrase.
    #[error("the key in `{}` is encrypted", path.display())]
    Encrypted {
        /// Which.
        path: PathBuf,
    },
    /// The key is encrypted in a way that is not read here.
    #[error("the key in `{}` is encrypted in a way that is not supported", path.display())]
    OldEncryption {
        /// Which.
        path: PathBuf,
    },
    /// The passphrase does not open the key.
    #[error("the passphrase does not open the key in `{}`", path.display())]
    WrongPassphrase {
        /// Which.
        path: PathBuf,
    },
}

impl IdentityError {
    /// Returns what the person can do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Encrypted { .. } => Some(
                "put its passphrase into a variable and name that: --key-passphrase-env NAME"
                    .to_owned(),
            ),
            Self::OldEncryption { path } => Some(format!(
                "write it as PKCS#8: openssl pkcs8 -topk8 -v2 aes-256-cbc -in '{}' -out new.key",
                path.display()
            )),
            _ => None,
        }
    }
}

impl Files {
    /// Names both files; the key is not encrypted, unless a passphrase is added.
    #[must_use]
    pub const fn new(certificate: PathBuf, key: PathBuf) -> Self {
        Self {
            certificate,
            key,
            passphrase: None,
        }
    }

    /// Adds what opens the key.
    #[must_use]
    pub fn with_passphrase(mut self, passphrase: Option<Secret<String>>) -> Self {
        self.passphrase = passphrase;
        self
    }

    /// Reads both files and opens the key.
    ///
    /// # Errors
    ///
    /// Returns an [`IdentityError`] that names the file. Whether the two belong together is seen
    /// by the HTTP client.
    pub fn read(&self) -> Result<ClientIdentity, IdentityError> {
        let chain = bounded(&self.certificate)?;
        let key = Secret::new(bounded(&self.key)?);
        Ok(ClientIdentity::new(chain, self.open(key)?))
    }

    fn open(&self, key: Secret<Vec<u8>>) -> Result<Secret<Vec<u8>>, IdentityError> {
        let path = || self.key.clone();
        let Ok(text) = std::str::from_utf8(key.expose()) else {
            return Ok(key);
        };
        if text.contains("Proc-Type: 4,ENCRYPTED") {
            return Err(IdentityError::OldEncryption { path: path() });
        }
        let Some(block) = encrypted_block(text) else {
            return Ok(key);
        };
        let Some(passphrase) = &self.passphrase else {
            return Err(IdentityError::Encrypted { path: path() });
        };
        encrypted_key::open(block, passphrase).map_err(|fault| match fault {
            KeyFault::WrongPassphrase => IdentityError::WrongPassphrase { path: path() },
            KeyFault::Unsupported => IdentityError::OldEncryption { path: path() },
        })
    }

    /// What changes when a file is replaced or written to.
    fn stamp(&self) -> Option<Stamp> {
        let of = |path: &Path| {
            let found = fs::metadata(path).ok()?;
            let changed = (found.mtime(), found.mtime_nsec());
            Some((found.dev(), found.ino(), found.size(), changed))
        };
        Some([of(&self.certificate)?, of(&self.key)?])
    }
}

type Stamp = [(u64, u64, u64, (i64, i64)); 2];

/// Keeps an HTTP client's certificate up to date with its files.
#[derive(Debug)]
pub struct Keeper {
    files: Files,
    client: HttpClient,
    seen: Option<Stamp>,
}

impl Keeper {
    /// Watches over files that the client has just been made from.
    #[must_use]
    pub fn new(files: Files, client: HttpClient) -> Self {
        let seen = files.stamp();
        Self {
            files,
            client,
            seen,
        }
    }

    /// Looks at the files again and again, without an end.
    ///
    /// Cancel safety: it never ends by itself. Dropping the future stops it between two looks; the
    /// client keeps the certificate that it has.
    pub async fn keep(mut self) {
        loop {
            tokio::time::sleep(IDENTITY_POLL_INTERVAL).await;
            self.look();
        }
    }

    /// Takes what is new, if it is complete; else it is looked at again the next time.
    fn look(&mut self) {
        let now = self.files.stamp();
        if now.is_none() || now == self.seen {
            return;
        }
        let Ok(identity) = self.files.read() else {
            return;
        };
        // A certificate that has come before its key does not fit yet.
        if self.client.replace_identity(&identity).is_ok() {
            self.seen = now;
        }
    }
}

fn bounded(path: &Path) -> Result<Vec<u8>, IdentityError> {
    let bytes = read::bounded(path, LIMIT)?;
    if bytes.len() > LIMIT {
        let path = path.to_path_buf();
        return Err(IdentityError::TooLarge { path });
    }
    Ok(bytes)
}

/// Returns the encrypted key in a file that may hold other things as well.
fn encrypted_block(text: &str) -> Option<&str> {
    let start = text.find(BEGIN)?;
    let end = text.find(END).filter(|end| *end > start)?;
    text.get(start..end.saturating_add(END.len()))
}

const BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
const END: &str = "-----END ENCRYPTED PRIVATE KEY-----";
const LIMIT: usize = 256 * 1024;

#[cfg(test)]
#[cfg(feature = "encrypted-keys")]
mod tests;
