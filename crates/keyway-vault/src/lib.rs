//! Everything that Keyway keeps on disk, sealed: approvals, variables, registrations, tokens.
//!
//! A [`Vault`] is one SQLite file whose values are sealed under data keys, which are sealed under
//! one vault key, which comes from a [source](KeySources) that is recorded when the vault is made.
//! Nothing here knows OAuth or opens a socket, and every call blocks: async callers use a blocking
//! thread.
//!
//! [`Vault`] is a [`GrantStore`](keyway_store::GrantStore), and [`Sealed`] is a
//! [`RecordStore`](keyway_store::RecordStore) and a
//! [`DocumentCache`](keyway_store::DocumentCache).
//!
//! What is promised: without the key nothing opens; a value that was swapped, flipped, removed or
//! singly rolled back is noticed. Restoring the whole file from a backup cannot be noticed, except
//! by a process that has the file open.
//!
//! ```
//! # fn main() -> Result<(), keyway_vault::VaultError> {
//! use keyway_vault::{Folders, KeySources, Namespace, Vault};
//!
//! # let home = tempfile::tempdir().unwrap();
//! # let home = home.path().join("keyway");
//! let vault = Vault::open(&Folders::below(home), KeySources::default())?;
//! let approvals = vault.sealed(Namespace::new("trust")?);
//! approvals.put("demo:search", b"sha256:0d1e")?;
//! let found = approvals.get("demo:search")?.expect("it was just put there");
//! assert_eq!(found.value.expose(), b"sha256:0d1e");
//! println!("{}", vault.protection());
//! # Ok(())
//! # }
//! ```
//!
//! A sign-in is refreshed by the process that claims it:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use keyway_secret::Secret;
//! use keyway_store::{Claim, Commit, GrantKey, GrantStore, Tokens};
//! use keyway_vault::{Folders, KeySources, Vault};
//! use std::time::Duration;
//!
//! # let home = tempfile::tempdir().unwrap();
//! # let home = home.path().join("keyway");
//! let store = Vault::open(&Folders::below(home), KeySources::default())?;
//! let grant = GrantKey::new("default").plugin("demo").server("search");
//! let text = |text: &str| Secret::new(text.to_owned());
//! let seen = store.put(&grant, &Tokens::new(text("at-1")).with_refresh(text("rt-1")))?;
//!
//! // Before expiry, or after a 401:
//! if let Claim::Claimed(claim) = store.claim(&grant, seen, Duration::from_secs(15))? {
//!     // … send `claim.refresh` to the authorization server …
//!     let new = Tokens::new(text("at-2")).with_refresh(text("rt-2"));
//!     assert!(matches!(store.commit(&grant, seen, &new)?, Commit::Committed { .. }));
//! }
//! # Ok(())
//! # }
//! ```

mod error;
mod fields;
mod folders;
mod grants;
mod key;
mod key_source;
mod known_vaults;
mod owner;
mod repair;
mod restore;
mod store;
mod timeouts;
mod transfer;
mod unlocked_key;
mod use_marker;
mod verify;

use keyway_store::seal;
pub use keyway_store::seal::KeyId;
pub use keyway_store::{Damage, Deleted, Generation, Timestamp};

pub use self::error::{DatabaseError, Finding, Loss, Obstacle, TransferFault, VaultError};
pub use self::folders::{Folder, Folders};
pub use self::grants::RenewalUnderWay;
pub use self::key::{
    ExplicitKey, KeySources, KeySupplier, Keyring, KeyringFailure, KeyringItem, Passphrase,
    PassphraseFile, PassphraseUse, Protection, parse_key,
};
pub use self::key_source::{KeyringAbsence, SourceKind};
pub use self::known_vaults::KnownVaults;
pub use self::repair::Repaired;
pub use self::restore::Restored;
pub use self::store::{Entry, Inspection, Namespace, Record, Rekeyed, Sealed, Statistics, Vault};
/// Public for their fuzz target: a reader of bytes that anything may have written.
#[doc(hidden)]
pub use self::store::{PageRow, PageValue, Tree, rows_of_pages};
pub use self::timeouts::{KEYRING_TIME_LIMIT, MOVE_LIFETIME};
pub use self::transfer::{Migration, Move, MovedGrant, SealedGrant, TransferKey};
pub use self::unlocked_key::UnlockedKey;
pub use self::verify::Verification;
