//! Slips as people make them, and what they read on a screen of eighty columns.

use keyway_testkit::{Folder, Keyway, Outcome};
use serde_json::Value;

use crate::doctor::programs::SPEAKS;
use crate::doctor::server::{Answer, Server, hanging, mcp};
use crate::doctor::{KEYWAY, assert_fault, assert_works, doctor};

fn read(folder: &Folder, columns: &str) -> Outcome {
    let call = Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
    let words = ["doctor", "--trust", "--timeout", "15"];
    call.env("COLUMNS", columns)
        .env("GITHUB_TOKEN", "ghp_CANARYCANARY")
        .args(words)
        .run()
}

#[test]
fn a_screen_of_any_width_shows_whole_words_and_whole_commands() {
    let server = Server::start(|_| Answer::empty(401, ""));
    let folder = Folder::with_entries(&format!(
        r#"{{"github": {{"type": "http", "url": "{}", "headers": {{"Authorization": "Bearer ${{GITHUB_TOKEN}}"}}}},
            "hangs": {{"type": "http", "url": "http://127.0.0.1:{}/mcp", "oauth": false}},
            "typo": {{"comand": "uvx"}}}}"#,
        server.url(),
        hanging(),
    ));
    let all = std::thread::scope(|scope| {
        let reading = ["80", "120"].map(|columns| {
            let folder = &folder;
            (columns, scope.spawn(move || read(folder, columns)))
        });
        reading.map(|(columns, reading)| (columns, reading.join().unwrap()))
    });
    for (columns, outcome) in all {
        assert_eq!(outcome.code, 1, "{}", outcome.everything());
        assert!(!outcome.everything().contains("CANARY"));
        let width: usize = columns.parse().unwrap();
        for line in outcome.stdout.lines() {
            let is_command = line.trim_start().starts_with("keyway ");
            assert!(line.chars().count() <= width || is_command, "{line}");
        }
        // The longest command stands alone and can be copied.
        let whole =
            "\n        keyway doctor hangs --debug=transport --debug-file keyway-debug.txt\n";
        assert!(outcome.stdout.contains(whole), "{}", outcome.stdout);
        let steps =
            "  next  set a new value: export GITHUB_TOKEN=…\n        then keyway doctor github\n";
        assert!(outcome.stdout.contains(steps), "{}", outcome.stdout);
    }
}

#[test]
fn a_field_that_is_misspelled_is_named_where_it_leaves_an_entry_without_one() {
    let folder = Folder::with_entries(r#"{"s": {"comand": "./s.sh"}}"#).executable("s.sh", SPEAKS);
    let fix = "`comand` is not a field of an entry: did you mean `command`?";
    let found = assert_fault(&doctor(&folder).run(), "invalid-entry", 1, fix);
    assert_eq!(found["stage"], "rules");
    let text = folder.read(".mcp.json").replace("comand", "command");
    folder.put(".mcp.json", text);
    assert_works(&doctor(&folder).run());
}

#[test]
fn an_address_that_is_left_open_is_filled_in_by_the_variable_that_is_named() {
    let server = Server::start(mcp);
    let folder =
        Folder::with_entries(r#"{"s": {"type": "http", "url": "${ACME_URL:-}", "oauth": false}}"#);
    let fix = "export ACME_URL=https://…";
    assert_fault(&doctor(&folder).run(), "not-configured", 1, fix);
    assert_works(&doctor(&folder).env("ACME_URL", server.url()).run());
}

#[test]
fn a_file_of_another_host_is_told_under_its_own_name() {
    let folder = Folder::new().file(
        ".mcp.json",
        r#"{"servers": {"s": {"type": "http", "url": "https://h.example/mcp"}}}"#,
    );
    let outcome = read(&folder, "80");
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(
        outcome.stdout.contains("\n.mcp.json: "),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome
            .stdout
            .ends_with("\nmore: keyway explain foreign-wrapper\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_program_that_hangs_is_told_with_what_it_said() {
    let script = "#!/bin/sh\necho 'fetching packages from the registry' >&2\nexec sleep 60\n";
    let folder = Folder::with_entries(r#"{"s": {"command": "./s.sh", "args": ["-y"]}}"#)
        .executable("s.sh", script);
    let outcome = doctor(&folder).args(["--timeout", "10"]).run();
    let fix = "give it more time: keyway doctor s --timeout 120; if it stays silent, run `./s.sh` by hand";
    let found = assert_fault(&outcome, "timeout", 5, fix);
    let said = Value::from("fetching packages from the registry");
    assert_eq!(found["last_lines"][0], said);
}
