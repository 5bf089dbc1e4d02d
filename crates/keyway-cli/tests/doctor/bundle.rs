//! `--bundle`: an archive that any `tar` opens, with all that a bug report needs and no value.

use std::fs;

use keyway_testkit::{Canary, Folder, Keyway};
use serde_json::Value;

use crate::doctor::KEYWAY;
use crate::doctor::server::Server;

#[test]
fn a_bundle_holds_what_a_report_needs_and_no_value_in_any_encoding() {
    let server = Server::wants("authorization: Bearer nobody-has-this");
    let variable = Canary::hidden("vQ9x7Lk2Wp4Zt8Rb3Nc6Ym1Hd5");
    let literal = Canary::literal("kT8vQ2mX9wLz4Rb7Yc3N");
    let helper = Canary::hidden("q7Zt9Lw2pXc4VbN8mKj5");
    let proxy = Canary::hidden("Xw3Rt6Yu9Io2Pa5Sd8Fg");
    let folder = folder(&server.url(), [&literal, &helper, &proxy]);
    let call = |words: &[&str]| {
        Keyway::new(KEYWAY, folder.path())
            .env("HOME", folder.at("home"))
            .env("KEYWAY_HOME", folder.at("home/keyway"))
            .env("T", variable.value())
            .args(words.iter().copied())
            .run()
    };
    let words = [
        "doctor",
        "--trust",
        "--bundle",
        "report.tar",
        "--format",
        "json",
    ];
    let outcome = call(&words);
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(folder.mode_of("report.tar") & 0o777, 0o600);
    for name in PARTS {
        assert!(outcome.stderr.contains(name), "{name}\n{}", outcome.stderr);
    }
    fs::create_dir(folder.at("out")).unwrap();
    let tar = Keyway::new("/bin/tar", folder.path());
    let tar = tar.args(["-xf", "report.tar", "-C", "out"]).run();
    assert_eq!((tar.code, tar.stderr.as_str()), (0, ""));
    for name in PARTS {
        let text = folder.read(&format!("out/keyway-report/{name}"));
        assert!(!text.is_empty(), "{name}");
        for canary in [&variable, &literal, &helper, &proxy] {
            assert_eq!(canary.leak(&text), None, "{name}\n{text}");
        }
        assert!(
            !text.contains(folder.at("home").to_str().unwrap()),
            "{name}"
        );
    }
    let inside = |name: &str| folder.read(&format!("out/keyway-report/{name}"));
    assert_eq!(
        serde_json::from_str::<Value>(&inside("report.json")).unwrap(),
        report
    );
    assert!(inside("config/0-.mcp.json").contains("Bearer ${T}"));
    assert!(inside("settings.json").contains("network.proxy"));
    assert!(inside("events.jsonl").contains("helper.ran"));
    assert!(inside("debug.log").contains("header Authorization: `Bearer ${T}`"));
    let status: Value = serde_json::from_str(&inside("status.json")).unwrap();
    assert_eq!(status["servers"].as_array().unwrap().len(), 5);

    let before = fs::read(folder.at("report.tar")).unwrap();
    let again = call(&words);
    assert_eq!(again.code, 1, "{}", again.everything());
    assert!(again.stderr.contains("report.tar"), "{}", again.stderr);
    assert_eq!(fs::read(folder.at("report.tar")).unwrap(), before);
}

/// A plugin with a credential in every place, and settings with one.
fn folder(url: &str, [literal, helper, proxy]: [&Canary; 3]) -> Folder {
    let entries = format!(
        r#"{{"a": {{"type": "http", "url": "{url}", "headers": {{"Authorization": "Bearer ${{T}}"}}}},
            "b": {{"type": "http", "url": "{url}?key=${{T}}", "headers": {{"X-Api-Key": "{}"}}}},
            "c": {{"type": "http", "url": "{url}", "headersHelper": "./h.sh"}},
            "d": {{"command": "./p.sh", "args": ["--token", "{}"]}}, "e": {{"type": "pigeon"}}}}"#,
        literal.value(),
        literal.value(),
    );
    let value = helper.value();
    Folder::with_entries(&entries)
        .executable(
            "h.sh",
            format!("#!/bin/sh\necho '{{\"Authorization\": \"Bearer {value}\"}}'\n"),
        )
        .executable("p.sh", "#!/bin/sh\necho \"no: $T $*\" >&2\nexit 3\n")
        .file(
            "home/keyway/config/config.toml",
            format!(
                "[network]\nproxy = \"http://u:{}@127.0.0.1:9\"\nno_proxy = [\"127.0.0.1\"]\n",
                proxy.value()
            ),
        )
        .mode("home/keyway/config", 0o700)
}

const PARTS: &[&str] = &[
    "README.txt",
    "version.json",
    "report.json",
    "status.json",
    "settings.json",
    "config/0-.mcp.json",
    "events.jsonl",
    "debug.log",
];
