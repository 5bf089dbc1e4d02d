//! `keyway env`: variables for where no shell sets them.

#![expect(
    clippy::disallowed_methods,
    reason = "one test needs a terminal, which the harness has not"
)]

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use keyway_testkit::{Canary, Folder, Keyway, Outcome};

/// A plugin whose program says what it was given, and ends.
fn folder() -> Folder {
    let entry = r#"{"mcpServers": {"s": {"command": "sh",
        "args": ["-c", "printf %s \"$T\" > \"$HOST_PLUGIN_ROOT/given\""], "env": {"T": "${A_TOKEN}"}},
        "other": {"command": "true"}}}"#;
    Folder::with_entries(entry).file("one.env", "A_TOKEN=of-the-file\n")
}

fn keyway(folder: &Folder, arguments: &[&str]) -> Keyway {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .args(arguments.iter().copied())
}

fn set(folder: &Folder, name: &str, value: &str) -> Outcome {
    keyway(folder, &["env", "set", name]).stdin(value).run()
}

/// Returns what the program of `s` was given.
fn given(folder: &Folder, call: Keyway) -> Option<String> {
    drop(std::fs::remove_file(folder.at("given")));
    drop(call.run());
    std::fs::read_to_string(folder.at("given")).ok()
}

/// A service has no shell from which a program could inherit it.
#[test]
fn a_kept_variable_reaches_a_program_only_if_it_was_granted() {
    let entry = r#"{"mcpServers": {"s": {"command": "sh",
        "args": ["-c", "printf %s \"$A_TOKEN\" > \"$HOST_PLUGIN_ROOT/given\""]}}}"#;
    let folder = Folder::with_entries(entry).file("one.env", "A_TOKEN=of-the-file\n");
    assert_eq!(set(&folder, "A_TOKEN", "kept").code, 0);
    assert_eq!(keyway(&folder, &["trust", "grant", "s"]).run().code, 0);
    let tools = || keyway(&folder, &["tools", "s"]);
    assert_eq!(given(&folder, tools()).as_deref(), Some(""));
    std::fs::remove_file(folder.at("given")).unwrap();
    let grant = ["trust", "grant", "s", "--env", "A_TOKEN"];
    assert_eq!(keyway(&folder, &grant).run().code, 0);
    assert_eq!(given(&folder, tools()).as_deref(), Some("kept"));
    let from_file = tools().args(["--env-file", "one.env"]);
    assert_eq!(given(&folder, from_file).as_deref(), Some("of-the-file"));
    let from_shell = tools().env("A_TOKEN", "of-the-shell");
    assert_eq!(given(&folder, from_shell).as_deref(), Some("of-the-shell"));
}

#[test]
fn a_kept_variable_counts_after_the_environment_and_the_file() {
    let folder = folder();
    let tools = || keyway(&folder, &["tools", "s", "--trust"]);
    let missing = tools().run();
    assert_eq!(missing.code, 1, "{}", missing.everything());
    assert!(
        missing.stderr.contains("keyway env set A_TOKEN"),
        "{}",
        missing.stderr
    );
    assert_eq!(given(&folder, tools()), None);
    let kept = set(&folder, "A_TOKEN", "of-the-vault\n");
    assert_eq!(kept.code, 0, "{}", kept.everything());
    assert_eq!(given(&folder, tools()).unwrap(), "of-the-vault");
    let from_file = tools().args(["--env-file", "one.env"]);
    assert_eq!(given(&folder, from_file).unwrap(), "of-the-file");
    let from_shell = tools().env("A_TOKEN", "of-the-shell");
    assert_eq!(given(&folder, from_shell).unwrap(), "of-the-shell");
    assert_eq!(set(&folder, "A_TOKEN", "newer").code, 0);
    assert_eq!(given(&folder, tools()).unwrap(), "newer");
    assert_eq!(keyway(&folder, &["env", "unset", "A_TOKEN"]).run().code, 0);
    assert_eq!(given(&folder, tools()), None);
    assert_eq!(keyway(&folder, &["env", "unset", "A_TOKEN"]).run().code, 1);
}

#[test]
fn status_says_where_a_variable_has_its_value_from() {
    let folder = folder();
    let status = |arguments: &[&str]| {
        let all = [&["status", "--format", "json"], arguments].concat();
        let outcome = keyway(&folder, &all).run();
        let value: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        let found = value.pointer("/servers/0/variables/0").unwrap().clone();
        let from = found.get("from").cloned().unwrap_or_default();
        (found.get("set").cloned().unwrap(), from)
    };
    assert_eq!(status(&[]), (false.into(), serde_json::Value::Null));
    assert_eq!(set(&folder, "A_TOKEN", "x").code, 0);
    assert_eq!(status(&[]), (true.into(), "vault".into()));
    let file = ["--env-file", "one.env"];
    assert_eq!(status(&file), (true.into(), "file".into()));
    let human = keyway(&folder, &["status"]).run();
    assert!(
        human.stdout.contains("A_TOKEN set, in the vault"),
        "{}",
        human.stdout
    );
    let check = keyway(&folder, &["check", "--env"]).run();
    assert!(
        !check.stdout.contains("unresolved-variable"),
        "{}",
        check.stdout
    );
}

#[test]
fn a_value_is_in_no_output_no_file_and_no_argument() {
    let folder = folder();
    let canary = Canary::hidden("hV7q2Lk9Wp4Zt8Rb3Nc6Ym1Hd5");
    let value = canary.value();
    let refused = keyway(&folder, &["env", "set", "A_TOKEN", value]).run();
    assert_eq!(refused.code, 2, "{}", refused.code);
    let mut printed = refused.everything();
    let assignment = format!("A_TOKEN={value}");
    for arguments in [
        vec!["env", "set", &assignment],
        vec!["env", "set", "A_TOKEN", "--value", value],
        vec!["env", "unset", &assignment],
    ] {
        let outcome = keyway(&folder, &arguments).run();
        assert_ne!(outcome.code, 0, "{arguments:?}");
        printed.push_str(&outcome.everything());
    }
    assert_eq!(set(&folder, "A_TOKEN", value).code, 0);
    for arguments in [
        &["env", "list"][..],
        &["env", "list", "--format", "json"],
        &["status"],
        &["status", "--format", "json"],
        &["doctor", "--trust", "--timeout", "2"],
        &["vault", "status"],
        &["trust", "grant", "s"],
    ] {
        let outcome = keyway(&folder, arguments).run();
        printed.push_str(&outcome.everything());
    }
    assert_eq!(canary.leak(&printed), None, "{printed}");
    let list = keyway(&folder, &["env", "list"]).run().stdout;
    let length = value.len().to_string();
    assert!(list.contains("A_TOKEN") && list.contains(&length), "{list}");
    drop(std::fs::remove_file(folder.at("given")));
    for file in folder.files() {
        let bytes = std::fs::read(folder.at(&file)).unwrap();
        assert_eq!(canary.leak_in(&bytes), None, "{file}");
    }
}

#[test]
fn names_and_values_of_no_use_are_refused() {
    let folder = folder();
    for (name, value) in [
        ("HOST_PLUGIN_ROOT", "x"),
        ("CLAUDE_PLUGIN_DATA", "x"),
        ("1A", "x"),
        ("A-B", "x"),
        ("A", ""),
        ("A", "\n"),
        ("A", "x\0"),
    ] {
        let outcome = set(&folder, name, value);
        assert_eq!(outcome.code, 2, "{name}: {}", outcome.everything());
    }
    let most = "x".repeat(8 * 1024);
    assert_eq!(set(&folder, "A", &format!("{most}x")).code, 2);
    assert_eq!(set(&folder, "A", &format!("{most}\r\n")).code, 0);
    let list = keyway(&folder, &["env", "list", "--format", "json"]).run();
    let list: serde_json::Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(list.pointer("/variables/0/bytes").unwrap(), 8 * 1024);
}

#[test]
fn a_vault_that_does_not_open_stops_only_commands_that_need_it() {
    let folder = folder();
    assert_eq!(set(&folder, "A_TOKEN", "of-the-vault").code, 0);
    let without_key =
        |arguments: &[&str]| keyway(&folder, arguments).env("KEYWAY_KEY_FILE", folder.at("none"));
    let from_shell = without_key(&["tools", "s", "--trust"]).env("A_TOKEN", "of-the-shell");
    assert_eq!(given(&folder, from_shell).unwrap(), "of-the-shell");
    let missing = without_key(&["tools", "s", "--trust"]).run();
    assert_eq!(missing.code, 1, "{}", missing.everything());
    assert!(
        !missing.stderr.contains("is not set"),
        "the vault is what is missing: {}",
        missing.stderr
    );
    let check = without_key(&["check", "--env"]).env("A_TOKEN", "x").run();
    assert_eq!(check.code, 0, "{}", check.everything());
}

#[test]
fn looking_for_variables_makes_no_vault() {
    let folder = folder();
    for arguments in [&["status"][..], &["env", "list"], &["env", "unset", "A"]] {
        drop(keyway(&folder, arguments).run());
        assert!(!folder.at("home/data/vault.db").exists(), "{arguments:?}");
    }
}

#[test]
fn a_typed_value_is_not_echoed() {
    let folder = folder();
    let canary = Canary::hidden("tY7q2Lk9Wp4Zt8Rb3Nc6Ym1Hd5");
    let mut child = Command::new("/usr/bin/script")
        .args([
            "-qec",
            concat!(env!("CARGO_BIN_EXE_keyway"), " env set A_TOKEN"),
            "/dev/null",
        ])
        .current_dir(folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut screen = Vec::new();
    let mut byte = [0];
    while !screen.ends_with(b"Value of A_TOKEN: ") && stdout.read(&mut byte).unwrap() > 0 {
        screen.extend_from_slice(&byte);
    }
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(canary.value().as_bytes()).unwrap();
    stdin.write_all(b"\r").unwrap();
    stdout.read_to_end(&mut screen).unwrap();
    assert!(child.wait().unwrap().success());
    let screen = String::from_utf8_lossy(&screen);
    assert!(screen.contains("stored"), "{screen}");
    assert_eq!(canary.leak(&screen), None, "{screen}");
    let tools = keyway(&folder, &["tools", "s", "--trust"]);
    assert_eq!(given(&folder, tools).unwrap(), canary.value());
}

/// The system would end the process by SIGXFSZ, without a word.
#[test]
fn a_file_that_may_not_grow_is_an_error_and_not_the_end_of_the_process() {
    let folder = folder();
    let line = "ulimit -f 8; exec \"$0\" env set A_TOKEN";
    let outcome = Keyway::new("/bin/bash", folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .args(["-c", line, env!("CARGO_BIN_EXE_keyway")])
        .stdin("value")
        .run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(outcome.stderr.starts_with("error"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("ulimit -f"), "{}", outcome.stderr);
    // Nothing of it is left that keeps the next one from working.
    let outcome = set(&folder, "A_TOKEN", "value");
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
}
