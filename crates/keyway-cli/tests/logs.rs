//! `keyway logs`: what programs print is kept, redacted, for every process of the same user.

use std::io::{BufRead as _, BufReader};

use keyway_testkit::{Folder, Keyway};

const SERVER: &str = r#"
echo "reading $STATE with $API_TOKEN" >&2
echo "not a message"
while read -r line; do
    case $line in *'"id":'*) ;; *) continue ;; esac
    id=${line#*'"id":'}; id=${id%%,*}; id=${id%%'}'*}
    case $line in
    *'"initialize"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}\n' "$id" ;;
    esac
done
"#;
const ENTRIES: &str = r#"{"mcpServers": {"s": {
    "command": "sh", "args": ["${HOST_PLUGIN_ROOT}/server.sh"],
    "env": {"API_TOKEN": "${API_TOKEN}", "STATE": "state"}
}}}"#;

fn folder() -> Folder {
    Folder::new()
        .file("p/.mcp.json", ENTRIES)
        .file("p/server.sh", SERVER)
}

fn keyway(folder: &Folder) -> Keyway {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"))
        .env("API_TOKEN", "hunter2-hunter2")
}

/// Starts the server, which prints two lines.
fn tools(folder: &Folder) {
    let outcome = keyway(folder)
        .args(["tools", "s", "--trust", "--config", "p"])
        .run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
}

#[test]
fn lines_of_a_server_are_kept_redacted_and_shown() {
    let folder = folder();
    let nothing = keyway(&folder).args(["logs", "s", "--config", "p"]).run();
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""));
    assert!(nothing.stderr.contains("has printed nothing so far"));
    tools(&folder);
    let shown = keyway(&folder).args(["logs", "s", "--config", "p"]).run();
    assert_eq!(shown.code, 0, "{}", shown.everything());
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(
        lines
            .iter()
            .any(|it| it.ends_with("] reading state with [redacted]")),
        "{lines:?}"
    );
    assert!(
        lines
            .iter()
            .any(|it| it.ends_with("] (stdout) not a message")),
        "{lines:?}"
    );
    let last = keyway(&folder)
        .args(["logs", "s", "-n", "1", "--config", "p"])
        .run();
    assert_eq!(last.stdout.lines().count(), 1);
    let home = folder.files().into_iter();
    let logs: Vec<String> = home.filter(|it| it.ends_with("/s.log")).collect();
    let [log] = logs.as_slice() else {
        panic!("{logs:?}");
    };
    assert_eq!(folder.mode_of(log) & 0o777, 0o600);
    assert!(!folder.read(log).contains("hunter2"));
}

#[test]
fn new_lines_are_followed_whichever_process_they_come_from() {
    let folder = folder();
    tools(&folder);
    let mut following = keyway(&folder)
        .args(["logs", "s", "-f", "--config", "p"])
        .start();
    let stdout = following.child.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let is_start = |line: &String| line.contains("reading state");
    assert!(lines.any(|line| is_start(&line)), "those so far");
    tools(&folder);
    assert!(lines.any(|line| is_start(&line)), "those of a later start");
}
