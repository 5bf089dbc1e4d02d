//! `keyway trust`, and threats E5 to E14 where they show in the whole program, by number.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at the real environment and stop where they cannot go on"
)]

use keyway_testkit::rig::Settings;
use keyway_testkit::{Answer, Desk, Folder, Keyway, Outcome, Terminal, Tools, Upstream};
use serde_json::json;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

fn keyway(folder: &Folder, arguments: &[&str]) -> Keyway {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let call = Keyway::new(KEYWAY, folder.path()).args(arguments.iter().copied());
    call.env("KEYWAY_HOME", folder.at("keyway"))
        .env("PATH", path)
}

fn done(folder: &Folder, arguments: &[&str]) -> Outcome {
    let outcome = keyway(folder, arguments).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    outcome
}

fn digests(outcome: &Outcome) -> Vec<String> {
    let lines = outcome.stderr.lines();
    let digests = lines.filter_map(|line| line.strip_prefix("  digest    "));
    digests.map(str::to_owned).collect()
}

fn approvals(folder: &Folder) -> usize {
    let listed = done(folder, &["trust", "list", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let approvals = listed.get("approvals").and_then(|it| it.as_array());
    approvals.unwrap().len()
}

const TWO: &str = r#"{"mcpServers": {"a": {"command": "prog-a"}, "b": {"command": "prog-b", "env": {"K": "${K}"}}}}"#;

/// What an admin of a gateway for people is told to do for a program.
#[test]
fn a_program_that_is_approved_for_people_is_approved_confined() {
    let folder = Folder::with_entries(TWO);
    done(&folder, &["trust", "grant", "a", "--for-people"]);
    let listed = done(&folder, &["trust", "list", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let approvals = listed["approvals"].as_array().unwrap();
    assert_eq!(approvals.len(), 1, "{listed}");
    assert_eq!(approvals[0]["confined"], true, "{listed}");
}

/// The page says how the program will run, and a digest that a refusal printed before counts too.
#[test]
fn a_grant_of_a_confined_program_shows_it_confined() {
    let folder = Folder::with_entries(TWO);
    let shown = |more: &[&str]| {
        let arguments = [&["trust", "grant", "a"], more].concat();
        keyway(&folder, &arguments).without_digests().run()
    };
    let (usual, confined) = (shown(&[]), shown(&["--for-people"]));
    assert!(!usual.stderr.contains("confined"), "{}", usual.stderr);
    assert!(confined.stderr.contains("confined"), "{}", confined.stderr);
    let all = [digests(&confined), digests(&usual)].concat();
    assert_eq!(all.len(), 2, "{}", confined.stderr);
    assert_ne!(all[0], all[1]);
    for digest in all {
        let grant = ["trust", "grant", "a", "--for-people", "--digest", &digest];
        done(&folder, &grant);
        assert_eq!(approvals(&folder), 1);
        done(&folder, &["trust", "revoke", "a"]);
    }
    let other = ["trust", "grant", "b", "--confined", "--digest", "00"];
    let other = keyway(&folder, &other).without_digests().run();
    assert_eq!(other.code, 2, "{}", other.everything());
    assert_eq!(approvals(&folder), 0);
}

/// Threat E12: an answer that no person gave approves nothing.
#[test]
fn e12_without_a_terminal_a_grant_needs_the_digest_of_what_was_shown() {
    let folder = Folder::with_entries(TWO);
    let piped = keyway(&folder, &["trust", "grant", "a"])
        .without_digests()
        .stdin("y\n");
    let refused = piped.run();
    assert_eq!(refused.code, 2, "{}", refused.everything());
    assert!(
        refused.stderr.contains("not a terminal"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("  runs      prog-a\n"),
        "{}",
        refused.stderr
    );
    let shown = digests(&refused);
    let [digest] = shown.as_slice() else {
        panic!("{}", refused.stderr);
    };
    assert_eq!(approvals(&folder), 0);
    // The digest of one entry is not that of another, nor of a changed one.
    let other = keyway(&folder, &["trust", "grant", "b", "--digest", digest]);
    let other = other.without_digests().run();
    assert_eq!(other.code, 2, "{}", other.everything());
    folder.put(".mcp.json", TWO.replace("prog-a", "evil"));
    let changed = keyway(&folder, &["trust", "grant", "a", "--digest", digest]);
    let changed = changed.without_digests().run();
    assert_eq!(changed.code, 2, "{}", changed.everything());
    assert_eq!(approvals(&folder), 0);
    folder.put(".mcp.json", TWO);
    done(&folder, &["trust", "grant", "a", "--digest", digest]);
    assert_eq!(approvals(&folder), 1);
}

/// A refusal and `status` print the same digest.
#[test]
fn e12_status_and_a_refusal_print_the_digest_that_a_grant_takes() {
    let folder = Folder::with_entries(TWO);
    let refused = keyway(&folder, &["tools", "a"]).run();
    assert_eq!(refused.code, 4, "{}", refused.everything());
    let shown = digests(&refused);
    let status = done(&folder, &["status", "--format", "json"]);
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    let approval = &status["servers"][0]["approval"];
    assert_eq!(shown, [approval["digest"].as_str().unwrap()]);
    assert_eq!(approval["facts"][0]["text"], "prog-a");
    let text = done(&folder, &["status"]).stdout;
    let line = format!("\n  a  --digest {}\n", shown[0]);
    assert!(text.contains(&line), "{text}");
    done(&folder, &["trust", "grant", "a", "--digest", &shown[0]]);
    assert_eq!(approvals(&folder), 1);
}

#[test]
fn e12_on_a_terminal_one_answer_counts_for_all_servers_that_were_shown() {
    let folder = Folder::with_entries(TWO);
    for (answer, expected) in [("n\n", 0), ("y\n", 2)] {
        let call = keyway(&folder, &[]);
        let mut terminal = Terminal::start(&call, "exec \"$KEYWAY\" trust grant --all");
        terminal.answer("Allow all 2 of them? [y/confined/N] ", answer);
        let text = terminal.end();
        assert!(text.contains("prog-a") && text.contains("prog-b"), "{text}");
        assert_eq!(approvals(&folder), expected, "{text}");
    }
}

/// An answer that was typed before the question was shown is none.
#[test]
fn e12_what_was_typed_ahead_of_a_question_does_not_answer_it() {
    let folder = Folder::with_entries(TWO);
    let call = keyway(&folder, &[]);
    // The shell takes the first line and leaves the second in the terminal.
    let script = "echo ready; read line; exec \"$KEYWAY\" trust grant --all";
    let mut terminal = Terminal::start(&call, script);
    terminal.answer("ready", "first\ny\n");
    terminal.answer("Allow all 2 of them? [y/confined/N] ", "n\n");
    let text = terminal.end();
    assert_eq!(approvals(&folder), 0, "{text}");
}

/// Threat E5: what a file declares, or an entry that is switched off names, is no reason to leave it
/// out.
#[test]
fn e05_no_file_is_left_out_because_an_entry_names_it() {
    let config = r#"{"mcpServers": {"s": {"command": "sh", "args": ["run.sh"]},
                     "off": {"command": "true", "disabled": true, "envFile": "lib"}}, "note": "1"}"#;
    let folder = Folder::with_entries(config)
        .file("run.sh", "exit 1\n")
        .file("lib/real.sh", "1\n");
    let changes: [(&str, String); 2] = [
        ("lib/real.sh", "2\n".to_owned()),
        (".mcp.json", config.replace("\"1\"", "\"2\"")),
    ];
    for (file, text) in changes {
        done(&folder, &["trust", "grant", "s"]);
        folder.put(file, text);
        let refused = keyway(&folder, &["tools", "s"]).run();
        assert_eq!(refused.code, 4, "{}", refused.everything());
        let line = format!("    ~ {file} (changed)\n");
        assert!(refused.stderr.contains(&line), "{}", refused.stderr);
    }
}

/// Asked again, the person sees what changed.
#[test]
fn what_changed_since_an_approval_is_shown_and_files_by_name() {
    let entry = r#"{"s": {"command": "sh", "args": ["run.sh"], "env": {"MODE": "safe"}}}"#;
    let folder = Folder::with_entries(entry)
        .file("run.sh", "exit 1\n")
        .file("lib.sh", "1\n");
    done(&folder, &["trust", "grant", "s"]);
    folder.put(".mcp.json", entry.replace("safe", "fast"));
    folder.put("lib.sh", "2\n");
    let refused = keyway(&folder, &["tools", "s"]).run();
    assert_eq!(refused.code, 4, "{}", refused.everything());
    for line in [
        "  since you approved it:\n",
        "    - env       MODE=safe\n",
        "    + env       MODE=fast\n",
        // All of it counts: code of the plugin may read what no entry says.
        "    ~ .mcp.json (changed)\n",
        "    ~ lib.sh (changed)\n",
    ] {
        assert!(refused.stderr.contains(line), "{line}: {}", refused.stderr);
    }
}

/// Threat E6: the plugin's own file moves a token to another origin.
#[test]
fn e06_an_env_file_of_the_plugin_cannot_move_a_token_unasked() {
    let answer = |_: &keyway_testkit::Request| Answer::empty(404);
    let (own, other) = (Upstream::start(answer), Upstream::start(answer));
    let folder = Folder::with_entries(
        r#"{"s": {"type": "http", "url": "${API_BASE_URL}/mcp", "envFile": ".env",
                  "headers": {"Authorization": "Bearer ${CORP_TOKEN}"}}}"#,
    )
    .file(".env", format!("API_BASE_URL={}\n", own.url("")));
    let call = |arguments: &[&str]| {
        let call = keyway(&folder, arguments);
        call.env("CORP_TOKEN", "CANARY-corp").run()
    };
    assert_eq!(call(&["trust", "grant", "s"]).code, 0);
    assert_eq!(call(&["tools", "s"]).code, 1, "it is not a server");
    assert!(own.connections() > 0);
    folder.put(".env", format!("API_BASE_URL={}\n", other.url("")));
    let refused = call(&["tools", "s"]);
    assert_eq!(refused.code, 4, "{}", refused.everything());
    assert!(
        refused.stderr.contains("    + reaches   "),
        "{}",
        refused.stderr
    );
    assert!(!refused.everything().contains("CANARY"));
    assert_eq!(other.connections(), 0);
}

/// Threat E8: the code and its proof never reach a host that was not approved.
#[test]
fn e08_two_origins_of_a_sign_in_are_refused_until_approved() {
    let answer = |_: &keyway_testkit::Request| Answer::empty(401);
    let (honest, evil) = (Upstream::start(answer), Upstream::start(answer));
    let folder = Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{}", "oauth": {{"clientId": "public",
             "authorizationUrl": "{}", "tokenUrl": "{}"}}}}}}"#,
        evil.url("/mcp"),
        honest.url("/authorize"),
        evil.url("/token"),
    ));
    let refused = keyway(&folder, &["login", "s", "--no-browser"]).run();
    assert_eq!(refused.code, 4, "{}", refused.everything());
    for origin in [honest.url(""), evil.url("")] {
        let origin = origin.trim_end_matches('/');
        assert!(
            refused.stderr.contains(origin),
            "{origin}: {}",
            refused.stderr
        );
    }
    assert_eq!((honest.connections(), evil.connections()), (0, 0));
}

/// Threat E8, once it is approved: the code goes to the host that was named, with its proof, and the
/// host of the page sees neither.
#[test]
fn e08_after_an_approval_the_code_goes_to_the_host_that_was_named() {
    let page = Upstream::start(|request| {
        let (to, state) = (
            request.parameter("redirect_uri"),
            request.parameter("state"),
        );
        let (to, state) = (to.unwrap_or_default(), state.unwrap_or_default());
        Answer::redirect(302, &format!("{to}?code=CODE-1&state={state}"))
    });
    let redeemer = Upstream::start(|request| match request.path.as_str() {
        "/token" => Answer::json(
            200,
            &json!({"access_token": "CANARY-token", "token_type": "Bearer", "expires_in": 600}),
        ),
        _ => Answer::empty(401),
    });
    let desk = Desk::new(KEYWAY, Settings::default());
    let entry = format!(
        r#"{{"s": {{"type": "http", "url": "{}", "oauth": {{"clientId": "public",
             "authorizationUrl": "{}", "tokenUrl": "{}"}}}}}}"#,
        redeemer.url("/mcp"),
        page.url("/authorize"),
        redeemer.url("/token"),
    );
    desk.folder.put(".mcp.json", entry);
    let granted = desk.keyway(&["trust", "grant", "s"]).run();
    assert_eq!(granted.code, 0, "{}", granted.everything());
    let asked = |upstream: &Upstream| upstream.seen().iter().any(|it| it.path == "/token");
    assert!(
        page.seen().is_empty() && !asked(&redeemer),
        "before a sign-in"
    );
    let _person = desk.person();
    let signed_in = desk.keyway(&["login", "s"]).run();
    assert_eq!(signed_in.code, 0, "{}", signed_in.everything());
    let redeemed: Vec<_> = redeemer.seen();
    let redeemed: Vec<_> = redeemed.iter().filter(|it| it.path == "/token").collect();
    let [redeemed] = redeemed.as_slice() else {
        panic!("{redeemed:?}");
    };
    assert_eq!(redeemed.field("code").as_deref(), Some("CODE-1"));
    let verifier = redeemed.field("code_verifier").unwrap();
    for request in page.seen() {
        let request = request.to_string();
        assert!(!request.contains(&verifier), "{request}");
        assert!(!request.contains("CODE-1"), "{request}");
    }
}

/// Threat E5: the registry that a plugin names is not asked for a package of another.
#[test]
fn e05_an_npmrc_of_the_plugin_has_no_effect_on_a_package_runner() {
    let path = std::env::var("PATH").unwrap_or_default();
    if !path
        .split(':')
        .any(|folder| std::path::Path::new(folder).join("npx").exists())
    {
        // Where all tools are installed it is there.
        assert!(std::env::var_os("KEYWAY_TOOLS").is_none(), "no `npx`");
        return;
    }
    let answer = |_: &keyway_testkit::Request| Answer::empty(404);
    let (persons, plugins) = (Upstream::start(answer), Upstream::start(answer));
    let entry = r#"{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem"]}"#;
    let folder = Folder::new()
        .file(
            "plugin/.mcp.json",
            format!(r#"{{"mcpServers": {{"s": {entry}}}}}"#),
        )
        .file(
            "plugin/.npmrc",
            format!("registry={}\nfetch-retries=0\n", plugins.url("/")),
        )
        .file("plugin/package.json", "{}")
        .file(
            "home/.npmrc",
            format!("registry={}\nfetch-retries=0\n", persons.url("/")),
        );
    let call = keyway(&folder, &["tools", "s", "--trust", "--config", "plugin"]);
    let call = call.env("HOME", folder.at("home"));
    let outcome = call.run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(persons.connections() > 0, "{}", outcome.everything());
    assert_eq!(plugins.connections(), 0, "{}", outcome.everything());
}

/// Threat E5: nor is the index that a `uv.toml` or a `pyproject.toml` of the plugin names.
#[test]
fn e05_settings_of_the_plugin_have_no_effect_on_uvx() {
    let Some(tools) = Tools::find(&["python/bin/uvx"]) else {
        return;
    };
    let answer = |_: &keyway_testkit::Request| Answer::empty(404);
    let (persons, plugins) = (Upstream::start(answer), Upstream::start(answer));
    let (uvx, index) = (tools.at("python/bin/uvx"), plugins.url("/simple"));
    let entry = format!(r#"{{"s": {{"command": "{uvx}", "args": ["mcp-server-git"]}}}}"#);
    let project = format!("{PROJECT}[tool.uv]\nindex-url = \"{index}\"\n");
    let folder = Folder::new()
        .file("plugin/.mcp.json", entry)
        .file("plugin/uv.toml", format!("index-url = \"{index}\"\n"))
        .file("plugin/pyproject.toml", project)
        .file(
            "plugin/pip.conf",
            format!("[global]\nindex-url = {index}\n"),
        )
        .file(
            "home/.config/uv/uv.toml",
            format!("index-url = \"{}\"\n", persons.url("/simple")),
        );
    let call = keyway(&folder, &["tools", "s", "--trust", "--config", "plugin"]);
    let outcome = call.env("HOME", folder.at("home")).run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(persons.connections() > 0, "{}", outcome.everything());
    assert_eq!(plugins.connections(), 0, "{}", outcome.everything());
}

const NODE: &str = r#"const { name } = require("dep");
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const info = { name: "s", version: "1" };
  const results = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: info },
    "tools/list": { tools: [{ name, inputSchema: { type: "object" } }] },
  };
  const error = { code: -32601, message: "no" };
  const answer = results[method] ? { result: results[method] } : { error };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\n");
});
"#;

const PYTHON: &str = r#"import json, sys
from pkg.dep import name
info = {"name": "s", "version": "1"}
results = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info},
    "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}}]},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        result = results.get(message["method"])
        answer.update({"result": result} if result else {"error": {"code": -32601, "message": "no"}})
        print(json.dumps(answer), flush=True)
"#;

/// A folder that is run as it is, with what it imports, asks once, and again if one byte changes.
#[test]
fn ten_starts_of_a_folder_ask_once() {
    let node = r#"{"s": {"command": "node", "args": ["."]}}"#;
    let python = r#"{"s": {"command": "python3", "args": ["-m", "pkg"]}}"#;
    let uv = uv_entry();
    let entries = [
        Some((node, "node_modules/dep/index.js")),
        Some((python, "pkg/dep.py")),
    ];
    let uv = uv.as_deref().map(|entry| (entry, "pkg/dep.py"));
    for (entry, imported) in entries.into_iter().chain([uv]).flatten() {
        let folder = Folder::with_entries(entry)
            .file("package.json", "{}")
            .file("index.js", NODE)
            .file("node_modules/dep/index.js", "exports.name = 'fine';\n")
            .file("pkg/__init__.py", "")
            .file("pkg/__main__.py", PYTHON)
            .file("pkg/dep.py", "name = 'fine'\n")
            .file("pyproject.toml", PROJECT)
            .file("uv.lock", LOCK);
        let before = folder.files();
        done(&folder, &["trust", "grant", "s"]);
        for _ in 0..10 {
            let listed = done(&folder, &["tools", "s"]);
            assert!(listed.stdout.contains("fine"), "{}", listed.everything());
        }
        let own = |file: &String| !file.starts_with("keyway/") && !before.contains(file);
        let left: Vec<String> = folder.files().into_iter().filter(own).collect();
        assert!(left.is_empty(), "{entry}: {left:?}");
        folder.put(imported, "changed");
        let refused = keyway(&folder, &["tools", "s"]).run();
        assert_eq!(refused.code, 4, "{}", refused.everything());
        let line = format!("    ~ {imported} (changed)\n");
        assert!(refused.stderr.contains(&line), "{}", refused.stderr);
    }
}

const PROJECT: &str = "[project]\nname = \"pkg\"\nversion = \"1\"\nrequires-python = \">=3.9\"\n";
const LOCK: &str = "version = 1\nrevision = 3\nrequires-python = \">=3.9\"\n\n[[package]]\nname = \"pkg\"\nversion = \"1\"\nsource = { virtual = \".\" }\n";

/// `uv run` in a project, where the tools of the tests are installed.
fn uv_entry() -> Option<String> {
    let tools = Tools::find(&["python/bin/uv"])?;
    let uv = tools.at("python/bin/uv");
    let args = r#"["run", "--offline", "--locked", "python", "-m", "pkg"]"#;
    Some(format!(r#"{{"s": {{"command": "{uv}", "args": {args}}}}}"#))
}
