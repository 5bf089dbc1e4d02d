//! Everything that may be written about a run at once: output, `--debug` with all topics, events,
//! the bundle, and other people's logs at their loudest. No value in any of it, in six encodings.

use std::fs;

use keyway_testkit::rig::Settings;
use keyway_testkit::{Canary, Desk, Keyway, Outcome};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// The values that must not come out.
struct Canaries {
    variable: Canary,
    literal: Canary,
    helper: Canary,
    environment: Canary,
}

/// A server of every kind, beside the rig.
fn desk(canaries: &Canaries) -> Desk {
    let rig = Desk::new(KEYWAY, Settings::default());
    let url = rig.rig.mcp();
    let (literal, helper) = (canaries.literal.value(), canaries.helper.value());
    let entries = format!(
        r#"{{"s": {{"type": "http", "url": "{url}"}},
            "fixed": {{"type": "http", "url": "{url}?key=${{T}}", "headers": {{"Authorization": "Bearer ${{T}}"}}}},
            "literal": {{"type": "http", "url": "{url}", "headers": {{"X-Api-Key": "{literal}", "Authorization": "Basic {literal}"}}}},
            "helped": {{"type": "http", "url": "{url}", "headersHelper": "./h.sh"}},
            "stream": {{"type": "sse", "url": "{url}", "headers": {{"X-Api-Key": "${{T}}"}}}},
            "socket": {{"type": "ws", "url": "{}", "headers": {{"X-Api-Key": "${{T}}"}}}},
            "local": {{"command": "./p.sh", "args": ["--token", "{literal}"], "env": {{"TOKEN": "${{E}}"}}}}}}"#,
        url.replacen("http", "ws", 1)
    );
    rig.folder.put(".mcp.json", entries);
    rig.folder.put(
        "h.sh",
        format!("#!/bin/sh\necho '{{\"Authorization\": \"Bearer {helper}\"}}'\n"),
    );
    rig.folder
        .put("p.sh", "#!/bin/sh\necho \"no: $TOKEN\" >&2\nexit 3\n");
    let chmod = Keyway::new("/bin/chmod", rig.folder.path());
    assert_eq!(chmod.args(["700", "h.sh", "p.sh"]).run().code, 0);
    rig
}

fn run(desk: &Desk, canaries: &Canaries, words: &[&str]) -> Outcome {
    let loud = ["--debug", "--verbose", "--events", "out/events.jsonl"];
    let words = [words, &loud].concat();
    let call = desk.keyway(&words).env("RUST_LOG", "trace");
    let call = call.env("RUST_BACKTRACE", "1");
    call.env("T", canaries.variable.value())
        .env("E", canaries.environment.value())
        .run()
}

#[test]
fn p0_nothing_that_is_written_about_a_run_holds_a_value() {
    let canaries = Canaries {
        variable: Canary::hidden("vQ9x7Lk2Wp4Zt8Rb3Nc6Ym1Hd5"),
        literal: Canary::literal("kT8vQ2mX9wLz4Rb7Yc3N"),
        helper: Canary::hidden("q7Zt9Lw2pXc4VbN8mKj5"),
        environment: Canary::hidden("Xw3Rt6Yu9Io2Pa5Sd8Fg"),
    };
    let desk = desk(&canaries);
    fs::create_dir(desk.folder.at("out")).unwrap();
    let call: &[&str] = &["call", "s", "echo", "message=hello"];
    let mut written = String::new();
    {
        let _person = desk.person();
        written.push_str(&run(&desk, &canaries, &["login", "s"]).everything());
    }
    written.push_str(&run(&desk, &canaries, call).everything());
    desk.rig.reset();
    written.push_str(&run(&desk, &canaries, call).everything());
    desk.rig.set(|settings| settings.token_status = Some(503));
    desk.rig.reset();
    written.push_str(&run(&desk, &canaries, call).everything());
    desk.rig.set(|settings| settings.token_status = None);
    let bundle: &[&str] = &["doctor", "--trust", "--bundle", "out/report.tar"];
    let doctor = run(&desk, &canaries, &[bundle, &["--timeout", "20"]].concat());
    written.push_str(&doctor.everything());
    for part in [
        "header Authorization: `Bearer ${T}`",
        "helper.ran",
        "token.refreshed",
    ] {
        assert!(written.contains(part), "{part}\n{written}");
    }
    for server in ["helped", "local", "stream", "socket"] {
        let words = ["probe", server, "--trust", "--format", "json"];
        written.push_str(&run(&desk, &canaries, &words).everything());
    }
    written.push_str(&run(&desk, &canaries, &["logout", "s"]).everything());
    let events = desk.folder.read("out/events.jsonl");
    let archive = fs::read(desk.folder.at("out/report.tar")).unwrap();
    assert!(archive.len() > 10_000, "{}", archive.len());
    for (place, bytes) in [
        ("output", written.as_bytes()),
        ("events", events.as_bytes()),
        ("bundle", &archive),
    ] {
        for canary in [
            &canaries.variable,
            &canaries.literal,
            &canaries.helper,
            &canaries.environment,
        ] {
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(canary.leak_in(bytes), None, "{place}\n{text}");
        }
        for secret in desk.rig.secrets() {
            let canary = Canary::hidden(&secret);
            assert_eq!(canary.whole_in(bytes), None, "{place}: a token of the rig");
        }
    }
}
