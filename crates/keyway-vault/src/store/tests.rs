use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::{Damage, Deleted};

mod erasing;
mod keys;
mod losing;
mod rekeying;
mod repairing;
mod restoring;
mod scale;
mod tampering;
mod upgrading;

/// A vault in a temporary home, which can be opened again and edited from outside.
pub(crate) struct Home {
    _dir: TempDir,
    pub(crate) folders: Folders,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::below(dir.path().join("k"));
        Self { _dir: dir, folders }
    }

    pub(crate) fn open(&self) -> Vault {
        Vault::open(&self.folders, KeySources::default()).unwrap()
    }

    /// A plain connection, as an attacker has who can write to the file.
    pub(crate) fn attacker(&self) -> Connection {
        Connection::open(self.folders.data.join(connection::NAME)).unwrap()
    }

    /// Changes the database behind the vault's back.
    pub(crate) fn edit(&self, sql: &str) {
        self.attacker().execute_batch(sql).unwrap();
    }

    /// Every file below the three folders.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut folders = vec![
            self.folders.data.clone(),
            self.folders.config.clone(),
            self.folders.runtime.clone(),
        ];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push((path.clone(), fs::read(path).unwrap()));
                }
            }
        }
        files
    }
}

pub(crate) fn damage<T: fmt::Debug>(result: Result<T, impl Into<VaultError>>) -> Damage {
    match result.map_err(Into::into) {
        Err(VaultError::Corrupt { how, .. }) => how,
        other => panic!("{other:?}"),
    }
}

fn trust(vault: &Vault) -> Sealed<'_> {
    vault.sealed(Namespace::new("trust").unwrap())
}

fn value(rows: &Sealed<'_>, key: &str) -> Option<Vec<u8>> {
    rows.get(key)
        .unwrap()
        .map(|record| record.value.expose().clone())
}

#[test]
fn what_was_put_is_found_by_a_later_process() {
    let home = Home::new();
    let first = trust(&home.open()).put("a", b"1").unwrap();
    let vault = home.open();
    let rows = trust(&vault);
    assert_eq!(value(&rows, "a").unwrap(), b"1");
    assert!(rows.put("a", b"2").unwrap() > first);
    rows.put("b", b"3").unwrap();
    assert_eq!(value(&rows, "a").unwrap(), b"2");
    let keys: Vec<_> = rows
        .list()
        .unwrap()
        .into_iter()
        .map(|entry| entry.key)
        .collect();
    assert_eq!(keys, ["a", "b"]);
    assert_eq!(
        value(&vault.sealed(Namespace::new("env").unwrap()), "a"),
        None
    );
}

#[test]
fn deleted_entry_is_gone_and_may_come_back() {
    let home = Home::new();
    let vault = home.open();
    let rows = trust(&vault);
    let first = rows.put("a", b"1").unwrap();
    assert_eq!(rows.delete("a").unwrap(), Deleted::Wiped);
    assert_eq!(rows.delete("a").unwrap(), Deleted::Absent);
    assert_eq!(value(&rows, "a"), None);
    assert!(rows.put("a", b"2").unwrap() > first);
}

#[test]
fn expired_entry_is_neither_found_nor_listed_and_then_removed() {
    let home = Home::new();
    let vault = home.open();
    let rows = trust(&vault);
    rows.put_for("old", b"1", Duration::ZERO).unwrap();
    rows.put_for("new", b"2", Duration::from_secs(3600))
        .unwrap();
    assert_eq!(value(&rows, "old"), None);
    assert_eq!(rows.list().unwrap().len(), 1);
    let stored: i64 = home
        .attacker()
        .query_row("SELECT count(*) FROM records", [], |row| row.get(0))
        .unwrap();
    assert_eq!(stored, 1, "writing removes what has expired");
}

#[test]
fn names_that_cannot_be_kept_are_refused() {
    let home = Home::new();
    let vault = home.open();
    for name in ["", "Trust", "a/b", "a b", &"x".repeat(65)] {
        assert!(
            matches!(Namespace::new(name), Err(VaultError::InvalidName { .. })),
            "{name}"
        );
    }
    for key in ["", &"x".repeat(5000)] {
        let error = trust(&vault).put(key, b"").unwrap_err();
        assert!(matches!(error, VaultError::InvalidName { .. }));
        assert_eq!(error.code().as_str(), "vault-failed");
    }
}

/// `threats.md` D12.
#[test]
fn names_never_become_file_names() {
    let home = Home::new();
    let vault = home.open();
    let rows = trust(&vault);
    let names = [
        "../x",
        "a/b",
        "a\0b",
        "CON",
        ".",
        "..",
        "/etc/passwd",
        "@scope/x",
        "' OR 1=1 --",
    ];
    let long = "n".repeat(4096);
    for name in names.into_iter().chain([long.as_str()]) {
        rows.put(name, name.as_bytes()).unwrap();
    }
    for name in names {
        assert_eq!(value(&rows, name).unwrap(), name.as_bytes());
    }
    let known = |name: &str| name.starts_with("vault.db") || name.starts_with("vault-");
    for (path, _) in home.files() {
        assert!(
            known(path.file_name().unwrap().to_str().unwrap()),
            "{}",
            path.display()
        );
    }
}

/// `threats.md` D13: whatever name we create, a link planted there leads to no change elsewhere.
#[test]
fn planted_links_leave_their_target_unchanged() {
    let names = [
        "data/vault.db",
        "data/vault.db-wal",
        "data/vault.db-shm",
        "data/vault.db-journal",
    ];
    for name in names.into_iter().chain(["data", "config", "runtime"]) {
        let home = Home::new();
        let base = home.folders.data.parent().unwrap().to_owned();
        let victim = base.parent().unwrap().join("victim");
        let link = base.join(name);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        for folder in ["", "data"] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
            drop(fs::set_permissions(base.join(folder), mode));
        }
        let contents = "precious".repeat(1000);
        fs::File::create(&victim)
            .and_then(|mut f| std::io::Write::write_all(&mut f, contents.as_bytes()))
            .unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        let error = Vault::open(&home.folders, KeySources::default()).unwrap_err();
        assert!(
            matches!(
                error,
                VaultError::Exposed {
                    finding: crate::Finding::Link,
                    ..
                }
            ),
            "{name}: {error}"
        );
        assert_eq!(fs::read_to_string(&victim).unwrap(), contents, "{name}");
    }
}

#[test]
fn every_file_is_0600_and_every_folder_0700_while_in_use() {
    use std::os::unix::fs::MetadataExt as _;
    let home = Home::new();
    let vault = home.open();
    trust(&vault).put("a", b"1").unwrap();
    let names: Vec<_> = home.files().into_iter().map(|(path, _)| path).collect();
    assert!(
        names.iter().any(|path| path.ends_with("vault.db-wal")),
        "{names:?}"
    );
    for path in names {
        assert_eq!(
            fs::metadata(&path).unwrap().mode() & 0o7777,
            0o600,
            "{}",
            path.display()
        );
        let folder = path.parent().unwrap();
        assert_eq!(fs::metadata(folder).unwrap().mode() & 0o7777, 0o700);
    }
}

#[test]
fn database_of_a_newer_version_is_refused_and_left_alone() {
    let home = Home::new();
    drop(home.open());
    home.attacker()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    let error = Vault::open(&home.folders, KeySources::default()).unwrap_err();
    assert!(
        matches!(error, VaultError::NewerSchema { found: 99, .. }),
        "{error}"
    );
    assert_eq!(error.code().as_str(), "vault-newer");
}

#[test]
fn database_of_something_else_is_refused_and_left_alone() {
    let home = Home::new();
    let folder = Folder::open(&home.folders.data).unwrap();
    folder.create(connection::NAME, b"").unwrap();
    home.attacker()
        .execute_batch("CREATE TABLE theirs (x)")
        .unwrap();
    let error = Vault::open(&home.folders, KeySources::default()).unwrap_err();
    assert!(matches!(error, VaultError::NotAVault { .. }), "{error}");
    assert_eq!(error.code().as_str(), "not-a-vault");

    let home = Home::new();
    let folder = Folder::open(&home.folders.data).unwrap();
    folder
        .create(
            connection::NAME,
            "not a database at all ".repeat(100).as_bytes(),
        )
        .unwrap();
    let error = Vault::open(&home.folders, KeySources::default()).unwrap_err();
    assert!(matches!(error, VaultError::Corrupt { .. }), "{error}");
    assert_eq!(error.code().as_str(), "vault-corrupt");
}

#[test]
fn schema_that_changes_under_a_running_process_stops_its_writes() {
    let home = Home::new();
    let vault = home.open();
    let rows = vault.sealed(Namespace::new("tests").unwrap());
    rows.put("a", b"1").unwrap();
    home.edit("PRAGMA user_version = 99");
    let error = rows.put("a", b"2").unwrap_err();
    assert!(
        matches!(error, VaultError::NewerSchema { found: 99, .. }),
        "{error}"
    );
    assert_eq!(rows.get("a").unwrap().unwrap().value.expose(), b"1");
}
