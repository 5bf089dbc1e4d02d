//! Small sealed values by name: client registrations and cached OAuth metadata.

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
