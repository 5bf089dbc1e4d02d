//! `keyway demo`: all servers at work, nothing left, nothing given away.

#![expect(clippy::unwrap_used, reason = "a test whose demo is broken must stop")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use keyway_testkit::{Folder, Keyway, Running, eventually, visit};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How every secret of a demo begins.
const SECRET: &str = "demosecret_";

fn keyway(folder: &Folder) -> Keyway {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("TMPDIR", folder.path())
        .env("HOME", folder.path())
        .env("KEYWAY_HOME", folder.path().join("keyway"))
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn check_signs_in_calls_every_server_and_sees_a_token_renewed() {
    let folder = Folder::new();
    let outcome = keyway(&folder)
        .args(["demo", "--check", "--format", "json"])
        .run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["ok"], true, "{report:#}");
    assert_eq!(report["diagnostics"].as_array().unwrap().len(), 0);
    let servers = report["servers"].as_array().unwrap();
    let seen: Vec<String> = servers
        .iter()
        .map(|server| {
            assert_eq!(server["state"], "connected", "{server:#}");
            assert_eq!(server["tools"], 2, "{server:#}");
            let word = |key: &str| server[key].as_str().unwrap().to_owned();
            format!("{} {} {}", word("name"), word("transport"), word("method"))
        })
        .collect();
    let expected = [
        "docs http oauth",
        "search http static",
        "tenant http static",
        "signed http dynamic",
        "live ws static",
        "events sse static",
        "local stdio environment",
    ];
    assert_eq!(seen, expected);
    assert_eq!(report["renewal"]["works"], true);
    assert!(report["renewal"]["refreshes"].as_u64().unwrap() >= 1);
    assert_eq!(report["renewal"]["sign_ins"], 1);
    assert!(
        !outcome.everything().contains(SECRET),
        "{}",
        outcome.everything()
    );
    assert!(is_empty(folder.path()), "something is left");
}

#[test]
fn the_demo_waits_for_a_person_serves_on_and_leaves_nothing() {
    let folder = Folder::new();
    let mut running = keyway(&folder).args(["demo", "--format", "json"]).start();
    let mut lines = BufReader::new(running.child.stderr.take().unwrap()).lines();
    let page = until(&mut lines, |line| line.starts_with("http://"));
    until(&mut lines, |line| line.starts_with("Ctrl-C"));
    let mut stdout = BufReader::new(running.child.stdout.take().unwrap());
    let mut report = String::new();
    stdout.read_line(&mut report).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let docs = &report["servers"][0];
    assert_eq!(
        (&docs["state"], &docs["reason"]),
        (&"needs-auth".into(), &"authorizing".into())
    );
    let path = |key: &str| report[key].as_str().unwrap().to_owned();
    let (plugin, home) = (path("plugin"), path("keyway_home"));

    press_allow(&page);
    let connected = until(&mut lines, |line| line.starts_with("`docs`"));
    assert!(connected.contains("connected: 2 tools"), "{connected}");

    // What is printed as worth trying really works, by the sign-in that was just made.
    let other = |arguments: &[&str]| {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), Path::new(&plugin));
        let call = call
            .env("KEYWAY_HOME", &home)
            .args(arguments.iter().copied());
        let outcome = call.run();
        assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.everything());
        assert!(!outcome.everything().contains(SECRET));
        outcome.stdout
    };
    other(&["check"]);
    assert!(other(&["tools", "docs"]).contains("Adds two numbers"));
    assert_eq!(other(&["call", "docs", "add", "a=1", "b=2"]), "3\n");
    until(&mut lines, |line| line == "docs: a tool was called");
    other(&["logout", "docs"]);
    until(&mut lines, |line| {
        line == "docs: signed out: the tokens were revoked"
    });

    no_file_holds_a_secret(folder.path());
    let code = interrupt(&mut running);
    assert_eq!(code, Some(0));
    assert!(is_empty(folder.path()), "something is left");
}

#[test]
fn with_a_browser_the_table_waits_for_the_person() {
    let folder = Folder::new();
    let tools = Folder::new().executable("browser", BROWSER);
    let shown = tools.at("browser.address");
    let browser = tools.at("browser").to_string_lossy().into_owned();
    let mut running = keyway(&folder)
        .args(["demo", "--browser", &browser])
        .start();
    let mut lines = BufReader::new(running.child.stderr.take().unwrap()).lines();
    until(&mut lines, |line| {
        line.contains("Your browser opens this page")
    });
    let page = until(&mut lines, |line| line.starts_with("http://"));
    eventually("a browser is opened", || shown.exists());
    assert_eq!(fs::read_to_string(&shown).unwrap().trim(), page);
    press_allow(&page);
    until(&mut lines, |line| line.contains("opens the dashboard"));
    until(&mut lines, |line| line.starts_with("Ctrl-C"));
    // The browser gets a private file with the link a moment after it was started.
    let mut file = String::new();
    eventually("the dashboard is opened", || {
        let text = fs::read_to_string(&shown).unwrap();
        let link = text.trim().strip_prefix("file://");
        file = link.unwrap_or_default().to_owned();
        link.is_some()
    });
    assert!(
        fs::read_to_string(file)
            .unwrap()
            .contains("/dashboard/enter/")
    );
    assert_eq!(interrupt(&mut running), Some(0));
    let mut table = String::new();
    let mut stdout = running.child.stdout.take().unwrap();
    stdout.read_to_string(&mut table).unwrap();
    assert_eq!(table.matches(" connected ").count(), 7, "{table}");
    assert!(is_empty(folder.path()), "something is left");
}

#[test]
fn a_demo_that_cannot_begin_says_so_in_every_format() {
    let folder = Folder::new();
    let call = keyway(&folder).env("TMPDIR", "/nonexistent");
    let outcome = call.args(["demo", "--check", "--format", "json"]).run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        report["diagnostics"][0]["code"], "demo-failed",
        "{report:#}"
    );
}

#[test]
fn the_plugin_of_the_demo_is_clean_but_for_plain_http() {
    let folder = Folder::new();
    let mut running = keyway(&folder).args(["demo", "--format", "json"]).start();
    let mut stdout = BufReader::new(running.child.stdout.take().unwrap());
    let mut report = String::new();
    stdout.read_line(&mut report).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let plugin = report["plugin"].as_str().unwrap();
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), Path::new(plugin));
    let outcome = call.args(["check", "--strict", "--format", "json"]).run();
    let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let found = found["diagnostics"].as_array().unwrap();
    assert!(!found.is_empty());
    for diagnostic in found {
        let is_known = diagnostic["code"] == "insecure-url" || diagnostic["severity"] == "info";
        assert!(is_known, "{diagnostic:#}");
    }
    // A signal other than Ctrl-C cleans up as well.
    let pid = Pid::from_child(&running.child);
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
    assert!(is_empty(folder.path()), "something is left");
}

#[test]
fn the_parts_of_the_demo_say_what_they_miss_and_nothing_else() {
    let folder = Folder::new();
    for part in ["__demo-sign", "__demo-stdio"] {
        let outcome = keyway(&folder).args([part]).run();
        assert_eq!(outcome.code, 1, "{}", outcome.everything());
        assert_eq!(outcome.stdout, "");
        assert!(outcome.stderr.contains("DEMO_"), "{}", outcome.stderr);
    }
}

/// Keeps the address that it is to open; complete at once.
const BROWSER: &str = "#!/bin/sh\necho \"$1\" > \"$0.new\" && mv \"$0.new\" \"$0.address\"\n";

fn until(
    lines: &mut impl Iterator<Item = std::io::Result<String>>,
    is_it: impl Fn(&str) -> bool,
) -> String {
    lines.map(Result::unwrap).find(|line| is_it(line)).unwrap()
}

/// Reads the page and sends its form, as a browser does when its button is pressed.
fn press_allow(page: &str) {
    let consent = visit(page).unwrap();
    assert_eq!(consent.status, 200);
    let (_, question) = consent
        .body
        .split_once("name=\"question\" value=\"")
        .unwrap();
    let (question, _) = question.split_once('"').unwrap();
    let body = format!("question={question}");
    let address = format!("127.0.0.1:{}", consent.url.port().unwrap());
    let mut stream = TcpStream::connect(&address).unwrap();
    let request = format!(
        "POST /consent HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let location = answer
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    let done = visit(location.unwrap()).unwrap();
    assert!(done.body.contains("You are signed in"), "{}", done.body);
}

fn no_file_holds_a_secret(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            no_file_holds_a_secret(&path);
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let is_in = bytes
                .windows(SECRET.len())
                .any(|window| window == SECRET.as_bytes());
            assert!(!is_in, "{}", path.display());
        }
    }
}

fn interrupt(running: &mut Running) -> Option<i32> {
    kill_process(Pid::from_child(&running.child), Signal::INT).unwrap();
    running.child.wait().unwrap().code()
}
