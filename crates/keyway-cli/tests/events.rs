//! `--events FILE`: what changes, and no secret among it.

use keyway_testkit::Desk;
use keyway_testkit::rig::Settings;
use serde_json::Value;

#[test]
fn a_sign_in_a_call_and_a_sign_out_are_recorded_without_a_secret() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), Settings::default());
    let run = |words: &[&str]| {
        let words = [words, &["--events", "events.jsonl"]].concat();
        desk.keyway(&words).run()
    };
    assert_eq!(run(&["doctor"]).code, 3);
    {
        let _person = desk.person();
        assert_eq!(run(&["login", "s"]).code, 0);
    }
    assert_eq!(run(&["call", "s", "echo", "message=hello"]).code, 0);
    assert_eq!(run(&["logout", "s"]).code, 0);
    let text = desk.folder.read("events.jsonl");
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|event| event.get("event").unwrap().as_str().unwrap())
        .collect();
    for expected in [
        "config.loaded",
        "auth.required",
        "auth.started",
        "auth.completed",
        "server.connected",
        "token.cleared",
    ] {
        assert!(names.contains(&expected), "{expected}: {names:?}");
    }
    for event in &events {
        assert_eq!(event.get("schema_version"), Some(&Value::from(1)));
        assert!(event.get("seq").is_some_and(Value::is_u64), "{event}");
        assert!(event.get("ts").is_some_and(Value::is_string), "{event}");
        assert_eq!(event.get("server"), Some(&Value::from("s")));
    }
    let leaks = desk.leaks("", &[]);
    assert!(!leaks.contains_key("events.jsonl"), "{leaks:?}");
    assert!(!text.contains("http"), "no address: {text}");
    assert_eq!(desk.folder.mode_of("events.jsonl") & 0o777, 0o600);
}
