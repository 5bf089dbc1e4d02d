//! Where links lead, and which of them can lead elsewhere later.

#![expect(
    clippy::disallowed_methods,
    reason = "links of a fresh temporary folder"
)]

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

/// A fresh folder, in which a mode of 0700 or 0600 stands for what the person can change.
fn fresh() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    (folder, root)
}

fn put(path: &Path, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn open(path: &Path, mode: u32) {
    fs::create_dir_all(path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The tests may run as any user, so that the mode alone decides; what is above does not count.
fn stays(metadata: &Metadata) -> bool {
    metadata.is_symlink() || metadata.mode() & 0o055 != 0
}

fn resolved(resolver: Resolver<'_>, base: &Path, path: &str) -> Resolved {
    match resolver.resolve(base, Path::new(path)) {
        Target::Path(resolved) => resolved,
        Target::OfProcess(at) => panic!("{path} differs by process at {}", at.display()),
    }
}

const FREE: Resolver<'_> = Resolver {
    counts: &|_| true,
    stays: |_| true,
};

#[test]
fn what_differs_by_process_is_told_from_what_does_not() {
    let (_folder, root) = fresh();
    put(&root.join("file"), 0o600);
    let inside = |name: &str| Some(root.join(name));
    for (at, (written, expected)) in [
        ("file", inside("file")),
        ("./x/../file", inside("file")),
        ("0", inside("file")),
        ("missing", inside("missing")),
        ("/etc/passwd", Some("/etc/passwd".into())),
        ("/proc/self/cwd/file", None),
        ("/etc/../proc/1/root/file", None),
        ("/dev/fd/3", None),
        ("/dev/stdin", None),
        ("5", None),
        ("10", None),
    ]
    .into_iter()
    .enumerate()
    {
        let link = at.to_string();
        symlink(written, root.join(&link)).unwrap();
        let found = match FREE.resolve(&root, Path::new(&link)) {
            Target::Path(resolved) => Some(resolved.path),
            Target::OfProcess(_) => None,
        };
        assert_eq!(found, expected, "{written}");
    }
}

#[test]
fn going_up_from_a_link_is_going_up_from_where_it_leads() {
    let (_folder, root) = fresh();
    open(&root.join("a/b"), 0o700);
    open(&root.join("plugin/sub"), 0o700);
    let plugin = root.join("plugin");
    symlink(root.join("a/b"), plugin.join("out")).unwrap();
    symlink("sub", plugin.join("in")).unwrap();
    symlink("/proc/self/cwd", plugin.join("process")).unwrap();
    for (path, expected) in [
        ("x", "plugin/x"),
        ("./sub/.././x/", "plugin/x"),
        ("in/x", "plugin/in/x"),
        ("in/../x", "plugin/x"),
        ("out/x", "plugin/out/x"),
        ("out/../x", "a/x"),
        ("out/../../x", "x"),
        ("in/../out/../x", "a/x"),
        ("sub/../out/.", "plugin/out"),
        ("../x", "x"),
        ("none/../x", "plugin/x"),
    ] {
        let path = plugin.join(path);
        assert_eq!(normal(&path, &plugin), root.join(expected), "{path:?}");
        let elsewhere = normal(&path, Path::new("/other"));
        assert_eq!(elsewhere, root.join(expected), "{path:?}");
    }
    assert_eq!(normal(&plugin, &plugin), plugin);
    assert_eq!(normal(Path::new("/../.."), &plugin), Path::new("/"));
    let path = normal(&plugin.join("process/../x"), &plugin);
    assert!(is_of_process(&path), "{path:?}");
    // A text without a folder is looked at as if it had one.
    let none = Path::new("/proc/self/fd/none");
    assert_eq!(normal(&none.join("a/../x"), none), none.join("x"));
}

#[test]
fn a_link_is_loose_if_a_folder_on_the_way_could_change() {
    let (_folder, root) = fresh();
    for (name, mode) in [("own", 0o700), ("kept", 0o755), ("open", 0o700)] {
        open(&root.join(name), mode);
    }
    put(&root.join("kept/file"), 0o644);
    put(&root.join("kept/mine"), 0o600);
    put(&root.join("own/file"), 0o600);
    for (link, says) in [
        ("kept/link", "file"),
        ("kept/back", "../own/file"),
        ("open/link", "../kept/file"),
        ("open/back", "../own/file"),
        ("own/link", "file"),
    ] {
        symlink(says, root.join(link)).unwrap();
    }
    let counts = |path: &Path| path == root || path.starts_with(root.join("own"));
    let counts: &dyn Fn(&Path) -> bool = &counts;
    let resolver = Resolver { counts, stays };
    for (path, leads_to, is_loose, is_fixed) in [
        ("kept/file", "kept/file", false, true),
        ("kept/none/x", "kept/none/x", false, true),
        ("kept/mine", "kept/mine", false, false),
        ("kept/link", "kept/file", false, true),
        ("kept/back", "own/file", false, true),
        ("own/link", "own/file", false, true),
        ("open/none", "open/none", false, false),
        ("open/link", "kept/file", true, false),
        ("open/back", "own/file", true, false),
        ("open/x/../../kept/link", "kept/file", true, false),
    ] {
        let found = resolved(resolver, &root, path);
        assert_eq!(found.path, root.join(leads_to), "{path}");
        assert_eq!(found.loose.is_empty(), !is_loose, "{path}");
        assert_eq!(found.is_fixed, is_fixed, "{path}");
        let known_by = found.known_by(Path::new(path));
        assert_eq!(known_by == Path::new(path), !is_loose, "{path}");
    }
    let before = resolved(resolver, &root, "open/back").known_by(Path::new("x"));
    put(&root.join("own/other"), 0o600);
    fs::remove_file(root.join("open/back")).unwrap();
    symlink("../own/other", root.join("open/back")).unwrap();
    let after = resolved(resolver, &root, "open/back").known_by(Path::new("x"));
    assert_ne!(before, after);
}

#[test]
fn as_many_links_are_followed_as_the_system_follows() {
    let (_folder, root) = fresh();
    put(&root.join("0"), 0o600);
    for link in 1..=41 {
        symlink((link - 1).to_string(), root.join(link.to_string())).unwrap();
    }
    assert_eq!(resolved(FREE, &root, "40").path, root.join("0"));
    let found = FREE.resolve(&root, Path::new("41"));
    assert!(matches!(found, Target::OfProcess(_)), "{found:?}");
}

/// Threat E5: a mode by which others can write is a way to what runs.
#[test]
fn e05_what_others_than_its_owner_can_change_is_told_by_its_mode() {
    for (mode, expected) in [
        (0o100_755, true),
        (0o100_775, false),
        (0o100_757, false),
        (0o101_775, false),
        (0o040_755, true),
        (0o040_775, false),
        (0o040_777, false),
        // The stores of Nix and Guix, and the folder of temporary files.
        (0o041_775, true),
        (0o041_777, false),
        (0o010_666, false),
        (0o020_666, true),
        (0o060_660, true),
        (0o140_777, true),
        (0o120_777, true),
    ] {
        assert_eq!(is_kept(mode), expected, "{mode:o}");
    }
}

/// The superuser could change all of it, so that its own programs count by what they hold.
#[test]
fn only_to_others_than_the_superuser_the_system_stays_as_it_is() {
    let (_folder, root) = fresh();
    let is_systems = |path: &Path| is_systems(&fs::symlink_metadata(path).unwrap());
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(is_systems(Path::new("/")), !is_root);
    assert!(!is_systems(&root));
}

/// Threat E5: what the superuser's folder holds may still be another's.
#[test]
fn e05_a_folder_is_kept_only_with_everything_below() {
    type Change = fn(&Path);
    const MAX: usize = 10;
    let nothing: Change = |_| {};
    let rows: &[(&str, Change, bool)] = &[
        ("as it is", nothing, true),
        ("a file", |at| put(&at.join("sub/mine"), 0o600), false),
        ("a folder", |at| open(&at.join("sub/mine"), 0o700), false),
        (
            "a link within",
            |at| symlink("../file", at.join("sub/link")).unwrap(),
            true,
        ),
        (
            "a link around",
            |at| symlink("..", at.join("sub/around")).unwrap(),
            true,
        ),
        (
            "a link out",
            |at| symlink("../../open/x", at.join("sub/link")).unwrap(),
            false,
        ),
        (
            "a link to a process",
            |at| symlink("/proc/self", at.join("sub/link")).unwrap(),
            false,
        ),
        (
            "a socket",
            |at| drop(std::os::unix::net::UnixListener::bind(at.join("socket")).unwrap()),
            false,
        ),
        (
            "too much",
            |at| {
                for number in 0..MAX {
                    fs::hard_link(at.join("file"), at.join(number.to_string())).unwrap();
                }
            },
            false,
        ),
    ];
    for (what, change, expected) in rows {
        let (_folder, root) = fresh();
        open(&root.join("open"), 0o700);
        open(&root.join("kept/sub"), 0o755);
        open(&root.join("kept"), 0o755);
        put(&root.join("kept/file"), 0o644);
        change(&root.join("kept"));
        let counts: &dyn Fn(&Path) -> bool = &|path| path == root;
        let resolver = Resolver { counts, stays };
        let keeps = resolver.keeps_below(&root.join("kept"), &mut MAX.clone());
        assert_eq!(keeps, *expected, "{what}");
    }
}
