//! Which words of a command line the plugin decides, where its program lies, and what is outside.

#![expect(
    clippy::disallowed_methods,
    reason = "files of a fresh temporary folder"
)]

use std::os::unix::fs::{PermissionsExt as _, symlink};

use keyway_config::environment::{HostVariables, Variables};

use super::*;

fn secrets(words: &[&str]) -> Vec<Secret<String>> {
    let words = words.iter();
    words.map(|word| Secret::new((*word).to_owned())).collect()
}

fn exposed(words: &[Secret<String>]) -> Vec<&str> {
    words.iter().map(|word| word.expose().as_str()).collect()
}

fn line(words: &[&str], folder: &Path) -> CommandLine {
    CommandLine {
        shown: words.join(" "),
        command: words.first().copied().unwrap_or_default().to_owned(),
        words: secrets(words),
        decided: secrets(words),
        folder: folder.to_owned(),
        code: None,
        is_package: false,
    }
}

fn package(words: &[&str], folder: &Path) -> CommandLine {
    CommandLine {
        is_package: true,
        ..line(words, folder)
    }
}

#[test]
fn words_are_paths_from_where_a_program_starts_and_from_the_root_unless_it_is_a_package() {
    let (root, folder) = (Path::new("/plugin"), Path::new("/folder"));
    assert_eq!(line(&["x"], folder).bases(root), [folder, root]);
    assert_eq!(line(&["x"], root).bases(root), [root]);
    assert_eq!(package(&["npx"], folder).bases(root), [folder]);
    assert_eq!(package(&["npx"], root).bases(root), [root]);
    let line = line(&["x", "--file=a=b", "c"], root);
    assert_eq!(
        exposed(&line.paths()),
        ["x", "--file=a=b", "a=b", "c"],
        "the value of a flag may be a path"
    );
}

#[test]
fn a_program_is_found_from_the_root_or_by_the_path_it_is_looked_for_in() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, mode) in [
        ("plain/tool", 0o644),
        ("decoy/tool", 0o655),
        ("bin/tool", 0o755),
        ("tool", 0o755),
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::create_dir_all(root.join("folders/tool")).unwrap();
    let path = |text: String| Some(Secret::new(text));
    let found = |command: &str, path: Option<Secret<String>>| {
        line(&[command], &root).program(&root, path.as_ref())
    };
    let at = |name: &str| root.join(name).display().to_string();
    assert_eq!(found("./sub/../run", None), Some(root.join("run")));
    assert_eq!(found("tool", None), None);
    // Neither a folder nor a file that cannot be run is a program.
    let all = [at("folders"), at("plain"), at("none"), at("bin")].join(":");
    assert_eq!(found("tool", path(all)), Some(root.join("bin/tool")));
    assert_eq!(found("tool", path(at("plain"))), None);
    // `exec` passes over what its user may not run: the owner, unless it is the superuser.
    let is_superuser = rustix::process::geteuid().is_root();
    let own = if is_superuser {
        "decoy/tool"
    } else {
        "bin/tool"
    };
    let both = [at("decoy"), at("bin")].join(":");
    assert_eq!(found("tool", path(both)), Some(root.join(own)));
    assert_eq!(
        found("tool", path(format!("{}:", at("none")))),
        Some(root.join("tool")),
        "an empty part is the folder in which it starts"
    );
}

#[test]
fn a_packages_words_decide_whether_the_plugins_files_count() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().canonicalize().unwrap();
    let (root, own) = (all.join("plugin"), all.join("programs"));
    for name in ["plugin/srv.js", "programs/x", "other/file", "plugin/own/y"] {
        let path = all.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    symlink(all.join("other/file"), root.join("out")).unwrap();
    symlink(root.join("srv.js"), all.join("other/in")).unwrap();
    let loads = |word: &str| package(&["npx", word], &own).loads_from(&root);
    for word in [
        "../plugin/srv.js",
        "../plugin/out",
        "../other/in",
        "--file=../plugin/srv.js",
        "$PLUGIN_ROOT/nothing",
    ] {
        assert!(loads(word), "{word}");
    }
    for word in [
        "tool",
        "x",
        "../programs/x",
        "../other/file",
        "../plugin/no",
    ] {
        assert!(!loads(word), "{word}");
    }
    let named = format!("x:{}/nothing", root.display());
    assert!(loads(&named), "{named}");
    assert!(
        !package(&["npx", "y"], &root.join("own")).loads_from(&root),
        "its own folder is its own affair, wherever that is"
    );
    // Of every other program it is taken that they do, and of a package in their midst.
    assert!(line(&["node", "x"], &own).loads_from(&root));
    assert!(package(&["npx", "tool"], &root).loads_from(&root));
    let code = CommandLine {
        code: Some("node -e".to_owned()),
        ..package(&["npx", "tool"], &own)
    };
    assert!(code.loads_from(&root));
}

#[test]
fn only_what_leads_out_of_the_folder_and_others_can_change_lies_outside() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().canonicalize().unwrap();
    let (root, code) = (all.join("plugin"), all.join("code"));
    for path in [&root, &code] {
        fs::create_dir(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        fs::write(path.join("a.js"), "").unwrap();
    }
    // A file that is not the superuser's, and that no other may write.
    let file = code.join("a.js");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
    }
    let host = HostVariables {
        plugin_root: root.clone(),
        ..HostVariables::default()
    };
    let places = Places {
        host: &host,
        home: None,
    };
    let file_text = file.display().to_string();
    assert_eq!(line(&[&file_text], &root).outside(places), [file.as_path()]);
    assert_eq!(
        line(&["../code/a.js", "--x=../code/a.js", "../code"], &root).outside(places),
        [code.clone(), file.clone()],
        "each once, a folder too"
    );
    assert_eq!(
        package(&["npx", "../code", "../code/a.js"], &root).outside(places),
        [code.clone(), file],
        "a folder that a package is given may be what it runs"
    );
    for words in [
        &["a.js"][..],
        &["./a.js"],
        &["/bin/sh"],
        &["/dev/null"],
        &["../plugin/a.js"],
    ] {
        let found = line(words, &root).outside(places);
        assert!(found.is_empty(), "{words:?}: {found:?}");
    }
    // Of the folder in which it starts more is said elsewhere.
    assert!(line(&["a.js"], &code).outside(places).is_empty());
    assert!(!line(&["/tmp"], &root).outside(places).is_empty());
    // What is not there can be put there, unless only the superuser could.
    let found = line(&["../none", "/usr/none/x"], &root).outside(places);
    assert_eq!(found, [all.join("none")]);
}

#[test]
fn a_text_of_a_shell_is_split_into_what_may_be_paths() {
    let words = split("'./a' \"b\";  (c) --x=d");
    assert_eq!(exposed(&words), ["./a", "b", "c", "--x=d"]);
}

#[test]
fn a_variable_is_the_plugins_unless_the_person_gives_all_of_it() {
    struct Mixed(Variables);
    impl keyway_config::environment::Environment for Mixed {
        fn get(&self, name: &str) -> Option<Secret<String>> {
            self.0.get(name)
        }
        fn names(&self) -> Vec<String> {
            self.0.names()
        }
        fn origin_of(&self, name: &str) -> Option<Origin> {
            match name {
                "MINE" => Some(Origin::Process),
                "THEIRS" => Some(Origin::Plugin),
                _ => None,
            }
        }
    }
    let variables = Mixed(Variables::from_pairs([("MINE", "1"), ("THEIRS", "2")]));
    let host = HostVariables {
        defaults: [("DEFAULTED".to_owned(), "3".to_owned())].into(),
        ..HostVariables::default()
    };
    let scope = Scope::new(&host, &variables);
    for (name, expected) in [
        ("MINE", false),
        ("THEIRS", true),
        ("DEFAULTED", true),
        ("UNSET", false),
    ] {
        assert_eq!(is_plugins(name, &scope), expected, "{name}");
    }
    for (text, plugins, persons) in [
        ("${MINE}", false, true),
        ("${MINE:-x}", true, true),
        ("${MINE}x", true, true),
        ("${THEIRS}", true, false),
        ("x", true, false),
        ("${UNSET}", false, false),
    ] {
        let template = Template::parse(text);
        assert_eq!(is_plugins_value(&template, &scope), plugins, "{text}");
        assert_eq!(has_persons(&template, &scope), persons, "{text}");
    }
}
