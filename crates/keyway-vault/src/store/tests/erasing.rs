//! What is left on disk (`threats.md` P1, C13).

use keyway_secret::Secret;
use keyway_testkit::Canary;

use super::*;
use crate::key_source::SourceKind;
use keyway_store::{GrantKey, GrantStore, Tokens};

fn grant() -> GrantKey {
    GrantKey::new("default").plugin("demo").server("search")
}

fn holds(home: &Home, needle: &[u8]) -> Option<PathBuf> {
    assert!(!needle.is_empty());
    home.files()
        .into_iter()
        .find(|(_, contents)| {
            contents
                .windows(needle.len())
                .any(|window| window == needle)
        })
        .map(|(path, _)| path)
}

/// Names the file that betrays the canary, and the encoding.
fn leak(home: &Home, canary: &Canary) -> Option<(PathBuf, &'static str)> {
    let found = |(path, contents): (PathBuf, Vec<u8>)| Some((path, canary.leak_in(&contents)?));
    home.files().into_iter().find_map(found)
}

#[test]
fn no_file_contains_a_secret_in_any_encoding() {
    let canary = Canary::hidden("xQ9vLk2Wp4Zt8Rb3Nc6Ym1Hd5Gs7Jf");
    let secret = || Secret::new(canary.value().to_owned());
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", canary.value().as_bytes()).unwrap();
    let tokens = Tokens::new(secret())
        .with_refresh(secret())
        .with_details(Secret::new(canary.value().as_bytes().to_vec()));
    let generation = vault.put(&grant(), &tokens).unwrap();
    vault
        .claim(&grant(), generation, Duration::from_secs(60))
        .unwrap();
    vault.commit(&grant(), generation, &tokens).unwrap();
    assert_eq!(leak(&home, &canary), None, "in use");
    let log = home.folders.data.join("vault.db-wal");
    assert!(
        fs::metadata(log).unwrap().len() > 0,
        "the log was searched too"
    );
    vault
        .rekey(SourceKind::KeyFile, KeySources::default())
        .unwrap();
    assert_eq!(leak(&home, &canary), None, "after a change of the key");
    vault.delete(&grant()).unwrap();
    assert_eq!(leak(&home, &canary), None, "after signing out");
    drop(vault);
    assert_eq!(leak(&home, &canary), None, "closed");
}

#[test]
fn search_would_find_a_secret() {
    let home = Home::new();
    drop(home.open());
    home.attacker()
        .execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES ('xQ9vLk2Wp4')")
        .unwrap();
    let (path, how) = leak(&home, &Canary::hidden("xQ9vLk2Wp4")).unwrap();
    assert!(path.ends_with("vault.db"), "{}", path.display());
    assert_eq!(how, "plain");
}

/// Tries at every byte of every file whether what stands there unwraps to a data key.
fn unwraps(home: &Home, vault: &Vault, id: &KeyId) -> Option<PathBuf> {
    let inner = vault.lock();
    let keys = &inner.keys;
    let probe = data_key::load(
        &inner.connection,
        &keys.wrap,
        &keys.header.key.id,
        keys.index.id(),
    );
    let length = data_key::seal(&keys.wrap, &keys.header.key.id, &probe.unwrap())
        .unwrap()
        .len();
    let context = data_key::context(id, &keys.header.key.id);
    let opens = |window: &[u8]| keys.wrap.open(window, &context).is_ok();
    home.files()
        .into_iter()
        .find(|(_, contents)| contents.windows(length).any(opens))
        .map(|(path, _)| path)
}

/// `threats.md` C13, with the vault's key in hand.
#[test]
fn nothing_in_any_file_decrypts_after_signing_out() {
    let home = Home::new();
    let (vault, other) = (home.open(), home.open());
    let tokens = Tokens::new(Secret::new("access".to_owned()));
    let generation = vault.put(&grant(), &tokens).unwrap();
    other.commit(&grant(), generation, &tokens).unwrap();
    let id: Vec<u8> = home
        .attacker()
        .query_row("SELECT data_key FROM grants", [], |row| row.get(0))
        .unwrap();
    let id = KeyId::from_slice(&id).unwrap();
    assert!(unwraps(&home, &vault, &id).is_some(), "the search finds it");
    assert_eq!(vault.delete(&grant()).unwrap(), Deleted::Wiped);
    assert_eq!(unwraps(&home, &vault, &id), None, "in use");
    drop(other);
    assert_eq!(unwraps(&home, &vault, &id), None, "closed by one");
}

/// Everything that is needed to open a grant, apart from the vault's key.
fn wrapped_keys(home: &Home) -> Vec<Vec<u8>> {
    let attacker = home.attacker();
    let mut statement = attacker
        .prepare("SELECT wrapped FROM data_keys WHERE id <> (SELECT index_key FROM header)")
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// `threats.md` C13.
#[test]
fn no_file_holds_the_data_key_after_signing_out() {
    let home = Home::new();
    let (vault, other) = (home.open(), home.open());
    let token = |number| Tokens::new(Secret::new(format!("access-{number}")));
    // Enough rows around it that pages are split and rebalanced.
    for number in 0..80 {
        other
            .put(&grant().account(format!("a{number}")), &token(number))
            .unwrap();
    }
    for number in (0..80).filter(|number| number % 3 != 0) {
        let keys = wrapped_keys(&home);
        let deleted = vault
            .delete(&grant().account(format!("a{number}")))
            .unwrap();
        assert_eq!(deleted, Deleted::Wiped);
        let left = wrapped_keys(&home);
        let gone: Vec<_> = keys.into_iter().filter(|key| !left.contains(key)).collect();
        assert_eq!(gone.len(), 1);
        // Searching all files takes a while, so not for every one.
        if number % 10 == 1 {
            assert_eq!(holds(&home, &gone[0]), None);
        }
    }
    assert!(vault.verify().unwrap().problems.is_empty());
}

#[test]
fn replaced_value_leaves_no_data_key_behind() {
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", b"old").unwrap();
    vault
        .put(&grant(), &Tokens::new(Secret::new("old".to_owned())))
        .unwrap();
    let old = wrapped_keys(&home);
    assert_eq!(old.len(), 2);
    trust(&vault).put("a", b"new").unwrap();
    vault
        .put(&grant(), &Tokens::new(Secret::new("new".to_owned())))
        .unwrap();
    for key in old {
        assert_eq!(holds(&home, &key), None);
    }
}

#[test]
fn wiping_that_a_reader_prevented_is_made_up_for() {
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", b"1").unwrap();
    let key = wrapped_keys(&home).remove(0);
    let reader = home.attacker();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM records;")
        .unwrap();
    let snapshot: i64 = reader
        .query_row("SELECT count(*) FROM records", [], |row| row.get(0))
        .unwrap();
    assert_eq!(snapshot, 1);
    assert_eq!(trust(&vault).delete("a").unwrap(), Deleted::WipePending);
    assert_eq!(value(&trust(&vault), "a"), None, "deleted all the same");
    reader.execute_batch("COMMIT").unwrap();
    let later = home.open();
    assert_eq!(holds(&home, &key), None);
    drop(later);
}
