//! Small sealed values by name: client registrations, cached OAuth metadata, and what is used once.

use std::fmt::Debug;
use std::time::Duration;

use keyway_secret::Secret;

use crate::error::StoreError;

/// Sealed records by name, kept until they are deleted: client registrations.
///
/// Calls block.
pub trait RecordStore: Send + Sync + Debug {
    /// Returns a record; `None` for one that cannot be read, because it can be made again.
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>>;

    /// Stores a record, in place of an earlier one.
    ///
    /// # Errors
    ///
    /// Returns why it is not stored.
    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError>;

    /// Deletes a record; one that does not exist is not an error.
    ///
    /// # Errors
    ///
    /// Returns why it is still stored.
    fn delete(&self, name: &str) -> Result<(), StoreError>;
}

/// Sealed documents by name, each with a lifetime: OAuth metadata.
///
/// Calls block.
pub trait DocumentCache: Send + Sync + Debug {
    /// Returns a document that has not expired; `None` for one that cannot be read.
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>>;

    /// Stores a document for `lifetime`, in place of an earlier one.
    ///
    /// # Errors
    ///
    /// Returns why it is not stored.
    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError>;

    /// Deletes a document; one that does not exist is not an error.
    ///
    /// # Errors
    ///
    /// Returns why it is still stored.
    fn delete(&self, name: &str) -> Result<(), StoreError>;
}

/// Sealed values that are used once, each within its time: sign-ins that wait for a browser.
///
/// Calls block.
pub trait OneTimeStore: Send + Sync + Debug {
    /// Returns a value whose time is not over, and leaves it where it is.
    ///
    /// # Errors
    ///
    /// Returns why it cannot be read.
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError>;

    /// Stores a value for `lifetime`, in place of an earlier one.
    ///
    /// # Errors
    ///
    /// Returns why it is not stored.
    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError>;

    /// Removes a value whose time is not over, and returns it: of all callers, in every process,
    /// one gets it.
    ///
    /// # Errors
    ///
    /// Returns why it could not be removed; whether it was is not known then.
    fn take(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError>;
}
