//! Everything that Keyway keeps on disk, sealed: approvals, variables, registrations, tokens.
//!
//! A [`Vault`] is one SQLite file whose values are sealed under data keys, which are sealed under
//! one vault key, which comes from a [source](KeySources) that is recorded when the vault is made.
//! Nothing here knows OAuth or opens a socket, and every call blocks: async callers use a blocking
//! thread.
//!
//! What is promised: without the key nothing opens; a value that was swapped, flipped, removed or
//! singly rolled back is noticed. Restoring the whole file from a backup cannot be noticed.
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

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod folders;
mod grants;
mod key;
mod seal;
mod store;

pub use self::error::{Damage, Fault, Finding, VaultError};
pub use self::folders::{Folder, Folders};
pub use self::grants::{
    Claim, Claimed, Commit, Dismissed, Epoch, Fingerprint, Grant, GrantKey, GrantState, GrantStore,
    Marked, Orphan, OwnerId, Presence, Summary, Tokens, Watch,
};
pub use self::key::{
    ExplicitKey, KEYRING_TIME_LIMIT, KeySources, KeySupplier, Keyring, KeyringAbsence,
    KeyringFailure, KeyringItem, Passphrase, PassphraseFile, PassphraseUse, Protection, SourceKind,
    parse_key,
};
pub use self::seal::KeyId;
pub use self::store::{
    Deleted, Entry, Generation, Inspection, Namespace, Record, Rekeyed, Sealed, Statistics,
    Timestamp, Vault, Verification,
};
