//! The keys of people, and the key that wraps them and is never handed out.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::Damage;
use keyway_store::seal::{Context, Key, KeyId};
use thiserror::Error;

use crate::error::{PostgresError, WrapError};
use crate::settings::read_private;

/// Wraps keys with a key of its own, which does not leave it.
///
/// Each person has a data key; the database keeps it wrapped. Calls may block for as long as a
/// service takes to answer: a person's key is asked for once and then kept in memory.
pub trait KeyWrapper: Send + Sync + Debug {
    /// Returns the public name of the wrapping key.
    fn id(&self) -> KeyId;

    /// Wraps a key. What it is for goes along and must be the same when it is unwrapped.
    ///
    /// # Errors
    ///
    /// Returns why it cannot be wrapped.
    fn wrap(&self, key: &Secret<[u8; 32]>, context: &[u8]) -> Result<Vec<u8>, WrapError>;

    /// Unwraps what [`wrap`](Self::wrap) returned.
    ///
    /// # Errors
    ///
    /// Returns [`WrapError::Rejected`] if it was changed, or wrapped with another key or for
    /// another purpose.
    fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Secret<[u8; 32]>, WrapError>;
}

/// Makes the public name of a wrapping key that is known by where it is: of equal parts equal names.
#[must_use]
pub fn wrapper_name(holder: &'static str, parts: &[&str]) -> Option<KeyId> {
    let place = parts
        .iter()
        .fold(Context::new(holder), |place, part| place.text(part));
    place.digest().get(..16).and_then(KeyId::from_slice)
}

/// The wrapping keys that a replica has: the one that it was given, and during a change the other.
#[derive(Clone, Debug)]
pub(crate) struct Wrappers {
    current: Arc<dyn KeyWrapper>,
    previous: Option<Arc<dyn KeyWrapper>>,
}

impl Wrappers {
    pub(crate) const fn new(
        current: Arc<dyn KeyWrapper>,
        previous: Option<Arc<dyn KeyWrapper>>,
    ) -> Self {
        Self { current, previous }
    }

    pub(crate) fn ids(&self) -> Vec<KeyId> {
        let previous = self.previous.iter();
        let all = std::iter::once(&self.current).chain(previous);
        all.map(|wrapper| wrapper.id()).collect()
    }

    pub(crate) fn current(&self) -> &dyn KeyWrapper {
        &*self.current
    }

    pub(crate) fn previous(&self) -> Option<&dyn KeyWrapper> {
        self.previous.as_deref()
    }

    /// Returns the one that a row names.
    pub(crate) fn named(&self, id: &[u8]) -> Result<&dyn KeyWrapper, PostgresError> {
        let mut all = [Some(self.current()), self.previous()]
            .into_iter()
            .flatten();
        let given = self.current.id();
        let found = all.find(|wrapper| wrapper.id().as_bytes() == id);
        found.ok_or_else(|| match KeyId::from_slice(id) {
            Some(stored) => PostgresError::OtherKey { stored, given },
            None => PostgresError::corrupt("the key of a person", Damage::UnknownFormat),
        })
    }
}

/// A wrapping key from a file or a program: 32 bytes or 64 hexadecimal digits, kept in memory.
#[derive(Debug)]
pub struct FileKey {
    key: Key,
    id: KeyId,
}

impl FileKey {
    /// Reads the key.
    ///
    /// # Errors
    ///
    /// Returns [`PostgresError::Exposed`] if others can read the file, [`PostgresError::Unreadable`]
    /// if it cannot be read, and [`PostgresError::Wrapper`] if it holds no key.
    pub fn read(path: &Path) -> Result<Self, PostgresError> {
        let text = read_private(path)?;
        let no_key = || PostgresError::Wrapper {
            source: WrapError::Away(Box::new(NoKey(path.to_owned()))),
        };
        Self::of(&Key::parse(text.expose().as_bytes()).ok_or_else(no_key)?)
    }

    /// Takes a key that the caller got elsewhere, for example from a program.
    ///
    /// # Errors
    ///
    /// Returns [`PostgresError::Seal`] if nothing can be derived from it.
    pub fn new(key: &Secret<[u8; 32]>) -> Result<Self, PostgresError> {
        Self::of(&Key::from_bytes(key.expose()))
    }

    fn of(key: &Key) -> Result<Self, PostgresError> {
        // What is derived from it wraps: the same file can serve another purpose elsewhere.
        let key = key.derive("wrap people's keys")?;
        let id = key.id()?;
        Ok(Self { key, id })
    }
}

impl KeyWrapper for FileKey {
    fn id(&self) -> KeyId {
        self.id
    }

    fn wrap(&self, key: &Secret<[u8; 32]>, context: &[u8]) -> Result<Vec<u8>, WrapError> {
        let sealed = self.key.seal(key.expose(), &place(context));
        sealed.map_err(|error| WrapError::Away(Box::new(error)))
    }

    fn unwrap(&self, wrapped: &[u8], context: &[u8]) -> Result<Secret<[u8; 32]>, WrapError> {
        let opened = self.key.open(wrapped, &place(context));
        let opened = opened.map_err(|_| WrapError::Rejected)?;
        let bytes = <[u8; 32]>::try_from(opened.expose().as_slice());
        bytes.map(Secret::new).map_err(|_| WrapError::Rejected)
    }
}

fn place(context: &[u8]) -> Context {
    Context::new("person's key").bytes(context)
}

/// A file that holds no key.
#[derive(Debug, Error)]
#[error("`{}` does not hold 64 hexadecimal digits", .0.display())]
struct NoKey(PathBuf);
