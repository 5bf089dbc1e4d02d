//! opencode, Continue, Copilot CLI and Cline as people have them: after `keyway adopt` each has its
//! server connected by its own name, and undoing it restores every byte.
//!
//! Those without a command that connects are given a stand-in for their model.

use std::process::{Command, Output};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Answer, Desk, Upstream, appears};

use crate::model::{Model, Turn};
use crate::tools::{self, CONTINUE, COPILOT, NODE, OPENCODE, Tools, plain};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// A client's file with one server, `docs`.
struct Adopted {
    desk: Desk,
    client: &'static str,
    file: &'static str,
    text: String,
}

impl Adopted {
    /// Takes over the server, whose address replaces `URL`, and signs in to it.
    fn new(client: &'static str, file: &'static str, text: &str) -> Self {
        let desk = Desk::new(KEYWAY, Settings::default());
        std::fs::remove_file(desk.folder.at(".mcp.json")).unwrap();
        let text = text.replace("URL", &desk.rig.mcp());
        desk.folder.put(file, &text);
        let adopted = Self {
            desk,
            client,
            file,
            text,
        };
        let _person = adopted.desk.person();
        adopted.keyway(&["adopt", client, "--yes"]);
        adopted.keyway(&["login", "own:docs"]);
        adopted
    }

    fn keyway(&self, words: &[&str]) {
        let outcome = plain(self.desk.keyway(words)).run();
        assert_eq!(outcome.code, 0, "{words:?}: {}", outcome.everything());
    }

    /// Takes it back; the file is as it was.
    fn undo(&self) {
        self.keyway(&["adopt", self.client, "--undo", "--yes"]);
        assert_eq!(self.desk.folder.read(self.file), self.text);
    }
}

/// A model that calls one tool, if it is offered, and is done.
fn model(tool: &'static str) -> Model {
    Model::start(move |known| {
        let is_offered = known.tools.iter().any(|it| it == tool);
        match known.results.is_empty() && is_offered {
            true => Turn::Call(vec![tool.to_owned()], "hello".to_owned()),
            false => Turn::Say("done"),
        }
    })
}

fn printed(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    format!("{out}{}", String::from_utf8_lossy(&output.stderr))
}

#[test]
fn opencode_has_its_server_connected_by_its_own_name() {
    let Some(tools) = Tools::find(&[NODE, OPENCODE]) else {
        return;
    };
    // It adds the address of its schema where there is none.
    let text = "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // mine\n  \"mcp\": { \"docs\": { \"type\": \"remote\", \"url\": \"URL\", \"timeout\": 9000 } },\n}\n";
    let adopted = Adopted::new("opencode", "home/.config/opencode/opencode.json", text);
    let output = tools::program(&tools, OPENCODE, &adopted.desk.folder.at("home"))
        .args(["mcp", "list"])
        .current_dir(adopted.desk.folder.path())
        .output()
        .unwrap();
    let listed = printed(&output);
    let line = listed.lines().find(|line| line.contains("✓ docs"));
    let is_connected = line.is_some_and(|line| line.ends_with("connected"));
    assert!(is_connected, "{listed}");
    assert!(listed.contains("1 server(s)"), "{listed}");
    adopted.undo();
}

#[test]
fn continue_calls_a_tool_of_its_server() {
    let Some(tools) = Tools::find(&[NODE, CONTINUE]) else {
        return;
    };
    let model = model("echo");
    let text = format!(
        "name: mine # all of it\nversion: 0.0.1\nschema: v1\nmodels:\n  - name: m\n    provider: anthropic\n    model: m\n    apiKey: made-up\n    apiBase: {}/v1/\nmcpServers:\n  - name: docs\n    type: streamable-http\n    url: URL\n",
        model.url()
    );
    let adopted = Adopted::new("continue", "home/.continue/config.yaml", &text);
    let output = tools::client(&tools, CONTINUE, &adopted.desk.folder.at("home"))
        .args(["-p", "go", "--auto", "--config"])
        .arg(adopted.desk.folder.at(adopted.file))
        .current_dir(adopted.desk.folder.path())
        .env("CONTINUE_TELEMETRY_ENABLED", "0")
        .output()
        .unwrap();
    let results = model.last().results.concat();
    assert!(
        matches!(results.as_slice(), [one] if one.contains("Echo: hello")),
        "{results:?} {}",
        printed(&output)
    );
    adopted.undo();
}

#[test]
fn copilot_cli_lists_its_server_and_calls_a_tool_of_it() {
    let Some(tools) = Tools::find(&[NODE, COPILOT]) else {
        return;
    };
    let text = "{\"mcpServers\": {\"docs\": {\"type\": \"http\", \"url\": \"URL\", \"tools\": [\"*\"]}}}\n";
    let adopted = Adopted::new("copilot-cli", "home/.copilot/mcp-config.json", text);
    let model = model("docs-echo");
    let run = |words: &[&str]| {
        let output = tools::program(&tools, COPILOT, &adopted.desk.folder.at("home"))
            .args(words)
            .current_dir(adopted.desk.folder.path())
            .env("COPILOT_AUTO_UPDATE", "false")
            .env("COPILOT_PROVIDER_TYPE", "anthropic")
            .env("COPILOT_PROVIDER_BASE_URL", model.url())
            .env("COPILOT_PROVIDER_API_KEY", "made-up")
            .env("COPILOT_MODEL", "m")
            .output();
        printed(&output.unwrap())
    };
    let listed = run(&["mcp", "list"]);
    assert_eq!(listed.matches("docs (local)").count(), 1, "{listed}");
    let said = run(&["-p", "go", "--allow-all-tools"]);
    let results = model.last().results.concat();
    assert!(
        matches!(results.as_slice(), [one] if one.contains("Echo: hello")),
        "{results:?} {said}"
    );
    adopted.undo();
}

/// `npm install --prefix target/tools/cline cline@3.0.65`, with the tools of the tests beside it.
#[test]
#[ignore = "the package takes more than 400 MB and a minute"]
fn cline_offers_its_model_the_tool_of_its_server() {
    let cline = "cline/node_modules/.bin/cline";
    let Some(tools) = Tools::find(&[NODE, cline]) else {
        return;
    };
    let file = "home/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
    let text = "{\"mcpServers\": {\"docs\": {\"type\": \"streamableHttp\", \"url\": \"URL\"}}}\n";
    let adopted = Adopted::new("cline", file, text);
    let home = adopted.desk.folder.at("home");
    // It speaks another API, of which one word is enough.
    let choice = |delta: &str, reason: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
        )
    };
    let body = choice(r#"{"role":"assistant","content":"done"}"#, "null")
        + &choice("{}", r#""stop""#)
        + "data: [DONE]\n\n";
    let model = Upstream::start(move |_| Answer {
        status: 200,
        headers: vec![("content-type", "text/event-stream".to_owned())],
        body: body.clone(),
    });
    let url = model.url("/v1");
    let sign_in = [
        "auth",
        "-p",
        "openai-compatible",
        "-k",
        "k",
        "-m",
        "m",
        "-b",
        &url,
    ];
    let mut said = String::new();
    for words in [&sign_in[..], &["say something"]] {
        let output = tools::program(&tools, cline, &home)
            .args(words)
            .current_dir(adopted.desk.folder.path())
            .env("CLINE_MCP_SETTINGS_PATH", adopted.desk.folder.at(file))
            .output();
        said += &printed(&output.unwrap());
    }
    // It leaves a process of its own behind.
    let own = home.join(".cline/data/locks/hub/production.json");
    let own = appears("its process", || std::fs::read_to_string(&own).ok());
    let own: serde_json::Value = serde_json::from_str(&own).unwrap();
    let left = Command::new("kill").arg(own["pid"].to_string()).status();
    assert!(left.unwrap().success(), "{own}");
    let asked = model.seen();
    let offers = asked.iter().any(|it| it.body.contains(r#""docs__echo""#));
    assert!(offers, "{said}");
    adopted.undo();
}
