//! Sealed values by name that can be listed: variables and approvals, of a person or of all.

use std::fmt::Debug;
use std::sync::Arc;

use keyway_secret::Secret;

use crate::error::StoreError;
use crate::grant_store::ChangeFeed;

/// A value with its name.
pub type NamedValue = (String, Secret<Vec<u8>>);

/// Sealed values of one owner and one kind, by name, kept until they are deleted.
///
/// Unlike a [`RecordStore`](crate::RecordStore) it holds what a person gave and what cannot be made
/// again: one that cannot be read is an error, never an absent value. Calls block.
pub trait ValueStore: Send + Sync + Debug {
    /// Returns a value.
    ///
    /// # Errors
    ///
    /// Returns why it cannot be read.
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError>;

    /// Returns all values with their names, in the order of these.
    ///
    /// # Errors
    ///
    /// Returns why one of them cannot be read.
    fn all(&self) -> Result<Vec<NamedValue>, StoreError>;

    /// Stores a value, in place of an earlier one.
    ///
    /// # Errors
    ///
    /// Returns why it is not stored.
    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError>;

    /// Deletes a value; returns whether there was one.
    ///
    /// # Errors
    ///
    /// Returns why it may still be stored.
    fn delete(&self, name: &str) -> Result<bool, StoreError>;

    /// Tells of changes by all processes from now on; `None` where files show them.
    fn change_feed(&self) -> Option<Box<dyn ChangeFeed>> {
        None
    }
}

impl<T: ValueStore + ?Sized> ValueStore for Arc<T> {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        (**self).get(name)
    }

    fn all(&self) -> Result<Vec<NamedValue>, StoreError> {
        (**self).all()
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        (**self).put(name, value)
    }

    fn delete(&self, name: &str) -> Result<bool, StoreError> {
        (**self).delete(name)
    }

    fn change_feed(&self) -> Option<Box<dyn ChangeFeed>> {
        (**self).change_feed()
    }
}
