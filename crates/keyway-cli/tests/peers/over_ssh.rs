//! Signing in where no browser can be opened, as over SSH: a person follows the text that a real
//! client shows in the middle of its work, on another device.
//!
//! The authorization server is `oidc-provider` with its device flow; the other device is Chromium.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use keyway_testkit::{Folder, Keyway, eventually, visit};
use serde_json::Value;

use crate::model::{Conversation, Model, Turn};
use crate::tools::{self, CLAUDE, NODE, Tools};

const PROVIDER: &str = "npm/node_modules/oidc-provider/package.json";
const TOOLS: [&str; 2] = ["mcp__docs__echo", "mcp__docs__sign_in"];

/// A protected server, a person's home without a screen, and a browser elsewhere.
struct Place {
    child: Child,
    tools: Tools,
    folder: Folder,
    journal: String,
}

impl Place {
    fn open(tools: &Tools) -> Self {
        let mut child = Command::new(tools.at(NODE))
            .arg(server_script("protected.mjs"))
            .arg(tools.modules())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap();
        let url = &started["server"];
        let own = format!(r#"{{"mcpServers": {{"docs": {{"type": "http", "url": {url}}}}}}}"#);
        let folder = Folder::new()
            .file("home/.claude.json", own)
            .file("home/tmp/.keep", "")
            .file("work/.keep", "");
        Self {
            child,
            tools: tools.clone(),
            folder,
            journal: started["journal"].as_str().unwrap().to_owned(),
        }
    }

    fn keyway(&self, words: &[&str]) {
        let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), &self.folder.at("work"));
        let outcome = call
            .args(words.iter().copied())
            .env("HOME", self.folder.at("home"))
            .env("KEYWAY_HOME", self.folder.at("home/keyway"))
            .run();
        assert_eq!(outcome.code, 0, "{words:?}: {}", outcome.everything());
    }

    /// Returns what both servers were asked so far.
    fn journal(&self) -> Vec<Value> {
        serde_json::from_str(&visit(&self.journal).unwrap().body).unwrap()
    }

    /// Counts the sign-ins by code.
    fn sign_ins(&self) -> usize {
        let journal = self.journal();
        let done = journal.iter().filter(|entry| {
            let grant = entry["grant"].as_str().unwrap_or_default();
            entry["status"] == 200 && grant.ends_with(":device_code")
        });
        done.count()
    }

    /// Does what the text says: opens the page elsewhere, and agrees there.
    fn follow(&self, text: &str) {
        let before = self.sign_ins();
        let page = page_of(text).unwrap();
        let status = Command::new(self.tools.at(NODE))
            .arg(server_script("browser.mjs"))
            .args([&self.tools.modules(), page])
            .env("TMPDIR", self.folder.at("home/tmp"))
            .env("HOME", self.folder.at("home"))
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{text}");
        eventually("Keyway gets its tokens", || self.sign_ins() > before);
    }

    /// Says what the person, by way of the model, does next.
    fn turn(&self, known: &Conversation) -> Turn {
        let results = known.results.concat();
        let last = results.last().map_or("", String::as_str);
        if last.contains("enter the code") {
            self.follow(last);
        }
        let answered = results.iter().filter(|text| text.starts_with("Echo: "));
        match answered.count() {
            // In the middle of the session the sign-in ends.
            1 if last.starts_with("Echo: ") => self.keyway(&["logout", "own:docs"]),
            2 => return Turn::Say("done"),
            _ => {}
        }
        let offered = TOOLS
            .iter()
            .find(|tool| known.tools.iter().any(|it| it == *tool));
        match offered {
            Some(tool) if results.len() < MOST_CALLS => {
                Turn::Call(vec![(*tool).to_owned()], format!("call-{}", results.len()))
            }
            _ => Turn::Say("given up"),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the page that has the code filled in.
fn page_of(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    words.find(|word| word.contains("user_code="))
}

fn server_script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../keyway-testkit/servers")
        .join(name)
}

#[test]
fn claude_code_is_signed_in_by_the_code_that_it_shows_where_no_browser_is() {
    let Some(tools) = Tools::find(&[NODE, CLAUDE, PROVIDER]) else {
        return;
    };
    let place = Arc::new(Place::open(&tools));
    place.keyway(&["adopt", "claude-code", "--yes"]);
    // The model lives as long as the process, and the place must not.
    let person = Arc::downgrade(&place);
    let model = Model::start(move |known| match person.upgrade() {
        Some(person) => person.turn(known),
        None => Turn::Say("gone"),
    });
    let output = tools::client(&tools, CLAUDE, &place.folder.at("home"))
        .args(["-p", "go", "--output-format", "stream-json", "--verbose"])
        .args(["--allowedTools", &TOOLS.join(",")])
        .current_dir(place.folder.at("work"))
        .env("KEYWAY_HOME", place.folder.at("home/keyway"))
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "made-up")
        .env("ENABLE_TOOL_SEARCH", "false")
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let results = model.last().results.concat();
    let answered = results.iter().filter(|text| text.starts_with("Echo: "));
    assert_eq!(answered.count(), 2, "{results:?}\n{shown}");
    // At the start, and in the middle of a call.
    let told = results
        .iter()
        .filter(|text| text.contains("enter the code"));
    let told: Vec<&String> = told.collect();
    assert_eq!(told.len(), 2, "{results:?}");
    assert_eq!(place.sign_ins(), 2, "{results:?}");
    for text in told {
        let page = page_of(text).unwrap();
        assert!(shown.contains(page), "not shown: {text}\n{shown}");
    }
    let journal = place.journal();
    assert!(journal.iter().all(|entry| entry["path"] != "/auth"));
}

const MOST_CALLS: usize = 12;
