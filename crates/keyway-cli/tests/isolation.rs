//! What programs of plugins are kept from, where it shows in the whole program: the answer
//! `confined`, and threats E2 and E13 by number.

#![expect(
    clippy::unwrap_used,
    reason = "tests look at the real environment and stop where they cannot go on"
)]

use keyway_testkit::{Folder, Gateway, Keyway, Outcome, Terminal};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

/// A server whose only tool is named after what it can see of the path that it is given.
const LOOKER: &str = r##"if [ -e "$1" ] || ls "$1" >/dev/null 2>&1; then r=it; else r=nothing; fi
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"sees-%s","inputSchema":{"type":"object"}}]}}\n' "$id" "$r" ;;
  *'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"##;

fn looking_at(path: &std::path::Path) -> Folder {
    let path = path.display();
    let entry = format!(r#"{{"s": {{"command": "sh", "args": ["look.sh", "{path}"]}}}}"#);
    Folder::with_entries(&entry).file("look.sh", LOOKER)
}

fn keyway(folder: &Folder, arguments: &[&str]) -> Keyway {
    let call = Keyway::new(KEYWAY, folder.path()).args(arguments.iter().copied());
    call.env("KEYWAY_HOME", folder.at("keyway"))
}

fn done(call: Keyway) -> Outcome {
    let outcome = call.run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    outcome
}

fn grant_with(folder: &Folder, answer: &str) -> String {
    let call = keyway(folder, &[]);
    let mut terminal = Terminal::start(&call, "exec \"$KEYWAY\" trust grant s");
    terminal.answer("Allow this? [y/confined/N] ", answer);
    terminal.end()
}

fn protection(folder: &Folder) -> String {
    let status = done(keyway(folder, &["status", "--format", "json"]));
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    let words = status["servers"][0]["protection"].as_str();
    words.unwrap_or_default().to_owned()
}

#[test]
fn a_confined_answer_keeps_the_rest_of_the_disk_from_the_program() {
    let elsewhere = Folder::new().file("notes", "mine");
    let folder = looking_at(&elsewhere.at("notes"));
    let refused = grant_with(&folder, "n\n");
    assert!(refused.contains("nothing was approved"), "{refused}");
    grant_with(&folder, "y\n");
    let tools = done(keyway(&folder, &["tools", "s"]));
    assert!(tools.stdout.contains("sees-it"), "{}", tools.everything());
    let hidden = protection(&folder);
    assert!(hidden.starts_with("Keyway's files are hidden"), "{hidden}");

    let shown = grant_with(&folder, "confined\n");
    assert!(shown.contains("here: Keyway's files are hidden"), "{shown}");
    let confined = protection(&folder);
    assert!(confined.starts_with("confined to"), "{confined}");
    let tools = done(keyway(&folder, &["tools", "s"]));
    assert!(
        tools.stdout.contains("sees-nothing"),
        "{}",
        tools.everything()
    );
    let listed = done(keyway(&folder, &["trust", "list", "--format", "json"]));
    assert!(
        listed.stdout.contains(r#""confined":true"#),
        "{}",
        listed.stdout
    );

    // What config.toml grants is there again, once the person has agreed to that.
    let grants = format!(
        "[sandbox]\nread_only_grants = [\"{}\"]\n",
        elsewhere.path().display()
    );
    folder.put("keyway/config/config.toml", grants);
    let asked = keyway(&folder, &["tools", "s"]).run();
    assert_eq!(asked.code, 4, "{}", asked.everything());
    assert!(asked.stderr.contains("it may read"), "{}", asked.stderr);
    done(keyway(&folder, &["trust", "grant", "s"]));
    let tools = done(keyway(&folder, &["tools", "s"]));
    assert!(tools.stdout.contains("sees-it"), "{}", tools.everything());

    // Taking the approval back ends the confinement that came with it.
    done(keyway(&folder, &["trust", "revoke", "s"]));
    done(keyway(&folder, &["trust", "grant", "s"]));
    let hidden = protection(&folder);
    assert!(hidden.starts_with("Keyway's files are hidden"), "{hidden}");
    done(keyway(&folder, &["trust", "grant", "s", "--confined"]));
    let confined = protection(&folder);
    assert!(confined.starts_with("confined to"), "{confined}");
}

/// Threat E2: clients start `keyway run` without the variables that the gateway was started with.
#[test]
fn e02_a_child_does_not_see_the_socket_of_a_gateway_with_other_variables() {
    for (name, socket) in [
        ("XDG_RUNTIME_DIR", "elsewhere/keyway/gateway.sock"),
        ("KEYWAY_HOME", "elsewhere/run/gateway.sock"),
    ] {
        let home = Folder::new()
            .file("elsewhere/.keep", "")
            .mode("elsewhere", 0o700);
        let socket = home.at(socket);
        let folder = looking_at(&socket);
        let call = |arguments: &[&str]| {
            let call = Keyway::new(KEYWAY, folder.path()).args(arguments.iter().copied());
            call.env("HOME", home.path()).env("KEYWAY_HOME", "")
        };
        let serve = call(&[]).env(name, home.at("elsewhere"));
        let gateway = Gateway::start(serve, &["--trust"]);
        assert!(socket.exists(), "{name}: {}", gateway.said());
        let tools = done(call(&["tools", "s", "--trust"]));
        assert!(
            tools.stdout.contains("sees-nothing"),
            "{name}: {}",
            tools.everything()
        );
    }
}

/// Threat E13: a system without namespaces and without Landlock, as a filter of system calls makes it.
#[test]
fn e13_programs_without_isolation_are_announced_or_refused() {
    let folder = looking_at(std::path::Path::new("/"));
    let call =
        |arguments: &[&str]| keyway(&folder, arguments).started_by(["python3", "-c", FILTER]);
    let shown = call(&["trust", "grant", "s"]).without_digests().run();
    let words = "!! here: not isolated: this system offers neither Landlock nor private mounts";
    assert!(shown.stderr.contains(words), "{}", shown.stderr);
    done(call(&["trust", "grant", "s"]));
    let warning = "warning: `[PATH]:s` starts with less isolation than its profile promises";
    let plugin = folder
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let warning = warning.replace("[PATH]", &plugin);
    let tools = done(call(&["tools", "s"]));
    assert_eq!(
        tools.stderr.matches(&warning).count(),
        1,
        "{}",
        tools.stderr
    );
    let status = done(call(&["status"]));
    assert!(status.stdout.contains("not isolated:"), "{}", status.stdout);
    folder.put("keyway/config/config.toml", "[sandbox]\nrequire = true\n");
    let refused = call(&["tools", "s"]).run();
    assert_eq!(refused.code, 1, "{}", refused.everything());
    assert!(
        refused.stderr.contains("isolation-unavailable"),
        "{}",
        refused.stderr
    );
    // Where all of it is in force, nothing is said.
    let tools = done(keyway(&folder, &["tools", "s"]));
    assert!(!tools.stderr.contains("isolation"), "{}", tools.stderr);
}

/// Forbids `unshare` and Landlock to itself and whatever it starts, then starts the call.
const FILTER: &str = r#"
import ctypes, os, platform, struct, sys
unshare = {"x86_64": 272, "aarch64": 97}[platform.machine()]
load, equal, allow, refuse = 0x20, 0x15, 0x7fff0000, 0x00050000 | 1
forbidden = [unshare, 444, 445, 446]
lines = [(load, 0, 0, 0)]
for at, number in enumerate(forbidden):
    lines.append((equal, len(forbidden) - at, 0, number))
lines += [(6, 0, 0, allow), (6, 0, 0, refuse)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("lines", ctypes.c_void_p)]
program = Program(len(lines), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"#;
