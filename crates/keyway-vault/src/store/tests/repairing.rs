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

/// As a disk that was full, or a copy that was interrupted, leaves it.
/// Which rows can be reached depends on where SQLite put the pages that lead to them, which differs
/// from vault to vault: with some the end of the file takes all of them along. So several are tried.
#[test]
fn whole_pages_of_a_file_that_was_cut_off_are_kept_and_the_rest_is_named() {
    let kept = (0..12).map(|_| cut_and_repair()).find(|kept| *kept > 5);
    assert!(kept.is_some(), "of no vault anything was kept");
}

/// Cuts the last quarter off a vault with sixty rows, repairs it, and returns how many are left.
fn cut_and_repair() -> usize {
    let home = Home::new();
    let vault = home.open();
    let long = [b'x'; 700];
    for number in 0..60 {
        trust(&vault).put(&format!("k{number:02}"), &long).unwrap();
    }
    drop(vault);
    let path = home.folders.data.join(connection::NAME);
    let whole = fs::metadata(&path).unwrap().len();
    let cut = whole * 3 / 4 + 1;
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(cut).unwrap();
    let before = fs::read(&path).unwrap();
    let repaired = match repair(&home) {
        Ok(repaired) => repaired,
        Err(VaultError::Lost { .. }) => {
            assert_eq!(fs::read(&path).unwrap(), before, "not written to");
            return 0;
        }
        Err(error) => panic!("{error}"),
    };
    let kept = repaired.contents.entries;
    // A list that is gone is named itself; what stood in it is not known any more.
    let is_all = kept + repaired.lost.len() == 60;
    assert!(is_all || !repaired.unlisted.is_empty());
    let previous = repaired.previous.unwrap();
    assert_eq!(fs::read(previous).unwrap(), before, "not written to");
    let vault = home.open();
    let found = (0..60).filter(|number| value(&trust(&vault), &format!("k{number:02}")).is_some());
    assert_eq!(found.count(), kept);
    assert!(vault.verify().unwrap().problems.is_empty());
    kept
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
