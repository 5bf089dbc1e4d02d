//! What other repositories take from this one: the pre-commit hooks and the GitHub action.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test whose fixture is broken must stop; the action's script is really run"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use keyway_testkit::Folder;
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads a YAML file of the repository with Python's reader, where that is installed.
fn yaml(file: &str) -> Option<Value> {
    let program = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let path = repository().join(file);
    let has_reader = Command::new("python3").args(["-c", "import yaml"]).output();
    if !has_reader.is_ok_and(|output| output.status.success()) {
        println!("skipped: no python3 with yaml");
        return None;
    }
    let read = Command::new("python3")
        .args(["-c", program])
        .arg(path)
        .output();
    let output = read.unwrap();
    assert!(output.status.success(), "{file}: {}", shown(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn hooks_run_programs_that_are_there() {
    let Some(hooks) = yaml(".pre-commit-hooks.yaml") else {
        return;
    };
    for hook in hooks.as_array().unwrap() {
        let entry = hook["entry"].as_str().unwrap();
        match hook["language"].as_str().unwrap() {
            "script" => assert!(repository().join(entry).is_file(), "{entry}"),
            _ => assert_eq!(entry, "keyway check"),
        }
        assert_eq!(hook["files"], r"(^|/)(\.?mcp|plugin)\.json$");
    }
    assert_eq!(hooks[0]["id"], "keyway-check");
}

/// Runs the action's last step as a runner does, with its inputs in variables.
fn run_action(folder: &Folder, inputs: [&str; 3]) -> Option<Output> {
    let action = yaml("action.yml")?;
    let steps = action.pointer("/runs/steps").unwrap();
    let step = steps.as_array().unwrap().last().unwrap();
    let script = step["run"].as_str().unwrap();
    let names = ["CHECK_PATH", "CHECK_STRICT", "CHECK_SARIF"];
    assert_eq!(step["env"].as_object().unwrap().len(), names.len());
    let program = Path::new(env!("CARGO_BIN_EXE_keyway"));
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", path)
        .envs(names.into_iter().zip(inputs));
    Some(bash.output().unwrap())
}

#[test]
fn action_annotates_and_fails_on_errors_only() {
    let warned = r#"{"s": {"url": "https://h.example/mcp"}}"#;
    let folder = Folder::new()
        .file("a b/.mcp.json", warned)
        .file("c/.mcp.json", "{}");
    let Some(output) = run_action(&folder, ["a b\nc\n", "false", ""]) else {
        return;
    };
    assert!(output.status.success(), "{}", shown(&output.stderr));
    assert!(shown(&output.stdout).starts_with("::warning file=a b/.mcp.json,"));
    let strict = run_action(&folder, ["a b", "true", "out.sarif"]).unwrap();
    assert_eq!(strict.status.code(), Some(1));
    assert!(shown(&strict.stdout).starts_with("::error file=a b/.mcp.json,"));
    assert!(folder.read("out.sarif").contains("url-missing-type"));
    let missing = run_action(&folder, ["none", "false", ""]).unwrap();
    assert_eq!(missing.status.code(), Some(2));
}
