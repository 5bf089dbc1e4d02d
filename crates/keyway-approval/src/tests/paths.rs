//! Paths and links: what is approved is what the system finds, and what could be led elsewhere
//! without a question is named.

use std::os::unix::fs::symlink;

use super::*;

const MARKED: &str = "without a question";
const SCRIPT: &str = r#""command": "sh", "args": ["server.sh"]"#;

impl Place {
    /// A folder beside the plugin.
    fn outside(&self, name: &str) -> PathBuf {
        let path = self.folder.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

fn relink(target: &Path, link: &Path) {
    drop(std::fs::remove_file(link));
    symlink(target, link).unwrap();
}

/// Threat E5: the system follows a link before it goes up from there.
#[test]
fn e05_a_path_that_goes_up_behind_a_link_is_what_the_system_finds() {
    let place = Place::new();
    place.file("prog", "a decoy");
    place.file("run", "a decoy");
    place.file("sub/run", "what runs");
    place.file("sub/x/file", "");
    place.outside("o/a/b");
    std::fs::write(place.outside("o").join("prog"), "what runs").unwrap();
    std::fs::create_dir(place.at("deep")).unwrap();
    symlink(place.outside("o/a/b"), place.at("deep/c")).unwrap();
    symlink(place.outside("o/a"), place.at("w")).unwrap();
    symlink("sub/x", place.at("in")).unwrap();
    for fields in [
        r#""command": "./deep/c/../../prog""#,
        r#""command": "sh", "args": ["deep/c/../../prog"]"#,
        r#""command": "sh", "args": ["--file=./deep/c/../../prog"]"#,
        r#""command": "sh", "cwd": "w/..", "args": ["x"]"#,
        r#""command": "sh", "cwd": "w", "args": ["../prog"]"#,
        r#""type": "http", "url": "https://h.example", "headersHelper": "./deep/c/../../prog""#,
    ] {
        let question = place.ask(fields);
        let text = question.to_string();
        assert!(text.contains(MARKED), "{text}");
        assert!(!text.contains("the plugin's own program"), "{text}");
        let decoy = place.at("prog");
        assert!(question.files.paths().all(|path| path != decoy), "{fields}");
    }
    for fields in [
        r#""command": "./in/../run""#,
        r#""type": "http", "url": "https://h.example", "headersHelper": "./in/../run""#,
    ] {
        let question = place.ask(fields);
        let paths: Vec<_> = question.files.paths().collect();
        assert_eq!(paths, [place.at("sub/run")], "{fields}");
    }
    let fields = r#""command": "run", "env": {"PATH": "${HOST_PLUGIN_ROOT}/in/.."}"#;
    let text = place.ask(fields).to_string();
    assert!(text.contains("is ${HOST_PLUGIN_ROOT}/sub/run\n"), "{text}");
    let text = place.ask(r#""command": "./in/../run""#).to_string();
    assert!(text.contains("is ${HOST_PLUGIN_ROOT}/sub/run\n"), "{text}");
}

/// Threat E5: a link outside that leads back into the plugin is part of what is approved.
#[test]
fn e05_every_link_on_the_way_counts() {
    let place = Place::new();
    for file in ["server.sh", "a.sh", "b.sh", "one/x", "two/x"] {
        place.file(file, "1");
    }
    let copies = ["c/1", "c/2"].map(|folder| place.outside(folder).join("x"));
    for copy in &copies {
        std::fs::write(copy, "the same").unwrap();
    }
    let [one, other] = copies;
    for (name, first, second) in [
        ("file", place.at("a.sh"), place.at("b.sh")),
        ("folder", place.at("one"), place.at("two")),
        ("copy", one, other),
        ("system", "/etc/passwd".into(), "/etc/group".into()),
        ("process", "/proc/1/cwd".into(), "/proc/self/cwd".into()),
    ] {
        let switch = place.outside("links").join(name);
        relink(&first, &switch);
        relink(&switch, &place.at("active"));
        place.approve(SCRIPT);
        let question = place.ask(SCRIPT);
        assert_eq!(question.files.verify(), Ok(()), "{name}");
        relink(&second, &switch);
        if name == "process" {
            assert!(question.files.is_partial(), "where it leads is not known");
            continue;
        }
        assert!(!place.is_approved(SCRIPT), "{name}");
        assert!(question.files.verify().is_err(), "{name}");
    }
}

/// A folder that a link outside leads to may be another at the next start.
#[test]
fn e05_a_working_folder_behind_a_link_outside_is_marked() {
    let place = Place::new();
    place.file("sub/x.sh", "1");
    let switch = place.outside("links").join("sw");
    relink(&place.at("sub"), &switch);
    let switch = switch.display();
    for fields in [
        format!(r#""command": "sh", "cwd": "{switch}", "args": ["x.sh"]"#),
        format!(r#""command": "node", "args": ["{switch}"]"#),
        format!(r#""command": "node", "args": ["-r{switch}/x.sh"]"#),
    ] {
        let text = place.ask(&fields).to_string();
        assert!(text.contains(MARKED), "{text}");
    }
    // A file is approved with where it lies.
    let fields = format!(r#""command": "sh", "args": ["{switch}/x.sh"]"#);
    let text = place.ask(&fields).to_string();
    assert!(!text.contains(MARKED), "{text}");
}

/// Threat E5: that a folder is the superuser's says nothing of what is below.
#[test]
fn e05_a_link_to_a_system_folder_below_which_the_person_writes_is_named() {
    let place = Place::new();
    place.file("server.sh", "1");
    relink(Path::new("/"), &place.at("lib"));
    let question = place.ask(SCRIPT);
    assert!(question.files.is_partial(), "{question}");
    // For the superuser nothing is fixed, and all of it would have to be counted.
    if !rustix::process::geteuid().is_root() {
        let text = question.to_string();
        assert!(text.contains("!! not covered: `lib`, which"), "{text}");
        relink(Path::new("/etc/profile.d"), &place.at("lib"));
        relink(Path::new("/usr/bin/env"), &place.at("tool"));
        assert!(!place.ask(SCRIPT).files.is_partial());
    }
}

/// Threat E7: what the line names outside is marked, however it is written and whether or not it is
/// there yet.
#[test]
fn e07_every_path_outside_that_could_change_is_marked() {
    let place = Place::new();
    let outside = place.outside("code");
    std::fs::write(outside.join("x.mjs"), "1").unwrap();
    relink(Path::new("/etc/passwd"), &outside.join("link.sh"));
    let at = outside.display();
    for argument in [
        format!("{at}/notyet.sh"),
        format!("{at}/link.sh"),
        "../code/notyet.sh".to_owned(),
        format!("--import=file://{at}/x.mjs"),
        format!("file://localhost{at}/x%2emjs"),
        format!("file:{at}/x.mjs"),
        format!("-r{at}/x.mjs"),
        "-r../code/x.mjs".to_owned(),
        format!("-Dpath={at}/x.mjs"),
        format!("/usr/share/java:{at}/"),
        format!("a,{at}/x.mjs"),
        format!("@{at}/x.mjs"),
        format!(". {at}/x.mjs"),
        format!("<{at}/x.mjs"),
    ] {
        let fields = format!(r#""command": "prog", "args": ["{argument}"]"#);
        let text = place.ask(&fields).to_string();
        let said = "outside of the plugin: it can change without a question";
        assert!(text.contains(said), "{text}");
        assert!(text.contains("/code"), "{text}");
    }
    place.file("x.mjs", "1");
    let own = place.root.display();
    for argument in [
        "/usr/share/nothing/of/that/name".to_owned(),
        "/usr/bin/env".to_owned(),
        "/usr/share/java:/usr/lib".to_owned(),
        "https://h.example/tmp/x".to_owned(),
        "--url=postgres://u:p@h.example/tmp".to_owned(),
        "x.mjs".to_owned(),
        "-rx.mjs".to_owned(),
        "sub/../x.mjs".to_owned(),
        format!("file://{own}/x.mjs"),
    ] {
        let fields = format!(r#""command": "prog", "args": ["{argument}"]"#);
        let text = place.ask(&fields).to_string();
        assert!(!text.contains(MARKED), "{text}");
    }
}

/// What comes out of a pipe is never approved.
#[test]
fn e07_a_pipe_in_the_plugin_is_named() {
    let place = Place::new();
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, place.at("pipe"), kind, 0o600.into(), 0).unwrap();
    let question = place.ask(r#""command": "sh", "args": ["pipe"]"#);
    assert!(question.files.is_partial());
    let text = question.to_string();
    assert!(text.contains("!! not covered: `pipe`, which"), "{text}");
}

/// An approval of a plugin without such links is found again by a later version.
#[test]
fn the_digest_of_an_ordinary_plugin_stays_as_it_was() {
    let place = Place::new();
    for file in ["server.sh", "lib/a.js", "lib/deep/b.js", "run"] {
        place.file(file, file);
    }
    for (link, target) in [
        ("current", "lib"),
        ("bin", "current/deep"),
        ("b.js", "bin/../a.js"),
        ("c.js", "./b.js"),
        ("none", "nothing"),
    ] {
        symlink(target, place.at(link)).unwrap();
    }
    for (fields, digest) in [
        (
            r#""command": "sh", "args": ["./lib/../server.sh", "--x=lib/a.js"]"#,
            "b167be4fa7a394c1a6b357fbec45e7eca0a0863a7ca93536efdcf73f1f16c06c",
        ),
        (
            r#""command": "./run", "cwd": "./lib/../lib""#,
            "a632553f39a18a88561979684cfeeb865b72b798730daf7259c8269827d9bbee",
        ),
    ] {
        let question = place.ask(fields);
        assert_eq!(question.digest.to_string(), digest, "{question}");
    }
}
