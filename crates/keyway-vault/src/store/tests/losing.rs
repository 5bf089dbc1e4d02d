//! A vault that was there and is not: never taken for a first use.

use keyway_secret::Secret;

use super::*;
use crate::error::Loss;
use crate::key::ExplicitKey;

fn loss(result: Result<impl fmt::Debug, VaultError>) -> Loss {
    match result {
        Err(VaultError::Lost { how, .. }) => how,
        other => panic!("{other:?}"),
    }
}

fn made() -> Home {
    let home = Home::new();
    trust(&home.open()).put("a", b"1").unwrap();
    home
}

fn database(home: &Home) -> PathBuf {
    home.folders.data.join(connection::NAME)
}

#[test]
fn file_without_content_is_not_a_first_use() {
    let home = made();
    let file = fs::OpenOptions::new().write(true).open(database(&home));
    file.unwrap().set_len(0).unwrap();
    let before = home.files();
    let code = Vault::exists(&home.folders).unwrap_err().code();
    assert_eq!(code.as_str(), "vault-lost");
    assert_eq!(loss(Vault::exists(&home.folders)), Loss::Empty);
    assert_eq!(loss(Vault::inspect(&home.folders)), Loss::Empty);
    let opened = Vault::open(&home.folders, KeySources::default());
    assert_eq!(loss(opened), Loss::Empty);
    assert_eq!(home.files(), before, "nothing was made");
}

/// SQLite takes a file of one byte for an empty one, and makes a database of it.
#[test]
fn file_that_is_shorter_than_a_header_is_not_a_first_use_and_not_written_to() {
    for length in [1, 2, 99] {
        let home = made();
        let file = fs::OpenOptions::new().write(true).open(database(&home));
        file.unwrap().set_len(length).unwrap();
        let before = home.files();
        assert_eq!(loss(Vault::exists(&home.folders)), Loss::Damaged);
        assert_eq!(loss(Vault::inspect(&home.folders)), Loss::Damaged);
        let opened = Vault::open(&home.folders, KeySources::default());
        assert_eq!(loss(opened), Loss::Damaged, "{length}");
        let repaired = Vault::repair(&home.folders, KeySources::default());
        assert_eq!(loss(repaired), Loss::Damaged, "{length}");
        assert_eq!(home.files(), before, "{length}: nothing was made");
        let stays = fs::metadata(database(&home)).unwrap().len();
        assert_eq!(stays, length, "nothing was written");
    }
}

#[test]
fn key_without_its_vault_is_not_a_first_use() {
    let home = made();
    fs::remove_file(database(&home)).unwrap();
    let before = home.files();
    assert_eq!(loss(Vault::exists(&home.folders)), Loss::Missing);
    let opened = Vault::open(&home.folders, KeySources::default());
    assert_eq!(loss(opened), Loss::Missing);
    assert_eq!(home.files(), before, "nothing was made");
}

#[test]
fn vault_with_a_key_from_elsewhere_leaves_a_trace() {
    let home = Home::new();
    let key = || ExplicitKey::Supplied(std::sync::Arc::new(Secret::new([7; 32])));
    let open = || Vault::open(&home.folders, KeySources::default().with_explicit(key()));
    drop(open().unwrap());
    fs::remove_file(database(&home)).unwrap();
    assert_eq!(loss(open()), Loss::Missing);
}

#[test]
fn vault_that_was_never_made_is_not_lost() {
    let home = Home::new();
    assert!(!Vault::exists(&home.folders).unwrap());
    assert!(Vault::inspect(&home.folders).unwrap().is_none());
    assert!(!home.folders.data.exists());
}

#[test]
fn file_that_is_removed_or_replaced_under_a_running_process_is_noticed() {
    let home = made();
    let vault = home.open();
    let aside = home.folders.data.join("aside");
    fs::rename(database(&home), &aside).unwrap();
    assert_eq!(loss(trust(&vault).get("a").map(drop)), Loss::Missing);
    assert_eq!(loss(trust(&vault).put("a", b"2").map(drop)), Loss::Missing);
    fs::copy(&aside, database(&home)).unwrap();
    assert_eq!(loss(trust(&vault).get("a").map(drop)), Loss::Replaced);
    fs::rename(&aside, database(&home)).unwrap();
    assert_eq!(value(&trust(&vault), "a").unwrap(), b"1", "it is back");
}

/// `threats.md` E1: a child renames a folder above the vault, and a decoy takes its place.
#[test]
fn vault_behind_a_renamed_folder_is_not_used() {
    let home = made();
    let vault = home.open();
    let parent = home.folders.data.parent().unwrap();
    fs::rename(parent, parent.with_file_name("moved")).unwrap();
    trust(&home.open()).put("a", b"planted").unwrap();
    assert_eq!(loss(trust(&vault).get("a").map(drop)), Loss::Replaced);
}

#[test]
fn processes_that_make_the_first_vault_at_once_share_one() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let home = &home;
            scope.spawn(move || trust(&home.open()).put(&number.to_string(), b"1").unwrap());
        }
    });
    assert_eq!(trust(&home.open()).list().unwrap().len(), 8);
    let files = home.files();
    let count = |start: &str| {
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let names = files.iter().map(|(path, _)| name(path));
        names.filter(|name| name.starts_with(start)).count()
    };
    assert_eq!((count("vault-"), count("new-")), (1, 0), "{files:?}");
}

#[test]
fn key_that_did_not_get_its_name_before_a_crash_is_found_and_gets_it() {
    let home = made();
    let key = fs::read_dir(&home.folders.config).unwrap().next();
    let key = key.unwrap().unwrap().path();
    let name = key.file_name().unwrap().to_str().unwrap();
    fs::rename(&key, key.with_file_name(format!("new-{name}"))).unwrap();
    assert_eq!(value(&trust(&home.open()), "a").unwrap(), b"1");
    assert!(key.exists());
}

#[test]
fn empty_key_file_is_told_from_a_key_that_is_to_be_made() {
    let home = made();
    let key = fs::read_dir(&home.folders.config).unwrap().next();
    let key = key.unwrap().unwrap().path();
    fs::OpenOptions::new()
        .write(true)
        .open(&key)
        .unwrap()
        .set_len(0)
        .unwrap();
    let error = Vault::open(&home.folders, KeySources::default()).unwrap_err();
    assert!(
        matches!(error, VaultError::DamagedKeyFile { .. }),
        "{error}"
    );
    assert!(!error.hint().unwrap().contains("openssl"));
}

#[test]
fn vault_that_cannot_be_changed_can_be_read() {
    let home = made();
    let vault = home.open();
    let data = Folder::open(&home.folders.data).unwrap();
    // As if the disk were full: the connection is the one that is used then.
    let for_reading = connection::open_for_reading(&data);
    {
        let mut inner = vault.lock();
        inner.connection = for_reading.unwrap();
        inner.obstacle = Some(Obstacle::DiskFull);
    }
    assert_eq!(value(&trust(&vault), "a").unwrap(), b"1");
    trust(&vault).put("a", b"2").unwrap();
    assert!(vault.lock().obstacle.is_none(), "there is room again");
    assert_eq!(value(&trust(&vault), "a").unwrap(), b"2");
}

/// What was made stays, so the key that opens it must stay as well.
#[test]
fn a_vault_whose_folder_cannot_be_synced_keeps_its_key() {
    let home = Home::new();
    let config = Folder::open(&home.folders.config).unwrap();
    let data = Folder::without_sync(&home.folders.data);
    let error = create::make(&data, &config, &KeySources::default()).unwrap_err();
    assert!(error.to_string().contains("cannot sync"), "{error}");
    assert!(Vault::exists(&home.folders).unwrap());
    trust(&home.open()).put("a", b"1").unwrap();
}
