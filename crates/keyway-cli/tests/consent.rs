//! Signing in as a person does it: a real authorization server, a real consent page, a real browser.
//!
//! `oidc-provider` with rotating refresh tokens stands before an MCP server on the official SDK, and a
//! headless Chromium is what `BROWSER` names. All are found below `KEYWAY_TOOLS`; without them these
//! tests say so.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start servers and a browser, and stop where they cannot"
)]

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use keyway_testkit::{Folder, Keyway, Outcome, Tools, eventually, free_port, visit};
use serde_json::Value;

#[test]
fn one_consent_lasts_until_the_person_signs_out() {
    let Some(place) = Place::open(3600) else {
        return;
    };
    // First use opens the browser, and the call that needed it continues.
    let first = place.call(&["call", "s", "whoami"]);
    assert_eq!(first.stdout, "alice read\n", "{}", first.everything());
    assert_eq!(place.windows(), 1);
    let page = place.last_page();
    assert_eq!(page["title"], "You are signed in – Keyway", "{page}");

    // A sign-in that is good costs nothing.
    let before = place.journal().len();
    let again = place.call(&["call", "s", "echo", "message=hi"]);
    assert_eq!(again.stdout, "Echo: hi\n", "{}", again.everything());
    let paths: Vec<Value> = place.journal().split_off(before);
    assert!(
        paths.iter().all(|entry| entry["path"] == "/mcp"),
        "{paths:?}"
    );

    // A token that the server does not take any more is renewed without a word.
    visit(&place.forget).unwrap();
    let renewed = place.call(&["call", "s", "whoami"]);
    assert_eq!(renewed.stdout, "alice read\n", "{}", renewed.everything());
    assert_eq!(place.grants(), ["authorization_code", "refresh_token"]);
    assert_eq!(place.windows(), 1);

    // Signing out tells the server, and the next use asks again.
    let out = place.call(&["logout", "s"]);
    assert_eq!(out.code, 0, "{}", out.everything());
    let journal = place.journal();
    let revoked = journal
        .iter()
        .filter(|entry| entry["path"] == "/token/revocation");
    let statuses: Vec<&Value> = revoked.map(|entry| &entry["status"]).collect();
    assert_eq!(statuses, [200, 200], "{journal:?}");
    let refreshed = place.call(&["call", "s", "whoami"]);
    assert_eq!(
        refreshed.stdout,
        "alice read\n",
        "{}",
        refreshed.everything()
    );
    assert_eq!(place.windows(), 2);
}

#[test]
fn an_expired_token_is_renewed_before_it_is_sent() {
    let Some(place) = Place::open(8) else {
        return;
    };
    let login = place.call(&["login", "s"]);
    assert_eq!(login.code, 0, "{}", login.everything());
    // The clock is that of a foreign server.
    std::thread::sleep(Duration::from_secs(9));
    let before = place.journal().len();
    let renewed = place.call(&["call", "s", "whoami"]);
    assert_eq!(renewed.stdout, "alice read\n", "{}", renewed.everything());
    let after = place.journal().split_off(before);
    assert_eq!(after[0]["grant"], "refresh_token", "{after:?}");
    assert_eq!(place.windows(), 1);
}

#[test]
fn a_tool_that_needs_more_asks_for_more_and_keeps_what_was_given() {
    let Some(place) = Place::open(3600) else {
        return;
    };
    let login = place.call(&["login", "s"]);
    assert_eq!(login.code, 0, "{}", login.everything());
    let delete = place.call(&["call", "s", "delete"]);
    assert_eq!(delete.stdout, "deleted\n", "{}", delete.everything());
    assert_eq!(place.windows(), 2);
    let scopes = place.call(&["call", "s", "whoami"]);
    assert_eq!(
        scopes.stdout,
        "alice read write\n",
        "{}",
        scopes.everything()
    );
    assert_eq!(place.windows(), 2);
}

#[test]
fn a_person_who_says_no_is_not_signed_in() {
    let Some(mut place) = Place::open(3600) else {
        return;
    };
    place.answer = "deny";
    let refused = place.call(&["login", "s"]);
    assert_eq!(refused.code, 1, "{}", refused.everything());
    assert!(
        refused.stderr.contains("access_denied"),
        "{}",
        refused.stderr
    );
    let page = place.last_page();
    assert_ne!(page["title"], "You are signed in – Keyway", "{page}");
    assert_eq!(place.grants(), Vec::<String>::new());
}

#[test]
fn a_code_typed_on_another_device_signs_in() {
    let Some(place) = Place::open(3600) else {
        return;
    };
    let mut login = place.command(&["login", "s", "--device"]);
    let mut child = login
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let page = lines.find_map(|line| {
        let line = line.unwrap();
        let begin = line.find("http://")?;
        let url = line.get(begin..)?.split_whitespace().next()?;
        url.contains("user_code=").then(|| url.to_owned())
    });
    let browser = Command::new(&place.browser)
        .arg(page.unwrap())
        .status()
        .unwrap();
    assert!(browser.success());
    for line in lines {
        drop(line);
    }
    assert!(child.wait().unwrap().success());
    let whoami = place.call(&["call", "s", "whoami"]);
    assert_eq!(whoami.stdout, "alice read\n", "{}", whoami.everything());
    assert_eq!(place.windows(), 0);
}

/// The example of the official TypeScript SDK: no refresh tokens, and no page to agree on.
#[test]
fn the_typescript_example_is_signed_in_to() {
    let Some(modules) = modules() else {
        return;
    };
    let example = "@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js";
    let (port, authorization) = (free_port(), free_port());
    let mut command = Command::new(modules.join(".bin/node"));
    command
        .arg(modules.join(example))
        .args(["--oauth", "--oauth-strict"])
        .env("MCP_PORT", port.to_string())
        .env("MCP_AUTH_PORT", authorization.to_string());
    let place = Place::of_others(&mut command, port);
    // The example calls itself `localhost`.
    let entry = format!(r#"{{"s": {{"type": "http", "url": "http://localhost:{port}/mcp"}}}}"#);
    place.folder.put(".mcp.json", entry);
    let greet = place.call(&["call", "s", "greet", "name=you"]);
    assert_eq!(greet.stdout, "Hello, you!\n", "{}", greet.everything());
    assert_eq!(place.last_page()["title"], "You are signed in – Keyway");
}

#[test]
fn a_server_on_the_python_sdk_is_signed_in_to_renewed_and_signed_out_of() {
    let Some(modules) = modules() else {
        return;
    };
    let python = modules.join("../../python/bin/python");
    let port = free_port();
    let mut command = Command::new(python);
    command
        .arg(script("protected.py"))
        .arg(port.to_string())
        .env("ACCESS_TOKEN_SECONDS", "8");
    let place = Place::of_others(&mut command, port);
    let first = place.call(&["call", "s", "whoami"]);
    assert_eq!(first.stdout, "bob user\n", "{}", first.everything());
    assert_eq!(place.last_page()["title"], "You are signed in – Keyway");
    std::fs::remove_file(place.folder.at("page.json")).unwrap();
    // The clock is that of a foreign server.
    std::thread::sleep(Duration::from_secs(9));
    let renewed = place.call(&["call", "s", "whoami"]);
    assert_eq!(renewed.stdout, "bob user\n", "{}", renewed.everything());
    let out = place.call(&["logout", "s"]);
    assert!(out.stdout.contains("were revoked"), "{}", out.everything());
    assert!(!place.folder.at("page.json").exists());
}

/// A plugin with one protected server, a home, and a person at a browser.
struct Place {
    child: Child,
    folder: Folder,
    browser: PathBuf,
    answer: &'static str,
    journal: String,
    forget: String,
}

impl Place {
    /// Starts the servers; access tokens are good for `seconds`.
    fn open(seconds: u32) -> Option<Self> {
        let modules = modules()?;
        let mut child = Command::new(modules.join(".bin/node"))
            .arg(script("protected.mjs"))
            .arg(&modules)
            .env("ACCESS_TOKEN_SECONDS", seconds.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap();
        let address = |name: &str| started.get(name).unwrap().as_str().unwrap().to_owned();
        let mut place = Self::before(child, &address("server"), &modules);
        place.journal = address("journal");
        place.forget = address("forget");
        Some(place)
    }

    /// Starts a server of others, to listen on `port`.
    fn of_others(command: &mut Command, port: u16) -> Self {
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let place = Self::before(
            child,
            &format!("http://127.0.0.1:{port}/mcp"),
            &modules().unwrap(),
        );
        eventually("the server listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        place
    }

    fn before(child: Child, url: &str, modules: &Path) -> Self {
        let entry = format!(r#"{{"s": {{"type": "http", "url": "{url}"}}}}"#);
        let folder = Folder::with_entries(&entry).file("person/.profile", "");
        let text = format!(
            "#!/bin/sh\nexec '{}' '{}' '{}' \"$1\" > '{}' 2> /dev/null\n",
            modules.join(".bin/node").display(),
            script("browser.mjs").display(),
            modules.display(),
            folder.at("page.json").display()
        );
        let folder = folder.executable("browser", text);
        Self {
            child,
            browser: folder.at("browser"),
            folder,
            answer: "agree",
            journal: String::new(),
            forget: String::new(),
        }
    }

    fn call(&self, words: &[&str]) -> Outcome {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), self.folder.path());
        let call = self
            .environment()
            .into_iter()
            .fold(call, |call, (name, value)| call.env(name, value));
        call.args(words.iter().copied()).run()
    }

    /// Prepares a call that is watched while it runs.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyway"));
        command
            .args(words)
            .current_dir(self.folder.path())
            .envs(self.environment());
        command
    }

    /// The browser outlives the call that opens it, and so does its home.
    fn environment(&self) -> [(&'static str, PathBuf); 7] {
        [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME", self.folder.at("person")),
            ("TMPDIR", self.folder.at("person")),
            ("KEYWAY_HOME", self.folder.at("home")),
            ("DISPLAY", ":99".into()),
            ("BROWSER", self.browser.clone()),
            ("BROWSER_ANSWER", self.answer.into()),
        ]
    }

    /// Returns what the servers were asked so far.
    fn journal(&self) -> Vec<Value> {
        let page = visit(&self.journal).unwrap();
        serde_json::from_str(&page.body).unwrap()
    }

    /// Returns how often a consent page was opened.
    fn windows(&self) -> usize {
        let journal = self.journal();
        let opened = journal.iter().filter(|entry| entry["path"] == "/auth");
        opened.count()
    }

    /// Returns by which grants tokens were given out, in order.
    fn grants(&self) -> Vec<String> {
        let journal = self.journal();
        let asked = journal.iter().filter(|entry| entry["path"] == "/token");
        asked
            .filter_map(|entry| Some(entry["grant"].as_str()?.to_owned()))
            .collect()
    }

    /// Waits until the browser has left, and returns the page on which it was last.
    fn last_page(&self) -> Value {
        let mut page = Value::Null;
        eventually("the browser says where it was", || {
            let text = std::fs::read_to_string(self.folder.at("page.json")).unwrap_or_default();
            page = serde_json::from_str(&text).unwrap_or_default();
            !page.is_null()
        });
        page
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn script(name: &str) -> PathBuf {
    let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../keyway-testkit/servers");
    servers.join(name)
}

/// Finds the npm packages; with `KEYWAY_TOOLS` they have to be there.
fn modules() -> Option<PathBuf> {
    let tools = Tools::find(&["npm/node_modules/oidc-provider/package.json"])?;
    Some(tools.modules().into())
}
