//! Where the vault's key comes from: chosen once, recorded, never silently exchanged.
//!
//! In order: a key that the caller supplies, the source that the person chose, the OS keyring, a
//! generated file in the configuration folder. A passphrase is taken only where it was chosen: no
//! person is asked for one by surprise. The choice is written into the vault's header together with
//! the key's public name, under a seal. If the recorded source cannot be asked later, that is an
//! error and never a reason for a new key.

mod file;
mod keyring;
mod passphrase;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_secret::Secret;

use crate::Damage;
use crate::error::VaultError;
use crate::folders::{Folder, read_foreign};
use crate::key_source::SourceKind;
use crate::seal::{Context, KEY_BYTES, Key, KeyId};
use crate::unlocked_key::UnlockedKey;

pub use self::keyring::{Keyring, KeyringFailure, KeyringItem};
pub use self::passphrase::{Passphrase, PassphraseFile, PassphraseUse};

pub(crate) use self::passphrase::Cost;

/// The sources that the caller can offer.
///
/// With none of them, a key file is generated.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct KeySources {
    /// A key that the person named; it comes before everything else.
    pub explicit: Option<ExplicitKey>,
    /// The OS keyring.
    pub keyring: Option<Arc<dyn Keyring>>,
    /// How to ask a person for the passphrase.
    pub passphrase: Option<Arc<dyn Passphrase>>,
    /// What a new vault takes its key from; counts for nothing once there is one.
    pub choice: Option<SourceKind>,
    /// What another process opened this vault with; asked first, while the key is the same.
    pub unlocked: Option<UnlockedKey>,
}

impl KeySources {
    /// Offers a key that the person named.
    #[must_use]
    pub fn with_explicit(mut self, key: ExplicitKey) -> Self {
        self.explicit = Some(key);
        self
    }

    /// Offers a keyring.
    #[must_use]
    pub fn with_keyring(mut self, keyring: Arc<dyn Keyring>) -> Self {
        self.keyring = Some(keyring);
        self
    }

    /// Offers to ask for a passphrase.
    #[must_use]
    pub fn with_passphrase(mut self, passphrase: Arc<dyn Passphrase>) -> Self {
        self.passphrase = Some(passphrase);
        self
    }

    /// Says what a new vault takes its key from, where no key is named.
    #[must_use]
    pub const fn choosing(mut self, kind: SourceKind) -> Self {
        self.choice = Some(kind);
        self
    }

    /// Offers what another process opened the vault with.
    #[must_use]
    pub fn with_unlocked(mut self, key: UnlockedKey) -> Self {
        self.unlocked = Some(key);
        self
    }
}

/// A key named by the person.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ExplicitKey {
    /// A file with 32 bytes or 64 hexadecimal digits, readable by us alone.
    File(PathBuf),
    /// The same as handed out by a service manager: the superuser may own it, its group may read.
    Credential(PathBuf),
    /// Whatever the caller obtains, for example from a command.
    Supplied(Arc<dyn KeySupplier>),
}

/// Obtains the vault's key, each time the vault is opened or its key was changed.
pub trait KeySupplier: fmt::Debug + Send + Sync {
    /// Returns the key.
    ///
    /// # Errors
    ///
    /// Whatever kept the supplier from obtaining it; the text must not contain the key.
    fn supply(&self) -> std::io::Result<Secret<[u8; KEY_BYTES]>>;
}

impl KeySupplier for Secret<[u8; KEY_BYTES]> {
    fn supply(&self) -> std::io::Result<Self> {
        Ok(self.clone())
    }
}

/// How well the vault's key is protected; its `Display` is a sentence for `status`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Protection {
    /// Where the key comes from.
    pub source: SourceKind,
    /// The generated key file, where there is one.
    pub key_file: Option<PathBuf>,
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.source, &self.key_file) {
            (SourceKind::Explicit, _) => f.write_str(
                "encrypted with a key that you supply; as safe as the place where you keep it",
            ),
            (SourceKind::Keyring, _) => f.write_str(
                "encrypted with a key in the OS keyring; locked while you are logged out, and \
                 open to your other programs while it is unlocked",
            ),
            (SourceKind::Passphrase, _) => f.write_str(
                "encrypted with a key derived from your passphrase; nothing on disk opens it",
            ),
            (SourceKind::KeyFile, path) => {
                f.write_str("encrypted with a key file")?;
                if let Some(path) = path {
                    write!(f, " (`{}`)", path.display())?;
                }
                f.write_str(
                    "; protects a copy of the data folder alone, but every program that can read \
                     your files can read this key",
                )
            }
        }
    }
}

/// What the header records about the key.
#[derive(Clone, Debug)]
pub(crate) struct KeyRecord {
    pub(crate) kind: SourceKind,
    pub(crate) id: KeyId,
    pub(crate) cost: Option<Cost>,
    pub(crate) check: Vec<u8>,
}

impl KeyRecord {
    pub(crate) fn new(
        kind: SourceKind,
        key: &Key,
        cost: Option<Cost>,
        vault: &KeyId,
    ) -> Result<Self, VaultError> {
        let mut record = Self {
            kind,
            id: key.id()?,
            cost,
            check: Vec::new(),
        };
        record.check = key.derive(HEADER)?.seal(b"", &record.context(vault))?;
        Ok(record)
    }

    /// Tells a wrong key from a damaged header.
    fn verify(&self, key: &Key, vault: &KeyId) -> Result<(), VaultError> {
        if key.id()? != self.id {
            return Err(VaultError::WrongKey { from: self.kind });
        }
        key.derive(HEADER)?
            .open(&self.check, &self.context(vault))
            .map(drop)
            .map_err(|how| VaultError::corrupt("the vault's header", how))
    }

    fn context(&self, vault: &KeyId) -> Context {
        let context = Context::new("header")
            .bytes(vault.as_bytes())
            .text(self.kind.as_str())
            .bytes(self.id.as_bytes());
        match &self.cost {
            Some(cost) => cost.bind(context),
            None => context,
        }
    }
}

/// Whether the vault that a key is for exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VaultStage {
    NotMade,
    Made,
}

/// Says whether a folder shows that there was a vault: its key, or what
/// [`Locator::leave_trace`] left.
pub(crate) fn has_trace_of_a_vault(config: &Path) -> bool {
    file::any(config)
}

/// Everything that is needed to find or make the key of one vault.
pub(crate) struct Locator<'a> {
    pub(crate) sources: &'a KeySources,
    pub(crate) config: &'a Folder,
    pub(crate) vault: KeyId,
}

impl Locator<'_> {
    /// Makes the first key, from the source that was named or chosen, or else the first there is.
    ///
    /// A keyring that is locked or silent is an error: falling through to a weaker source would
    /// settle the choice for good.
    pub(crate) fn choose(&self) -> Result<(Key, KeyRecord), VaultError> {
        if self.sources.explicit.is_some() {
            return self.make_for(SourceKind::Explicit, VaultStage::NotMade);
        }
        if let Some(chosen) = self.sources.choice {
            return self.make_for(chosen, VaultStage::NotMade);
        }
        if self.sources.keyring.is_some() {
            match self.make_for(SourceKind::Keyring, VaultStage::NotMade) {
                Err(VaultError::NoKeyring { .. }) => {}
                made => return made,
            }
        }
        self.make_for(SourceKind::KeyFile, VaultStage::NotMade)
    }

    /// Completes what [`Locator::choose`] began, once the vault has its name.
    pub(crate) fn settle(&self, record: &KeyRecord) -> Result<(), VaultError> {
        match record.kind {
            SourceKind::KeyFile => file::settle(self.config, &record.id),
            _ => Ok(()),
        }
    }

    /// Leaves a trace beside the vault, so that its loss is not taken for a first use. A key file is
    /// one by itself. Failing only means that a loss would not be told.
    pub(crate) fn leave_trace(&self, record: &KeyRecord) {
        let name = file::trace(&self.vault);
        if record.kind != SourceKind::KeyFile && self.config.inspect(&name).is_ok_and(|it| !it) {
            drop(self.config.create(&name, b""));
        }
    }

    /// Makes a new key from one source, for a vault that exists.
    pub(crate) fn make(&self, kind: SourceKind) -> Result<(Key, KeyRecord), VaultError> {
        self.make_for(kind, VaultStage::Made)
    }

    fn make_for(
        &self,
        kind: SourceKind,
        stage: VaultStage,
    ) -> Result<(Key, KeyRecord), VaultError> {
        let unavailable = || VaultError::KeySourceUnavailable { recorded: kind };
        let mut cost = None;
        let key = match kind {
            SourceKind::Explicit => {
                explicit(self.sources.explicit.as_ref().ok_or_else(unavailable)?)?
            }
            SourceKind::Keyring => {
                let keyring = self.sources.keyring.as_ref().ok_or_else(unavailable)?;
                let key = Key::random()?;
                keyring::store(keyring, &self.item(key.id()?), &key)?;
                key
            }
            SourceKind::Passphrase => {
                let asked = self.sources.passphrase.as_ref().ok_or_else(unavailable)?;
                let fresh = Cost::fresh()?;
                let key = fresh.derive(&**asked, PassphraseUse::Choose)?;
                cost = Some(fresh);
                key
            }
            SourceKind::KeyFile => {
                let key = Key::random()?;
                match stage {
                    VaultStage::NotMade => file::store_pending(self.config, &key)?,
                    VaultStage::Made => file::store(self.config, &key)?,
                }
                key
            }
        };
        let record = KeyRecord::new(kind, &key, cost, &self.vault)?;
        Ok((key, record))
    }

    /// Fetches the key from the recorded source, and from no other.
    pub(crate) fn recall(&self, record: &KeyRecord) -> Result<Key, VaultError> {
        let recorded = record.kind;
        let unavailable = || VaultError::KeySourceUnavailable { recorded };
        if self.sources.explicit.is_some() && recorded != SourceKind::Explicit {
            return Err(VaultError::KeySourceDiffers { recorded });
        }
        let key = match recorded {
            SourceKind::Explicit => {
                explicit(self.sources.explicit.as_ref().ok_or_else(unavailable)?)?
            }
            SourceKind::Keyring => {
                let keyring = self.sources.keyring.as_ref().ok_or_else(unavailable)?;
                keyring::load(keyring, &self.item(record.id))?
            }
            SourceKind::Passphrase => {
                let asked = self.sources.passphrase.as_ref().ok_or_else(unavailable)?;
                let cost = record
                    .cost
                    .as_ref()
                    .ok_or_else(|| VaultError::corrupt("the vault's header", Damage::Altered))?;
                cost.derive(&**asked, PassphraseUse::Unlock)?
            }
            SourceKind::KeyFile => file::load(self.config, &record.id)?.ok_or_else(unavailable)?,
        };
        record.verify(&key, &self.vault)?;
        Ok(key)
    }

    /// Destroys a key that no longer seals anything, where it is ours to destroy.
    pub(crate) fn retire(&self, record: &KeyRecord) -> Result<(), VaultError> {
        match (record.kind, &self.sources.keyring) {
            (SourceKind::KeyFile, _) => file::remove(self.config, &record.id),
            (SourceKind::Keyring, Some(keyring)) => keyring::remove(keyring, &self.item(record.id)),
            _ => Ok(()),
        }
    }

    pub(crate) fn protection(&self, record: &KeyRecord) -> Protection {
        let key_file = (record.kind == SourceKind::KeyFile)
            .then(|| self.config.path().join(file::name(&record.id)));
        Protection {
            source: record.kind,
            key_file,
        }
    }

    fn item(&self, key: KeyId) -> KeyringItem {
        KeyringItem {
            vault: self.vault.to_string(),
            key: key.to_string(),
        }
    }
}

/// Reads a key as key files hold it: 32 bytes, or 64 hexadecimal digits with blanks around them.
#[must_use]
pub fn parse_key(text: &Secret<Vec<u8>>) -> Option<Secret<[u8; KEY_BYTES]>> {
    Key::parse(text.expose()).map(|key| Secret::new(*key.expose()))
}

fn explicit(source: &ExplicitKey) -> Result<Key, VaultError> {
    let (path, group_may_read) = match source {
        ExplicitKey::File(path) => (path, false),
        ExplicitKey::Credential(path) => (path, true),
        ExplicitKey::Supplied(supplier) => {
            let key = supplier
                .supply()
                .map_err(|source| VaultError::KeyNotSupplied { source })?;
            return Ok(Key::from_bytes(key.expose()));
        }
    };
    let contents = read_foreign(path, group_may_read)?;
    Key::parse(contents.expose()).ok_or_else(|| VaultError::MalformedKey { path: path.clone() })
}

const HEADER: &str = "header";
