//! `keyway headers` inside of clients' own entries, in one session that outlives its tokens.
//!
//! Each client has two adopted servers: `near` by the gateway's URL and a gateway token, `far` by the
//! server's own URL and its access token. `KEYWAY_TOKEN_SECONDS=60` gives the tokens a minute.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use keyway_testkit::rig::{Rig, Settings};
use keyway_testkit::{Desk, Gateway, Terminal, eventually};
use serde_json::{Value, json};

use crate::codex_thread::Thread;
use crate::model::{Conversation, Model, Turn};
use crate::tools::{self, CLAUDE, CODEX, NODE, Tools, plain};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");
/// How many calls are made, each after all access tokens before it have expired.
const CALLS: usize = 4;

/// Two servers, a gateway, and a person's home; clients' helpers get no variable but the home.
struct Place {
    desk: Desk,
    far: Rig,
    _gateway: Gateway,
}

impl Place {
    fn open() -> Self {
        let given = std::env::var("KEYWAY_TOKEN_SECONDS");
        let mut settings = Settings::default();
        settings.expires_in = Some(given.map_or(6, |text| text.parse().unwrap()));
        let far = Rig::start(settings.clone());
        let desk = Desk::new(KEYWAY, settings);
        std::fs::remove_file(desk.folder.at(".mcp.json")).unwrap();
        let entry = r#"{"none": {"type": "http", "url": "http://127.0.0.1:9/mcp"}}"#;
        desk.folder.put("plugin/.mcp.json", entry);
        desk.folder.put("work/.keep", "");
        let gateway = Gateway::start(plain(desk.without_browser(&[])), &["plugin", "--quiet"]);
        Self {
            desk,
            far,
            _gateway: gateway,
        }
    }

    fn home(&self) -> PathBuf {
        self.desk.folder.at("home")
    }

    /// Takes over what a client has now.
    fn adopt(&self, client: &str, via: &str) {
        if via == "direct" {
            let words = format!("env -u KEYWAY_HOME \"$KEYWAY\" adopt {client} --via direct");
            let mut terminal = Terminal::start(&self.desk.without_browser(&[]), &words);
            terminal.answer("Hand out the access tokens", "y\r");
            terminal.answer("[y/N]", "y\r");
            let shown = terminal.end();
            assert!(shown.contains("wrote"), "{shown}");
            return;
        }
        let words = ["adopt", client, "--via", via, "--yes"];
        let outcome = plain(self.desk.without_browser(&words)).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    }

    /// Signs in to both, and forgets how.
    fn sign_in(&self) {
        let person = self.desk.person();
        for server in ["own:near", "own:far"] {
            let outcome = plain(self.desk.keyway(&["login", server])).run();
            assert_eq!(outcome.code, 0, "{}", outcome.everything());
        }
        drop(person);
        assert_eq!(self.desk.windows().len(), 2);
        for rig in [&self.desk.rig, &self.far] {
            rig.forget();
        }
    }

    /// Prepares a call of a client, where no browser can be opened.
    fn client(&self, tools: &Tools, script: &str) -> Command {
        let mut command = tools::client(tools, script, &self.home());
        command.current_dir(self.desk.folder.at("work"));
        command
    }

    /// Each call came with a token of its own, all of one sign-in, and the person was not asked.
    fn check(&self) {
        for rig in [&self.desk.rig, &self.far] {
            let mut calls = rig.seen("/mcp");
            calls.retain(|seen| seen.request.body.contains("tools/call") && seen.status == 200);
            let tokens = calls.iter().map(|it| it.request.header("authorization"));
            let tokens: BTreeSet<_> = tokens.collect();
            assert_eq!((calls.len(), tokens.len()), (CALLS, CALLS));
            assert!(rig.refreshes() >= CALLS - 1, "{}", rig.refreshes());
            assert!(rig.seen("/authorize").is_empty() && rig.seen("/register").is_empty());
            let families = rig.families();
            assert!(
                matches!(families.as_slice(), [one] if one.ended.is_none()),
                "{families:?}"
            );
        }
        assert_eq!(self.desk.windows().len(), 2, "the person was not asked");
    }
}

/// Waits until no server would take an access token that it has issued.
fn outlive(rigs: &[Rig]) {
    eventually("all access tokens expire", || {
        rigs.iter().all(|rig| rig.live_access_tokens() == 0)
    });
}

#[test]
fn claude_code_outlives_three_tokens_of_both_kinds_in_one_session() {
    let Some(tools) = Tools::find(&[NODE, CLAUDE]) else {
        return;
    };
    let place = Place::open();
    let folder = &place.desk.folder;
    let entry = |rig: &Rig| json!({ "type": "http", "url": rig.mcp() });
    let own = json!({ "mcpServers": { "near": entry(&place.desk.rig) } });
    folder.put("home/.claude.json", own.to_string());
    place.adopt("claude-code", "gateway");
    let mut own: Value = serde_json::from_str(&folder.read("home/.claude.json")).unwrap();
    own["mcpServers"]["far"] = entry(&place.far);
    folder.put("home/.claude.json", own.to_string());
    place.adopt("claude-code", "direct");
    place.sign_in();

    let rigs = [place.desk.rig.clone(), place.far.clone()];
    let wanted = ["mcp__near__echo", "mcp__far__echo"].map(str::to_owned);
    let model = Model::start(move |known: &Conversation| {
        let call = known.results.len();
        if call == CALLS || !wanted.iter().all(|tool| known.tools.contains(tool)) {
            return Turn::Say("done");
        }
        outlive(&rigs);
        Turn::Call(wanted.to_vec(), format!("call-{call}"))
    });
    let output = place
        .client(&tools, CLAUDE)
        .args(["-p", "go", "--output-format", "stream-json", "--verbose"])
        .args(["--allowedTools", "mcp__near__echo,mcp__far__echo"])
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "made-up")
        .env("ENABLE_TOOL_SEARCH", "false")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let results = model.last().results;
    let expected = (0..CALLS).map(|call| vec![format!("Echo: call-{call}"); 2]);
    assert_eq!(results, expected.collect::<Vec<_>>(), "{said}");
    place.check();
}

#[test]
fn codex_outlives_three_tokens_of_both_kinds_in_one_session() {
    let Some(tools) = Tools::find(&[NODE, CODEX]) else {
        return;
    };
    let place = Place::open();
    let folder = &place.desk.folder;
    let entry =
        |name: &str, rig: &Rig| format!("\n[mcp_servers.{name}]\nurl = \"{}\"\n", rig.mcp());
    folder.put("home/.codex/config.toml", entry("near", &place.desk.rig));
    place.adopt("codex", "gateway");
    let own = folder.read("home/.codex/config.toml") + &entry("far", &place.far);
    folder.put("home/.codex/config.toml", own);
    place.adopt("codex", "direct");
    place.sign_in();

    let rigs = [place.desk.rig.clone(), place.far.clone()];
    let mut thread = Thread::start(&mut place.client(&tools, CODEX));
    for call in 0..CALLS {
        outlive(&rigs);
        for server in ["near", "far"] {
            let answer = thread.call(server, "echo", &format!("call-{call}"));
            let text = &answer["result"]["content"][0]["text"];
            assert_eq!(*text, format!("Echo: call-{call}"), "{server}: {answer}");
        }
    }
    place.check();
}
