use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::*;

fn home() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a/b/data");
    (home, path)
}

fn finding(result: Result<impl Sized, VaultError>) -> (Finding, String) {
    match result.err().unwrap() {
        error @ VaultError::Exposed { .. } => {
            assert_eq!(error.code().as_str(), "vault-exposed");
            let hint = error.hint().unwrap();
            let VaultError::Exposed { finding, .. } = error else {
                unreachable!()
            };
            (finding, hint)
        }
        error => panic!("{error}"),
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn folders_and_files_are_private_from_the_start() {
    let (_home, path) = home();
    let folder = Folder::open(&path).unwrap();
    assert!(folder.create("f", b"x").unwrap());
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&path.join("f")), 0o600);
    assert_eq!(
        fs::read_dir(&path).unwrap().count(),
        1,
        "no draft is left behind"
    );
}

#[test]
fn existing_file_is_never_replaced() {
    let (_home, path) = home();
    let folder = Folder::open(&path).unwrap();
    assert!(folder.create("f", b"first").unwrap());
    assert!(!folder.create("f", b"second").unwrap());
    assert_eq!(folder.read("f").unwrap().unwrap().expose(), b"first");
}

#[test]
fn wider_mode_is_refused_with_the_command_that_repairs_it() {
    let (_home, path) = home();
    let folder = Folder::open(&path).unwrap();
    folder.create("f", b"x").unwrap();
    for bits in [0o640, 0o604, 0o620, 0o602, 0o700, 0o644] {
        fs::set_permissions(path.join("f"), Permissions::from_mode(bits)).unwrap();
        let (found, hint) = finding(folder.read("f"));
        assert_eq!(
            found,
            Finding::WiderMode {
                found: format!("0{bits:o}"),
                allowed: "0600"
            }
        );
        assert_eq!(
            hint,
            format!("run `chmod 0600 {}`", path.join("f").display())
        );
        assert!(folder.inspect("f").is_err());
        assert_eq!(
            mode(&path.join("f")),
            bits,
            "refused, not repaired in silence"
        );
    }
    fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
    let (_, hint) = finding(Folder::open(&path));
    assert_eq!(hint, format!("run `chmod 0700 {}`", path.display()));
}

#[test]
fn links_are_refused_wherever_a_file_or_folder_is_expected() {
    let (home, path) = home();
    let real = home.path().join("real");
    fs::create_dir(&real).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(&real, &path).unwrap();
    assert_eq!(finding(Folder::open(&path)).0, Finding::Link);
    assert_eq!(finding(Folder::open(&path.join("."))).0, Finding::Link);
    assert_eq!(
        finding(Folder::open(Path::new(&format!("{}/", path.display())))).0,
        Finding::Link
    );
    fs::remove_file(&path).unwrap();
    let folder = Folder::open(&path).unwrap();
    symlink("/etc/passwd", path.join("f")).unwrap();
    assert_eq!(finding(folder.read("f")).0, Finding::Link);
    assert_eq!(finding(folder.inspect("f")).0, Finding::Link);
    symlink(&real, path.join("sub")).unwrap();
    assert_eq!(finding(folder.folder("sub")).0, Finding::Link);
}

#[test]
fn something_else_than_a_file_is_refused_without_waiting_for_it() {
    let (_home, path) = home();
    let folder = Folder::open(&path).unwrap();
    let fifo = path.join("f");
    rustix::fs::mknodat(&folder, "f", FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(
        finding(folder.read("f")).0,
        Finding::WrongType {
            expected: "regular file"
        }
    );
    assert_eq!(
        finding(Folder::open(&fifo)).0,
        Finding::WrongType { expected: "folder" }
    );
}

#[test]
fn files_and_folders_of_another_user_are_refused() {
    if !rustix::process::geteuid().is_root() {
        return; // Only the superuser can give a file away.
    }
    let (_home, path) = home();
    let folder = Folder::open(&path).unwrap();
    folder.create("f", b"x").unwrap();
    std::os::unix::fs::chown(path.join("f"), Some(65534), None).unwrap();
    let foreign = Finding::ForeignOwner {
        owner: 65534,
        ours: 0,
    };
    let (found, hint) = finding(folder.read("f"));
    assert_eq!(found, foreign);
    assert_eq!(
        hint,
        format!("run `sudo chown 0 {}`", path.join("f").display())
    );
    std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    assert_eq!(finding(Folder::open(&path)).0, foreign);
}

#[test]
fn relative_folder_is_refused() {
    let error = Folder::open(Path::new("keyway")).err().unwrap();
    assert!(matches!(error, VaultError::RelativePath { .. }));
    assert_eq!(error.code().as_str(), "vault-folder");
}
