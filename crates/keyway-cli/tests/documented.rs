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
