//! Loading from real folders.

use keyway_config::declared::Endpoint;
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
fn bundles_of_claude_code_are_known_and_not_read_as_json() {
    let outside = Folder::new().file("x.mcpb", "PK");
    let manifest = r#"{"name": "p", "mcpServers": ["./a.mcpb", "./old.DXT", "https://h.example/b.mcpb",
        "http://h.example/b.mcpb", "./gone.mcpb", "./link.mcpb", "./folder.mcpb"]}"#;
    let folder = Folder::new()
        .file("a.mcpb", "PK")
        .file("old.DXT", "PK")
        .file("folder.mcpb/x", "")
        .link("link.mcpb", outside.at("x.mcpb"))
        .file(".claude-plugin/plugin.json", manifest)
        .file(
            ".codex-plugin/plugin.json",
            r#"{"name": "p", "mcpServers": "${PLUGIN_ROOT}/a.mcpb"}"#,
        );
    let loaded = load(&folder);
    let references = &loaded.plugin.snapshot.references;
    for (text, expected) in [
        ("./a.mcpb", Reference::Bundle),
        ("./old.DXT", Reference::Bundle),
        ("https://h.example/b.mcpb", Reference::Bundle),
        ("http://h.example/b.mcpb", Reference::OutsidePlugin),
        ("./gone.mcpb", Reference::Missing),
        ("./link.mcpb", Reference::OutsidePlugin),
        ("./folder.mcpb", Reference::Unreadable),
        ("${PLUGIN_ROOT}/a.mcpb", Reference::NotJson),
    ] {
        assert_eq!(references[text], expected, "{text}");
    }
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
        let named = loaded.named_variables(&Scope::new(&host, &variables));
        let value = named.values().find_map(|variables| variables.get("A"));
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

/// The servers that are found below a folder, with the host of the file that has them.
fn found_below(folder: &Folder) -> Vec<String> {
    let tree = Loader::default()
        .load_tree(folder.path(), &|_| false)
        .unwrap();
    let entries = tree
        .plugins
        .iter()
        .flat_map(|loaded| loaded.plugin.entries());
    let mut found: Vec<String> = entries
        .map(|(document, entry)| format!("{} {}", document.dialect.id, entry.name))
        .collect();
    found.sort();
    found
}

#[test]
fn the_folder_of_a_host_that_is_not_known_is_searched_and_that_of_a_tool_is_not() {
    let entry = |name: &str| format!(r#"{{"mcpServers": {{"{name}": {{"command": "x"}}}}}}"#);
    let folder = Folder::new()
        .file(".junie/mcp/mcp.json", entry("junie"))
        .file(".amazonq/cli-agents/dev.json", entry("q"))
        .file(".next-years-host/mcp.json", entry("new"))
        .file(".venv/lib/mcp.json", entry("venv"))
        .file(".mypy_cache/mcp.json", entry("cache"))
        .file("node_modules/a/.mcp.json", entry("dependency"));
    let found = found_below(&folder);
    assert_eq!(
        found,
        ["amazon-q q", "claude-code junie", "claude-code new"]
    );
}

#[test]
fn goose_and_windsurf_are_found_without_their_folders() {
    let goose = "GOOSE_MODEL: m\nextensions:\n  g:\n    type: stdio\n    cmd: x\n    args: []\n";
    let folder = Folder::new()
        .file("deploy/agent.yaml", goose)
        .file(
            "mcp_config.json",
            r#"{"mcpServers": {"w": {"command": "x"}}}"#,
        )
        .file(
            "ci.yaml",
            "extensions:\n  - one\ntype: x\njobs:\n  cmd: y\n",
        );
    assert_eq!(found_below(&folder), ["goose g", "windsurf w"]);
}

#[test]
fn a_package_that_only_speaks_of_servers_is_not_a_file_of_entries() {
    let package = r#"{"name": "x", "keywords": ["mcpServers"], "scripts": {"build": "tsc"},
        "author": {"name": "a", "url": "https://a.example"}}"#;
    let catalogue = r#"{"owner": {"url": "https://a.example"}, "plugins": [{"mcpServers": {}}]}"#;
    let bare = r#"{"_note": "was under mcpServers", "s": {"command": "x"}}"#;
    let folder = Folder::new()
        .file("package.json", package)
        .file("catalogue.json", catalogue)
        .file("config/servers.json", bare);
    assert_eq!(found_below(&folder), ["claude-code s"]);
}

#[test]
fn a_manifest_beside_a_file_says_whose_it_is() {
    let codex = r#"{"mcpServers": {"s": {"type": "http", "url": "https://s.example/mcp",
        "bearer_token_env_var": "S_TOKEN"}}}"#;
    let cursor = r#"{"mcpServers": {"c": {"url": "https://c.example/mcp",
        "auth": {"CLIENT_ID": "${CLIENT_ID}"}}}}"#;
    let folder = Folder::new()
        .file("codex/.codex-plugin/plugin.json", r#"{"name": "codex"}"#)
        .file("codex/.mcp.json", codex)
        .file("cursor/.cursor-plugin/plugin.json", r#"{"name": "cursor"}"#)
        .file("cursor/mcp.json", cursor)
        .file("both/.codex-plugin/plugin.json", r#"{"name": "both"}"#)
        .file("both/.claude-plugin/plugin.json", r#"{"name": "both"}"#)
        .file(
            "both/.mcp.json",
            r#"{"mcpServers": {"b": {"command": "x"}}}"#,
        );
    assert_eq!(
        found_below(&folder),
        ["claude-code b", "codex s", "cursor c"]
    );
    let mut loaded = Loader::default()
        .load(&folder.path().join("codex"))
        .unwrap();
    let file = loaded.plugin.documents[0].source.path().to_owned();
    loaded.set_text(&file, codex);
    let document = &loaded.plugin.documents[0];
    let server = document.servers().next().unwrap();
    let Endpoint::Remote(remote) = &server.endpoint else {
        panic!("not remote")
    };
    assert_eq!(
        remote.headers[0].value.template.as_str(),
        "Bearer ${S_TOKEN}"
    );
}

#[test]
fn sources_of_a_marketplace_are_relative_to_its_plugin_root() {
    let marketplace = |base: &str| {
        format!(
            r#"{{"name": "m", "metadata": {{"pluginRoot": "{base}"}}, "plugins": [
            {{"name": "a", "source": "a"}}, {{"name": "b", "source": "./plugins/b"}},
            {{"name": "c", "source": "gone"}}]}}"#
        )
    };
    for base in ["./plugins", "plugins/"] {
        let folder = Folder::new()
            .file(".claude-plugin/marketplace.json", marketplace(base))
            .file("plugins/a/README.md", "a")
            .file("plugins/b/README.md", "b");
        let tree = Loader::default()
            .load_tree(folder.path(), &|_| false)
            .unwrap();
        let references = &tree.plugins[0].plugin.snapshot.references;
        assert_eq!(references["a"], Reference::Read, "{base}");
        assert_eq!(references["./plugins/b"], Reference::Read, "{base}");
        assert_eq!(references["gone"], Reference::Missing, "{base}");
    }
}
