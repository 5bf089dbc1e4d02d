//! `keyway call` against a server that notes what it hears: checked arguments, progress, Ctrl-C.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start the program as its user does, and stop where they cannot go on"
)]

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use keyway_testkit::{Folder, Keyway, Outcome, PATIENCE, Terminal, eventually};
use serde_json::{Map, Value, json};

/// A server in a few lines: `echo` answers, `wait` tells progress and then nothing any more.
const SERVER: &str = r##"#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  printf '%s\n' "$line" >> "$PLUGIN_ROOT/heard.txt"
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
  *'"method":"initialize"'*)
    answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
  *'"method":"tools/list"'*)
    answer '{"tools":[{"name":"wait","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object","required":["message"],"properties":{"message":{"type":"string"},"count":{"type":"integer"},"mode":{"enum":["fast","slow"]},"tags":{"type":"array","items":{"type":"string"}}}}}]}' ;;
  *'"name":"wait"'*)
    printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"total":4,"message":"step one"}}\n' "$id" ;;
  *'"name":"echo"'*)
    printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":2,"total":4,"message":"half"}}\n' "$id"
    answer '{"content":[{"type":"text","text":"done"}]}' ;;
  *'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"##;

fn folder() -> Folder {
    Folder::with_entries(r#"{"mcpServers": {"s": {"command": "${HOST_PLUGIN_ROOT}/server.sh"}}}"#)
        .executable("server.sh", SERVER)
}

fn keyway(folder: &Folder) -> Keyway {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).env("KEYWAY_HOME", folder.at("home"))
}

fn call(folder: &Folder, arguments: &[&str]) -> Outcome {
    let call = keyway(folder).args(["call", "s"]);
    call.args(arguments.iter().copied()).args(["--trust"]).run()
}

/// What the server heard of calls.
fn calls(folder: &Folder) -> Vec<String> {
    let heard = folder.read("heard.txt");
    let calls = heard.lines().filter(|line| line.contains("tools/call"));
    calls.map(str::to_owned).collect()
}

/// A server that takes its time to start, as a package runner does at first.
#[test]
fn a_wait_shows_a_line_with_what_the_program_says_and_wipes_it() {
    let slow = SERVER.replacen(
        "while read",
        "echo 'Downloading the package' >&2; sleep 2\nwhile read",
        1,
    );
    let entry = r#"{"mcpServers": {"slow": {"command": "${HOST_PLUGIN_ROOT}/server.sh"}}}"#;
    let folder = Folder::with_entries(entry).executable("server.sh", &slow);
    for words in [
        "tools slow --trust",
        "call slow echo message=x --trust",
        "probe slow --trust",
    ] {
        let call = keyway(&folder);
        let terminal = Terminal::start(&call, &format!("\"$KEYWAY\" {words}"));
        terminal.wait_for("waiting for `slow`");
        terminal.wait_for("s: Downloading the package");
        let shown = terminal.end();
        let (_, after) = shown.rsplit_once("waiting for `slow`").unwrap();
        assert!(after.contains("\r\u{1b}[K"), "{shown:?}");
    }
    // Elsewhere than on a terminal there is no such line.
    for command in ["tools", "probe"] {
        let outcome = keyway(&folder).args([command, "slow", "--trust"]).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    }
}

#[test]
fn a_list_of_several_servers_shows_what_their_programs_say() {
    let slow = SERVER.replacen("while read", "echo 'Unpacking' >&2; sleep 2\nwhile read", 1);
    let entry = r#"{"mcpServers": {"one": {"command": "${HOST_PLUGIN_ROOT}/server.sh"},
        "two": {"command": "${HOST_PLUGIN_ROOT}/server.sh"}}}"#;
    let folder = Folder::with_entries(entry).executable("server.sh", &slow);
    let terminal = Terminal::start(&keyway(&folder), "\"$KEYWAY\" tools --trust");
    terminal.wait_for("waiting for servers");
    terminal.wait_for("s: Unpacking");
    assert!(terminal.end().contains("echo"));
}

/// What stands in for `npx` counts how many of its kind fetch at once, and takes a while for it.
#[test]
fn package_runners_fetch_a_few_at_a_time() {
    let runner = SERVER.replacen(
        "while read",
        "mkdir \"$PLACE/$2\"; ls \"$PLACE\" | wc -l >> \"$PLACE.counts\"; sleep 0.4; rmdir \"$PLACE/$2\"\nwhile read",
        1,
    );
    let folder = Folder::new();
    // Not in the plugin, whose files must stay as they were approved.
    let elsewhere = Folder::new().executable("bin/npx", &runner);
    let place = elsewhere.at("fetching").to_str().unwrap().to_owned();
    std::fs::create_dir(&place).unwrap();
    let entry = |at: usize| {
        let args = json!(["-y", format!("package-{at}")]);
        let entry = json!({"command": "npx", "args": args, "env": {"PLACE": place}});
        (format!("s{at}"), entry)
    };
    let count = 12;
    let entries: Map<String, Value> = (0..count).map(entry).collect();
    folder.put(".mcp.json", json!({"mcpServers": entries}).to_string());
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", elsewhere.at("bin").display());
    let outcome = keyway(&folder)
        .env("PATH", path)
        .args(["tools", "--trust"])
        .run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let counts = elsewhere.read("fetching.counts");
    let counts: Vec<usize> = counts
        .lines()
        .map(|line| line.trim().parse().unwrap())
        .collect();
    assert_eq!(counts.len(), count);
    let processors = std::thread::available_parallelism().unwrap().get();
    let most = counts.iter().max().unwrap();
    assert!((2..=processors.max(2)).contains(most), "{counts:?}");
}

#[test]
fn arguments_that_do_not_fit_are_never_sent() {
    for (arguments, words) in [
        (&["echo"][..], "`message` is missing"),
        (
            &["echo", "mesage=x"],
            "`mesage` is not known; did you mean `message`?",
        ),
        (
            &["echo", "message=x", "count=many"],
            "`count` must be a whole number",
        ),
        (
            &["echo", "message=x", "mode=CANARY"],
            "`mode` must be one of `fast`, `slow`",
        ),
    ] {
        let folder = folder();
        let outcome = call(&folder, arguments);
        assert_eq!(outcome.code, 2, "{arguments:?} {}", outcome.everything());
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(
                "hint: usage: keyway call s echo message=TEXT [count=INTEGER] [mode=fast|slow] [tags=JSON]"
            ),
            "{}",
            outcome.stderr
        );
        assert!(!outcome.everything().contains("CANARY"));
        assert_eq!(calls(&folder), [""; 0]);
    }
    let outcome = call(&folder(), &["echo", "--format", "json"]);
    let object: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(object["diagnostics"][0]["code"], "bad-arguments");
    let outcome = call(&folder(), &["eco", "message=x"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.stderr.contains("`s` has no tool `eco`"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("did you mean `echo`?"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn arguments_arrive_in_the_types_that_the_tool_asks_for() {
    let folder = folder();
    let words = ["echo", "message=5", "count=5", "tags=a", "tags=b"];
    let outcome = call(&folder, &words);
    assert_eq!(outcome.stdout, "done\n", "{}", outcome.everything());
    assert!(
        outcome.stderr.is_empty(),
        "no bar without a terminal: {}",
        outcome.stderr
    );
    let heard = calls(&folder).concat();
    let expected = r#""arguments":{"count":5,"message":"5","tags":["a","b"]}"#;
    assert!(heard.contains(expected), "{heard}");
}

#[test]
fn arguments_in_a_file_are_checked_and_sent_as_they_are_written() {
    let folder = folder().file(
        "a.json",
        r#"{ "message":"x", "count": 123456789012345678901234567890 }"#,
    );
    let outcome = call(&folder, &["echo", "--json", "a.json"]);
    assert_eq!(outcome.stdout, "done\n", "{}", outcome.everything());
    assert!(
        calls(&folder)
            .concat()
            .contains("123456789012345678901234567890")
    );
    let wrong = folder.file("b.json", r#"{"message": 1}"#);
    assert_eq!(call(&wrong, &["echo", "--json", "b.json"]).code, 2);
    assert_eq!(calls(&wrong).len(), 1);
    // `--unchecked` sends any arguments.
    assert_eq!(
        call(&wrong, &["echo", "--json", "b.json", "--unchecked"]).code,
        0
    );
    assert_eq!(calls(&wrong).len(), 2);
}

#[test]
fn waiting_ends_when_the_person_said() {
    let folder = folder();
    let began = Instant::now();
    let outcome = call(&folder, &["wait", "--timeout", "5"]);
    assert_eq!(outcome.code, 5, "{}", outcome.everything());
    assert!(
        outcome.stderr.contains("within 5 seconds"),
        "{}",
        outcome.stderr
    );
    assert!(began.elapsed() < PATIENCE);
    assert!(folder.read("heard.txt").contains("notifications/cancelled"));
    assert_eq!(call(&folder, &["wait", "--timeout", "0"]).code, 2);
}

/// A byte now and then is no answer, neither to the call nor to the list before it, and neither does
/// a program that does not end get more time than it had for its answer.
#[test]
fn waiting_ends_when_the_person_said_although_bytes_come_in() {
    let drip = "trap '' TERM; printf '{\"jsonrpc\":'; while :; do printf ' '; sleep 0.2; done";
    for when in [r#"*'"name":"wait"'*)"#, r#"*'"method":"tools/list"'*)"#] {
        let server = SERVER.replacen(when, &format!("{when} {drip} ;;\n  never)"), 1);
        let folder = folder().executable("server.sh", server);
        let began = Instant::now();
        let outcome = call(&folder, &["wait", "--timeout", "3"]);
        let took = began.elapsed();
        assert_eq!(outcome.code, 5, "{}", outcome.everything());
        let said = &outcome.stderr;
        assert!(said.contains("within 3 seconds"), "{said}");
        assert!(took < Duration::from_millis(6500), "{when} {took:?}");
    }
}

#[test]
fn ctrl_c_cancels_the_call_and_says_so() {
    let folder = folder();
    let child = start(&folder, &["call", "s", "wait", "--trust"]);
    let output = interrupt(child, &folder);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "error: cancelled\n");
    let heard = folder.read("heard.txt");
    let id = heard
        .lines()
        .find(|line| line.contains("tools/call"))
        .unwrap();
    let id = id
        .split(r#""id":"#)
        .nth(1)
        .unwrap()
        .split(',')
        .next()
        .unwrap();
    let told = format!(r#""notifications/cancelled","params":{{"requestId":{id}}}"#);
    assert!(heard.contains(&told), "{heard}");
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_the_server() {
    // This server cannot be talked into leaving.
    let stubborn = SERVER
        .replace("#!/bin/sh\n", "#!/bin/sh\ntrap '' TERM\n")
        .replace("\ndone\n", "\ndone\nwhile :; do sleep 1; done\n");
    // Waiting for such a server takes four seconds each time; a machine is not slow each time.
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let folder = folder().executable("server.sh", &stubborn);
        let child = start(&folder, &["call", "s", "wait", "--trust"]);
        wait_for(&folder, "tools/call");
        signal(&child);
        // It closes the connection now.
        wait_for(&folder, "notifications/cancelled");
        let began = Instant::now();
        signal(&child);
        let output = child.wait_with_output().unwrap();
        best = best.min(began.elapsed());
        assert_eq!(output.status.code(), Some(1));
        // No process is left behind. What the server takes for its number counts in its own
        // namespace only, so it is looked for by what it runs.
        let script = folder.at("server.sh");
        eventually("the server is gone", || !is_running(&script));
        if best < Duration::from_secs(2) {
            return;
        }
    }
    panic!("{best:?} at best");
}

fn is_running(script: &std::path::Path) -> bool {
    let script = script.to_str().unwrap().as_bytes();
    let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.any(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.windows(script.len()).any(|part| part == script)
    })
}

#[test]
fn progress_is_a_bar_on_a_terminal() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_keyway");
    let line = format!("{program} call s echo message=x --trust");
    let output = Command::new("script")
        .args(["-qefc", &line, "/dev/null"])
        .current_dir(folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .env_remove("KEYWAY_PROFILE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        printed.contains("[############------------]  50% half"),
        "{printed:?}"
    );
    assert!(printed.contains("\r\x1b[K"), "{printed:?}");
    assert!(printed.ends_with("done\r\n"), "{printed:?}");
}

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_keyway"))
        .args(arguments)
        .current_dir(folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the call has arrived, interrupts the program and waits for its end.
fn interrupt(child: Child, folder: &Folder) -> Output {
    wait_for(folder, "tools/call");
    signal(&child);
    child.wait_with_output().unwrap()
}

/// Waits until the server has heard something.
fn wait_for(folder: &Folder, what: &str) {
    eventually(what, || {
        let heard = std::fs::read_to_string(folder.at("heard.txt"));
        heard.is_ok_and(|heard| heard.contains(what))
    });
}

fn signal(child: &Child) {
    let id = child.id().to_string();
    let told = Command::new("kill").args(["-INT", &id]).status();
    assert!(told.unwrap().success());
}
