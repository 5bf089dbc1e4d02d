//! What is left on disk (`threats.md` P1, C13).

use keyway_secret::Secret;

use super::*;
use crate::grants::{GrantKey, GrantStore, Tokens};

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

/// The canary as it might be found, in six encodings; base64 at each of its three alignments.
fn spellings(canary: &str) -> Vec<Vec<u8>> {
    let hex: String = canary.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut all = vec![
        canary.as_bytes().to_vec(),
        hex.clone().into_bytes(),
        hex.to_uppercase().into_bytes(),
        canary.encode_utf16().flat_map(u16::to_le_bytes).collect(),
    ];
    for alignment in 0..3 {
        let text = base64(&canary.as_bytes()[alignment..]);
        all.push(text.replace('+', "-").replace('/', "_").into_bytes());
        all.push(text.into_bytes());
    }
    all
}

/// Whole groups of three bytes only, so that what follows does not matter.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks_exact(3) {
        let bits = group
            .iter()
            .fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        for shift in [18, 12, 6, 0] {
            text.push(char::from(ALPHABET[bits >> shift & 63]));
        }
    }
    text
}

#[test]
fn no_file_contains_a_secret_in_any_encoding() {
    let canary = "CANARY_5f1c9a40-1d3b-4f7e-9b0a-7c2d8e6f1a53";
    let secret = || Secret::new(canary.to_owned());
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", canary.as_bytes()).unwrap();
    let tokens = Tokens::new(secret())
        .with_refresh(secret())
        .with_details(Secret::new(canary.as_bytes().to_vec()));
    let generation = vault.put(&grant(), &tokens).unwrap();
    vault
        .claim(&grant(), generation, Duration::from_secs(60))
        .unwrap();
    vault.commit(&grant(), generation, &tokens).unwrap();
    let check = |moment: &str| {
        for spelling in spellings(canary) {
            assert_eq!(holds(&home, &spelling), None, "{moment}");
        }
    };
    check("in use");
    let log = home.folders.data.join("vault.db-wal");
    assert!(
        fs::metadata(log).unwrap().len() > 0,
        "the log was searched too"
    );
    vault.delete(&grant()).unwrap();
    check("after signing out");
    drop(vault);
    check("closed");
}

#[test]
fn search_would_find_a_secret() {
    let home = Home::new();
    drop(home.open());
    home.attacker()
        .execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES ('CANARY_x')")
        .unwrap();
    assert!(holds(&home, b"CANARY_x").is_some());
    assert_eq!(base64(b"CANARY"), "Q0FOQVJZ");
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
    for number in 0..200 {
        other
            .put(&grant().account(format!("a{number}")), &token(number))
            .unwrap();
    }
    for number in (0..200).filter(|number| number % 3 != 0) {
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
