//! Vaults that earlier versions made.

use keyway_secret::Secret;
use keyway_store::{Claim, Commit, GrantKey, GrantStore as _, Tokens};

use super::*;

/// A vault as the last version with schema 2 left it: twelve variables, of which one was deleted and
/// one replaced, an approval, and a sign-in that was refreshed once.
const SCHEMA_2: &[u8] = include_bytes!("../../../testdata/schema-2.db");
const KEY: &str = "vault-56f297dda73365c03039791da8267db0.key";
const KEY_CONTENTS: &[u8] =
    include_bytes!("../../../testdata/vault-56f297dda73365c03039791da8267db0.key");

fn old_home() -> Home {
    let home = Home::new();
    let data = Folder::open(&home.folders.data).unwrap();
    assert!(data.create(connection::NAME, SCHEMA_2).unwrap());
    let config = Folder::open(&home.folders.config).unwrap();
    assert!(config.create(KEY, KEY_CONTENTS).unwrap());
    home
}

fn env(vault: &Vault) -> Sealed<'_> {
    vault.sealed(Namespace::new("env").unwrap())
}

fn grant() -> GrantKey {
    GrantKey::new("default").plugin("demo").server("search")
}

#[test]
fn vault_of_schema_2_is_upgraded_and_keeps_everything() {
    let home = old_home();
    for _ in 0..2 {
        let vault = home.open();
        assert_eq!(env(&vault).list().unwrap().len(), 11);
        assert_eq!(value(&env(&vault), "NAME_4").unwrap(), b"second value");
        assert_eq!(value(&env(&vault), "NAME_3"), None);
        let read = vault.read(&grant()).unwrap().unwrap();
        assert_eq!(read.access.expose(), "access-2");
        let verified = vault.verify().unwrap();
        assert!(verified.problems.is_empty(), "{:?}", verified.problems);
        assert_eq!((verified.entries, verified.grants), (12, 1));
    }
    let inspection = Vault::inspect(&home.folders).unwrap().unwrap();
    assert_eq!(inspection.schema, connection::SCHEMA);
}

#[test]
fn vault_of_schema_1_is_upgraded_too() {
    let home = old_home();
    for column in [
        "claim_boot",
        "claimed_uptime",
        "lost_answers",
        "postponed_boot",
        "postponed_uptime",
    ] {
        home.edit(&format!("ALTER TABLE grants DROP COLUMN {column}"));
    }
    home.edit("PRAGMA user_version = 1");
    let vault = home.open();
    assert_eq!(env(&vault).list().unwrap().len(), 11);
    assert!(vault.verify().unwrap().problems.is_empty());
}

#[test]
fn damaged_vault_of_an_earlier_version_is_repaired_and_upgraded() {
    let home = old_home();
    home.edit("UPDATE records SET sealed = zeroblob(99) WHERE key = 'NAME_5'");
    let repaired = Vault::repair(&home.folders, KeySources::default()).unwrap();
    assert_eq!(repaired.lost, ["entry `NAME_5` of `env`"]);
    assert!(repaired.unlisted.is_empty(), "{:?}", repaired.unlisted);
    let vault = home.open();
    assert_eq!(env(&vault).list().unwrap().len(), 10);
    let read = vault.read(&grant()).unwrap().unwrap();
    assert_eq!(read.access.expose(), "access-2");
    assert!(vault.verify().unwrap().problems.is_empty());
}

#[test]
fn generations_continue_after_an_upgrade() {
    let home = old_home();
    let vault = home.open();
    let seen = vault.read(&grant()).unwrap().unwrap().generation;
    let lifetime = Duration::from_secs(600);
    let claim = vault.claim(&grant(), seen, lifetime).unwrap();
    assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
    let new = Tokens::new(Secret::new("access-3".to_owned()));
    let committed = vault.commit(&grant(), seen, &new).unwrap();
    let Commit::Committed { generation } = committed else {
        panic!("{committed:?}");
    };
    // The deletion of another sign-in had used the number after the first one.
    assert!(generation.get() > seen.get());
    let highest = env(&vault)
        .list()
        .unwrap()
        .iter()
        .map(|it| it.generation)
        .max();
    assert!(env(&vault).put("NAME_3", b"again").unwrap() > highest.unwrap());
}

#[test]
fn tampering_before_an_upgrade_is_noticed_after_it() {
    for (edit, expected) in [
        ("DELETE FROM records WHERE key = 'NAME_5'", Damage::Missing),
        (
            "UPDATE records SET generation = 1 WHERE key = 'NAME_5'",
            Damage::RolledBack,
        ),
        (
            "UPDATE manifests SET counter = counter - 1 WHERE namespace = 'env'",
            Damage::Altered,
        ),
    ] {
        let home = old_home();
        home.edit(edit);
        let vault = home.open();
        assert_eq!(damage(env(&vault).get("NAME_5")), expected, "{edit}");
        assert!(vault.read(&grant()).is_ok(), "the others stay usable");
    }
}

#[test]
fn looking_at_an_older_vault_does_not_change_it() {
    let home = old_home();
    let inspection = Vault::inspect(&home.folders).unwrap().unwrap();
    assert_eq!((inspection.schema, inspection.sign_ins), (2, 1));
    assert_eq!(Vault::inspect(&home.folders).unwrap(), Some(inspection));
}

#[test]
fn upgrade_that_cannot_find_the_key_changes_nothing() {
    let home = old_home();
    fs::remove_file(home.folders.config.join(KEY)).unwrap();
    let error = Vault::open(&home.folders, KeySources::default()).unwrap_err();
    assert!(
        matches!(error, VaultError::KeySourceUnavailable { .. }),
        "{error}"
    );
    let inspection = Vault::inspect(&home.folders).unwrap().unwrap();
    assert_eq!(inspection.schema, 2);
}
