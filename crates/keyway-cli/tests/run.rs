//! `keyway run` over hours, in seconds: sign-ins that come and go while a client is connected.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyway_testkit::rig::Settings;
use keyway_testkit::{
    self as testkit, Answer, Desk, Folder, Gateway, Keyway, Running, Upstream, eventually, mcp,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// A client that is connected.
struct Client {
    run: Running,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    asked: u32,
}

impl Client {
    fn connect(desk: &Desk) -> Self {
        let mut run = desk.without_browser(&["run", "--server", "s"]).start();
        let stdin = run.child.stdin.take();
        let stdout = BufReader::new(run.child.stdout.take().unwrap());
        let mut client = Self {
            run,
            stdin,
            stdout,
            asked: 0,
        };
        client.ask(r#""method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#);
        client
    }

    fn call(&mut self) -> String {
        self.ask(
            r#""method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}"#,
        )
    }

    fn ask(&mut self, members: &str) -> String {
        self.asked += 1;
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(
            stdin,
            r#"{{"jsonrpc":"2.0","id":{},{members}}}"#,
            self.asked
        )
        .unwrap();
        let mark = format!(r#""id":{}"#, self.asked);
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it ended");
            if line.contains(&mark) {
                return line;
            }
        }
    }
}

/// A sign-in that was made elsewhere counts at the next request, and so does a sign-out.
#[test]
fn a_running_client_uses_a_sign_in_that_another_process_made() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let mut client = Client::connect(&desk);
    assert!(client.call().contains("Echo: hello"));
    assert_eq!(desk.keyway(&["logout", "s"]).run().code, 0);
    let refused = client.call();
    assert!(!refused.contains("Echo"), "{refused}");
    desk.sign_in();
    eventually("it is noticed", || client.call().contains("Echo: hello"));
}

/// What a person has to do is in the error that the client gets, and not only in `doctor`.
#[test]
fn an_error_of_the_one_server_says_what_to_do_and_who_can_do_it() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    let mut client = Client::connect(&desk);
    assert!(client.call().contains("Echo: hello"));
    desk.rig.set(|settings| settings.rejects_all = true);
    let answer: serde_json::Value = serde_json::from_str(&client.call()).unwrap();
    let error = &answer["error"];
    assert_eq!(error["data"]["code"], "oauth-loop", "{answer}");
    let hint = error["data"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("after that: keyway login s"), "{answer}");
    assert_eq!(error["data"]["fixable_by"], "server-operator", "{answer}");
    assert_eq!(error["data"]["state"], "needs-auth", "{answer}");
}

/// A client that starts while the server is down gets the tools that the last one saw, whatever
/// way the server is authenticated to.
#[test]
fn tools_of_a_server_that_is_down_at_the_start_are_those_of_the_last_look() {
    let is_down = Arc::new(AtomicBool::new(false));
    let down = Arc::clone(&is_down);
    let server = Upstream::start(move |request| {
        if down.load(Ordering::SeqCst) {
            return Answer::empty(500);
        }
        mcp(request, |method, _| {
            let tools = json!({ "tools": [{ "name": "echo", "inputSchema": {"type": "object"} }] });
            (method == "tools/list").then_some(tools)
        })
    });
    let entry =
        json!({ "url": server.url("/mcp"), "type": "http", "headers": {"X-Key": "${KEY}"} });
    let folder = Folder::with_entries(&json!({ "s": entry }).to_string());
    let keyway = || {
        Keyway::new(KEYWAY, folder.path())
            .env("KEYWAY_HOME", folder.at("home"))
            .env("KEY", "k")
    };
    // There is a vault.
    drop(Gateway::token(keyway(), &["--name", "n"]));
    let run = || keyway().args(["run", "--trust", "s"]);
    let mut client = testkit::Client::start(&run());
    assert_eq!(client.tools(), ["echo"]);
    drop(client.leave());
    is_down.store(true, Ordering::SeqCst);
    let mut client = testkit::Client::start(&run());
    assert_eq!(client.tools(), ["echo", "status"]);
    drop(client.leave());
}

/// Two plugins may have the same name, and one must not speak for the other while that is down.
#[test]
fn tools_of_a_local_server_are_remembered_for_its_own_plugin_alone() {
    let server = r##"#!/bin/sh
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
  *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
  *'"method":"tools/list"'*) result='{"tools":[{"name":"TOOL","inputSchema":{"type":"object"}}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"##;
    let entry = r#"{"mcpServers": {"s": {"command": "${HOST_PLUGIN_ROOT}/server.sh"}}}"#;
    let folder = Folder::new();
    for plugin in ["one", "two"] {
        folder.put(&format!("{plugin}/acme/.mcp.json"), entry);
    }
    let folder = folder
        .executable("one/acme/server.sh", "#!/bin/sh\nexit 3\n")
        .executable("two/acme/server.sh", server.replace("TOOL", "of_two"));
    let keyway = || Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
    // There is a vault.
    drop(Gateway::token(keyway(), &["--name", "n"]));
    let tools = |plugin: &str| {
        let at = folder.at(&format!("{plugin}/acme"));
        let run = keyway()
            .args(["run", "--trust", "s", "--config"])
            .args([at.as_os_str()]);
        let mut client = testkit::Client::start(&run);
        let tools = client.tools();
        drop(client.leave());
        tools
    };
    assert_eq!(tools("two"), ["of_two"]);
    assert_eq!(tools("one"), ["status"], "its own were never seen");
    folder.put("two/acme/server.sh", "#!/bin/sh\nexit 3\n");
    assert_eq!(tools("two"), ["of_two", "status"]);
}

/// A variable that is not set is something that a person can put right: a client that had an error
/// for `initialize` would not come back for it.
#[test]
fn initialize_succeeds_although_a_variable_is_not_set() {
    let entries = json!({
        "s": { "url": "https://h.example/mcp", "type": "http", "headers": {"X-Key": "${KEY}"} },
    });
    let folder = Folder::with_entries(&entries.to_string());
    let keyway = || Keyway::new(KEYWAY, folder.path()).env("KEYWAY_HOME", folder.at("home"));
    let mut client = testkit::Client::start(&keyway().args(["run", "--trust", "s"]));
    assert_eq!(client.tools(), ["status"]);
    let told = client.call("status").to_string();
    assert!(told.contains("KEY"), "{told}");
    assert!(told.contains("keyway env set"), "the remedy: {told}");
    drop(client.leave());
    let token = Gateway::token(keyway(), &["--name", "n"]);
    let gateway = Gateway::start(keyway(), &["--trust", "--quiet"]);
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    for path in ["/mcp", "/mcp/s"] {
        let answer = gateway.post(path, Some(&token), hello);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        assert!(answer.contains("serverInfo"), "{path}: {answer}");
    }
}

/// A token that is renewed ahead of its end is kept even if the client leaves meanwhile: by then the
/// old one is spent.
#[test]
fn a_client_that_leaves_during_a_renewal_loses_no_sign_in() {
    for ending in [
        None,
        Some(Signal::TERM),
        Some(Signal::INT),
        Some(Signal::HUP),
        Some(Signal::QUIT),
    ] {
        let mut settings = Settings::default();
        settings.expires_in = Some(4);
        let desk = Desk::new(KEYWAY, settings);
        desk.sign_in();
        let mut client = Client::connect(&desk);
        desk.rig
            .set(|settings| settings.token_delay = Duration::from_secs(2));
        // The renewal begins before the token ends, and no call waits for it.
        eventually("it is renewed", || {
            assert!(client.call().contains("Echo: hello"));
            desk.rig.refreshes() > 0
        });
        // Some clients close the input first and send a signal then, some the other way round.
        if ending == Some(Signal::TERM) {
            drop(client.stdin.take());
            // Nothing shows from outside when the end of the input was noticed.
            std::thread::sleep(Duration::from_millis(300));
        }
        if let Some(signal) = ending {
            kill_process(Pid::from_child(&client.run.child), signal).unwrap();
        }
        drop(client.stdin.take());
        drop(client.run.outcome());
        still_signed_in(&desk, &format!("{ending:?}"));
    }
}

/// A token endpoint that takes longer than callers wait does not cost a sign-in.
#[test]
fn an_answer_after_fifteen_seconds_is_kept_by_the_command_that_asked_for_it() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig.reset();
    desk.rig
        .set(|settings| settings.token_delay = Duration::from_secs(15));
    let call = desk
        .without_browser(&["call", "s", "echo", "message=hello"])
        .run();
    assert_eq!(call.code, 5, "{}", call.everything());
    let text = call.everything();
    assert!(text.contains("has not answered for 10 seconds"), "{text}");
    assert!(text.contains("its answer will be stored"), "{text}");
    assert!(!text.contains("nothing was lost"), "{text}");
    assert_eq!(desk.rig.refreshes(), 1);
    still_signed_in(&desk, "slow");
}

/// Suspended, stopped by a debugger, or a virtual machine that froze: the answer lies in the socket.
#[test]
fn a_process_that_is_stopped_for_twelve_seconds_keeps_its_answer() {
    let desk = Desk::new(KEYWAY, Settings::default());
    desk.sign_in();
    desk.rig.reset();
    desk.rig
        .set(|settings| settings.token_delay = Duration::from_secs(1));
    let mut call = desk
        .without_browser(&["call", "s", "echo", "message=hello"])
        .start();
    eventually("it is sent", || desk.rig.refreshes() == 1);
    // The command, and the process that carries its exchange: each owns a lock with its number.
    let mut stopped = vec![Pid::from_child(&call.child)];
    let owners = desk.folder.files().into_iter();
    let owners = owners.filter(|file| file.contains("/owners/") && file.ends_with(".lock"));
    for owner in owners {
        let number = desk.folder.read(&owner).trim().parse().unwrap();
        stopped.extend(Pid::from_raw(number));
    }
    stopped.dedup();
    assert!(stopped.len() > 1, "the process that has the answer");
    for process in &stopped {
        kill_process(*process, Signal::STOP).unwrap();
    }
    // Long enough for every time limit of a caller to pass meanwhile.
    std::thread::sleep(Duration::from_secs(12));
    for process in &stopped {
        kill_process(*process, Signal::CONT).unwrap();
    }
    drop(call.outcome());
    still_signed_in(&desk, "stopped");
}

/// A second process calls with what the first one stored, or the server has seen a token twice.
fn still_signed_in(desk: &Desk, what: &str) {
    desk.rig.set(|settings| {
        settings.token_delay = Duration::ZERO;
        settings.expires_in = Some(3600);
    });
    desk.rig.reset();
    let call = desk
        .without_browser(&["call", "s", "echo", "message=hello"])
        .run();
    assert_eq!(call.code, 0, "{what}: {}", call.everything());
    let families = desk.rig.families();
    assert!(families.first().unwrap().is_chain(), "{what}");
    assert_eq!(desk.windows().len(), 1, "{what}");
}
