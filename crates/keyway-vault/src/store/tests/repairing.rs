//! Repairing: what opens is kept, what does not is named, the damaged file is not touched.

use keyway_secret::Secret;
use keyway_store::{Claim, GrantKey, GrantStore as _, Tokens};

use super::*;
use crate::Repaired;
use crate::error::Loss;

fn grant(server: &str) -> GrantKey {
    GrantKey::new("default").server(server)
}

fn tokens(number: u32) -> Tokens {
    Tokens::new(Secret::new(format!("access-{number}")))
        .with_refresh(Secret::new(format!("refresh-{number}")))
}

/// Three approvals and three sign-ins.
fn filled() -> Home {
    let home = Home::new();
    let vault = home.open();
    for (number, name) in (1..).zip(["a", "b", "c"]) {
        trust(&vault).put(name, name.as_bytes()).unwrap();
        vault.put(&grant(name), &tokens(number)).unwrap();
    }
    home
}

fn repair(home: &Home) -> Result<Repaired, VaultError> {
    Vault::repair(&home.folders, KeySources::default())
}

fn access(vault: &Vault, name: &str) -> Option<String> {
    let read = vault.read(&grant(name)).unwrap();
    read.map(|grant| grant.access.expose().clone())
}

#[test]
fn vault_without_damage_is_left_alone() {
    let home = filled();
    let before = home.files();
    let repaired = repair(&home).unwrap();
    assert!(repaired.previous.is_none());
    assert_eq!(
        (repaired.contents.entries, repaired.contents.grants),
        (3, 3)
    );
    assert_eq!(home.files(), before);
}

#[test]
fn what_opens_is_kept_and_the_rest_is_named() {
    let home = filled();
    home.edit(
        "UPDATE records SET sealed = zeroblob(99) WHERE key = 'a';
         DELETE FROM records WHERE key = 'b';
         UPDATE grants SET access = zeroblob(99) WHERE name LIKE '%a%';",
    );
    let damaged = fs::read(home.folders.data.join(connection::NAME)).unwrap();
    let repaired = repair(&home).unwrap();
    assert_eq!(
        repaired.lost,
        [
            "entry `a` of `trust`",
            "entry `b` of `trust`",
            "the sign-in to `:a`"
        ]
    );
    assert_eq!(
        (repaired.contents.entries, repaired.contents.grants),
        (1, 2)
    );
    let previous = repaired.previous.unwrap();
    assert_eq!(fs::read(&previous).unwrap(), damaged, "not written to");
    let vault = home.open();
    assert!(vault.verify().unwrap().problems.is_empty());
    assert_eq!(value(&trust(&vault), "c").unwrap(), b"c");
    assert_eq!(value(&trust(&vault), "a"), None);
    assert_eq!(access(&vault, "b").unwrap(), "access-2");
    assert_eq!(access(&vault, "a"), None);
    trust(&vault).put("a", b"again").unwrap();
    vault.put(&grant("a"), &tokens(9)).unwrap();
    assert!(vault.verify().unwrap().problems.is_empty());
}

#[test]
fn sign_in_that_was_put_back_is_not_kept() {
    let home = filled();
    home.edit(
        "CREATE TABLE saved AS SELECT * FROM grants WHERE name LIKE '%a%';
         CREATE TABLE saved_keys AS SELECT * FROM data_keys;",
    );
    let vault = home.open();
    let seen = vault.read(&grant("a")).unwrap().unwrap().generation;
    vault.commit(&grant("a"), seen, &tokens(9)).unwrap();
    drop(vault);
    home.edit(
        "INSERT OR REPLACE INTO grants SELECT * FROM saved;
         INSERT OR REPLACE INTO data_keys SELECT * FROM saved_keys;",
    );
    let repaired = repair(&home).unwrap();
    assert_eq!(repaired.lost, ["the sign-in to `:a`"]);
    assert_eq!(access(&home.open(), "a"), None);
}

#[test]
fn rows_outlive_their_lists_of_contents_and_the_key_of_these() {
    for damage in [
        "UPDATE buckets SET sealed = zeroblob(99)",
        "UPDATE manifests SET sealed = zeroblob(99)",
        "DELETE FROM data_keys WHERE id = (SELECT index_key FROM header)",
    ] {
        let home = filled();
        home.edit(damage);
        let repaired = repair(&home).unwrap();
        assert!(repaired.lost.is_empty(), "{damage}: {:?}", repaired.lost);
        assert!(!repaired.unlisted.is_empty(), "{damage}");
        let vault = home.open();
        assert_eq!(value(&trust(&vault), "a").unwrap(), b"a", "{damage}");
        assert_eq!(access(&vault, "c").unwrap(), "access-3", "{damage}");
        assert!(vault.verify().unwrap().problems.is_empty(), "{damage}");
    }
}

/// The successor of a refresh token is committed, and the token itself not sent again.
#[test]
fn tokens_in_the_journal_find_their_sign_in_after_a_repair() {
    let home = filled();
    let vault = home.open();
    let seen = vault.read(&grant("b")).unwrap().unwrap().generation;
    vault.journal(&grant("b"), seen, &tokens(7)).unwrap();
    drop(vault);
    home.edit("UPDATE records SET sealed = zeroblob(99)");
    repair(&home).unwrap();
    let vault = home.open();
    let claim = vault.claim(&grant("b"), seen, Duration::from_secs(9));
    assert!(matches!(claim, Ok(Claim::Moved { .. })), "{claim:?}");
    assert_eq!(access(&vault, "b").unwrap(), "access-7");
}

#[test]
fn backup_from_before_a_repair_is_told_to_be_older() {
    let home = filled();
    let vault = home.open();
    let copy = home.folders.data.parent().unwrap().join("copy");
    vault.backup(&copy).unwrap();
    let seen = vault.read(&grant("b")).unwrap().unwrap().generation;
    vault.commit(&grant("b"), seen, &tokens(7)).unwrap();
    drop(vault);
    home.edit("UPDATE records SET sealed = zeroblob(99)");
    repair(&home).unwrap();
    let restored = Vault::restore(&home.folders, KeySources::default(), &copy).unwrap();
    assert_eq!(restored.outdated, ["the sign-in to `:b`"]);
}

/// Cut anywhere and overwritten anywhere: a sound vault, or an error and the same file as before.
#[test]
fn damaged_pages_end_in_a_sound_vault_or_in_nothing_changed() {
    let whole = {
        let home = filled();
        fs::read(home.folders.data.join(connection::NAME)).unwrap()
    };
    let pages = whole.len() / 4096;
    let mut kept = 0;
    for page in 0..pages {
        for cut in [true, false] {
            let home = filled();
            let path = home.folders.data.join(connection::NAME);
            let mut bytes = fs::read(&path).unwrap();
            if cut {
                bytes.truncate(page * 4096 + 1);
            } else {
                bytes[page * 4096..][..4096].fill(0x5a);
            }
            fs::remove_file(&path).unwrap();
            let file = Folder::open(&home.folders.data).unwrap();
            let mut file = fs::File::from(file.create_open(connection::NAME).unwrap());
            std::io::Write::write_all(&mut file, &bytes).unwrap();
            match repair(&home) {
                Ok(repaired) => {
                    kept += repaired.contents.entries + repaired.contents.grants;
                    let vault = home.open();
                    assert!(vault.verify().unwrap().problems.is_empty(), "{page} {cut}");
                    trust(&vault).put("new", b"1").unwrap();
                }
                Err(error) => {
                    let lost = matches!(
                        error,
                        VaultError::Lost {
                            how: Loss::Damaged,
                            ..
                        }
                    );
                    assert!(lost, "{page} {cut}: {error}");
                    assert_eq!(fs::read(&path).unwrap(), bytes);
                    let names = home.files().into_iter().map(|(path, _)| path);
                    let drafts = names.filter(|path| path.to_string_lossy().contains("new-"));
                    assert_eq!(drafts.count(), 0, "{page} {cut}");
                }
            }
        }
    }
    assert!(kept > pages, "{kept} values of {pages} pages");
}

/// As a disk that was full, or a copy that was interrupted, leaves it. SQLite reaches no page behind
/// the first that is missing, and puts those that lead to others at the end of the file.
#[test]
fn what_whole_pages_hold_is_kept_wherever_a_file_was_cut_off() {
    let home = Home::new();
    let vault = home.open();
    // Longer than a page takes, too: its rest is in pages of its own.
    let long = "x".repeat(3000);
    for number in 0..120 {
        let mut new = tokens(number);
        if number % 10 == 0 {
            new.access = Secret::new(format!("access-{number} {long}"));
        }
        vault.put(&grant(&format!("s{number:03}")), &new).unwrap();
        trust(&vault).put(&format!("k{number:03}"), b"v").unwrap();
    }
    let seen = vault.read(&grant("s007")).unwrap().unwrap().generation;
    vault.commit(&grant("s007"), seen, &tokens(7007)).unwrap();
    drop(vault);
    let path = home.folders.data.join(connection::NAME);
    let whole = fs::read(&path).unwrap();
    let places = places(&home, &whole);
    assert_eq!(places.len(), 240);

    let mut all_kept = 0;
    for page in (2..whole.len() / PAGE).step_by(3) {
        let cut = page * PAGE + page;
        overwrite(&path, &whole[..cut]);
        let whole_before = |ends: &dyn Fn(&(usize, usize)) -> usize| {
            places.iter().filter(|place| ends(place) <= cut).count()
        };
        let (least, most) = (whole_before(&|it| it.1), whole_before(&|it| it.0));
        let kept = match repair(&home) {
            Ok(repaired) => {
                let contents = &repaired.contents;
                let kept = contents.entries + contents.grants;
                let is_all = kept + repaired.lost.len() == places.len();
                assert!(is_all || !repaired.unlisted.is_empty(), "{page}");
                let previous = repaired.previous.unwrap();
                assert_eq!(
                    fs::read(&previous).unwrap(),
                    &whole[..cut],
                    "not written to"
                );
                fs::remove_file(previous).unwrap();
                assert!(home.open().verify().unwrap().problems.is_empty(), "{page}");
                kept
            }
            Err(VaultError::Lost { .. }) => 0,
            Err(error) => panic!("{error}"),
        };
        assert!(
            (least..=most).contains(&kept),
            "{page}: {kept}, {least} to {most}"
        );
        all_kept += kept;
    }
    assert!(all_kept > places.len(), "{all_kept}");
    overwrite(&path, &whole);
    assert!(repair(&home).unwrap().previous.is_none());
    assert_eq!(access(&home.open(), "s007").unwrap(), "access-7007");
}

fn overwrite(path: &std::path::Path, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).truncate(true).open(path);
    std::io::Write::write_all(&mut file.unwrap(), bytes).unwrap();
}

/// Returns for every row the end of the last page that has a part of it or of its data key.
///
/// Twice, the first and the last such page that it can be: SQLite leaves copies of rows that it
/// moved in the unused parts of pages.
fn places(home: &Home, file: &[u8]) -> Vec<(usize, usize)> {
    let mut found = std::collections::HashMap::<&[u8], (usize, usize)>::new();
    for (at, bytes) in file.windows(24).enumerate() {
        let end = (at / PAGE + 1) * PAGE;
        found.entry(bytes).or_insert((end, end)).1 = end;
    }
    let database = home.attacker();
    let mut query = database
        .prepare(
            "SELECT access, refresh, wrapped FROM grants JOIN data_keys ON id = data_key
             UNION ALL
             SELECT sealed, sealed, wrapped FROM records JOIN data_keys ON id = data_key",
        )
        .unwrap();
    let parts = query.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]));
    let parts: Vec<[Vec<u8>; 3]> = parts.unwrap().map(Result::unwrap).collect();
    // What is long goes on in another page.
    let ends = |part: &Vec<u8>| [found[&part[..24]], found[&part[part.len() - 24..]]];
    let place = |parts: &[Vec<u8>; 3]| {
        let all: Vec<_> = parts.iter().flat_map(ends).collect();
        let first = all.iter().map(|it| it.0).max().unwrap();
        (first, all.iter().map(|it| it.1).max().unwrap())
    };
    parts.iter().map(place).collect()
}

const PAGE: usize = 4096;

/// POSIX ends a lock with any descriptor of the file that its process closes.
#[test]
fn vault_stays_locked_while_it_is_copied() {
    let home = filled();
    let data = Folder::open(&home.folders.data).unwrap();
    let alone = damaged::exclude_others(&data).unwrap();
    damaged::copy_aside(&alone, &data, "new-copy.db").unwrap();
    let inode = std::os::unix::fs::MetadataExt::ino(&alone.metadata().unwrap());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let is_held = |line: &str| {
        line.contains(" WRITE ")
            && line.contains(&format!(" {} ", std::process::id()))
            && line.contains(&format!(":{inode} "))
    };
    assert!(locks.lines().any(is_held), "{locks}");
}

#[test]
fn vault_that_another_process_uses_is_not_repaired() {
    let home = filled();
    home.edit("UPDATE records SET sealed = zeroblob(99)");
    let before = fs::read(home.folders.data.join(connection::NAME)).unwrap();
    let mut other = crate::grants::hold_open(&home);
    let error = repair(&home).unwrap_err();
    assert!(matches!(error, VaultError::Busy), "{error}");
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(
        fs::read(home.folders.data.join(connection::NAME)).unwrap(),
        before
    );
    assert_eq!(repair(&home).unwrap().lost.len(), 3);
}
