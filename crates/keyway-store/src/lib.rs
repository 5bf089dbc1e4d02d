//! What Keyway stores, as traits: sign-ins, client registrations and cached OAuth metadata.
//!
//! `keyway-auth` depends on this crate only; `keyway-vault` implements it with SQLite. A host that
//! keeps secrets elsewhere (a team's database, an operating system service) implements
//! [`GrantStore`], [`RecordStore`] and [`DocumentCache`] itself, and [`OneTimeStore`] and
//! [`ValueStore`] if it serves people. The feature `conformance` has the tests that such an
//! implementation must pass.
//!
//! All calls block; async callers run them on a blocking thread.
//!
//! ```
//! use std::collections::HashMap;
//! use std::sync::{Mutex, PoisonError};
//!
//! use keyway_secret::Secret;
//! use keyway_store::{RecordStore, StoreError};
//!
//! #[derive(Debug, Default)]
//! struct Memory(Mutex<HashMap<String, Secret<Vec<u8>>>>);
//!
//! impl RecordStore for Memory {
//!     fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
//!         self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
//!     }
//!
//!     fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
//!         let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
//!         records.insert(name.to_owned(), Secret::new(value.to_vec()));
//!         Ok(())
//!     }
//!
//!     fn delete(&self, name: &str) -> Result<(), StoreError> {
//!         self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
//!         Ok(())
//!     }
//! }
//!
//! # fn main() -> Result<(), StoreError> {
//! let records = Memory::default();
//! records.put("https://as.example", b"client-7")?;
//! assert_eq!(records.get("https://as.example").unwrap().expose(), b"client-7");
//! # Ok(())
//! # }
//! ```

mod claim;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod grant;
mod grant_store;
mod key;
mod records;
#[cfg(feature = "seal")]
pub mod seal;
mod time;
mod values;

pub use self::claim::{
    Claim, ClaimId, Claimed, Commit, Fingerprint, Marked, OrphanedClaim, OwnerId, RejectionCause,
};
pub use self::error::{BackendFailure, Damage, REPAIR, StoreError};
pub use self::grant::{Grant, GrantState, GrantSummary, Tokens};
pub use self::grant_store::{ChangeFeed, Deleted, GrantStore, StoppedUsers, UseMarker};
pub use self::key::GrantKey;
pub use self::records::{DocumentCache, OneTimeStore, RecordStore};
pub use self::time::{Generation, Timestamp};
pub use self::values::{NamedValue, ValueStore};
