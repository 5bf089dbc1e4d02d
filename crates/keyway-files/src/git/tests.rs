//! What we read is compared with repositories that git itself made.

use keyway_testkit::Folder;

use super::*;

fn repository(folder: &Folder) -> Repository {
    Repository::find(folder.path()).unwrap()
}

#[test]
fn patterns_of_inner_files_win_unless_the_folder_itself_is_ignored() {
    let folder = Folder::new()
        .file(".gitignore", ".env\n/private/\n*.local\n")
        .file("a/.gitignore", "!.env\n")
        .file("private/.gitignore", "!.env\n")
        .repository(&[]);
    let repository = repository(&folder);
    for (path, ignored) in [
        (".env", true),
        ("b/.env", true),
        ("a/.env", false),
        ("private/.env", true),
        (".env.local", true),
        (".env.production", false),
    ] {
        assert_eq!(repository.ignores(&folder.at(path)), ignored, "{path}");
    }
}

#[test]
fn the_exclude_file_counts_and_files_elsewhere_do_not() {
    let folder = Folder::new().repository(&[]);
    folder.put(".git/info/exclude", ".env\n");
    assert!(repository(&folder).ignores(&folder.at(".env")));
    assert!(!repository(&folder).ignores(Path::new("/elsewhere/.env")));
}

#[test]
fn tracked_files_are_found_in_every_version_of_the_index() {
    let folder = Folder::new()
        .file(".env", "A=1")
        .file("docs/.env", "A=1")
        .file("docs/.env.local", "A=1")
        .repository(&[".env", "docs/.env"]);
    let paths = [".env", "docs/.env", "docs/.env.local"].map(|name| folder.at(name));
    for version in ["2", "4"] {
        folder.git(&["update-index", "--index-version", version]);
        let tracked = repository(&folder).tracks(&paths);
        assert_eq!(tracked, [true, true, false], "version {version}");
    }
    folder.git(&["add", "--intent-to-add", "docs/.env.local"]);
    assert_eq!(repository(&folder).tracks(&paths), [true, true, true]);
}

#[test]
fn a_linked_work_tree_has_its_own_index_and_shares_the_exclude_file() {
    let folder = Folder::new().file("a", "").repository(&["a"]);
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    folder.git(&[&identity[..], &["commit", "--quiet", "-m", "a"]].concat());
    let tree = Folder::new();
    let at = tree.at("linked").to_string_lossy().into_owned();
    folder.git(&["worktree", "add", "--quiet", &at]);
    folder.put(".git/info/exclude", ".env\n");
    let linked = Repository::find(&tree.at("linked")).unwrap();
    assert_eq!(linked.tracks(&[tree.at("linked/a")]), [true]);
    assert!(linked.ignores(&tree.at("linked/.env")));
}

#[test]
fn objects_with_long_names_do_not_hide_files() {
    let folder = Folder::new().file(".env", "A=1").file("z", "");
    folder.git(&["init", "--quiet", "--object-format=sha256", "."]);
    folder.git(&["add", "--force", "z", ".env"]);
    let tracked = repository(&folder).tracks(&[folder.at(".env"), folder.at("z")]);
    assert_eq!(tracked, [true, true]);
}
