//! Changing the key, and finding damage.

use std::sync::Arc;

use keyway_secret::Secret;

use super::keys::{FakeKeyring, Mood, Typed};
use super::*;
use crate::key::ExplicitKey;
use crate::key_source::SourceKind;
use keyway_store::{Commit, GrantKey, GrantStore, Tokens};

fn key_files(home: &Home) -> Vec<PathBuf> {
    fs::read_dir(&home.folders.config)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "key"))
        .collect()
}

fn grant() -> GrantKey {
    GrantKey::new("default").server("search")
}

fn tokens(text: &str) -> Tokens {
    Tokens::new(Secret::new(text.to_owned())).with_refresh(Secret::new(text.to_owned()))
}

#[test]
fn other_handles_continue_after_the_key_was_changed() {
    let home = Home::new();
    let (vault, other) = (home.open(), home.open());
    trust(&vault).put("a", b"1").unwrap();
    let generation = other.put(&grant(), &tokens("one")).unwrap();
    let old_file = key_files(&home);
    let done = vault
        .rekey(SourceKind::KeyFile, KeySources::default())
        .unwrap();
    assert!(!done.old_key_remains);
    let new_file = key_files(&home);
    assert_eq!(new_file.len(), 1);
    assert_ne!(old_file, new_file);
    assert_eq!(done.protection.key_file.as_ref(), new_file.first());

    assert_eq!(value(&trust(&other), "a").unwrap(), b"1");
    let committed = other.commit(&grant(), generation, &tokens("two")).unwrap();
    assert!(matches!(committed, Commit::Committed { .. }));
    assert_eq!(
        vault.read(&grant()).unwrap().unwrap().access.expose(),
        "two"
    );
    trust(&vault).put("b", b"2").unwrap();
    assert_eq!(value(&trust(&home.open()), "b").unwrap(), b"2");
    assert!(other.verify().unwrap().problems.is_empty());
}

#[test]
fn vault_opens_at_any_moment_of_a_change() {
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", b"1").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let at = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    while !stop.load(at) {
                        let opened = Vault::open(&home.folders, KeySources::default());
                        assert!(opened.is_ok(), "{:?}", opened.err());
                    }
                })
            })
            .collect();
        for _ in 0..30 {
            vault
                .rekey(SourceKind::KeyFile, KeySources::default())
                .unwrap();
        }
        stop.store(true, at);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    assert_eq!(key_files(&home).len(), 1);
}

#[test]
fn nothing_on_disk_opens_with_the_old_key() {
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", b"1").unwrap();
    let wrapped: Vec<Vec<u8>> = {
        let attacker = home.attacker();
        let mut statement = attacker.prepare("SELECT wrapped FROM data_keys").unwrap();
        statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    vault
        .rekey(SourceKind::KeyFile, KeySources::default())
        .unwrap();
    for (path, contents) in home.files() {
        for old in &wrapped {
            let found = contents.windows(old.len()).any(|window| window == old);
            assert!(!found, "{}", path.display());
        }
    }
}

#[test]
fn grant_gets_a_new_data_key_at_its_first_refresh_under_a_new_key() {
    let home = Home::new();
    let vault = home.open();
    let generation = vault.put(&grant(), &tokens("one")).unwrap();
    let data_key = || -> Vec<u8> {
        home.attacker()
            .query_row("SELECT data_key FROM grants", [], |row| row.get(0))
            .unwrap()
    };
    let first = data_key();
    let Commit::Committed { generation } =
        vault.commit(&grant(), generation, &tokens("two")).unwrap()
    else {
        panic!("no other process commits");
    };
    assert_eq!(data_key(), first);
    vault
        .rekey(SourceKind::KeyFile, KeySources::default())
        .unwrap();
    assert_eq!(data_key(), first);
    vault
        .commit(&grant(), generation, &tokens("three"))
        .unwrap();
    assert_ne!(data_key(), first);
    assert!(vault.verify().unwrap().problems.is_empty());
}

#[test]
fn key_moves_between_all_kinds_of_sources() {
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", b"1").unwrap();
    let keyring = Arc::new(FakeKeyring::default());
    let in_keyring = KeySources::default().with_keyring(Arc::<FakeKeyring>::clone(&keyring));
    let typed = KeySources::default().with_passphrase(Arc::new(Typed("correct horse")));
    let supplied =
        KeySources::default().with_explicit(ExplicitKey::Supplied(Arc::new(Secret::new([7; 32]))));
    for (kind, sources) in [
        (SourceKind::Keyring, in_keyring),
        (SourceKind::Passphrase, typed),
        (SourceKind::Explicit, supplied),
        (SourceKind::KeyFile, KeySources::default()),
    ] {
        let done = vault.rekey(kind, sources.clone()).unwrap();
        assert_eq!(done.protection.source, kind);
        assert_eq!(value(&trust(&vault), "a").unwrap(), b"1", "{kind}");
        let reopened = Vault::open(&home.folders, sources).unwrap();
        assert_eq!(value(&trust(&reopened), "a").unwrap(), b"1", "{kind}");
        assert_eq!(
            key_files(&home).len(),
            usize::from(kind == SourceKind::KeyFile),
            "{kind}"
        );
    }
}

#[test]
fn failed_change_leaves_the_old_key_in_force_and_no_new_one() {
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", b"1").unwrap();
    let error = vault
        .rekey(SourceKind::Keyring, KeySources::default())
        .unwrap_err();
    assert!(
        matches!(error, VaultError::KeySourceUnavailable { .. }),
        "{error}"
    );
    let keyring = Arc::new(FakeKeyring::default());
    keyring.set(Mood::Locked);
    let locked = KeySources::default().with_keyring(keyring);
    let error = vault.rekey(SourceKind::Keyring, locked).unwrap_err();
    assert!(matches!(error, VaultError::KeyringLocked), "{error}");

    let attacker = home.attacker();
    attacker
        .execute_batch("CREATE TABLE d AS SELECT * FROM data_keys")
        .unwrap();
    attacker
        .execute("UPDATE data_keys SET wrapped = x'01ff'", [])
        .unwrap();
    let before = key_files(&home);
    assert_eq!(
        damage(vault.rekey(SourceKind::KeyFile, KeySources::default())),
        Damage::Altered
    );
    assert_eq!(key_files(&home), before);
    attacker
        .execute_batch("INSERT OR REPLACE INTO data_keys SELECT * FROM d")
        .unwrap();
    assert_eq!(value(&trust(&home.open()), "a").unwrap(), b"1");
}

#[test]
fn handle_without_the_new_source_says_so() {
    let home = Home::new();
    let (vault, other) = (home.open(), home.open());
    trust(&vault).put("a", b"1").unwrap();
    let typed = KeySources::default().with_passphrase(Arc::new(Typed("correct horse")));
    vault.rekey(SourceKind::Passphrase, typed).unwrap();
    let error = trust(&other).get("a").unwrap_err();
    let recorded = matches!(
        error,
        VaultError::KeySourceUnavailable {
            recorded: SourceKind::Passphrase
        }
    );
    assert!(recorded, "{error}");
}

#[test]
fn verification_counts_what_is_there_and_names_what_is_wrong() {
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", b"1").unwrap();
    trust(&vault).put("b", b"1").unwrap();
    vault
        .sealed(Namespace::new("env").unwrap())
        .put("b", b"1")
        .unwrap();
    vault.put(&grant(), &tokens("one")).unwrap();
    let found = vault.verify().unwrap();
    assert_eq!(
        (found.entries, found.grants, found.problems.len()),
        (3, 1, 0)
    );

    let attacker = home.attacker();
    attacker
        .execute_batch(
            "DELETE FROM records WHERE namespace = 'env';
             UPDATE records SET sealed = x'01' WHERE key = 'a';
             UPDATE grants SET refresh = access;
             INSERT INTO records VALUES ('new', 'x', 1, NULL, x'00', x'00');",
        )
        .unwrap();
    let problems: Vec<_> = vault
        .verify()
        .unwrap()
        .problems
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        problems,
        [
            "entry `b` of `env` is damaged: it is in the manifest but missing from the store (tampering?)",
            "entry `x` of `new` is damaged: it is missing from the manifest (tampering?)",
            "entry `a` of `trust` is damaged: its seal is broken",
            "the sign-in to `:search` is damaged: its seal is broken",
            "a data key is damaged: it is missing from the manifest (tampering?)",
        ]
    );
}
