//! The vault's key in a real gnome-keyring, on a bus that the test starts for itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up must stop")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use keyway_keyring::{BusAddress, SecretService};
use keyway_testkit::{KeyringSession, PATIENCE};
use keyway_vault::{Folders, KeySources, KeyringAbsence, Namespace, SourceKind, Vault, VaultError};
use tempfile::TempDir;

/// A session, and a vault below a folder of its own.
struct Desk {
    session: KeyringSession,
    home: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self {
            session: KeyringSession::new(),
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn logged_in() -> Self {
        let mut desk = Self::new();
        desk.session.log_in();
        desk
    }

    fn service(&self) -> SecretService {
        SecretService::new(BusAddress::parse(&self.session.address(), None))
    }

    fn open(&self) -> Result<Vault, VaultError> {
        self.open_with(self.service())
    }

    fn open_with(&self, service: SecretService) -> Result<Vault, VaultError> {
        let sources = KeySources::default().with_keyring(Arc::new(service));
        Vault::open(&Folders::below(self.home.path().join("k")), sources)
    }

    /// Every file of the vault, apart from the index that SQLite shares between processes.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut open = vec![self.home.path().to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if !path.ends_with("vault.db-shm") {
                    files.push((path.clone(), std::fs::read(path).unwrap()));
                }
            }
        }
        files.sort();
        files
    }

    /// Tries to open, which has to fail, and shows that neither side was changed.
    fn fails_without_a_trace(&self, service: SecretService) -> VaultError {
        let before = self.files();
        let start = Instant::now();
        let error = self.open_with(service).unwrap_err();
        assert!(start.elapsed() < PATIENCE, "{error}");
        assert_eq!(before, self.files(), "{error}");
        error
    }

    /// Asks for the keyring and nothing else.
    fn error_of_a_vault_that_wants_the_keyring(&self) -> VaultError {
        let sources = KeySources::default()
            .with_keyring(Arc::new(self.service()))
            .choosing(SourceKind::Keyring);
        let elsewhere = tempfile::tempdir().unwrap();
        Vault::open(&Folders::below(elsewhere.path().join("k")), sources).unwrap_err()
    }
}

fn put(vault: &Vault, value: &[u8]) {
    let rows = vault.sealed(Namespace::new("trust").unwrap());
    rows.put("a", value).unwrap();
}

fn value(vault: &Vault) -> Vec<u8> {
    let rows = vault.sealed(Namespace::new("trust").unwrap());
    rows.get("a").unwrap().unwrap().value.expose().clone()
}

#[test]
fn key_in_the_keyring_opens_the_vault_again_and_locking_changes_nothing() {
    let mut desk = Desk::logged_in();
    let vault = desk.open().unwrap();
    assert_eq!(vault.protection().source, SourceKind::Keyring);
    put(&vault, b"1");
    drop(vault);
    assert_eq!(value(&desk.open().unwrap()), b"1");
    let items = desk.session.items();

    desk.session.lock();
    let error = desk.fails_without_a_trace(desk.service());
    assert!(matches!(error, VaultError::KeyringLocked), "{error}");

    // Nothing can show the question here, which the service takes for a no.
    let asking = desk.service().asking(10 * PATIENCE);
    let error = desk.fails_without_a_trace(asking);
    assert!(matches!(error, VaultError::KeyringRefused), "{error}");

    desk.session.kill_keyring();
    let error = desk.fails_without_a_trace(desk.service());
    let missing = KeyringAbsence::Service;
    assert!(
        matches!(error, VaultError::NoKeyring { missing: found } if found == missing),
        "{error}"
    );

    desk.session.log_in();
    assert_eq!(value(&desk.open().unwrap()), b"1");
    assert_eq!(desk.session.items(), items, "no item came or went");

    desk.session.freeze();
    let error = desk.fails_without_a_trace(desk.service());
    assert!(matches!(error, VaultError::KeyringTimedOut), "{error}");
    desk.session.thaw();
    assert_eq!(value(&desk.open().unwrap()), b"1");

    desk.session.kill_bus();
    let error = desk.fails_without_a_trace(desk.service());
    let missing = KeyringAbsence::SessionBus;
    assert!(
        matches!(error, VaultError::NoKeyring { missing: found } if found == missing),
        "{error}"
    );
}

#[test]
fn new_vault_waits_for_a_locked_keyring_and_goes_without_one_that_is_not_there() {
    let mut desk = Desk::logged_in();
    desk.session.lock();
    let error = desk.open().unwrap_err();
    assert!(matches!(error, VaultError::KeyringLocked), "{error}");
    desk.session.kill_keyring();
    let vault = desk.open().unwrap();
    assert_eq!(vault.protection().source, SourceKind::KeyFile);
}

#[test]
fn service_that_never_had_a_keyring_is_as_good_as_none() {
    let mut desk = Desk::new();
    desk.session.start_without_a_keyring();
    let error = desk.error_of_a_vault_that_wants_the_keyring();
    assert!(
        matches!(
            error,
            VaultError::NoKeyring {
                missing: KeyringAbsence::Collection
            }
        ),
        "{error}"
    );
    let vault = desk.open().unwrap();
    assert_eq!(vault.protection().source, SourceKind::KeyFile);
}

#[test]
fn changed_key_leaves_one_item_and_moving_it_away_leaves_none() {
    let desk = Desk::logged_in();
    assert_eq!(desk.session.items().len(), 0);
    let vault = desk.open().unwrap();
    put(&vault, b"1");
    let first = desk.session.items();
    let keyring = KeySources::default().with_keyring(Arc::new(desk.service()));
    let done = vault.rekey(SourceKind::Keyring, keyring.clone()).unwrap();
    assert!(!done.old_key_remains);
    let second = desk.session.items();
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_ne!(first, second);
    assert_eq!(value(&desk.open().unwrap()), b"1");
    let done = vault.rekey(SourceKind::KeyFile, keyring).unwrap();
    assert!(!done.old_key_remains);
    assert_eq!(desk.session.items().len(), 0);
    assert_eq!(value(&desk.open().unwrap()), b"1");
}

#[test]
fn keyring_of_another_vault_is_told_from_a_missing_one() {
    let desk = Desk::logged_in();
    put(&desk.open().unwrap(), b"1");
    let mut other = KeyringSession::new();
    other.log_in();
    let service = SecretService::new(BusAddress::parse(&other.address(), None));
    let error = desk.fails_without_a_trace(service);
    let is_wrong = matches!(
        error,
        VaultError::WrongKey {
            from: SourceKind::Keyring
        }
    );
    assert!(is_wrong, "{error}");
}

/// Prints what asking costs: `cargo nextest run -p keyway-keyring cost --run-ignored all --no-capture`.
#[test]
#[ignore = "a measurement"]
fn cost_of_opening_with_the_keyring() {
    let desk = Desk::logged_in();
    drop(desk.open().unwrap());
    let mut times: Vec<_> = (0..100)
        .map(|_| {
            let start = Instant::now();
            drop(desk.open().unwrap());
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("best {:?}, median {:?}", times[0], times[times.len() / 2]);
}
