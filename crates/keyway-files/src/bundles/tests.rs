//! Bundles on a disk: unpacked once, replaced when they change, removed when they are old.

use std::os::unix::fs::PermissionsExt as _;

use keyway_testkit::Folder;
use keyway_testkit::bundle::{Member, archive};

use super::*;
use crate::load::Loader;

const MANIFEST: &str = r#"{"manifest_version": "0.3", "name": "files", "version": "1.0.0",
    "server": {"type": "node", "entry_point": "index.js", "mcp_config": {"command": "node",
    "args": ["${__dirname}/index.js"], "env": {"KEY": "${user_config.key}"}}}}"#;

fn packed(script: &str) -> Vec<u8> {
    archive(&[
        Member::file("manifest.json", MANIFEST),
        Member::file("index.js", script),
        Member::file("bin/run", "#!/bin/sh").mode(0o106_777),
    ])
}

/// Every version, by the script in it.
fn scripts(folder: &Folder) -> Vec<String> {
    let mut found = Vec::new();
    for of_archive in fs::read_dir(folder.at("unpacked")).unwrap().flatten() {
        for version in fs::read_dir(of_archive.path()).into_iter().flatten() {
            let script = version.unwrap().path().join("index.js");
            found.extend(fs::read_to_string(script));
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn a_bundle_is_unpacked_once_for_this_user_alone() {
    let folder = Folder::new().file("a.mcpb", packed("1"));
    let bundles = Bundles::new(folder.at("unpacked"));
    let tree = bundles.unpack(&folder.at("a.mcpb")).unwrap();
    let mode = |name: &str| fs::metadata(tree.join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(fs::read(tree.join("index.js")).unwrap(), b"1");
    assert_eq!([mode(""), mode("bin")], [0o700; 2]);
    assert_eq!([mode("index.js"), mode("bin/run")], [0o600, 0o700]);
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let before = inode(&tree.join("index.js"));
    assert_eq!(bundles.unpack(&folder.at("a.mcpb")).unwrap(), tree);
    assert_eq!(inode(&tree.join("index.js")), before);
}

#[test]
fn a_tree_that_was_changed_is_replaced_by_what_the_archive_holds() {
    let folder = Folder::new().file("a.mcpb", packed("1"));
    let bundles = Bundles::new(folder.at("unpacked"));
    let tree = bundles.unpack(&folder.at("a.mcpb")).unwrap();
    let unpacked = || {
        let mut names = Vec::new();
        for entry in fs::read_dir(&tree).unwrap().flatten() {
            names.push(entry.file_name().into_string().unwrap());
        }
        names.sort_unstable();
        (names.join(" "), fs::read_to_string(tree.join("index.js")))
    };
    let changes: [(&str, &dyn Fn()); 4] = [
        ("another content of the same size", &|| {
            let mut file = File::create(tree.join("index.js")).unwrap();
            file.write_all(b"2").unwrap();
            // Its time can be set back, and the time of that cannot.
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }),
        ("one file more", &|| {
            drop(File::create(tree.join("more.js")));
        }),
        ("one file less", &|| {
            fs::remove_file(tree.join("index.js")).unwrap();
        }),
        ("no tree", &|| {
            fs::remove_dir_all(&tree).unwrap();
        }),
    ];
    for (what, change) in changes {
        // Times are as fine as the clock of the file system: what changes within one of its ticks is
        // left to the approval.
        let marker = fs::read_dir(tree.parent().unwrap()).unwrap().flatten();
        let marker = marker
            .map(|it| it.path())
            .find(|it| it.extension().is_some())
            .unwrap();
        keyway_testkit::eventually("a tick of the clock", || {
            let probe = folder.at("probe");
            drop(fs::remove_file(&probe));
            File::create(&probe).unwrap();
            time_of(&probe) > time_of(&marker)
        });
        change();
        assert_eq!(
            bundles.unpack(&folder.at("a.mcpb")).unwrap(),
            tree,
            "{what}"
        );
        let (names, script) = unpacked();
        assert_eq!(names, "bin index.js manifest.json", "{what}");
        assert_eq!(script.unwrap(), "1", "{what}");
    }
}

#[test]
fn another_version_lies_beside_the_last_and_older_ones_go() {
    let folder = Folder::new();
    let bundles = Bundles::new(folder.at("unpacked"));
    for (script, expected) in [
        ("1", &["1"][..]),
        ("2", &["1", "2"]),
        ("3", &["2", "3"]),
        ("1", &["1", "3"]),
    ] {
        folder.put("a.mcpb", packed(script));
        let tree = bundles.unpack(&folder.at("a.mcpb")).unwrap();
        assert_eq!(fs::read_to_string(tree.join("index.js")).unwrap(), script);
        assert_eq!(scripts(&folder), expected);
    }
}

#[test]
fn what_is_left_of_a_bundle_that_is_gone_goes_after_a_month() {
    let folder = Folder::new()
        .file("gone.mcpb", packed("gone"))
        .file("away.mcpb", packed("away"))
        .file("there.mcpb", packed("there"));
    let bundles = Bundles::new(folder.at("unpacked"));
    let record = |name: &str| {
        let tree = bundles.unpack(&folder.at(name)).unwrap();
        tree.parent().unwrap().join(SOURCE)
    };
    for name in ["gone.mcpb", "there.mcpb"] {
        let file = OpenOptions::new().write(true).open(record(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    record("away.mcpb");
    for name in ["gone.mcpb", "away.mcpb"] {
        fs::remove_file(folder.at(name)).unwrap();
    }
    folder.put("new.mcpb", packed("new"));
    bundles.unpack(&folder.at("new.mcpb")).unwrap();
    assert_eq!(scripts(&folder), ["away", "new", "there"]);
}

#[test]
fn what_a_killed_process_left_and_a_bad_archive_leave_nothing_behind() {
    let folder = Folder::new().file("a.mcpb", packed("1"));
    let bundles = Bundles::new(folder.at("unpacked"));
    let tree = bundles.unpack(&folder.at("a.mcpb")).unwrap();
    let of_archive = tree.parent().unwrap();
    fs::create_dir_all(of_archive.join("unfinished/bin")).unwrap();
    let damaged = Member {
        checksum: 1,
        ..Member::file("b.js", "x")
    };
    let bytes = archive(&[Member::file("manifest.json", MANIFEST), damaged]);
    folder.put("a.mcpb", bytes);
    let error = bundles.unpack(&folder.at("a.mcpb")).unwrap_err();
    assert!(matches!(error, LoadError::BadBundle { .. }), "{error}");
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(why.starts_with("`b.js` in it cannot be unpacked"), "{why}");
    assert_eq!(scripts(&folder), ["1"]);
    assert!(!of_archive.join("unfinished").exists());
}

#[test]
fn the_entry_of_a_bundle_speaks_of_the_folder_to_which_it_was_unpacked() {
    let folder = Folder::new().file("a.mcpb", packed("1"));
    let archive = folder.at("a.mcpb");
    let bundles = Bundles::new(folder.at("unpacked"));
    let loader = Loader::default().bundles(Some(bundles.clone()));
    let loaded = loader.load(&archive).unwrap();
    let (document, server) = loaded.plugin.servers().next().unwrap();
    let tree = bundles.unpack(&archive).unwrap();
    assert_eq!(server.source.folder(), Some(tree.as_path()));
    assert_eq!(loaded.plugin.name(), "files");
    assert_eq!(loaded.plugin.root, folder.path());
    assert!(document.source.path().ends_with("a.mcpb/manifest.json"));
    assert_eq!(loaded.config(), Some(archive.clone()));
    assert!(loaded.watched().contains(&archive));
    assert_eq!(loaded.plugin.prompts().count(), 0);
    // Where nothing is unpacked its entry can be read, and speaks of no folder.
    let loaded = Loader::default().load(&archive).unwrap();
    let (_, server) = loaded.plugin.servers().next().unwrap();
    assert_eq!(
        (server.name.as_str(), server.source.folder()),
        ("files", None)
    );
}

#[test]
fn a_bundle_that_a_manifest_names_is_read_with_the_plugin() {
    let manifest = r#"{"name": "p", "mcpServers": ["./a.mcpb", "./other.json", "./a.mcpb"]}"#;
    let folder = Folder::new()
        .file(".claude-plugin/plugin.json", manifest)
        .file("other.json", r#"{"other": {"command": "x"}}"#)
        .file("a.mcpb", packed("1"));
    let loader = Loader::default().bundles(Some(Bundles::new(folder.at("unpacked"))));
    let loaded = loader.load(folder.path()).unwrap();
    let servers = loaded.plugin.servers();
    let found: Vec<_> = servers
        .map(|(_, server)| (server.name.as_str(), server.source.folder().is_some()))
        .collect();
    assert_eq!(found, [("files", true), ("other", false)]);
    assert_eq!(loaded.plugin.name(), "p");
    // One that cannot be unpacked is told: otherwise its server would just be missing.
    folder.put("a.mcpb", "PK");
    let error = loader.load(folder.path()).unwrap_err();
    assert!(matches!(error, LoadError::BadBundle { .. }), "{error}");
}
