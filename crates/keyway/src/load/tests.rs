//! Loading from real folders.

use keyway_config::environment::{Environment as _, Scope, Variables};
use keyway_config::plugin::{ProgramState, Reference};
use keyway_testkit::Folder;

use super::*;
use crate::read::shown;

fn load(folder: &Folder) -> Loaded {
    Loader::default().load(folder.path()).unwrap()
}

fn files(folder: &Folder, loaded: &Loaded) -> Vec<String> {
    let documents = loaded.plugin.documents.iter();
    documents
        .map(|document| {
            let path = Path::new(document.source.path());
            shown(path.strip_prefix(folder.path()).unwrap_or(path))
        })
        .collect()
}

#[test]
fn all_files_of_a_root_are_read_each_once_with_manifests_last() {
    let folder = Folder::with_entries("{}")
        .file("mcp.json", "{}")
        .file("more.json", "{}")
        .file(
            "plugin.json",
            r#"{"mcpServers": ["./more.json", "./.mcp.json", {}]}"#,
        )
        .file(
            ".claude-plugin/plugin.json",
            r#"{"mcpServers": "${CLAUDE_PLUGIN_ROOT}/more.json"}"#,
        );
    let expected = [
        ".mcp.json",
        "mcp.json",
        "more.json",
        "plugin.json",
        ".claude-plugin/plugin.json",
    ];
    assert_eq!(files(&folder, &load(&folder)), expected);
}

#[test]
fn referenced_file_outside_of_the_plugin_is_not_opened_even_through_a_link() {
    let outside = Folder::new().file("secret.json", "{}");
    let folder = Folder::new()
        .link("link.json", outside.at("secret.json"))
        .file(
            "plugin.json",
            r#"{"mcpServers": ["./link.json", "../x.json", "/etc/hostname", "./none.json"]}"#,
        );
    let loaded = load(&folder);
    assert_eq!(files(&folder, &loaded), ["plugin.json"]);
    let references = &loaded.plugin.snapshot.references;
    assert_eq!(references["./link.json"], Reference::OutsidePlugin);
    assert_eq!(references["../x.json"], Reference::Missing);
    assert_eq!(references["/etc/hostname"], Reference::NotJson);
    assert_eq!(references["./none.json"], Reference::Missing);
}

#[test]
fn a_file_given_directly_is_the_only_one_and_knows_its_root() {
    let folder = Folder::with_entries("{}")
        .file("README.md", "# Plugin")
        .file(
            ".claude-plugin/plugin.json",
            r#"{"mcpServers": "./.mcp.json"}"#,
        );
    let file = folder.at(".claude-plugin/plugin.json");
    let loaded = Loader::default().load(&file).unwrap();
    assert_eq!(files(&folder, &loaded), [".claude-plugin/plugin.json"]);
    assert_eq!(loaded.plugin.root, folder.path());
    assert!(loaded.plugin.has_manifest());
    assert!(loaded.plugin.snapshot.readme.is_some());
}

#[test]
fn the_search_goes_up_to_the_repository_root_and_no_further() {
    let folder = Folder::with_entries("{}")
        .file("repo/a/b/x", "")
        .file("other/a/b/.mcp.json", "{}")
        .file("repo/.git/HEAD", "");
    let discover = |path: &str| Loader::default().discover(&folder.at(path));
    assert!(matches!(
        discover("repo/a/b").unwrap_err(),
        LoadError::NothingFound
    ));
    // Outside of a repository only the folder itself counts.
    assert!(discover("other/a").is_err());
    assert!(discover("other/a/b").is_ok());
    folder.put("repo/plugin.json", "{}");
    assert_eq!(discover("repo/a/b").unwrap().plugin.root, folder.at("repo"));
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = Folder::new()
        .file("sub/x", "")
        .link("loop.json", "loop.json");
    let error = |path: &str| Loader::default().load(&folder.at(path)).unwrap_err();
    assert!(matches!(error("none.json"), LoadError::Missing { .. }));
    assert!(matches!(error("loop.json"), LoadError::Unreadable { .. }));
    assert!(matches!(error("sub"), LoadError::NoConfiguration { .. }));
    assert!(
        error("sub")
            .hint()
            .unwrap()
            .contains(".codex-plugin/plugin.json")
    );
    let device = Loader::default().load(Path::new("/dev/zero")).unwrap_err();
    assert!(matches!(device, LoadError::NotAFile { .. }));
}

#[test]
fn prose_is_what_a_reader_sees_and_nothing_else() {
    let outside = Folder::new().file("private.md", "");
    let large = "x".repeat(600 * 1024);
    let folder = Folder::with_entries("{}")
        .file("readme.markdown", "")
        .file("README.md", "")
        .file("NOTES.md", "")
        .file("LICENSE", "")
        .file("run.sh", "")
        .file("large.md", large)
        .file("binary.md", b"a\0b")
        .file("docs/deep/er/page.md", "")
        .file("docs/node_modules/page.md", "")
        .file("docs/.hidden/page.md", "")
        .file("scripts/a.py", "")
        .file("scripts/data.csv", "")
        .file("bin/b.mjs", "")
        .link("outside.md", outside.at("private.md"));
    let loaded = load(&folder);
    let prose = loaded.plugin.snapshot.prose.iter();
    let names: Vec<_> = prose
        .map(|source| {
            shown(
                Path::new(source.path())
                    .strip_prefix(folder.path())
                    .unwrap(),
            )
        })
        .collect();
    let expected = [
        "README.md",
        "NOTES.md",
        "readme.markdown",
        "run.sh",
        "docs/deep/er/page.md",
        "scripts/a.py",
        "bin/b.mjs",
    ];
    assert_eq!(names, expected);
}

#[test]
fn prose_of_a_folder_comes_with_its_first_file_only() {
    let folder = Folder::new()
        .file("a.json", "{}")
        .file("b.json", "{}")
        .file(".env", "A=1")
        .file("README.md", "");
    let paths = ["a.json", "b.json"].map(|name| folder.at(name));
    let loaded: Vec<_> = Loader::default().load_all(&paths);
    let sizes = loaded.iter().map(|loaded| {
        let snapshot = &loaded.as_ref().unwrap().plugin.snapshot;
        (snapshot.prose.len(), snapshot.env_files.len())
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [(1, 1), (0, 0)]);
    assert!(loaded[1].as_ref().unwrap().plugin.snapshot.readme.is_some());
}

#[test]
fn env_files_are_those_in_the_root_and_those_that_entries_name() {
    let entry = r#"{"s": {"command": "x", "envFile": "./conf/my.env"}}"#;
    let folder = Folder::with_entries(entry)
        .file(".env", "")
        .file(".env.example", "")
        .file(".env.local", "")
        .file(".gitignore", ".env.local\nconf\n")
        .repository(&[".env"]);
    let loaded = load(&folder);
    let files = loaded.plugin.snapshot.env_files.iter();
    let seen: Vec<_> = files
        .map(|f| (f.path.as_str(), f.exists, f.ignored, f.tracked))
        .collect();
    let expected = [
        (".env", true, Some(false), true),
        (".env.local", true, Some(true), false),
        ("conf/my.env", false, Some(true), false),
    ];
    assert_eq!(seen, expected);
}

/// Contract, section 3: `envFile` is filled in like every other field.
#[test]
fn variables_in_the_name_of_an_env_file_are_filled_in() {
    let entry = r#"{"s": {"command": "x", "envFile": "${CONF}/${NAME:-my}.env"}}"#;
    let folder = Folder::with_entries(entry).file("conf/my.env", "A=1\n");
    let loaded = load(&folder);
    let host = loaded.plugin.host_variables();
    for (variables, found) in [
        (Variables::from_pairs([("CONF", "conf")]), Some("1")),
        (Variables::from_pairs([("CONF", "other")]), None),
        (Variables::default(), None),
    ] {
        let (named, outside) = loaded.named_variables(&Scope::new(&host, &variables));
        assert!(outside.names().is_empty());
        let value = named.get("A");
        assert_eq!(value.as_ref().map(|value| value.expose().as_str()), found);
    }
}

#[test]
fn programs_are_described_and_those_outside_are_not_read() {
    let outside = Folder::new().executable("out.sh", "#!/bin/sh\n");
    let helper = |command: &str| {
        let entry = format!(
            r#"{{"s": {{"type": "http", "url": "https://h.example", "headersHelper": "{command}"}}}}"#
        );
        let folder = Folder::with_entries(&entry)
            .executable("run.sh", "#!/bin/sh\necho\n")
            .file("plain.sh", "echo\n");
        let programs = load(&folder).plugin.snapshot.programs;
        programs.into_values().next()
    };
    let program = helper("${HOST_PLUGIN_ROOT}/run.sh --flag").unwrap();
    assert_eq!(program.state, ProgramState::Executable);
    assert!(program.inside_root && program.script.is_some());
    assert_eq!(
        helper("./plain.sh").unwrap().state,
        ProgramState::NotExecutable
    );
    assert_eq!(helper("./none.sh").unwrap().state, ProgramState::Missing);
    let program = helper(&outside.at("out.sh").to_string_lossy()).unwrap();
    assert!(!program.inside_root && program.script.is_none());
    assert!(helper("node run.js").is_none());
    assert!(helper("~/run.sh").is_none());
}

#[test]
fn text_put_in_place_is_parsed_again() {
    let folder = Folder::with_entries("{}");
    let mut loaded = load(&folder);
    let name = loaded.plugin.documents[0].source.path().to_owned();
    loaded.set_text(&name, r#"{"s": {"command": "x"}}"#);
    assert_eq!(loaded.plugin.servers().count(), 1);
    assert_eq!(
        loaded.path_of(&name),
        Some(folder.at(".mcp.json").as_path())
    );
}
