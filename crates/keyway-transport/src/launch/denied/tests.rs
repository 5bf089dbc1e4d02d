//! What a child was kept from, told by where it failed and by what it says.

use super::*;

fn unseen(path: &Path, writes: bool) -> Denied {
    Denied::Unseen {
        path: path.to_owned(),
        writes,
    }
}

/// Programs name what they miss as they know it: from the home, or as a name that begins with a dot.
#[test]
fn a_path_in_the_home_is_named_however_it_is_written() {
    let home = tempfile::TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    std::fs::create_dir_all(home.path().join(".tool/deep")).unwrap();
    let mut isolation = Isolation {
        profile: IsolationProfile::Confine,
        home: Some(home.path().to_owned()),
        ..Isolation::default()
    };
    let tool = home.path().join(".tool");
    for (line, found) in [
        ("no profile in ~/.tool.", Some(unseen(&tool, false))),
        ("no profile in '$HOME/.tool'", Some(unseen(&tool, false))),
        ("no profile in ${HOME}/.tool,", Some(unseen(&tool, false))),
        ("no profile in .tool", Some(unseen(&tool, false))),
        ("cannot create ~/.tool/new/file", Some(unseen(&tool, true))),
        (
            "cannot write ~/.tool/deep",
            Some(unseen(&tool.join("deep"), true)),
        ),
        ("no profile in .nothing, .., . or ~/.nothing", None),
        ("cannot create ~/.nothing: no such file", None),
        ("your home ~/ is empty: no such file", None),
    ] {
        assert_eq!(in_line(&isolation, line), found, "{line}");
    }
    isolation.home = None;
    assert_eq!(in_line(&isolation, "no profile in ~/.tool"), None);
}

/// A child has a temporary folder of its own, in which it may have made what it speaks of.
#[test]
fn a_path_in_the_temporary_folder_is_named_if_it_was_missed() {
    let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let isolation = Isolation {
        profile: IsolationProfile::Confine,
        ..Isolation::default()
    };
    let path = file.path().display();
    let missed = format!("cat: {path}: No such file or directory");
    assert_eq!(
        in_line(&isolation, &missed),
        Some(unseen(file.path(), false))
    );
    let made = format!("listening on {path}");
    assert_eq!(in_line(&isolation, &made), None);
    let folder = "mkdir: cannot create directory /tmp/keyway-test-none: Permission denied";
    assert_eq!(in_line(&isolation, folder), None);
}

#[test]
fn a_network_that_is_missed_is_named_if_there_is_none() {
    for line in [
        "curl: (6) Could not resolve host: example.com",
        "curl: (7) Couldn't connect to server",
        "curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms",
        "Error: getaddrinfo EAI_AGAIN registry.npmjs.org",
        "OSError: [Errno 101] Network is unreachable",
        "connect ECONNREFUSED 127.0.0.1:5432",
    ] {
        let mut isolation = Isolation {
            profile: IsolationProfile::Confine,
            offline: true,
            ..Isolation::default()
        };
        assert_eq!(in_line(&isolation, line), Some(Denied::Network), "{line}");
        isolation.offline = false;
        assert_eq!(in_line(&isolation, line), None, "{line}");
    }
}

#[test]
fn a_path_that_exists_and_was_not_granted_is_named() {
    // Not below the temporary folder, of which a confined child has one of its own.
    let home = tempfile::TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = home.path().join("notes");
    std::fs::create_dir(&path).unwrap();
    let line = format!(
        "Error: ENOENT: no such file or directory, stat '{}'",
        path.display()
    );
    let mut isolation = Isolation {
        profile: IsolationProfile::Confine,
        ..Isolation::default()
    };
    assert_eq!(in_line(&isolation, &line), Some(unseen(&path, false)));
    assert_eq!(
        in_line(&isolation, "/nowhere/at/all: /usr/bin, /etc/passwd /"),
        None
    );
    isolation.read_only = vec![home.path().to_owned()];
    assert_eq!(in_line(&isolation, &line), None);
    isolation.read_only.clear();
    isolation.hidden = vec![path];
    assert_eq!(
        in_line(&isolation, &line),
        None,
        "ours is not to be granted"
    );
    isolation.profile = IsolationProfile::Hide;
    isolation.hidden.clear();
    assert_eq!(in_line(&isolation, &line), None);
}

#[test]
fn a_file_of_the_plugin_that_could_not_be_written_is_named_with_the_grant() {
    let plugin = tempfile::TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    std::fs::create_dir(plugin.path().join("state")).unwrap();
    let path = plugin.path().join("lib.js");
    drop(std::fs::File::create(&path).unwrap());
    let mut isolation = Isolation {
        profile: IsolationProfile::Confine,
        read_only: vec![plugin.path().to_owned()],
        ..Isolation::default()
    };
    let absolute = path.display();
    for line in [
        format!("Error: EROFS: read-only file system, open '{absolute}'"),
        "OSError: [Errno 30] Read-only file system: 'lib.js'".to_owned(),
        format!("sh: 1: cannot create {absolute}: Permission denied"),
    ] {
        let denied = in_line(&isolation, &line).unwrap();
        let folder = plugin.path().display();
        let words = format!(
            "`{absolute}` may be read but not written; \
             to allow it, add `{folder}` to `grants` of `[sandbox]` in config.toml"
        );
        assert_eq!(denied.to_string(), words, "{line}");
    }
    let read = format!("reading {absolute}");
    assert_eq!(in_line(&isolation, &read), None);
    // What is granted inside may be written, and so may all of it once it is granted itself.
    isolation.granted = vec![plugin.path().join("state")];
    let state = plugin.path().join("state/db");
    let line = format!("{}: Permission denied", state.display());
    assert_eq!(in_line(&isolation, &line), None);
    isolation.granted = vec![plugin.path().to_owned()];
    let line = format!("{absolute}: Permission denied");
    assert_eq!(in_line(&isolation, &line), None);
}

fn program(command: &str, folder: &Path, path: &Path) -> Program {
    let declared = ["A", "PATH", "Z"].map(|name| {
        let value = match name {
            "PATH" => path.display().to_string(),
            _ => "/nowhere".to_owned(),
        };
        (name.to_owned(), keyway_secret::Secret::new(value))
    });
    let host = crate::HostEnv::default();
    let rules = crate::EnvRules {
        declared: &declared,
        ..crate::EnvRules::new(crate::ChildKind::Server, &host)
    };
    Program {
        command: keyway_secret::Secret::new(command.to_owned()),
        args: Vec::new(),
        env: crate::ChildEnv::build([], &rules),
        folder: folder.to_owned(),
        isolation: Isolation {
            profile: IsolationProfile::Confine,
            ..Isolation::default()
        },
    }
}

#[test]
fn a_folder_or_program_that_was_not_granted_is_named_at_the_start() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = tempfile::TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let (bin, tool) = (home.path().join("bin"), home.path().join("bin/tool"));
    std::fs::create_dir(&bin).unwrap();
    drop(std::fs::File::create(&tool).unwrap());
    let denied = |command: &str, stage| at_start(&program(command, home.path(), &bin), stage);
    assert_eq!(
        denied("tool", LaunchStage::Program),
        None,
        "it cannot be run, granted or not"
    );
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(denied("tool", LaunchStage::Program), Some(tool.clone()));
    let absolute = tool.display().to_string();
    assert_eq!(denied(&absolute, LaunchStage::Program), Some(tool.clone()));
    assert_eq!(denied("none", LaunchStage::Program), None);
    assert_eq!(denied("sh", LaunchStage::Program), None, "not on its path");
    assert_eq!(
        denied("/bin/sh", LaunchStage::Program),
        None,
        "the system's"
    );
    assert_eq!(
        denied("tool", LaunchStage::Folder),
        Some(home.path().to_owned())
    );
    for stage in [LaunchStage::Spec, LaunchStage::Isolation] {
        assert_eq!(denied("tool", stage), None);
    }
    // Granted either way, or not confined: it is not to blame.
    for change in [
        (|it: &mut Isolation, path| it.granted = vec![path]) as fn(&mut Isolation, PathBuf),
        |it, path| it.read_only = vec![path],
        |it, path| it.also_hidden = vec![path],
        |it, _| it.profile = IsolationProfile::Hide,
    ] {
        let mut program = program("tool", home.path(), &bin);
        change(&mut program.isolation, home.path().to_owned());
        for stage in [LaunchStage::Folder, LaunchStage::Program] {
            assert_eq!(at_start(&program, stage), None);
        }
    }
}

#[test]
fn a_grant_that_leads_into_a_hidden_folder_is_named() {
    type Grant = fn(&mut Isolation, PathBuf);
    let home = tempfile::TempDir::new().unwrap();
    let at = |name: &str| home.path().join(name);
    for name in ["keyway/deep", "work"] {
        std::fs::create_dir_all(at(name)).unwrap();
    }
    std::os::unix::fs::symlink(at("keyway/deep"), at("link")).unwrap();
    let mut program = program("tool", home.path(), home.path());
    program.isolation.also_hidden = vec![at("none"), at("keyway")];
    let grants: &[(Grant, _)] = &[
        (|it, path| it.granted.push(path), "link"),
        (|it, path| it.read_only.push(path), "keyway"),
        (|it, path| it.root = Some(path), "keyway/deep"),
    ];
    for (grant, name) in grants {
        let mut program = program.clone();
        program.isolation.granted = vec![at("none"), at("work")];
        assert_eq!(in_hidden(&program, LaunchStage::Grants), None);
        grant(&mut program.isolation, at(name));
        assert_eq!(in_hidden(&program, LaunchStage::Grants), Some(at(name)));
        assert_eq!(in_hidden(&program, LaunchStage::Folder), None);
    }
}

#[test]
fn the_grant_that_leads_elsewhere_is_named_and_else_the_first() {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::super::known_folders::KnownGrant;

    let home = tempfile::TempDir::new().unwrap();
    let at = |name: &str| home.path().canonicalize().unwrap().join(name);
    let known = ["one", "two"].map(|name| {
        std::fs::create_dir(at(name)).unwrap();
        let found = std::fs::metadata(at(name)).unwrap();
        KnownGrant::new(at(name), at(name), Some((found.dev(), found.ino())))
    });
    let isolation = Isolation {
        known_grants: known.to_vec(),
        ..Isolation::default()
    };
    let named = || replaced(&isolation, LaunchStage::Approved);
    assert_eq!(named(), Some(at("one")), "it is back by now");
    assert_eq!(replaced(&isolation, LaunchStage::Grants), None);
    assert_eq!(replaced(&Isolation::default(), LaunchStage::Approved), None);
    // The same folder by a link, another one by the same name, and none.
    std::fs::rename(at("two"), at("away")).unwrap();
    symlink(at("away"), at("two")).unwrap();
    assert_eq!(named(), Some(at("two")));
    std::fs::remove_file(at("two")).unwrap();
    assert_eq!(named(), Some(at("two")));
    std::fs::create_dir(at("two")).unwrap();
    assert_eq!(named(), Some(at("two")));
}

#[test]
fn what_was_not_granted_is_told_with_the_setting() {
    for (denied, words) in [
        (
            unseen(Path::new("/x"), false),
            "`/x` exists but was not granted; to allow it, add `/x` to `read_only_grants` of \
             `[sandbox]` in config.toml, or to `grants` if it has to write there",
        ),
        (
            unseen(Path::new("/x"), true),
            "`/x` exists but was not granted; to allow it, add `/x` to `grants` of `[sandbox]` \
             in config.toml",
        ),
        (
            Denied::Network,
            "it has no network; to allow it, set `network = true` in `[sandbox]` of config.toml",
        ),
    ] {
        assert_eq!(denied.to_string(), words);
    }
}
