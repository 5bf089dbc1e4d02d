//! What an attacker can do who may write to the database, but has no key (`threats.md` P1).

use super::*;

/// Copies all columns of one row aside, to put them back later.
const SAVE: &str = "CREATE TABLE saved AS SELECT * FROM records WHERE key = 'a';
    CREATE TABLE saved_keys AS SELECT * FROM data_keys;";
const RESTORE: &str =
    "DELETE FROM records WHERE key = 'a'; INSERT INTO records SELECT * FROM saved;
    INSERT OR REPLACE INTO data_keys SELECT * FROM saved_keys;";

fn two_entries() -> (Home, Vault) {
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", b"1").unwrap();
    trust(&vault).put("b", b"2").unwrap();
    (home, vault)
}

#[test]
fn p1_swapped_values_are_noticed() {
    for columns in [
        "sealed = (SELECT sealed FROM records o WHERE o.key <> records.key)",
        "sealed = (SELECT sealed FROM records o WHERE o.key <> records.key),
         data_key = (SELECT data_key FROM records o WHERE o.key <> records.key)",
    ] {
        let (home, vault) = two_entries();
        home.attacker()
            .execute(&format!("UPDATE records SET {columns}"), [])
            .unwrap();
        assert_eq!(damage(trust(&vault).get("a")), Damage::Altered);
        assert_eq!(damage(trust(&vault).list()), Damage::Altered);
    }
}

#[test]
fn renamed_entries_and_namespaces_are_noticed() {
    let (home, vault) = two_entries();
    home.attacker()
        .execute_batch(
            "UPDATE records SET key = 'c' WHERE key = 'a'; UPDATE records SET key = 'a' WHERE key = 'b';
             UPDATE records SET key = 'b' WHERE key = 'c';",
        )
        .unwrap();
    assert_eq!(damage(trust(&vault).get("a")), Damage::RolledBack);
    let (home, vault) = two_entries();
    home.attacker()
        .execute("UPDATE records SET namespace = 'env'", [])
        .unwrap();
    assert_eq!(damage(trust(&vault).get("a")), Damage::Missing);
    let env = vault.sealed(Namespace::new("env").unwrap());
    assert_eq!(damage(env.get("a")), Damage::Unexpected);
}

#[test]
fn p1_single_entry_put_back_to_an_older_state_is_noticed() {
    let (home, vault) = two_entries();
    let attacker = home.attacker();
    attacker.execute_batch(SAVE).unwrap();
    trust(&vault).put("a", b"changed").unwrap();
    attacker.execute_batch(RESTORE).unwrap();
    assert_eq!(damage(trust(&vault).get("a")), Damage::RolledBack);
    assert_eq!(damage(trust(&vault).list()), Damage::RolledBack);
    assert_eq!(
        damage(trust(&home.open()).put("a", b"x")),
        Damage::RolledBack
    );
    assert_eq!(
        value(&trust(&vault), "b").unwrap(),
        b"2",
        "the others stay usable"
    );
}

#[test]
fn older_generation_passed_off_as_the_current_one_is_noticed() {
    let (home, vault) = two_entries();
    let attacker = home.attacker();
    attacker.execute_batch(SAVE).unwrap();
    let current = trust(&vault).put("a", b"changed").unwrap();
    attacker.execute_batch(RESTORE).unwrap();
    attacker
        .execute(
            "UPDATE records SET generation = ?1 WHERE key = 'a'",
            [current.get()],
        )
        .unwrap();
    assert_eq!(damage(trust(&vault).get("a")), Damage::Altered);
}

#[test]
fn revoked_entry_that_is_put_back_is_noticed() {
    let (home, vault) = two_entries();
    let attacker = home.attacker();
    attacker.execute_batch(SAVE).unwrap();
    trust(&vault).delete("a").unwrap();
    attacker.execute_batch(RESTORE).unwrap();
    assert_eq!(damage(trust(&vault).get("a")), Damage::Unexpected);
}

#[test]
fn namespace_put_back_together_with_its_manifest_is_noticed() {
    let (home, vault) = two_entries();
    let attacker = home.attacker();
    attacker.execute_batch(SAVE).unwrap();
    attacker
        .execute_batch("CREATE TABLE m AS SELECT * FROM manifests WHERE namespace = 'trust'")
        .unwrap();
    trust(&vault).put("a", b"changed").unwrap();
    attacker.execute_batch(RESTORE).unwrap();
    attacker
        .execute_batch("INSERT OR REPLACE INTO manifests SELECT * FROM m")
        .unwrap();
    assert_eq!(damage(trust(&vault).get("a")), Damage::RolledBack);
}

#[test]
fn part_of_the_list_put_back_together_with_its_row_is_noticed() {
    let (home, vault) = two_entries();
    // Which part lists a key depends on the vault's key: some of these are not in that of `a`.
    let others = ["b", "c", "d", "e", "f", "g"];
    for key in others {
        trust(&vault).put(key, b"2").unwrap();
    }
    let attacker = home.attacker();
    attacker.execute_batch(SAVE).unwrap();
    attacker
        .execute_batch("CREATE TABLE b AS SELECT * FROM buckets")
        .unwrap();
    trust(&vault).put("a", b"changed").unwrap();
    attacker.execute_batch(RESTORE).unwrap();
    attacker
        .execute_batch("DELETE FROM buckets; INSERT INTO buckets SELECT * FROM b")
        .unwrap();
    assert_eq!(damage(trust(&vault).get("a")), Damage::RolledBack);
    assert_eq!(damage(trust(&vault).put("a", b"x")), Damage::RolledBack);
    let usable = others.map(|key| trust(&vault).get(key).is_ok());
    assert!(usable.contains(&true), "the others stay usable");
}

#[test]
fn directory_put_back_with_its_parts_and_rows_is_noticed() {
    let (home, vault) = two_entries();
    let attacker = home.attacker();
    let tables = ["records", "data_keys", "buckets", "manifests"];
    for table in tables {
        let save = format!("CREATE TABLE old_{table} AS SELECT * FROM {table}");
        attacker.execute_batch(&save).unwrap();
    }
    trust(&vault).put("a", b"changed").unwrap();
    attacker
        .execute_batch("DELETE FROM old_manifests WHERE namespace = ''")
        .unwrap();
    for table in tables {
        let put_back = format!("INSERT OR REPLACE INTO {table} SELECT * FROM old_{table}");
        attacker.execute_batch(&put_back).unwrap();
    }
    assert_eq!(damage(trust(&vault).get("a")), Damage::RolledBack);
    assert_eq!(damage(trust(&vault).list()), Damage::RolledBack);
}

#[test]
fn damaged_part_of_the_list_is_one_problem_and_leaves_the_others_usable() {
    let home = Home::new();
    let vault = home.open();
    for number in 0..40 {
        trust(&vault).put(&format!("k{number}"), b"v").unwrap();
    }
    home.edit(
        "UPDATE buckets SET sealed = zeroblob(length(sealed))
         WHERE bucket = (SELECT min(bucket) FROM buckets)",
    );
    let problems = vault.verify().unwrap().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    let readable = (0..40).filter(|n| trust(&vault).get(&format!("k{n}")).is_ok());
    assert!(readable.count() >= 30);
}

#[test]
fn removed_rows_are_noticed() {
    let (home, vault) = two_entries();
    home.attacker()
        .execute("DELETE FROM records WHERE key = 'a'", [])
        .unwrap();
    assert_eq!(damage(trust(&vault).get("a")), Damage::Missing);
    assert_eq!(damage(trust(&vault).list()), Damage::Missing);
    assert_eq!(
        trust(&vault).delete("a").unwrap(),
        Deleted::Wiped,
        "and can be deleted"
    );
    assert_eq!(trust(&vault).list().unwrap().len(), 1);
    for table in ["manifests", "buckets", "data_keys"] {
        let (home, vault) = two_entries();
        home.attacker()
            .execute(&format!("DELETE FROM {table}"), [])
            .unwrap();
        assert_eq!(damage(trust(&vault).get("a")), Damage::Missing, "{table}");
    }
    let (home, vault) = two_entries();
    home.attacker().execute("DELETE FROM header", []).unwrap();
    assert_eq!(damage(trust(&vault).get("a")), Damage::Missing);
    let reopened = Vault::open(&home.folders, KeySources::default());
    assert_eq!(
        damage(reopened),
        Damage::Missing,
        "no new key is made over old data"
    );
}

#[test]
fn expiry_cannot_be_edited() {
    let (home, vault) = two_entries();
    home.attacker()
        .execute("UPDATE records SET expires_at = 1 WHERE key = 'a'", [])
        .unwrap();
    assert_eq!(damage(trust(&vault).get("a")), Damage::Altered);
    trust(&vault).put("c", b"3").unwrap();
    assert_eq!(
        damage(trust(&vault).list()),
        Damage::Altered,
        "nor makes writing remove the entry"
    );
}

#[test]
fn p1_flipped_bits_in_any_sealed_column_are_noticed() {
    for (table, column) in [
        ("records", "sealed"),
        ("records", "data_key"),
        ("data_keys", "wrapped"),
        ("manifests", "sealed"),
        ("buckets", "sealed"),
        ("header", "check_value"),
    ] {
        let (home, vault) = two_entries();
        drop(vault);
        let attacker = home.attacker();
        let rows: Vec<Vec<u8>> = attacker
            .prepare(&format!("SELECT {column} FROM {table}"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        for row in rows {
            let mut flipped = row.clone();
            let middle = flipped.len() / 2;
            flipped[middle] ^= 0x10;
            let update = format!("UPDATE {table} SET {column} = ?1 WHERE {column} = ?2");
            attacker.execute(&update, [&flipped, &row]).unwrap();
            let noticed = Vault::open(&home.folders, KeySources::default())
                .and_then(|vault| trust(&vault).list().map(drop));
            assert!(
                matches!(noticed, Err(VaultError::Corrupt { .. })),
                "{table}.{column}"
            );
            attacker.execute(&update, [&row, &flipped]).unwrap();
        }
        assert_eq!(
            trust(&home.open()).list().unwrap().len(),
            2,
            "nothing was overwritten"
        );
    }
}

#[test]
fn planted_trigger_does_not_run() {
    let (home, vault) = two_entries();
    home.attacker()
        .execute_batch(
            "CREATE TABLE loot (x); CREATE TRIGGER t BEFORE DELETE ON data_keys
             BEGIN INSERT INTO loot VALUES (old.wrapped); END;",
        )
        .unwrap();
    trust(&vault).delete("a").unwrap();
    let loot: i64 = home
        .attacker()
        .query_row("SELECT count(*) FROM loot", [], |row| row.get(0))
        .unwrap();
    assert_eq!(loot, 0);
}
