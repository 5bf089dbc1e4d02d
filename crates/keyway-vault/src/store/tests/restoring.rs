//! Copies of the vault, and putting one in place.

use std::os::unix::fs::MetadataExt as _;

use keyway_secret::Secret;
use keyway_store::{Claim, GrantKey, GrantState, GrantStore as _, Tokens};

use super::*;
use crate::Restored;

fn grant(server: &str) -> GrantKey {
    GrantKey::new("default").server(server)
}

fn tokens(number: u32) -> Tokens {
    Tokens::new(Secret::new(format!("access-{number}")))
        .with_refresh(Secret::new(format!("refresh-{number}")))
}

/// A vault with an approval and two sign-ins, and a copy of it.
fn copied() -> (Home, PathBuf) {
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", b"1").unwrap();
    vault.put(&grant("one"), &tokens(1)).unwrap();
    vault.put(&grant("two"), &tokens(2)).unwrap();
    let copy = home.folders.data.parent().unwrap().join("copy");
    vault.backup(&copy).unwrap();
    (home, copy)
}

fn restore(home: &Home, copy: &std::path::Path) -> Result<Restored, VaultError> {
    Vault::restore(&home.folders, KeySources::default(), copy)
}

#[test]
fn copy_is_private_sealed_and_never_written_over_another_file() {
    let (home, copy) = copied();
    assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o7777, 0o600);
    let bytes = fs::read(&copy).unwrap();
    for secret in ["access-1", "refresh-2"] {
        let found = bytes
            .windows(secret.len())
            .any(|it| it == secret.as_bytes());
        assert!(!found, "{secret}");
    }
    let error = home.open().backup(&copy).unwrap_err();
    assert!(matches!(error, VaultError::BackupExists { .. }), "{error}");
    assert_eq!(fs::read(&copy).unwrap(), bytes);
}

#[test]
fn copy_takes_the_place_of_a_vault_that_is_lost_empty_or_damaged() {
    for damage in ["missing", "empty", "garbage"] {
        let (home, copy) = copied();
        let path = home.folders.data.join(connection::NAME);
        match damage {
            "missing" => fs::remove_file(&path).unwrap(),
            "empty" => fs::File::create(&path).map(drop).unwrap(),
            _ => {
                let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
                std::io::Write::write_all(&mut file, &[7; 5000]).unwrap();
            }
        }
        let restored = restore(&home, &copy).unwrap();
        assert_eq!(
            (restored.contents.entries, restored.contents.grants),
            (1, 2)
        );
        assert_eq!(restored.previous.is_some(), damage != "missing", "{damage}");
        let vault = home.open();
        assert_eq!(value(&trust(&vault), "a").unwrap(), b"1", "{damage}");
        let read = vault.read(&grant("one")).unwrap().unwrap();
        assert_eq!(
            (read.access.expose().as_str(), read.state),
            ("access-1", GrantState::Good)
        );
        assert!(vault.verify().unwrap().problems.is_empty());
    }
}

#[test]
fn restored_sign_in_that_was_renewed_or_ended_since_is_not_redeemed() {
    let (home, copy) = copied();
    let vault = home.open();
    vault.put(&grant("same"), &tokens(3)).unwrap();
    let seen = vault.read(&grant("one")).unwrap().unwrap().generation;
    vault.commit(&grant("one"), seen, &tokens(4)).unwrap();
    vault.delete(&grant("two")).unwrap();
    drop(vault);
    let restored = restore(&home, &copy).unwrap();
    assert_eq!(restored.outdated.len(), 2, "{:?}", restored.outdated);
    let vault = home.open();
    for server in ["one", "two"] {
        let seen = vault.read(&grant(server)).unwrap().unwrap().generation;
        let claim = vault.claim(&grant(server), seen, Duration::from_secs(9));
        assert!(matches!(claim, Ok(Claim::NeedsReauth)), "{claim:?}");
    }
}

#[test]
fn restored_sign_in_whose_successor_lies_in_the_journal_is_not_redeemed() {
    let (home, copy) = copied();
    let vault = home.open();
    let seen = vault.read(&grant("one")).unwrap().unwrap().generation;
    vault.journal(&grant("one"), seen, &tokens(5)).unwrap();
    drop(vault);
    let restored = restore(&home, &copy).unwrap();
    assert_eq!(restored.outdated.len(), 1, "{:?}", restored.outdated);
}

#[test]
fn journal_of_a_lost_vault_tells_that_a_restored_sign_in_is_outdated() {
    let (home, copy) = copied();
    let vault = home.open();
    let seen = vault.read(&grant("one")).unwrap().unwrap().generation;
    vault.commit(&grant("one"), seen, &tokens(4)).unwrap();
    let seen = vault.read(&grant("one")).unwrap().unwrap().generation;
    vault.journal(&grant("one"), seen, &tokens(5)).unwrap();
    drop(vault);
    fs::remove_file(home.folders.data.join(connection::NAME)).unwrap();
    let restored = restore(&home, &copy).unwrap();
    assert_eq!(restored.outdated, ["the sign-in to `:one`"]);
    let vault = home.open();
    let seen = vault.read(&grant("one")).unwrap().unwrap().generation;
    let claim = vault.claim(&grant("one"), seen, Duration::from_secs(9));
    assert!(matches!(claim, Ok(Claim::NeedsReauth)), "{claim:?}");
}

#[test]
fn vault_that_is_in_use_is_not_replaced() {
    let (home, copy) = copied();
    let vault = home.open();
    trust(&vault).put("b", b"2").unwrap();
    let error = restore(&home, &copy).unwrap_err();
    assert!(matches!(error, VaultError::Busy), "{error}");
    assert_eq!(value(&trust(&vault), "b").unwrap(), b"2");
    drop(vault);
    assert_eq!(value(&trust(&home.open()), "b").unwrap(), b"2");
}

#[test]
fn damaged_copy_and_one_of_another_key_change_nothing() {
    let (home, copy) = copied();
    Connection::open(&copy)
        .unwrap()
        .execute("DELETE FROM records", [])
        .unwrap();
    let error = restore(&home, &copy).unwrap_err();
    assert!(matches!(error, VaultError::Corrupt { .. }), "{error}");
    let (_other, foreign) = copied();
    let error = restore(&home, &foreign).unwrap_err();
    assert!(
        matches!(error, VaultError::KeySourceUnavailable { .. }),
        "{error}"
    );
    assert_eq!(value(&trust(&home.open()), "a").unwrap(), b"1");
    let drafts = home.files().into_iter();
    let mut drafts = drafts.map(|(path, _)| path.file_name().unwrap().to_owned());
    assert!(!drafts.any(|name| name.to_str().unwrap().starts_with("new-")));
}
