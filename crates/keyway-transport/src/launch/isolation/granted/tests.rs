//! What was granted, opened as it is now and as it was approved.

use std::os::unix::fs::symlink;

use super::*;

fn fresh() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::TempDir::new().unwrap();
    let root = home.path().canonicalize().unwrap();
    (home, root)
}

fn id(path: &Path) -> Option<FolderId> {
    FolderId::of(&fs::metadata(path).unwrap())
}

fn written(granted: &[Granted]) -> Vec<&Path> {
    granted.iter().map(|it| it.written.as_path()).collect()
}

#[test]
fn a_folder_is_granted_by_each_of_its_names_once() {
    let (_home, root) = fresh();
    let [one, link, none] = ["one", "a-link", "none"].map(|name| root.join(name));
    fs::create_dir(&one).unwrap();
    symlink(&one, &link).unwrap();
    let paths = [one.clone(), link.clone(), none, link.clone()];
    let granted = Granted::all(&paths, &[]).unwrap();
    assert_eq!(written(&granted), [one.as_path(), &link]);
    assert!(granted.iter().all(|it| it.real == one));
}

/// Threat E1: what lies there now is shown to the program.
#[test]
fn e1_a_grant_that_is_not_what_was_approved_is_refused() {
    let (_home, root) = fresh();
    let at = |name: &str| root.join(name);
    fs::create_dir(at("folder")).unwrap();
    drop(fs::File::create(at("file")).unwrap());
    let known = [
        KnownGrant {
            path: at("folder"),
            real: at("folder"),
            id: id(&at("folder")),
        },
        KnownGrant {
            path: at("file"),
            real: at("file"),
            id: None,
        },
    ];
    let opened = || {
        let paths = [at("folder"), at("file")];
        Granted::all(&paths, &known).ok().map(|it| it.len())
    };
    assert_eq!(opened(), Some(2));
    // The same folder, but by a link; none; another folder.
    fs::rename(at("folder"), at("away")).unwrap();
    symlink(at("away"), at("folder")).unwrap();
    assert_eq!(opened(), None);
    fs::remove_file(at("folder")).unwrap();
    assert_eq!(opened(), Some(1), "it is gone");
    fs::create_dir(at("folder")).unwrap();
    assert_eq!(opened(), None);
    fs::remove_dir(at("folder")).unwrap();
    symlink(at("folder"), at("folder")).unwrap();
    assert_eq!(opened(), None, "what cannot be looked at is not gone");
    fs::remove_file(at("folder")).unwrap();
    // Files are replaced, but not by folders.
    fs::remove_file(at("file")).unwrap();
    drop(fs::File::create(at("file")).unwrap());
    assert_eq!(opened(), Some(1));
    fs::remove_file(at("file")).unwrap();
    fs::create_dir(at("file")).unwrap();
    assert_eq!(opened(), None);
}

#[test]
fn what_the_host_made_is_opened_inside_of_what_is_hidden_without_links() {
    let (_home, root) = fresh();
    let at = |name: &str| root.join(name);
    for name in ["keyway/own", "keyway/deep/own", "other"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    symlink(at("other"), at("keyway/link")).unwrap();
    let place = |name: &str, of: &str| KnownPath {
        path: at(name),
        id: id(&at(of)),
    };
    let hidden = [
        place("keyway", "keyway"),
        place("keyway/deep", "keyway/deep"),
    ];
    let own = |name: &str, hidden: &[KnownPath]| {
        let (inside, elsewhere) = Granted::own(&[at(name)], hidden).ok()?;
        Some((inside.len(), elsewhere.len()))
    };
    for (name, expected) in [
        ("keyway/own", Some((1, 0))),
        ("keyway/deep/own", Some((1, 0))),
        ("keyway/none", Some((0, 0))),
        ("other", Some((0, 1))),
        ("none", Some((0, 0))),
        ("keyway/link", None),
        ("keyway", None),
    ] {
        assert_eq!(own(name, &hidden), expected, "{name}");
    }
    let exchanged = [place("keyway", "other")];
    assert_eq!(own("keyway/own", &exchanged), None);
}

#[test]
fn a_folder_or_file_lies_in_every_folder_around_it() {
    let (_home, root) = fresh();
    let at = |name: &str| root.join(name);
    fs::create_dir_all(at("a/b")).unwrap();
    fs::create_dir(at("c")).unwrap();
    drop(fs::File::create(at("a/file")).unwrap());
    for (path, folder, expected) in [
        ("a/b", "a", true),
        ("a/b", "a/b", true),
        ("a/file", "a", true),
        ("a/b", "c", false),
        ("a/file", "a/b", false),
        ("a", "a/b", false),
    ] {
        let granted = Granted::follow(&at(path)).unwrap();
        let hidden = id(&at(folder)).unwrap();
        let found = granted.lies_in(|id| id == hidden).unwrap();
        assert_eq!(found, expected, "{path} in {folder}");
    }
}

/// Threat E1: its files were compared by the host.
#[test]
fn e1_a_plugins_folder_is_opened_without_links_and_as_the_one_that_is_known() {
    let (_home, root) = fresh();
    let at = |name: &str| root.join(name);
    for name in ["plugin", "other"] {
        fs::create_dir(at(name)).unwrap();
    }
    symlink(at("plugin"), at("link")).unwrap();
    for (path, of, is_opened) in [
        ("plugin", "plugin", true),
        ("plugin", "other", false),
        ("link", "plugin", false),
        ("none", "plugin", false),
    ] {
        let known = KnownPath {
            path: at(path),
            id: id(&at(of)),
        };
        assert_eq!(Granted::of_root(&known).is_ok(), is_opened, "{path} {of}");
    }
}
