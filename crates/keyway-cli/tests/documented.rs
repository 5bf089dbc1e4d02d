//! Every fenced command of the README and of `docs/` is run here, or its fence says why not:
//! `sh no-run: REASON`. Examples of `--help`, which `docs/cli.md` repeats, are parsed by a test beside
//! them.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test whose fixture is broken must stop; what is documented is run by a shell"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use keyway_testkit::Desk;
use keyway_testkit::rig::Settings;

/// Commands between two fences.
struct Block {
    place: String,
    /// Why it is not run.
    reason: Option<String>,
    text: String,
}

fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    folder.canonicalize().unwrap()
}

/// Returns the README and every page below `docs/`, but for the one that repeats `--help`.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") && !path.ends_with("cli.md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let mut open: Option<Block> = None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let Some(info) = line.strip_prefix("```") else {
                if let Some(block) = &mut open {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                continue;
            };
            if let Some(block) = open.take() {
                blocks.push(block);
                continue;
            }
            let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
            let name = page.strip_prefix(root()).unwrap().display();
            open = Some(Block {
                place: format!("{name}:{} {language}", number + 1),
                reason: rest.strip_prefix("no-run: ").map(str::to_owned),
                text: String::new(),
            });
        }
    }
    let is_shell = |block: &Block| {
        let shells = [" sh", " bash", " shell", " console"];
        shells.iter().any(|shell| block.place.ends_with(shell))
    };
    blocks.into_iter().filter(is_shell).collect()
}

#[test]
fn every_fenced_command_works_or_says_why_it_is_not_run() {
    let blocks = blocks();
    let run = blocks.iter().filter(|block| block.reason.is_none());
    assert!(run.count() >= 4, "hardly anything is run");
    for block in &blocks {
        match &block.reason {
            Some(reason) => assert!(reason.len() >= 10, "{}: no reason", block.place),
            None => run_in_a_new_home(block),
        }
    }
}

/// Runs a block where a person has a plugin whose server `docs` they are signed in to.
fn run_in_a_new_home(block: &Block) {
    let program = env!("CARGO_BIN_EXE_keyway");
    let desk = Desk::new(program, Settings::default());
    let entry = format!(
        r#"{{"docs": {{"type": "http", "url": "{}"}}}}"#,
        desk.rig.mcp()
    );
    desk.folder.put(".mcp.json", entry);
    let _person = desk.person();
    let signed_in = desk.keyway(&["login", "docs"]).run();
    assert_eq!(signed_in.code, 0, "{}", signed_in.everything());
    // What asks before it writes is told yes: no person sits here. What follows a log ends with it.
    let script = format!(
        "set -eu\nkeyway() {{ case $1 in install) command keyway \"$@\" --yes ;; \
         logs) timeout 2 keyway \"$@\" || [ $? = 124 ] ;; \
         *) command keyway \"$@\" ;; esac; }}\n{}",
        block.text
    );
    let folder = Path::new(program).parent().unwrap();
    let output = Command::new("/bin/sh")
        .args(["-c", &script])
        .current_dir(desk.folder.path())
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .env("HOME", desk.folder.at("home"))
        .env("KEYWAY_HOME", desk.folder.at("home/keyway"))
        .env("TMPDIR", desk.folder.at("home/tmp"))
        .env("BROWSER", desk.folder.at("home/browser"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}\n{}\n{printed}{errors}",
        block.place,
        block.text
    );
}

/// Files whose every literal in capitals is a variable that is read.
const READERS: &[&str] = &[
    "keyway/src/host/process.rs",
    "keyway-cli/src/environment.rs",
    "keyway-cli/src/settings.rs",
    "keyway-dashboard/src/traces/settings.rs",
];
/// Calls by which other files read a variable.
const CALLS: &[&str] = &[
    "ProcessEnvironment::text(\"",
    "ProcessEnvironment::value(\"",
    "ProcessEnvironment::is_set(\"",
    "ProcessEnvironment::absolute(\"",
    ".named(\"",
];

/// Returns the sources of the program, without what is only for tests.
fn sources() -> Vec<(String, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![root().join("crates")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let shown = path.strip_prefix(root().join("crates")).unwrap();
            let shown = shown.display().to_string();
            if path.is_dir() && !shown.ends_with("tests") && shown != "keyway-testkit" {
                folders.push(path);
            } else if shown.contains("/src/") && shown.ends_with(".rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                found.push((shown, code.to_owned()));
            }
        }
    }
    found
}

fn is_variable(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    word.len() > 1 && word.chars().all(is_part)
}

#[test]
fn every_variable_that_the_program_reads_is_in_the_table_and_no_other() {
    let table = root().join("crates/keyway-cli/src/commands/docs/environment.md");
    let table = fs::read_to_string(table).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    let names: Vec<&str> = names.collect();
    let sources = sources();
    let mut read = Vec::new();
    for (path, text) in &sources {
        if READERS.contains(&path.as_str()) {
            let literals = text.split('"').skip(1).step_by(2);
            read.extend(literals.filter(|it| is_variable(it)).map(|it| (path, it)));
        }
        for call in CALLS {
            let found = text
                .split(call)
                .skip(1)
                .filter_map(|it| it.split('"').next());
            read.extend(found.map(|it| (path, it)));
        }
    }
    assert!(read.len() > 40, "{read:?}");
    for (path, name) in read {
        assert!(names.contains(&name), "{path} reads `{name}`");
    }
    for name in names {
        let literal = format!("\"{name}\"");
        let mut sources = sources.iter();
        assert!(sources.any(|(_, text)| text.contains(&literal)), "{name}");
    }
}

#[test]
fn every_event_is_in_the_contract() {
    let text = root().join("crates/keyway/src/events/event.rs");
    let text = fs::read_to_string(text).unwrap();
    let names = text.lines().filter_map(|line| line.split_once(" = \""));
    let names: Vec<&str> = names.filter_map(|(_, it)| it.split('"').next()).collect();
    assert!(names.len() > 10, "{names:?}");
    let contract = fs::read_to_string(root().join("docs/contract.md")).unwrap();
    let (_, events) = contract.split_once("Events\n").unwrap();
    let (events, _) = events.split_once("\n## ").unwrap();
    for name in names {
        assert!(events.contains(&format!("`{name}`")), "{name}");
    }
}
