//! `keyway run` and a gateway of the same user: one process holds the connections.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyway_testkit::{Canary, Client, Folder, PATIENCE, eventually};
use serde_json::json;

use crate::live::done;
use crate::live::gateway::{Gateway, around};
use crate::live::upstream::Upstream;

/// A client of `keyway run`.
struct Runner(Client);

impl Runner {
    fn start(folder: &Folder, words: &[&str], variables: &[(&str, &str)]) -> Self {
        let call = around(&folder.at("home"), folder, variables).args(["run", "p"]);
        Self(Client::start(&call.args(words.iter().copied())))
    }

    /// Returns the tenant that the server sees.
    fn tenant(&mut self, tool: &str) -> String {
        let answer = self.0.ask("tools/call", &json!({"name": tool}));
        let text = answer["result"]["content"][0]["text"].as_str();
        text.map_or_else(|| answer.to_string(), str::to_owned)
    }
}

/// Sends the gateway a signal.
fn signal(gateway: &Gateway, name: &str) {
    let id = gateway.process.running.child.id().to_string();
    let sent = Command::new("/bin/kill").args(["-s", name, &id]).status();
    assert!(sent.unwrap().success());
}

/// Whose connection a client uses.
#[derive(Clone, Copy)]
enum Way {
    ThroughTheGateway,
    Alone,
}

/// Asserts on which way it goes what a client asks, while the gateway does nothing.
#[track_caller]
fn goes(way: Way, (gateway, upstream): (&Gateway, &Upstream), runner: &mut Runner, tool: &str) {
    signal(gateway, "STOP");
    let calls = upstream.calls();
    let id = runner.0.begin("tools/call", &json!({"name": tool}));
    match way {
        Way::ThroughTheGateway => {
            // Time to go the other way, which it may not.
            std::thread::sleep(Duration::from_millis(400));
            assert_eq!(upstream.calls(), calls, "it is held up");
        }
        Way::Alone => eventually("it is not held up", || upstream.calls() > calls),
    }
    signal(gateway, "CONT");
    let answer = runner.0.hear(id);
    assert!(answer["result"].is_object(), "{answer}");
}

/// A plugin that sends a variable and is approved.
fn approved(upstream: &Upstream, names: &[&str]) -> Folder {
    let entries: Vec<String> = names
        .iter()
        .map(|name| upstream.entry(name, "${TENANT}"))
        .collect();
    let text = format!(r#"{{"mcpServers": {{{}}}}}"#, entries.join(", "));
    let folder = Folder::new().file("p/.mcp.json", text);
    for name in names {
        done(&folder, &["trust", "grant", name, "--config", "p"]);
    }
    folder
}

#[test]
fn runners_that_are_alike_use_the_connections_of_the_gateway() {
    let upstream = Upstream::start();
    let folder = approved(&upstream, &["s"]);
    let acme = [("TENANT", "acme")];
    let gateway = Gateway::start(&folder, &["p"], &acme);
    let mut first = Runner::start(&folder, &["--server", "s"], &acme);
    let mut second = Runner::start(&folder, &["--server", "s"], &acme);
    assert_eq!(first.0.tools(), ["whoami", "slow"]);
    assert_eq!(first.tenant("whoami"), "acme");
    assert_eq!(second.tenant("whoami"), "acme");
    for runner in [&mut first, &mut second] {
        goes(
            Way::ThroughTheGateway,
            (&gateway, &upstream),
            runner,
            "whoami",
        );
    }
    let metrics = gateway.metrics();
    let sessions = r#"keyway_sessions{client="keyway run"} 2"#;
    assert!(metrics.contains(sessions), "{metrics}");
    let none = r#"keyway_requests_total{client="keyway run"} 0"#;
    assert!(!metrics.contains(none), "{metrics}");
    let mut alone = Runner::start(&folder, &["--server", "s", "--standalone"], &acme);
    assert_eq!(alone.tenant("whoami"), "acme");
    goes(Way::Alone, (&gateway, &upstream), &mut alone, "whoami");
    let mut trusting = Runner::start(&folder, &["--server", "s", "--trust"], &acme);
    assert_eq!(trusting.tenant("whoami"), "acme");
    // A flag makes a difference.
    goes(Way::Alone, (&gateway, &upstream), &mut trusting, "whoami");
}

#[test]
fn servers_of_a_plugin_are_shared_one_by_one() {
    let upstream = Upstream::start();
    let folder = approved(&upstream, &["one", "two"]);
    let acme = [("TENANT", "acme")];
    let gateway = Gateway::start(&folder, &["p"], &acme);
    let mut all = Runner::start(&folder, &[], &acme);
    assert_eq!(all.0.tools().len(), 4);
    for tool in ["one__whoami", "two__whoami"] {
        assert_eq!(all.tenant(tool), "acme");
        goes(
            Way::ThroughTheGateway,
            (&gateway, &upstream),
            &mut all,
            tool,
        );
    }
    drop(gateway);
    eventually("it goes on alone", || all.tenant("one__whoami") == "acme");
}

/// The variables are those of the caller's shell, never another tenant's.
#[test]
fn another_value_of_a_variable_never_meets_the_gateways() {
    let upstream = Upstream::start();
    let folder = approved(&upstream, &["s"]);
    let gateway = Gateway::start(&folder, &["p"], &[("TENANT", "acme")]);
    let mut own = Runner::start(&folder, &["--server", "s"], &[("TENANT", "globex")]);
    let mut same = Runner::start(&folder, &["--server", "s"], &[("TENANT", "acme")]);
    for _ in 0..3 {
        assert_eq!(own.tenant("whoami"), "globex");
        assert_eq!(same.tenant("whoami"), "acme");
        assert_eq!(gateway.begin("/mcp/p/s").unwrap().tenant(), "acme");
    }
    assert_eq!(upstream.tenants(), ["acme", "globex"]);
    let proxied = [("TENANT", "acme"), ("NO_PROXY", "example.org")];
    let mut other = Runner::start(&folder, &["--server", "s"], &proxied);
    assert_eq!(other.tenant("whoami"), "acme");
    // Another way to the network.
    goes(Way::Alone, (&gateway, &upstream), &mut other, "whoami");
}

#[test]
fn a_gateway_that_is_killed_fails_the_pending_call_and_the_runner_continues_alone() {
    let upstream = Upstream::start();
    let folder = approved(&upstream, &["s"]);
    let acme = [("TENANT", "acme")];
    let mut gateway = Gateway::start(&folder, &["p"], &acme);
    let mut runner = Runner::start(&folder, &["--server", "s"], &acme);
    goes(
        Way::ThroughTheGateway,
        (&gateway, &upstream),
        &mut runner,
        "whoami",
    );
    let requests = upstream.requests();
    let id = runner.0.begin("tools/call", &json!({"name": "slow"}));
    eventually("the call is there", || upstream.requests() > requests);
    gateway.process.running.child.kill().unwrap();
    let failed = runner.0.hear(id);
    assert_eq!(failed["error"]["data"]["code"], "connection-closed");
    assert_eq!(runner.tenant("whoami"), "acme");
    assert_eq!(runner.0.tools(), ["whoami", "slow"]);
    let calls = upstream.calls();
    assert_eq!(calls, 3, "the one that failed is not repeated");
    // The socket that the gateway left behind stops no process.
    assert!(folder.at("home/runtime/run.sock").exists());
    let mut next = Runner::start(&folder, &["--server", "s"], &acme);
    assert_eq!(next.tenant("whoami"), "acme");
}

#[test]
fn an_approval_that_is_taken_back_counts_for_runners_as_well() {
    let upstream = Upstream::start();
    let folder = approved(&upstream, &["s"]);
    let acme = [("TENANT", "acme")];
    let _gateway = Gateway::start(&folder, &["p"], &acme);
    let mut runner = Runner::start(&folder, &["--server", "s"], &acme);
    assert_eq!(runner.tenant("whoami"), "acme");
    done(&folder, &["trust", "revoke", "s", "--config", "p"]);
    eventually("it is not connected any more", || {
        runner.0.tools() == ["status"]
    });
    let before = upstream.requests();
    assert_eq!(runner.0.tools(), ["status"]);
    assert_eq!(upstream.requests(), before);
}

/// A process that listens in the gateway's place is shown nothing of value, and is not believed;
/// one behind a link, or in a folder that is open to others, is not even asked.
#[test]
fn an_impostor_at_the_socket_is_not_used() {
    let upstream = Upstream::start();
    let folder = approved(&upstream, &["s"]);
    let canary = Canary::hidden("hV7q2Lk9Wp4Zt8Rb3Nc6Ym1Hd5");
    let tenant = [("TENANT", canary.value())];
    // So that there is a key.
    drop(Gateway::start(&folder, &["p"], &tenant));
    let socket = folder.at("home/runtime/run.sock");
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let listen = |path: &std::path::Path| {
        drop(std::fs::remove_file(path));
        let listener = UnixListener::bind(path).unwrap();
        let heard = Arc::clone(&heard);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                let mut said = [0; 4096];
                let read = stream.read(&mut said).unwrap_or(0);
                let said = String::from_utf8_lossy(&said[..read]).into_owned();
                heard.lock().unwrap().push(said);
                drop(stream.write_all(b"{\"keyway\":1,\"proof\":null}\n"));
            }
        });
    };
    let run = || {
        heard.lock().unwrap().clear();
        let mut runner = Runner::start(&folder, &["--server", "s"], &tenant);
        assert_eq!(runner.tenant("whoami"), canary.value(), "it works alone");
        heard.lock().unwrap().clone()
    };
    listen(&socket);
    let said = run();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(canary.leak(&said[0]), None, "{said:?}");
    let runtime = folder.at("home/runtime");
    let mode = |mode| std::fs::set_permissions(&runtime, std::fs::Permissions::from_mode(mode));
    let elsewhere = folder.at("elsewhere.sock");
    listen(&elsewhere);
    std::fs::remove_file(&socket).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &socket).unwrap();
    assert!(run().is_empty(), "a link leads anywhere");
    std::fs::remove_file(&socket).unwrap();
    listen(&socket);
    mode(0o700).unwrap();
    assert_eq!(run().len(), 1);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&socket, Some(1), None).unwrap();
        assert!(run().is_empty(), "of another user");
    }
}
