//! Keyway's stores on PostgreSQL: one database for many people and several replicas.
//!
//! A [`Replica`] is one process that uses the database; [`Replica::grants`] gives the sign-ins of a
//! person as a [`GrantStore`](keyway_store::GrantStore), with the same refresh protocol and the same
//! conformance cases as the embedded store.
//!
//! - Everything that the protocol compares stands in one row, and only the database's clock counts.
//!   No connection or transaction is held while a request to an authorization server is out.
//! - A replica holds a session lock for as long as it lives. A free lock is not death: it must be
//!   free in two looks, and after a restart of the server claims from before it wait for their end.
//!   A replica that lost its lock claims nothing until it has it again.
//! - Values are sealed with a key per person, which is wrapped by a [`KeyWrapper`]; they open only in
//!   their own row, generation and column. Row-level security is the second wall: a statement sees
//!   rows of the person that its transaction names, and of no other.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use keyway_postgres::{FileKey, Password, Person, Replica, Settings};
//! use keyway_store::{GrantKey, GrantStore as _};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = Settings::new("postgres://keyway@db.example/keyway")?
//!     .with_password(Password::File("/etc/keyway/database-password".into()));
//! let key = FileKey::read("/etc/keyway/wrapping.key".as_ref())?;
//! let replica = Replica::open(&settings, Arc::new(key))?;
//! let grants = replica.grants(Person::new("acme", "https://idp.example ada")?);
//! let found = grants.read(&GrantKey::new("default").server("search"))?;
//! # Ok(())
//! # }
//! ```

mod audit;
mod change_feed;
mod dead_claims;
mod error;
mod grants;
mod in_use;
mod journal;
mod key_wrapper;
mod live_replica;
mod owners;
mod person;
mod person_keys;
#[cfg(feature = "pkcs11")]
mod pkcs11;
mod pooler;
mod presence;
mod recent_commits;
mod records;
mod rekey;
mod remembered_records;
mod replica;
mod schema;
mod sessions;
mod settings;
mod survey;
mod takeovers;
mod timeouts;
mod tls;
mod values;

pub use self::audit::{AuditFault, AuditFaultKind, AuditRow, AuditedCall};
pub use self::dead_claims::DeadClaim;
pub use self::error::{AddressFault, PostgresError, ServerError, WrapError};
pub use self::grants::{Import, PostgresGrants};
pub use self::key_wrapper::{FileKey, KeyWrapper, wrapper_name};
pub use self::person::Person;
#[cfg(feature = "pkcs11")]
pub use self::pkcs11::{Pkcs11Key, Pkcs11Settings};
pub use self::records::{PostgresDocuments, PostgresOneTime, PostgresRecords};
pub use self::rekey::Rekeyed;
pub use self::remembered_records::RememberedRecords;
pub use self::replica::Replica;
pub use self::settings::{Password, PasswordSupplier, Settings, read_secret};
pub use self::survey::{
    KeyAges, OutcomeCount, PersonSummary, ReplicaCounts, ReplicaSummary, SignInStates,
};
pub use self::values::PostgresValues;
