//! `keyway check` pointed at whole repositories.
//!
//! Real ones are rebuilt from the corpus: each file at the path where it was found, checked from the
//! root. The corpus is kept outside of the repository, where `KEYWAY_CORPUS` says or else in
//! `../shared/corpus` beside the checkout; `cargo xtask test` says whether that test was run.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot read its files has nothing better to do than to stop"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use keyway_testkit::{Folder, Keyway, Outcome};
use serde_json::Value;

fn check(folder: &Folder, arguments: &[&str]) -> Outcome {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .args(["check"])
        .args(arguments.iter().copied())
        .run()
}

fn codes(outcome: &Outcome) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let found = report["diagnostics"].as_array().unwrap().iter();
    found
        .map(|it| {
            let code = it["code"].as_str().unwrap().to_owned();
            let file = it["source"]["file"].as_str().unwrap_or_default().to_owned();
            (file, code)
        })
        .collect()
}

const ENTRY: &str = r#"{"command": "x", "env": {"API_KEY": "not-a-real-key-4711"}}"#;

/// A repository with a file of many hosts, each with one literal credential.
fn many_hosts() -> Folder {
    let wrapped = format!(r#"{{"mcpServers": {{"s": {ENTRY}}}}}"#);
    Folder::new()
        .file(".mcp.json", &wrapped)
        .file("plugins/a/.mcp.json", &wrapped)
        .file(".vscode/mcp.json", format!(r#"{{ // note
            "servers": {{"s": {ENTRY}}} }}"#))
        .file(".cursor/mcp.json", &wrapped)
        .file(".kiro/settings/mcp.json", &wrapped)
        .file(".roo/mcp.json", &wrapped)
        .file(".codex/config.toml", "[mcp_servers.s]\ncommand = \"x\"\n[mcp_servers.s.env]\nAPI_KEY = \"not-a-real-key-4711\"\n")
        .file(".continue/mcpServers/a.yaml", "mcpServers:\n  - name: s\n    command: x\n    env:\n      API_KEY: not-a-real-key-4711\n")
        .file("samples/anything.json", &wrapped)
        .file("package.json", r#"{"name": "x", "scripts": {"mcp": "y"}}"#)
        .file("node_modules/p/.mcp.json", &wrapped)
        .file(".venv/lib/.mcp.json", &wrapped)
}

#[test]
fn every_hosts_file_of_a_tree_is_found_and_nothing_else() {
    let outcome = check(&many_hosts(), &[".", "--format", "json"]);
    let found: BTreeSet<String> = codes(&outcome)
        .into_iter()
        .filter(|(_, code)| code == "literal-secret")
        .map(|(file, _)| file)
        .collect();
    let expected = [
        ".codex/config.toml",
        ".continue/mcpServers/a.yaml",
        ".cursor/mcp.json",
        ".kiro/settings/mcp.json",
        ".mcp.json",
        ".roo/mcp.json",
        ".vscode/mcp.json",
        "plugins/a/.mcp.json",
        "samples/anything.json",
    ];
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    assert!(!outcome.everything().contains("4711"), "the value is shown");
    assert_eq!(outcome.code, 1);
}

#[test]
fn a_marketplace_is_checked_with_its_plugins() {
    let folder = Folder::new()
        .file(
            ".claude-plugin/marketplace.json",
            r#"{"name": "m", "owner": {"name": "o"}, "plugins": [
                {"name": "a", "source": "./plugins/a"},
                {"name": "b", "source": {"source": "github", "repo": "o/b"}},
                {"name": "c", "source": {"source": "npm", "package": "c"}},
                {"name": "gone", "source": "./plugins/gone"},
                {"name": "d", "source": "./plugins/a", "strict": false, "mcpServers": {"s": {"type": "http", "url": "http://h.example/mcp"}}}]}"#,
        )
        .file("plugins/a/.claude-plugin/plugin.json", r#"{"name": "a"}"#)
        .file("plugins/a/.mcp.json", r#"{"mcpServers": {"t": {"type": "http", "url": "http://h.example/mcp"}}}"#);
    let found = codes(&check(&folder, &[".", "--format", "json"]));
    let has = |file: &str, code: &str| found.contains(&(file.to_owned(), code.to_owned()));
    assert!(
        has(".claude-plugin/marketplace.json", "bad-reference"),
        "{found:?}"
    );
    assert!(
        has(".claude-plugin/marketplace.json", "insecure-url"),
        "{found:?}"
    );
    assert!(has("plugins/a/.mcp.json", "insecure-url"), "{found:?}");
    assert_eq!(
        found
            .iter()
            .filter(|(_, code)| code == "bad-reference")
            .count(),
        1
    );
}

/// Packs a manifest into a bundle.
fn bundle(manifest: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content) in [("server/index.js", "run()"), ("manifest.json", manifest)] {
        let (mut entry, config) = archive.new_file(name).start().unwrap();
        let mut data = config.wrap(&mut entry);
        data.write_all(content.as_bytes()).unwrap();
        let (_, descriptor) = data.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

#[test]
fn the_manifest_inside_of_a_bundle_is_checked_and_nothing_is_unpacked() {
    let manifest = |env: &str| {
        format!(
            r#"{{"manifest_version": "0.3", "name": "s", "version": "1.0.0", "description": "d", "author": {{"name": "a"}},
              "server": {{"type": "node", "entry_point": "server/index.js",
                "mcp_config": {{"command": "node", "args": ["${{__dirname}}/server/index.js"], "env": {env}}}}},}}"#
        )
    };
    let literal = bundle(&manifest(r#"{"API_TOKEN": "not-a-real-token-4711"}"#));
    let folder = Folder::new()
        .file(".gitignore", "dist/\n")
        .file(
            "plugins/p/.claude-plugin/plugin.json",
            r#"{"name": "p", "mcpServers": ["./dist/s.mcpb", "./packed.mcpb"]}"#,
        )
        .file("plugins/p/dist/s.mcpb", &literal)
        .file("plugins/p/packed.mcpb", &literal)
        .file(
            "old.dxt",
            bundle(r#"{"name": "o", "server": {"mcp_config": {"command": "x"}}}"#),
        )
        .file("lfs.mcpb", "version https://git-lfs.github.com/spec/v1\n")
        .repository(&[]);
    let outcome = check(&folder, &[".", "--fix", "--format", "json"]);
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(!outcome.everything().contains("4711"), "the value is shown");
    let found = codes(&outcome);
    let has = |file: &str, code: &str| {
        let it = (format!("{file}/manifest.json"), code.to_owned());
        found.iter().filter(|found| **found == it).count()
    };
    // Also one that version control ignores, since the plugin names it; each once.
    assert_eq!(
        has("plugins/p/dist/s.mcpb", "literal-secret"),
        1,
        "{found:?}"
    );
    assert_eq!(
        has("plugins/p/packed.mcpb", "literal-secret"),
        1,
        "{found:?}"
    );
    assert_eq!(has("old.dxt", "missing-field"), 6, "{found:?}");
    let lfs = |(file, _): &(String, String)| file.starts_with("lfs.mcpb");
    assert!(!found.iter().any(lfs), "{found:?}");
    assert!(std::fs::read(folder.at("plugins/p/dist/s.mcpb")).unwrap() == literal);
    assert!(!folder.at("plugins/p/server").exists(), "it was unpacked");
    // Named on the command line, also by another way to write its path, and known from then on.
    let update = ["old.dxt", "--baseline", "known.json", "--update-baseline"];
    assert_eq!(check(&folder, &update).code, 0);
    let known = check(
        &folder,
        &["./plugins/../old.dxt", "--baseline", "known.json"],
    );
    assert_eq!(known.code, 0, "{}", known.everything());
    // What is not a bundle says so.
    let folder = folder.file("broken.mcpb", "{}");
    let broken = check(&folder, &["broken.mcpb"]);
    assert_eq!(broken.code, 1, "{}", broken.everything());
    assert!(
        broken.everything().contains("not a zip archive"),
        "{}",
        broken.everything()
    );
}

#[test]
fn rules_are_chosen_by_flags_and_by_the_repository() {
    let folder = Folder::new()
        .file(".mcp.json", r#"{"mcpServers": {"s": {"type": "http", "url": "http://h.example/mcp", "haeders": {}}}}"#)
        .file("vendor/.mcp.json", r#"{"mcpServers": {"s": {"type": "http", "url": "http://h.example/mcp"}}}"#);
    let only = codes(&check(
        &folder,
        &[".", "--select", "unknown-field", "--format", "json"],
    ));
    assert!(only.iter().all(|(_, code)| code == "unknown-field") && only.len() == 1);
    let without = codes(&check(
        &folder,
        &[".", "--ignore", "insecure-url", "--format", "json"],
    ));
    assert!(!without.iter().any(|(_, code)| code == "insecure-url"));
    assert_eq!(check(&folder, &[".", "--select", "no-such-rule"]).code, 2);
    let folder = folder.file(
        "keyway.toml",
        "[check]\nignore = [\"unknown-field\"]\nexclude = [\"vendor/\"]\n[check.severity]\ninsecure-url = \"warning\"\n",
    );
    let outcome = check(&folder, &[".", "--format", "json"]);
    let found = codes(&outcome);
    assert_eq!(found, [(".mcp.json".to_owned(), "insecure-url".to_owned())]);
    assert_eq!(outcome.code, 0, "its severity was changed");
    let folder = folder.file("keyway.toml", "[check]\nselct = []\n");
    assert_eq!(check(&folder, &["."]).code, 2);
}

#[test]
fn a_baseline_leaves_only_what_is_new_and_says_what_is_gone() {
    let entry =
        |name: &str| format!(r#""{name}": {{"type": "http", "url": "http://h.example/mcp"}}"#);
    let one = format!("{{\"mcpServers\": {{{}}}}}", entry("a"));
    let folder = Folder::new().file(".mcp.json", one);
    let written = check(
        &folder,
        &[".", "--baseline", "known.json", "--update-baseline"],
    );
    assert_eq!(written.code, 0, "{}", written.everything());
    assert!(
        written.stdout.contains("1 finding suppressed"),
        "{}",
        written.stdout
    );
    let two = format!("{{\"mcpServers\": {{\n{},\n{}}}}}", entry("b"), entry("a"));
    let folder = folder.file(".mcp.json", two);
    let outcome = check(
        &folder,
        &[".", "--baseline", "known.json", "--format", "json"],
    );
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["suppressed"], 1);
    assert_eq!(report["diagnostics"].as_array().unwrap().len(), 1);
    assert_eq!(report["diagnostics"][0]["server"], "b");
    let folder = folder.file(".mcp.json", r#"{"mcpServers": {}}"#);
    let gone = check(&folder, &[".", "--baseline", "known.json"]);
    assert!(
        gone.stderr.contains("1 finding of the baseline"),
        "{}",
        gone.stderr
    );
    assert_eq!(check(&folder, &[".", "--baseline", "missing.json"]).code, 2);
}

#[test]
fn findings_are_reported_per_plugin_and_repeats_once() {
    let entry = |name: &str| {
        format!(r#""{name}": {{"type": "http", "url": "http://h.example/mcp", "descripton": "x"}}"#)
    };
    let three = format!("{},\n{},\n{}", entry("a"), entry("b"), entry("c"));
    let folder = Folder::new()
        .file(
            "plugins/one/.claude-plugin/plugin.json",
            r#"{"name": "one"}"#,
        )
        .file(
            "plugins/one/.mcp.json",
            format!("{{\"mcpServers\": {{{three}}}}}"),
        )
        .file("plugins/two/.mcp.json", format!("{{{}}}", entry("d")))
        .file(
            "plugins/two/.cursor/mcp.json",
            r#"{"mcpServers": {"e": {}}}"#,
        )
        .file("plugins/fine/.mcp.json", "{}");
    let outcome = check(&folder, &["."]);
    let headlines: Vec<&str> = outcome
        .stdout
        .lines()
        .filter(|line| line.starts_with("plugins/"))
        .collect();
    assert_eq!(
        headlines,
        [
            "plugins/one: 3 errors, 3 warnings",
            "plugins/two: 2 errors, 1 warning"
        ],
        "{}",
        outcome.stdout
    );
    let repeated = outcome.stdout.matches("×3 in this file").count();
    assert_eq!(repeated, 2, "{}", outcome.stdout);
    // The findings stand below the headline of their plugin.
    let (one, two) = outcome.stdout.split_once("plugins/two: ").unwrap();
    assert!(!one.contains("plugins/two/") && !two.contains("plugins/one/"));
    // One folder needs no headline.
    let outcome = check(&folder, &["plugins/two"]);
    assert!(
        !outcome.stdout.contains("plugins/two: "),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_baseline_knows_its_findings_from_every_folder() {
    let entry = r#"{"mcpServers": {"a": {"type": "http", "url": "http://h.example/mcp"}}}"#;
    for is_repository in [true, false] {
        let mut folder = Folder::new()
            .file(".mcp.json", entry)
            .file("sub/deep/.cursor/mcp.json", entry)
            .file("records/.keep", "");
        if is_repository {
            folder = folder.repository(&[".mcp.json"]);
        }
        let update = [".", "--baseline", "known.json", "--update-baseline"];
        assert_eq!(check(&folder, &update).code, 0);
        let absolute = folder.path().display().to_string();
        let known = folder.at("known.json").display().to_string();
        for (at, path, baseline) in [
            (".", ".", "./known.json"),
            (".", "sub/../.", known.as_str()),
            ("sub/deep", "../..", "../../known.json"),
            ("records", absolute.as_str(), "../known.json"),
        ] {
            let outcome = Keyway::new(env!("CARGO_BIN_EXE_keyway"), &folder.at(at))
                .args(["check", path, "--baseline", baseline])
                .run();
            assert_eq!(outcome.code, 0, "{at} {path}: {}", outcome.everything());
            let said = outcome.everything();
            assert!(said.contains("2 findings suppressed"), "{at}: {said}");
            assert!(!said.contains("no longer there"), "{at}: {said}");
        }
    }
}

#[test]
fn a_check_of_a_part_says_nothing_about_the_rest_of_the_baseline() {
    let entry =
        r#"{"mcpServers": {"s": {"type": "http", "url": "http://h.example/mcp", "haeders": {}}}}"#;
    let folder = Folder::new()
        .file("a/.mcp.json", entry)
        .file("b/.mcp.json", entry)
        .file("known.json", "{\"version\": 1, \"findings\": {\"0\": 1}}\n");
    let baseline = ["--baseline", "known.json"];
    let run = |words: &[&str]| check(&folder, &[words, &baseline[..]].concat());
    let earlier = run(&["."]);
    assert_eq!(earlier.code, 2, "{}", earlier.everything());
    assert!(
        earlier.stderr.contains("--update-baseline"),
        "{}",
        earlier.stderr
    );
    assert_eq!(run(&[".", "--update-baseline"]).code, 0);
    let whole = folder.read("known.json");
    // Another folder, one file, one rule: what was not looked at is not gone.
    for part in [
        &["a"][..],
        &["b/.mcp.json"],
        &[".", "--select", "insecure-url"],
    ] {
        let outcome = run(part);
        assert_eq!(outcome.code, 0, "{part:?}: {}", outcome.everything());
        let said = outcome.everything();
        assert!(!said.contains("no longer there"), "{part:?}: {said}");
        // Nor is it forgotten if only that part is recorded again.
        assert_eq!(run(&[part, &["--update-baseline"]].concat()).code, 0);
        assert_eq!(folder.read("known.json"), whole, "{part:?}");
    }
    // What is gone from the part is told, and a file that is gone counts below its folder.
    std::fs::remove_file(folder.at("b/.mcp.json")).unwrap();
    assert!(!run(&["a"]).stderr.contains("no longer there"));
    let gone = run(&["."]);
    let text = "2 findings of the baseline no longer there";
    assert!(gone.stderr.contains(text), "{}", gone.stderr);
    // Something else of that name is not written over.
    let folder = folder.file("known.json", "{\"name\": \"mine\"}");
    let refused = check(
        &folder,
        &[".", "--baseline", "known.json", "--update-baseline"],
    );
    assert_eq!(refused.code, 2, "{}", refused.everything());
    assert_eq!(folder.read("known.json"), "{\"name\": \"mine\"}");
}

#[test]
fn only_what_a_change_introduced_is_reported_since_a_commit() {
    let entry =
        |name: &str| format!(r#""{name}": {{"type": "http", "url": "http://h.example/mcp"}}"#);
    let folder = Folder::new()
        .file(
            "a/.mcp.json",
            format!("{{\"mcpServers\": {{{}}}}}", entry("old")),
        )
        .repository(&["a/.mcp.json"]);
    let author = ["-c", "user.name=a", "-c", "user.email=a@h.example"];
    folder.git(&[&author[..], &["commit", "--quiet", "-m", "first"]].concat());
    let two = format!(
        "{{\"mcpServers\": {{\n{},\n{}}}}}",
        entry("new"),
        entry("old")
    );
    let folder = folder.file("a/.mcp.json", two).file(
        "b/.mcp.json",
        format!("{{\"mcpServers\": {{{}}}}}", entry("more")),
    );
    let tracked = folder.read("a/.mcp.json");
    for paths in [&["."][..], &["a", "b"]] {
        let outcome = check(
            &folder,
            &[paths, &["--since", "HEAD", "--format", "json"]].concat(),
        );
        let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let found = report["diagnostics"].as_array().unwrap();
        let servers: Vec<&str> = found
            .iter()
            .map(|it| it["server"].as_str().unwrap())
            .collect();
        assert_eq!(servers, ["new", "more"], "{paths:?}");
        assert_eq!(report["suppressed"], 1);
    }
    assert_eq!(
        folder.read("a/.mcp.json"),
        tracked,
        "the work tree is left alone"
    );
    assert_eq!(check(&folder, &[".", "--since", "no-such-branch"]).code, 2);
    assert_eq!(check(&folder, &[".", "--since", "--upload-pack=x"]).code, 2);
}

#[test]
fn a_note_is_counted_and_never_changes_what_is_resolved() {
    let folder = Folder::new().file(
        ".mcp.json",
        r#"{"mcpServers": {"s": {"type": "http", "url": "http://h.example/mcp",
            "_keyway_ignore": {"insecure-url": "a lab"}}}}"#,
    );
    let outcome = check(&folder, &["."]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome.stdout.contains("1 finding suppressed"),
        "{}",
        outcome.stdout
    );
    // The address is refused as before: a note in an untrusted file decides nothing.
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).args(["tools", "s"]);
    assert_ne!(call.run().code, 0);
}

#[test]
fn repeats_in_one_file_are_shown_once_with_their_number() {
    let entries: Vec<String> = (0..7)
        .map(|at| format!("\"s{at}\": {{\"command\": \"x\", \"descripton\": \"a\"}}"))
        .collect();
    let text = format!("{{\"mcpServers\": {{\n{}\n}}}}", entries.join(",\n"));
    let outcome = check(&Folder::new().file(".mcp.json", text), &["."]);
    assert_eq!(outcome.stdout.matches("warning[unknown-field]").count(), 1);
    assert!(
        outcome.stdout.contains("×7 in this file"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("7 warnings in 1 file"),
        "{}",
        outcome.stdout
    );
}

#[test]
#[ignore = "needs KEYWAY_CORPUS"]
fn real_repositories_are_checked_from_their_roots() {
    let corpus = Corpus::find();
    let labels = corpus.labels();
    let (mut missed, mut alarms, mut secrets, mut unlabelled) = (vec![], vec![], 0, vec![]);
    let mut rules: BTreeMap<String, usize> = BTreeMap::new();
    for files in corpus.repositories().values() {
        let mut folder = Folder::new();
        for (id, path) in files {
            let bytes = std::fs::read(corpus.0.join(format!("{id}.json"))).unwrap();
            folder = folder.file(path, bytes);
        }
        let outcome = check(&folder, &[".", "--format", "json"]);
        let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let mut found = BTreeSet::new();
        for it in report["diagnostics"].as_array().unwrap() {
            let code = it["code"].as_str().unwrap();
            *rules.entry(code.to_owned()).or_default() += 1;
            if matches!(code, "literal-secret" | "literal-default") {
                let file = it["source"]["file"].as_str().unwrap().to_owned();
                let pointer = it["source"]["pointer"].as_str().unwrap().to_owned();
                found.insert((file, pointer));
            }
        }
        for (id, path) in files {
            let none = BTreeMap::new();
            let labels = labels.get(id).unwrap_or(&none);
            for (pointer, label) in labels {
                let is_found = found.remove(&(path.clone(), pointer.clone()));
                let place = format!("{id} {path} {pointer}");
                match (label.as_str(), is_found) {
                    ("secret" | "varref-literal-default", hit) => {
                        secrets += 1;
                        if !hit {
                            missed.push(place);
                        }
                    }
                    ("placeholder" | "varref" | "nonsecret", true) => alarms.push(place),
                    _ => {}
                }
            }
        }
        unlabelled.extend(found);
    }
    println!(
        "{secrets} secrets, {} missed, {} false alarms",
        missed.len(),
        alarms.len()
    );
    println!("without a label: {unlabelled:?}");
    println!("{rules:#?}");
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(
        alarms.len() + unlabelled.len() <= 1,
        "{alarms:#?} {unlabelled:#?}"
    );
    assert!(secrets >= 20);
}

struct Corpus(PathBuf);

impl Corpus {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests are told where the files are"
    )]
    fn find() -> Self {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
        Self(std::env::var_os("KEYWAY_CORPUS").map_or(beside, PathBuf::from))
    }

    fn rows(&self, name: &str) -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(self.0.join(name)).unwrap();
        let lines = text.lines().skip(1);
        lines
            .map(|line| line.split('\t').map(str::to_owned).collect())
            .collect()
    }

    /// The files of each repository at each commit: id and path.
    fn repositories(&self) -> BTreeMap<(String, String), Vec<(String, String)>> {
        let mut repositories: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for row in self.rows("index.tsv") {
            let key = (row[1].clone(), row[3].clone());
            let file = (row[0].clone(), row[2].clone());
            repositories.entry(key).or_default().push(file);
        }
        repositories
    }

    fn labels(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut labels: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for row in self.rows("labels.tsv") {
            let of_file = labels.entry(row[0].clone()).or_default();
            of_file.insert(row[1].clone(), row[2].clone());
        }
        labels
    }
}
