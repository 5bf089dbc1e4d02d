//! What is met in a tree, in which order, and how much of it.

#![expect(
    clippy::disallowed_methods,
    reason = "files of a fresh temporary folder"
)]

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

/// A folder behind a link comes where its paths belong, and belongs to the first link.
#[test]
fn everything_is_visited_once_in_the_order_of_paths() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = folder.path().canonicalize().unwrap();
    for path in ["a/x", "a-b/y", "a.c", "ab/c/d", "ab/c-d", "z"] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    fs::write(other.path().join("inside"), "").unwrap();
    for link in ["n", "m"] {
        symlink(other.path().canonicalize().unwrap(), root.join(link)).unwrap();
    }
    fs::write(root.join("m-after"), "").unwrap();
    let place = TreePlace {
        root,
        ..TreePlace::default()
    };
    let mut paths = Vec::new();
    let visit = |visited: Visited<'_>| paths.push(visited.path.to_vec());
    assert!(walk(&place, false, visit).is_ok());
    let expected = [
        "a-b/y", "a.c", "a/x", "ab/c-d", "ab/c/d", "m", "m-after", "m/inside", "n", "z",
    ];
    assert_eq!(paths, expected.map(|path| path.as_bytes().to_vec()));
    assert!(paths.is_sorted());
}

/// Files, folders and links count, wherever they lie; what version control keeps does not.
#[test]
fn more_files_than_an_approval_covers_are_too_many() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = folder.path().canonicalize().unwrap();
    for path in [".git/HEAD", ".git/config", "a", "b/c"] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    fs::write(other.path().join("inside"), "").unwrap();
    symlink(other.path().canonicalize().unwrap(), root.join("link")).unwrap();
    let place = TreePlace {
        root,
        ..TreePlace::default()
    };
    let walk = |max, leaves_out_git| {
        let mut walk = Walk::new(&place, leaves_out_git);
        walk.files_left = max;
        walk.run(|_| {})
    };
    // `a`, `b`, `b/c`, `link` and `link/inside`; with `.git` and the two files in it.
    for (leaves_out_git, count) in [(true, 5), (false, 8)] {
        assert_eq!(walk(count, leaves_out_git), Ok(()));
        assert_eq!(walk(count - 1, leaves_out_git), Err(TooLarge));
    }
    assert_eq!(MAX_FILES, 100_000, "as approvals and SECURITY.md say");
}

#[test]
fn more_than_a_gibibyte_is_too_much() {
    let folder = tempfile::tempdir().unwrap();
    let place = TreePlace {
        root: folder.path().to_owned(),
        ..TreePlace::default()
    };
    let file = fs::File::create(folder.path().join("large")).unwrap();
    for (size, expected) in [(1 << 30, Ok(())), ((1 << 30) + 1, Err(TooLarge))] {
        file.set_len(size).unwrap();
        let found = walk(&place, false, |_: Visited<'_>| {});
        assert_eq!(found, expected, "{size}");
    }
}

/// A plugin whose folder is gone has no files; in one that cannot be listed there may be any.
#[test]
fn a_folder_that_cannot_be_listed_is_not_covered() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (root, expected) in [(file.path(), &[true][..]), (Path::new("/none/at/all"), &[])] {
        let place = TreePlace {
            root: root.to_owned(),
            ..TreePlace::default()
        };
        let mut found = Vec::new();
        let visit = |visited: Visited<'_>| found.push(visited.kind.is_uncovered());
        assert_eq!(walk(&place, false, visit), Ok(()));
        assert_eq!(found, expected, "{}", root.display());
    }
}

/// Code can be read from a device, and not from a socket.
#[test]
fn a_device_is_not_taken_for_a_socket() {
    let device = fs::metadata("/dev/null").unwrap().file_type();
    assert!(EntryKind::Special(special(device)).is_uncovered());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let socket = fs::metadata(path).unwrap().file_type();
    assert!(!EntryKind::Special(special(socket)).is_uncovered());
}

/// A mode of 0755 or 0644 stands for what only the superuser can change: the tests may run as any
/// user.
#[test]
fn what_a_link_leads_to_outside_counts_as_far_as_others_can_change_it() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (root, outside) = (folder.path(), other.path().canonicalize().unwrap());
    let put = |path: &str, mode: u32| {
        let path = outside.join(path);
        match mode & 0o111 {
            0 => fs::write(&path, "").unwrap(),
            _ => fs::create_dir(&path).unwrap(),
        }
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o755)).unwrap();
    for (path, mode) in [
        ("kept", 0o755),
        ("kept/file", 0o644),
        ("mixed", 0o755),
        ("mixed/file", 0o600),
        ("open", 0o700),
        ("open/file", 0o644),
        ("file", 0o644),
        ("mine", 0o600),
    ] {
        put(path, mode);
        if !path.contains('/') {
            symlink(outside.join(path), root.join(path)).unwrap();
        }
    }
    let place = TreePlace {
        root: root.canonicalize().unwrap(),
        ..TreePlace::default()
    };
    let mut walk = Walk::new(&place, false);
    walk.stays = |metadata| metadata.is_symlink() || metadata.mode() & 0o055 != 0;
    let mut found = Vec::new();
    let visit = |visited: Visited<'_>| {
        let path = String::from_utf8(visited.path.to_vec()).unwrap();
        found.push((path, visited.kind.label()));
    };
    assert_eq!(walk.run(visit), Ok(()));
    let expected: [(&str, &[u8]); 6] = [
        ("file", b"link"),
        ("kept", b"link"),
        ("mine", b"link out"),
        ("mixed", b"elsewhere"),
        ("open", b"link"),
        ("open/file", b"file"),
    ];
    assert_eq!(
        found,
        expected.map(|(path, label)| (path.to_owned(), label))
    );
}

/// The order of whole paths, byte by byte: that of what is stored.
#[test]
fn folders_are_sorted_as_the_paths_below_them() {
    let names = ["a", "a-b", "a.b", "a/", "a/x", "a0", "ab/", "b", "b!", "b/"];
    let item = |text: &str| match text.strip_suffix('/') {
        Some(name) => Item {
            name: name.into(),
            what: What::Folder(None),
        },
        None => Item {
            name: text.into(),
            what: What::Link,
        },
    };
    for one in names {
        for other in names {
            let compared = item(one).cmp(&item(other));
            assert_eq!(compared, one.cmp(other), "{one} and {other}");
        }
    }
}

/// What was written in the tick in which it was read may change once more unnoticed.
#[test]
fn a_file_is_settled_a_minute_after_it_changed_and_not_before() {
    let stamp = |seconds| FileStamp {
        inode: 1,
        size: 1,
        changed: (seconds, 0),
        is_executable: false,
        tells_changes: true,
    };
    let at = |milliseconds| UNIX_EPOCH + Duration::from_millis(milliseconds);
    assert!(stamp(10).is_settled(at(70_000)));
    assert!(!stamp(10).is_settled(at(69_999)));
    assert!(!stamp(10).is_settled(at(9_000)), "a clock that went back");
    assert!(!stamp(i64::MAX).is_settled(at(70_000)));
    assert!(stamp(-1).is_settled(at(60_000)), "before all clocks");
    let untold = FileStamp {
        tells_changes: false,
        ..stamp(10)
    };
    assert!(!untold.is_settled(at(70_000)));
}
