//! Commands that connect, against the reference server over three transports and the official
//! client; both are found below `KEYWAY_TOOLS`, and without them these tests say so.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start servers, and stop where they cannot"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use keyway_testkit::{Answer, Folder, Keyway, Tools, Upstream, eventually, free_port};

/// The author of the entry also wrote the file, and the person has not agreed to read it.
#[test]
fn a_file_that_is_too_large_is_not_read_and_the_approval_says_so() {
    let folder = Folder::with_entries(
        r#"{"mcpServers": {"s": {"command": "sh", "args": ["-c", "echo ran", "large"]}}}"#,
    );
    let large = std::fs::File::create(folder.at("large")).unwrap();
    large.set_len(1 << 40).unwrap();
    let refused = keyway(&folder).args(["tools", "s"]).run();
    assert_eq!(refused.code, 4, "{}", refused.everything());
    assert!(
        refused.stderr.contains("more than 1 GiB"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("!! not covered: `large`"),
        "{}",
        refused.stderr
    );
    let granted = keyway(&folder).args(["trust", "grant", "s"]).run();
    assert_eq!(granted.code, 0, "{}", granted.everything());
}

/// Commands that want to use a file report what `keyway check` says of it.
#[test]
fn what_is_left_out_is_told_with_its_place_and_what_to_do() {
    let commented =
        "{\n  // mine\n  \"mcpServers\": {\"s\": {\"url\": \"http://127.0.0.1:9/\"}}\n}\n";
    let cut = "{\"mcpServers\": {\"s\": {\"url\": \"http://127.0.0.1:9/\"";
    let lacking = "{\"mcpServers\": {\"s\": {\"type\": \"http\"}}}";
    for (text, place, said, hint) in [
        (
            commented,
            "at 2:3",
            "comments are not allowed [invalid-json]",
            "README",
        ),
        (cut, "at 1:", "[invalid-json]", ""),
        (
            lacking,
            "`s` of `plugin/.mcp.json` cannot be used at 1:17",
            "neither `url` nor `command` [invalid-entry]",
            "give it a `url`",
        ),
    ] {
        let folder = Folder::new().file("plugin/.mcp.json", text).file(
            "other/.mcp.json",
            r#"{"mcpServers": {"works": {"type": "http", "url": "http://127.0.0.1:9/"}}}"#,
        );
        for arguments in [
            ["run", "plugin"].as_slice(),
            &["serve", "plugin", "--listen", "127.0.0.1:0"],
            &["tools", "--config", "plugin"],
            &["tools", "s", "--config", "plugin"],
            &["run", "plugin", "--server", "s"],
            &["install", "cursor", "--all", "--config", "plugin", "--yes"],
        ] {
            let call = keyway(&folder).args(arguments.iter().copied());
            let outcome = call.env("HOME", folder.at("home")).run();
            assert_eq!(outcome.code, 1, "{}", outcome.everything());
            for part in ["`plugin/.mcp.json` cannot be used", place, said, hint] {
                assert!(outcome.stderr.contains(part), "{arguments:?}: {outcome:?}");
            }
        }
        let serve = [
            "serve",
            "plugin",
            "other",
            "--listen",
            "127.0.0.1:0",
            "--while-input",
        ];
        let outcome = keyway(&folder).args(serve).run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
        assert!(outcome.stderr.starts_with("note: "), "{outcome:?}");
        for part in [
            "`plugin/.mcp.json` cannot be used",
            place,
            said,
            "skipping it",
        ] {
            assert!(outcome.stderr.contains(part), "{outcome:?}");
        }
        assert!(outcome.stderr.contains("/mcp/other/works"), "{outcome:?}");
    }
}

/// A name that nothing hides is unknown, and nothing is told where nothing is left out.
#[test]
fn what_is_whole_is_used_without_a_word() {
    let folder = Folder::with_entries(
        r#"{"mcpServers": {"s": {"type": "http", "url": "http://127.0.0.1:9/"}, "broken": {}, "off": {"type": "http", "url": "http://127.0.0.1:9/", "disabled": true}}}"#,
    );
    let all = keyway(&folder).args(["run"]).run();
    assert_eq!(all.code, 0, "{}", all.everything());
    assert_eq!(all.stderr.matches("note: ").count(), 1, "{all:?}");
    assert!(all.stderr.contains("`broken` of"), "{all:?}");
    for arguments in [["run", "--server", "s"].as_slice(), &["run", "--quiet"]] {
        let outcome = keyway(&folder).args(arguments.iter().copied()).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    }
    let unknown = keyway(&folder).args(["tools", "nobody"]).run();
    assert_eq!(unknown.code, 2, "{}", unknown.everything());
    assert!(unknown.stderr.contains("there is no server `nobody`"));
}

#[test]
fn nothing_runs_before_it_is_approved_and_everything_after() {
    let folder = Folder::with_entries(
        r#"{"mcpServers": {"s": {"command": "sh", "args": ["-c", "echo ran > \"$MARK\""], "env": {"MARK": "${MARK}"}}}}"#,
    );
    // Elsewhere: a new file in the plugin asks again.
    let outside = Folder::new();
    let mark = outside.at("mark");
    let call = |arguments: &[&str]| {
        let call = keyway(&folder).args(arguments.iter().copied());
        call.env("MARK", mark.clone()).run()
    };
    let refused = call(&["tools", "s"]);
    assert_eq!(refused.code, 4, "{}", refused.everything());
    assert!(
        refused.stderr.contains("keyway trust grant s"),
        "{}",
        refused.stderr
    );
    assert!(!mark.exists());
    assert!(call(&["status"]).stdout.contains("needs approval"));
    let granted = call(&["trust", "grant", "s"]);
    assert_eq!(granted.code, 0, "{}", granted.everything());
    assert!(
        granted
            .stderr
            .contains(r#"runs      sh -c 'echo ran > "$MARK"'"#),
        "{}",
        granted.stderr
    );
    // It is not an MCP server, so listing fails, but it ran.
    assert_eq!(call(&["tools", "s"]).code, 1);
    assert!(mark.exists());
    assert!(call(&["trust", "list"]).stdout.contains(":s"));
    assert!(!call(&["status"]).stdout.contains("needs approval"));
    assert_eq!(call(&["trust", "revoke", "s"]).code, 0);
    assert_eq!(call(&["tools", "s"]).code, 4);
}

#[test]
fn a_program_that_ends_at_once_is_reported_with_its_last_words_and_what_it_may_have_missed() {
    let folder = Folder::with_entries(
        r#"{"mcpServers": {"s": {"command": "${HOST_PLUGIN_ROOT}/s.sh", "env": {"OWN": "${OWN}"}},
            "h": {"type": "http", "url": "http://127.0.0.1:9/", "headersHelper": "./h.sh"}}}"#,
    )
    .executable(
        "s.sh",
        "#!/bin/sh\n[ -n \"$REGION\" ] && echo region >&2\necho \"got $OWN\" >&2\necho 'REGION must be set' >&2\nexit 3\n",
    )
    .executable("h.sh", "#!/bin/sh\necho 'no REGION here' >&2\nexit 1\n");
    let call = |arguments: &[&str]| {
        let call = keyway(&folder).args(arguments.iter().copied());
        call.env("OWN", "CANARY-own")
            .env("GITHUB_TOKEN", "CANARY-token")
            .env("REGION", "CANARY-region")
            .env("EDITOR", "vi")
            .run()
    };
    assert_eq!(call(&["trust", "grant", "s"]).code, 0);
    let outcome = call(&["tools", "s"]);
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(
        !outcome.everything().contains("CANARY"),
        "{}",
        outcome.everything()
    );
    let expected = "  caused by: the server process ended with exit code 3\n  | got [redacted]\n  | REGION must be set\n\nhint: it did not get REGION of your shell; if it needs it: keyway trust grant s --env REGION\n";
    assert!(outcome.stderr.ends_with(expected), "{}", outcome.stderr);
    // The command that is named does what it says, and for `--trust` as well.
    assert_eq!(call(&["trust", "grant", "s", "--env", "REGION"]).code, 0);
    for arguments in [&["tools", "s"][..], &["tools", "s", "--trust"]] {
        let outcome = call(arguments);
        assert!(
            outcome.stderr.contains("  | region\n"),
            "{}",
            outcome.stderr
        );
        assert!(
            !outcome.stderr.contains("--env REGION"),
            "{}",
            outcome.stderr
        );
    }
    let helper = call(&["tools", "h", "--trust"]);
    assert!(
        helper.stderr.contains("  | no REGION here\n"),
        "{}",
        helper.stderr
    );
    assert!(
        helper.stderr.contains("keyway trust grant h --env REGION"),
        "{}",
        helper.stderr
    );
}

/// Threat D19 and the seed's "Token not found".
#[test]
fn d19_an_unset_variable_sends_nothing() {
    let server = Upstream::start(|_| Answer::empty(401));
    let folder = folder_for(
        &server,
        r#", "headers": {"Authorization": "Bearer ${NO_SUCH_TOKEN}"}"#,
    );
    let outcome = keyway(&folder).args(["tools", "s", "--trust"]).run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("`NO_SUCH_TOKEN` is not set"),
        "{}",
        outcome.stderr
    );
    assert!(server.seen().is_empty());
}

#[test]
fn a_rejected_static_token_is_never_followed_by_discovery() {
    let server = Upstream::start(|_| {
        Answer::empty(401).with("www-authenticate", r#"Bearer resource_metadata="/x""#)
    });
    let folder = folder_for(
        &server,
        r#", "headers": {"Authorization": "Bearer ${TOKEN}"}"#,
    );
    let call = keyway(&folder)
        .args(["tools", "s", "--trust"])
        .env("TOKEN", "CANARY-4711");
    let outcome = call.run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(outcome.stderr.contains("HTTP 401"), "{}", outcome.stderr);
    assert!(!outcome.everything().contains("CANARY"));
    let requests = server.seen();
    let [only] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert_eq!((&*only.method, &*only.path), ("POST", "/mcp"));
    assert_eq!(only.header("authorization"), Some("Bearer CANARY-4711"));
}

/// The explanations of `doctor`, where people meet the error; nothing more is asked for them.
#[test]
fn a_refused_credential_is_explained_by_every_command() {
    let server = Upstream::start(|_| Answer::empty(401));
    let folder = folder_for(
        &server,
        r#", "headers": {"Authorization": "Bearer ${TOKEN}"}"#,
    );
    for (token, words) in [
        ("CANARY-4711", "comes from `TOKEN`, which is set"),
        ("Bearer CANARY-4711", "its scheme appears twice"),
        // A JWT of 1970.
        ("eyJhbGciOiJub25lIn0.eyJleHAiOjB9.c2ln", " days ago"),
    ] {
        for command in ["tools", "probe"] {
            let outcome = keyway(&folder)
                .args([command, "s", "--trust"])
                .env("TOKEN", token)
                .run();
            let said = outcome.everything();
            assert!(said.contains(words), "{command}: {said}");
            assert!(said.contains("export TOKEN=…"), "{command}: {said}");
            assert!(!said.contains("SERVER"), "{command}: {said}");
            assert!(!said.contains("CANARY"), "{command}: {said}");
        }
    }
}

#[test]
fn a_refusal_without_a_credential_speaks_of_no_variable() {
    let server = Upstream::start(|_| Answer::empty(401));
    let folder = folder_for(&server, r#", "oauth": false"#);
    let outcome = keyway(&folder).args(["tools", "s", "--trust"]).run();
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    let said = &outcome.stderr;
    assert!(said.contains("the entry sends none"), "{said}");
    assert!(!said.contains("variable behind"), "{said}");
}

#[test]
fn a_rate_limit_is_not_a_server_fault() {
    let server = Upstream::start(|_| Answer::empty(429).with("retry-after", "7"));
    let folder = folder_for(
        &server,
        r#", "headers": {"Authorization": "Bearer ${TOKEN}"}"#,
    );
    let call = keyway(&folder).args(["tools", "s", "--trust", "--format", "json"]);
    let outcome = call.env("TOKEN", "t0").run();
    let said = outcome.everything();
    assert!(said.contains("rate-limited"), "{said}");
    assert!(said.contains("wait 7 s"), "{said}");
    assert!(!said.contains("server is failing"), "{said}");
}

#[test]
fn an_unset_variable_is_told_with_its_place_and_under_its_own_code() {
    let server = Upstream::start(|_| Answer::empty(401));
    let folder = folder_for(
        &server,
        r#", "headers": {"Authorization": "Bearer ${NO_SUCH_TOKEN}"}"#,
    );
    let call = keyway(&folder).args(["tools", "s", "--trust", "--format", "json"]);
    let told: serde_json::Value = serde_json::from_str(&call.run().stdout).unwrap();
    let found = &told["diagnostics"][0];
    assert_eq!(found["code"], "unresolved-variable", "{told}");
    assert!(found["source"]["line"].is_u64(), "{told}");
    let pointer = found["source"]["pointer"].as_str().unwrap_or_default();
    assert!(pointer.ends_with("/headers/Authorization"), "{told}");
    assert!(server.seen().is_empty());
}

#[test]
fn a_server_that_is_not_there_is_a_network_error() {
    let port = free_port();
    let folder = Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp"}}}}"#
    ));
    let outcome = keyway(&folder).args(["tools", "s"]).run();
    assert_eq!(outcome.code, 5, "{}", outcome.everything());
    assert!(outcome.stdout.is_empty());
    let script = keyway(&folder)
        .args(["tools", "s", "--format", "json"])
        .run();
    assert_eq!(script.code, 5);
    let object: serde_json::Value = serde_json::from_str(&script.stdout).unwrap();
    assert_eq!(object["schema_version"], 1);
    assert_eq!(object["diagnostics"][0]["severity"], "error");
    assert_eq!(object["diagnostics"][0]["server"], "s");
    assert!(object["diagnostics"][0]["hint"].is_string(), "{object}");
}

#[test]
fn the_reference_server_answers_over_stdio_http_and_sse() {
    let Some(tools) = Tools::find(&[EVERYTHING]) else {
        return;
    };
    let script = tools.at(EVERYTHING);
    let http = Reference::start(&script, "streamableHttp");
    let sse = Reference::start(&script, "sse");
    let folder = Folder::with_entries(&format!(
        r#"{{"local": {{"command": "node", "args": ["{}", "stdio"]}},
            "web": {{"type": "http", "url": "http://127.0.0.1:{}/mcp"}},
            "old": {{"type": "sse", "url": "http://127.0.0.1:{}/sse"}}}}"#,
        script, http.port, sse.port
    ));
    for server in ["local", "web", "old"] {
        let call = |arguments: &[&str]| keyway(&folder).args(arguments.iter().copied()).run();
        let tools = call(&["tools", server, "--trust"]);
        assert!(
            tools.stdout.lines().any(|l| l.starts_with("echo ")),
            "{}",
            tools.everything()
        );
        let echo = call(&["call", server, "echo", "message=hello", "--trust"]);
        assert_eq!(echo.stdout, "Echo: hello\n", "{}", echo.everything());
        let sum = call(&[
            "call", server, "get-sum", "a=2", "b=3", "--format", "json", "--trust",
        ]);
        assert!(
            sum.stdout.contains("The sum of 2 and 3 is 5."),
            "{}",
            sum.everything()
        );
        let wrong = call(&["call", server, "no-such-tool", "--trust"]);
        assert_eq!(wrong.code, 2, "{}", wrong.everything());
    }
}

#[test]
fn the_official_client_works_through_keyway_run() {
    let Some(tools) = Tools::find(&[EVERYTHING]) else {
        return;
    };
    let script = tools.at(EVERYTHING);
    let http = Reference::start(&script, "streamableHttp");
    let folder = Folder::with_entries(&format!(
        r#"{{"local": {{"command": "node", "args": ["{}", "stdio"]}},
            "web": {{"type": "http", "url": "http://127.0.0.1:{}/mcp"}}}}"#,
        script, http.port
    ));
    let client = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/reach/client.mjs");
    for server in ["local", "web"] {
        let output = Command::new("node")
            .arg(&client)
            .args([&tools.modules(), env!("CARGO_BIN_EXE_keyway")])
            .arg("run")
            .arg(folder.path())
            .args(["--server", server, "--trust"])
            .env("KEYWAY_HOME", folder.at("home"))
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            printed.contains(r#""echo":"Echo: hello""#),
            "{server}: {printed} {errors}"
        );
        assert!(!printed.contains(r#""progress":0"#), "{server}: {printed}");
        assert!(
            printed.contains(r#""asked":1"#),
            "{server}: {printed} {errors}"
        );
        assert!(errors.is_empty(), "{server}: {errors}");
    }
}

#[test]
fn a_client_may_read_from_a_file_what_it_asked_on_a_pipe() {
    let folder = Folder::with_entries(
        r#"{"a": {"command": "sh", "args": ["-c", "exit 0"]}, "b": {"command": "sh"}}"#,
    );
    let output = std::fs::File::create(folder.at("answers.txt")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_keyway"))
        .args(["run"])
        .current_dir(folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // The pauses are what is tested: a reader that has to wait for input, and for its end.
    std::thread::sleep(Duration::from_millis(200));
    input
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n")
        .unwrap();
    // The second pause, before the end of the input.
    std::thread::sleep(Duration::from_millis(200));
    drop(input);
    let ended = child.wait_with_output().unwrap();
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert!(folder.read("answers.txt").contains(r#""name":"keyway""#));
}

#[test]
fn one_endpoint_serves_all_servers_and_an_unapproved_one_says_so() {
    let server = Upstream::start(|_| Answer::empty(500));
    let folder = Folder::with_entries(&format!(
        r#"{{"down": {{"type": "http", "url": "http://127.0.0.1:{}/mcp"}},
            "new": {{"command": "sh", "args": ["-c", "exit 0"]}}}}"#,
        server.port()
    ));
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let lines = converse(&folder, &[hello, list], 2);
    assert!(
        lines[0].contains(r#""protocolVersion":"2025-11-25""#),
        "{lines:?}"
    );
    assert!(
        lines[1].contains("down__status") && lines[1].contains("new__status"),
        "{lines:?}"
    );
    let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"new__status"}}"#;
    let lines = converse(&folder, &[hello, call], 2);
    assert!(lines[1].contains("pending-trust"), "{lines:?}");
    assert!(lines[1].contains("keyway trust grant new"), "{lines:?}");
}

/// Runs `keyway run` on a folder, writes lines to it, and returns the first answers.
fn converse(folder: &Folder, lines: &[&str], answers: usize) -> Vec<String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_keyway"))
        .arg("run")
        .arg(folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let is_answer = |line: &String| line.contains(r#""id":"#);
    let read: Vec<String> = stdout
        .lines()
        .map_while(Result::ok)
        .filter(is_answer)
        .take(answers)
        .collect();
    drop(stdin);
    drop(child.wait());
    read
}

fn keyway(folder: &Folder) -> Keyway {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .env("PATH", path)
}

fn folder_for(server: &Upstream, fields: &str) -> Folder {
    let url = server.url("/mcp");
    Folder::with_entries(&format!(
        r#"{{"s": {{"type": "http", "url": "{url}"{fields}}}}}"#
    ))
}

/// Below `KEYWAY_TOOLS`: the reference server.
const EVERYTHING: &str = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/// The reference server on a port of its own.
struct Reference {
    child: Child,
    port: u16,
}

impl Reference {
    fn start(script: &str, transport: &str) -> Self {
        let port = free_port();
        let child = Command::new("node")
            .arg(script)
            .arg(transport)
            .env("PORT", port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let reference = Self { child, port };
        eventually("the reference server listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        reference
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
