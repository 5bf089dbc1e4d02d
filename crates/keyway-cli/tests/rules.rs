//! Every rule against its two plugins: `rules/<rule>/bad` is reported, `rules/<rule>/good` is not.
//!
//! How a fixture is written is explained in `rules/README.md`. Tokens are put together here, so
//! that no scanner finds one in the repository.

#![expect(
    clippy::unwrap_used,
    reason = "a test whose fixture is broken must stop"
)]

use std::fs;
use std::path::{Path, PathBuf};

use keyway_lint::RULES;
use keyway_testkit::{Folder, Keyway, Outcome};
use serde_json::Value;

#[test]
fn every_rule_reports_its_bad_plugin_and_not_its_good_one() {
    let mut problems = Vec::new();
    for rule in RULES {
        for (name, is_reported) in [("bad", true), ("good", false)] {
            let fixture = fixtures().join(rule.id.as_str()).join(name);
            if !fixture.is_dir() {
                problems.push(format!("{}: no fixture `{name}`", rule.id));
                continue;
            }
            let outcome = check(&fixture, &["--format", "json"]);
            let code = format!("\"code\": \"{}\"", rule.id);
            if outcome.stdout.contains(&code) != is_reported {
                let verb = if is_reported { "is not" } else { "is" };
                problems.push(format!("{}: `{name}` {verb} reported", rule.id));
            }
            let is_flawed = FLAWS.iter().any(|flaw| outcome.stdout.contains(flaw));
            if !is_reported && is_flawed {
                problems.push(format!("{}: `good` has other flaws", rule.id));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// What a hint says and a fix does: its own finding goes, and no error comes that was not there.
#[test]
fn every_fix_removes_its_finding_and_brings_no_error() {
    // What was found, its severity, and whether it can be repaired.
    let found = |folder: &Folder, arguments: &[&str]| -> Vec<(String, String, bool)> {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
            .args(["check", ".", "--pedantic", "--format", "json"])
            .args(arguments.iter().copied());
        let report: Value = serde_json::from_str(&call.run().stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let found = report["diagnostics"].as_array().unwrap().iter();
        found
            .map(|it| {
                let can_be_fixed = it["fix"].is_object();
                (text(&it["code"]), text(&it["severity"]), can_be_fixed)
            })
            .collect()
    };
    let mut problems = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.fix.is_some()) {
        let folder = build(&fixtures().join(rule.id.as_str()).join("bad"));
        let before = found(&folder, &[]);
        let after = found(&folder, &["--fix", "--unsafe-fixes"]);
        let has = |code: &str| before.iter().any(|(known, ..)| known == code);
        for (code, severity, can_be_fixed) in &after {
            if *can_be_fixed && *code == rule.id.as_str() {
                problems.push(format!("{code}: it was not repaired"));
            }
            if severity == "error" && !has(code) {
                problems.push(format!("{}: `{code}` is new", rule.id));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn every_bad_plugin_is_reported_in_the_words_of_its_snapshot() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(fixtures().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for rule in RULES {
            let fixture = fixtures().join(rule.id.as_str()).join("bad");
            if fixture.is_dir() {
                let outcome = check(&fixture, &["--verbose"]);
                insta::assert_snapshot!(rule.id.as_str(), outcome.snapshot());
            }
        }
    });
}

#[test]
fn every_rule_has_a_page_that_begins_with_its_name() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules");
    let mut problems = Vec::new();
    for rule in RULES {
        let page = pages.join(format!("{}.md", rule.id));
        let text = fs::read_to_string(page).unwrap_or_default();
        if text.lines().next() != Some(&format!("# {}", rule.id)) {
            problems.push(rule.id);
        }
    }
    assert!(
        problems.is_empty(),
        "no page, or another title: {problems:?}"
    );
}

#[test]
fn every_fixture_belongs_to_a_rule() {
    for entry in fs::read_dir(fixtures()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let is_known = RULES.iter().any(|rule| rule.id.as_str() == name) || name == "snapshots";
        assert!(is_known || !entry.path().is_dir(), "no rule `{name}`");
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules")
}

fn check(fixture: &Path, arguments: &[&str]) -> Outcome {
    let folder = build(fixture);
    let mut call =
        Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).args(["check", ".", "--pedantic"]);
    if let Ok(variables) = fs::read_to_string(fixture.join("variables")) {
        call = call.args(["--env"]);
        for (name, value) in variables.lines().filter_map(|line| line.split_once('=')) {
            call = call.env(name, value);
        }
    }
    call.args(arguments.iter().copied()).run()
}

/// Copies a fixture into a folder of its own, with names, tokens, modes and a repository as it
/// asks for.
fn build(fixture: &Path) -> Folder {
    let mut folder = Folder::new();
    let listed = |name: &str| fs::read_to_string(fixture.join(name));
    let not_executable = listed("not-executable").unwrap_or_default();
    for file in files_below(fixture) {
        if CONTROL_FILES.contains(&file.as_str()) {
            continue;
        }
        let text = with_tokens(&fs::read_to_string(fixture.join(&file)).unwrap());
        let parts = file.split('/').map(|part| match part.strip_prefix("dot-") {
            Some(rest) => format!(".{rest}"),
            None => part.to_owned(),
        });
        let name = parts.collect::<Vec<_>>().join("/");
        let is_program = name.ends_with(".sh") && !not_executable.lines().any(|line| line == name);
        folder = if is_program {
            folder.executable(&name, text)
        } else {
            folder.file(&name, text)
        };
    }
    match listed("git-tracked") {
        Ok(tracked) => folder.repository(&tracked.lines().collect::<Vec<_>>()),
        Err(_) => folder,
    }
}

fn files_below(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let below = path.strip_prefix(folder).unwrap();
                files.push(below.to_str().unwrap().to_owned());
            }
        }
    }
    files.sort();
    files
}

/// Replaces `@@NAME@@` by a token of that vendor's shape, and `@@SECRET@@` by one of no vendor's.
fn with_tokens(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, prefix, length) in TOKENS {
        let body: String = FILLING.chars().cycle().take(*length).collect();
        text = text.replace(&format!("@@{name}@@"), &format!("{prefix}{body}"));
    }
    let unknown = text
        .split("@@")
        .nth(1)
        .filter(|_| text.matches("@@").count() > 1);
    assert!(
        unknown.is_none(),
        "unknown token `{}`",
        unknown.unwrap_or_default()
    );
    text
}

/// Files that say how to build a fixture and are not part of it.
const CONTROL_FILES: &[&str] = &["git-tracked", "not-executable", "variables"];

/// What is not said about a good plugin, whatever the rule.
const FLAWS: &[&str] = &["\"severity\": \"error\"", "\"severity\": \"warning\""];

/// Name, prefix and length of the rest.
const TOKENS: &[(&str, &str, usize)] = &[
    ("GITHUB", "ghp_", 36),
    ("OPENAI", "sk-proj-", 48),
    ("ANTHROPIC", "sk-ant-api03-", 80),
    ("SLACK", "xoxb-", 40),
    ("STRIPE", "sk_live_", 24),
    ("SUPABASE", "sbp_", 40),
    ("SECRET", "", 32),
    ("PASSWORD", "", 14),
];

const FILLING: &str = "q7Zt9Lw2pXc4VbN8mKj5Hg3Fd6Rs1Ty0";
