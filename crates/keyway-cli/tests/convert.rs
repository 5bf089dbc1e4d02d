//! `keyway import`, `export` and `convert`: what another host gets, and what it never gets.
//!
//! Round trips run over a few files of our own, and over the corpus where `KEYWAY_CORPUS` names it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot read its files has nothing better to do than to stop"
)]

use std::path::{Path, PathBuf};

use keyway_config::diagnostic::Severity;
use keyway_config::dialect::{DIALECTS, Dialect};
use keyway_config::document::{Document, DocumentKind};
use keyway_config::plugin::Plugin;
use keyway_config::portable::{HostValue, new_file};
use keyway_config::source::Source;
use keyway_lint::convert::{Conversion, convert};
use keyway_lint::literals;
use keyway_lint::{Context, lint};
use keyway_testkit::{Canary, Folder, Keyway, Outcome};

fn run(folder: &Folder, arguments: &[&str]) -> Outcome {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .args(arguments.iter().copied())
        .run()
}

fn token() -> String {
    ["sbp_38db93c4", "def7414fdb269a51", "c07e62b8d3f0475e"].concat()
}

fn cursor() -> Folder {
    let token = token();
    let text = format!(
        r#"{{"mcpServers": {{
  "docs": {{"url": "https://docs.example/mcp", "headers": {{"Authorization": "Bearer ${{env:DOCS_TOKEN}}"}}}},
  "db": {{"command": "npx", "args": ["-y", "db-mcp"], "env": {{"SUPABASE_ACCESS_TOKEN": "{token}"}}, "autoApprove": ["x"]}}
}}}}"#
    );
    Folder::new().file(".cursor/mcp.json", text)
}

#[test]
fn import_adds_the_entries_to_mcp_json_and_no_value() {
    let folder = cursor();
    let shown = run(&folder, &["import", "cursor"]);
    assert_eq!(shown.code, 0, "{}", shown.everything());
    assert!(
        !folder.at(".mcp.json").exists(),
        "nothing is written unasked"
    );
    let outcome = run(&folder, &["import", "cursor", "--write"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let written = folder.read(".mcp.json");
    let value: serde_json::Value = serde_json::from_str(&written).unwrap();
    let servers = &value["mcpServers"];
    assert_eq!(
        servers["docs"]["headers"]["Authorization"],
        "Bearer ${DOCS_TOKEN}"
    );
    assert_eq!(servers["docs"]["type"], "http");
    assert_eq!(
        servers["db"]["env"]["SUPABASE_ACCESS_TOKEN"],
        "${SUPABASE_ACCESS_TOKEN}"
    );
    let canary = Canary::literal(&token());
    assert_eq!(canary.leak(&written), None);
    assert_eq!(canary.leak(&outcome.everything()), None);
    assert!(outcome.stderr.contains("needs the credential `SUPABASE_ACCESS_TOKEN`; its value is still at `/mcpServers/db/env/SUPABASE_ACCESS_TOKEN`"), "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("warning[lost-in-conversion]: `autoApprove`"),
        "{}",
        outcome.stderr
    );
    // What was there stays, and an entry of the same name is not replaced.
    let again = run(&folder, &["import", "cursor", "--write"]);
    assert_eq!(again.code, 1);
    assert!(
        again.stderr.contains("entry `docs` already exists"),
        "{}",
        again.stderr
    );
    assert_eq!(folder.read(".mcp.json"), written);
}

#[test]
fn export_prints_the_file_of_another_host() {
    let folder = Folder::with_entries(
        r#"{"mcpServers": {"docs": {"type": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${DOCS_TOKEN}"}}}}"#,
    );
    let outcome = run(&folder, &["export", "codex"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    [mcp_servers.docs]
    url = "https://docs.example/mcp"
    bearer_token_env_var = "DOCS_TOKEN"
    --- stderr
    needs the credential `DOCS_TOKEN`
    converted 1 server
    --- exit 0
    "#);
    let outcome = run(
        &folder,
        &["export", "vs-code", "--into", ".vscode/mcp.json", "--write"],
    );
    assert_ne!(outcome.code, 0, "a folder that is not there is not made");
    let folder = folder.file(".vscode/mcp.json", "{\n  // ours\n  \"servers\": {}\n}\n");
    let outcome = run(
        &folder,
        &["export", "vs-code", "--into", ".vscode/mcp.json", "--write"],
    );
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let text = folder.read(".vscode/mcp.json");
    assert!(
        text.contains("// ours") && text.contains("${input:docs_token}"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_said_is_left_out_and_what_is_lost_is_named() {
    let outcome = run(&cursor(), &["convert", "cursor", "zed"]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.is_empty(), "{}", outcome.stdout);
    assert_eq!(
        outcome.stderr.matches("error[not-converted]").count(),
        2,
        "{}",
        outcome.stderr
    );
    let outcome = run(
        &cursor(),
        &["convert", "cursor", "cline", "--format", "json"],
    );
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["diagnostics"][0]["code"], "lost-in-conversion");
    assert_eq!(report["variables"].as_array().unwrap().len(), 2);
    assert_eq!(run(&cursor(), &["convert", "cursor", "registry"]).code, 2);
    assert_eq!(
        run(
            &cursor(),
            &["convert", "cursor", "cline", "--server", "nope"]
        )
        .code,
        2
    );
}

/// The path under which a host's new file is recognised.
fn path_of(target: &Dialect) -> String {
    let file = target
        .project_file()
        .or_else(|| target.files.first().map(|file| file.path));
    file.unwrap().replace('*', "a")
}

fn parsed(path: &str, text: &str) -> Document {
    Document::parse(Source::new(path, text.as_bytes()), DocumentKind::Entries)
}

/// Converts there and back, and says what both hosts would do differently.
fn round_trip(document: &Document, target: &'static Dialect) -> (usize, Vec<String>) {
    let mut problems = Vec::new();
    let there = convert(document, target, None);
    let text = new_file(target, &there.entries);
    let between = parsed(&path_of(target), &text);
    if !literals::in_document(&between).is_empty() {
        problems.push(format!("{}: a literal was written", target.id));
    }
    if between.faults().next().is_some() || between.servers().count() != there.entries.len() {
        problems.push(format!(
            "{}: its own reader does not take\n{text}",
            target.id
        ));
    }
    let plugin = Plugin::from_text("/p", &path_of(target), &text);
    for found in lint(&Context::new(&plugin)) {
        let is_ours =
            found.severity == Severity::Error && !INHERITED.contains(&found.code.as_str());
        if is_ours {
            problems.push(format!(
                "{}: {} {}\n{text}",
                target.id, found.code, found.message
            ));
        }
    }
    // Whatever came through without a loss comes back as it was.
    let back = convert(&between, document.dialect, None);
    let straight = convert(document, document.dialect, None);
    for entry in there.entries.iter().filter(|entry| entry.losses.is_empty()) {
        let same = |conversion: &Conversion| {
            let mut entries = conversion.entries.iter();
            entries
                .find(|it| it.name == entry.name)
                .map(|it| sorted(it.value.clone()))
        };
        if let (Some(was), is) = (same(&straight), same(&back))
            && Some(&was) != is.as_ref()
            && document.dialect.is_writable()
        {
            problems.push(format!(
                "{} → {}: {was:?} became {is:?}",
                document.dialect.id, target.id
            ));
        }
    }
    (there.entries.len(), problems)
}

/// The order of members means nothing.
fn sorted(value: HostValue) -> HostValue {
    match value {
        HostValue::Members(members) => {
            let members = members.into_iter().map(|(key, value)| (key, sorted(value)));
            let mut members: Vec<(String, HostValue)> = members.collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            HostValue::Members(members)
        }
        other => other,
    }
}

/// Mistakes of the old file, which a conversion does not repair.
const INHERITED: &[&str] = &[
    "foreign-variable-syntax",
    "insecure-url",
    "placeholder-credential",
    "invalid-url",
    "invalid-header",
];

fn check_round_trips(files: Vec<(String, Vec<u8>)>) {
    let (mut entries, mut problems) = (0, Vec::new());
    for (path, bytes) in &files {
        let document = Document::parse(Source::new(path, bytes), DocumentKind::Entries);
        for target in DIALECTS.iter().filter(|target| target.is_writable()) {
            let (count, found) = round_trip(&document, target);
            entries += count;
            problems.extend(found.into_iter().map(|it| format!("{path}: {it}")));
        }
    }
    println!(
        "{} files, {entries} entries written, {} problems",
        files.len(),
        problems.len()
    );
    assert!(
        problems.is_empty(),
        "{}",
        problems
            .iter()
            .take(12)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    );
}

#[test]
fn round_trips_keep_the_meaning_of_our_own_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/convert");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .replace("__", "/");
        files.push((name, std::fs::read(&path).unwrap()));
    }
    assert!(files.len() >= 8);
    check_round_trips(files);
}

#[test]
#[ignore = "needs KEYWAY_CORPUS"]
fn round_trips_keep_the_meaning_of_real_files() {
    let corpus = corpus();
    let index = std::fs::read_to_string(corpus.join("index.tsv")).unwrap();
    let files = index.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        let bytes = std::fs::read(corpus.join(format!("{}.json", columns[0]))).unwrap();
        (columns[2].to_owned(), bytes)
    });
    check_round_trips(files.collect());
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told where the files are"
)]
fn corpus() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    std::env::var_os("KEYWAY_CORPUS").map_or(beside, PathBuf::from)
}
