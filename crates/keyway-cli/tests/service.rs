//! `keyway service` under a real service manager of the test's own.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start a service manager, and stop where they cannot"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use keyway_testkit::{Folder, Keyway, free_port};

#[test]
fn a_service_starts_with_its_first_client_and_comes_back_after_a_kill() {
    if !Path::new("/usr/lib/systemd/systemd").exists() {
        println!("skipped: no systemd; `cargo xtask tools --setup` installs it");
        return;
    }
    let folder = Folder::new()
        .file(
            "my plugin/.mcp.json",
            r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/", "headers": {"X-Key": "${SERVICE_KEY}"}}}"#,
        )
        .file("home/.keep", "")
        .file("run/.keep", "");
    fs::set_permissions(folder.at("run"), fs::Permissions::from_mode(0o700)).unwrap();
    let port = free_port();
    let output = Command::new("unshare")
        .args(["--mount", "--", "sh"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service/session.sh"))
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", folder.at("home"))
        .env("XDG_CONFIG_HOME", folder.at("home/.config"))
        .env("XDG_RUNTIME_DIR", folder.at("run"))
        .env("KEYWAY", env!("CARGO_BIN_EXE_keyway"))
        .env("PLUGIN", folder.at("my plugin"))
        .env("PORT", port.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let part = |name: &str| -> String {
        let head = format!("\n== {name}\n");
        let (_, rest) = text
            .split_once(&head)
            .unwrap_or_else(|| panic!("no part `{name}` in:\n{text}\n{errors}"));
        rest.split("\n== ").next().unwrap().to_owned()
    };
    assert!(part("before").contains("absent"), "{}", part("before"));
    let installed = part("install");
    assert!(installed.contains("keyway.socket"), "{installed}");
    assert!(installed.contains("the service answers"), "{installed}");
    assert!(
        installed.contains("keyway env set SERVICE_KEY"),
        "{installed}"
    );
    assert!(!installed.contains("exit"), "{installed}");
    assert!(part("again").contains("up to date"), "{}", part("again"));
    let status: serde_json::Value = serde_json::from_str(&part("status")).unwrap();
    assert_eq!(status["service"], "running");
    assert_eq!(status["files"].as_array().unwrap().len(), 2);
    let process = part("process");
    assert!(process.contains("ActiveState=active"), "{process}");
    assert!(process.contains("Type=notify"), "{process}");
    assert_eq!(part("mode").trim(), "600\n600");
    assert!(part("killed").contains("running"), "{}", part("killed"));
    assert_eq!(part("port").trim(), "403\n200");
    assert!(part("stop").contains("Result=success"), "{}", part("stop"));
    assert!(
        part("uninstall").contains("removed"),
        "{}",
        part("uninstall")
    );
    let after = part("after");
    assert!(after.contains("absent"), "{after}");
    assert!(!after.contains("keyway.service"), "{after}");
    assert!(after.contains("inactive"), "{after}");
    assert!(!folder.at("run/keyway/gateway.sock").exists());
}

#[test]
fn a_unit_that_keyway_did_not_write_is_left_alone() {
    let foreign = "[Service]\nExecStart=/bin/true\n";
    let folder = Folder::with_entries(r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#)
        .file("config/systemd/user/keyway.service", foreign);
    let refused = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("XDG_CONFIG_HOME", folder.at("config"))
        .args(["service", "install", "--yes"])
        .run();
    assert_eq!(refused.code, 1, "{}", refused.everything());
    assert!(
        refused.stderr.contains("was not written by Keyway"),
        "{}",
        refused.stderr
    );
    assert_eq!(folder.read("config/systemd/user/keyway.service"), foreign);
    assert!(!folder.at("config/systemd/user/keyway.socket").exists());
}

#[test]
fn nothing_is_written_before_a_person_agreed() {
    let folder = Folder::with_entries(r#"{"s": {"type": "http", "url": "http://127.0.0.1:9/"}}"#);
    let keyway = || {
        Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
            .env("XDG_CONFIG_HOME", folder.at("config"))
    };
    let shown = keyway().args(["service", "install", "--dry-run"]).run();
    assert_eq!(shown.code, 0, "{}", shown.everything());
    assert!(shown.stdout.contains("ListenStream=127.0.0.1:5399"));
    let unasked = keyway().args(["service", "install"]).run();
    assert_eq!(unasked.code, 2, "{}", unasked.everything());
    let open = keyway().args(["service", "install", "--listen", "0.0.0.0:80", "--yes"]);
    let open = open.run();
    assert_eq!(open.code, 2, "{}", open.everything());
    assert!(!folder.at("config/systemd").exists());
}
