//! Threat D11: a script that is swapped while it is started.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests stop where they cannot go on"
)]

use std::path::Path;
use std::time::Instant;

use keyway_testkit::{Folder, Keyway};

/// A server that says its name and lists nothing.
fn script(own: &str) -> String {
    format!(
        r#"#!/bin/sh
{own}
while read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%,*}}
  case $line in
  *'"method":"initialize"'*)
    printf '{{"jsonrpc":"2.0","id":%s,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    printf '{{"jsonrpc":"2.0","id":%s,"result":{{"tools":[]}}}}\n' "$id" ;;
  *'"id":'*)
    printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$id" ;;
  esac
done
"#
    )
}

/// A file is swapped in one step, as an attacker would.
fn swap(folder: &Folder, outside: &Folder, content: &str) {
    outside.put("next", content);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(outside.at("next"), mode).unwrap();
    std::fs::rename(outside.at("next"), folder.at("server.sh")).unwrap();
}

fn tools(folder: &Path, home: &Path) -> (i32, String) {
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder).env("KEYWAY_HOME", home);
    let outcome = call.args(["tools", "s"]).run();
    (outcome.code, outcome.everything())
}

#[test]
fn d11_a_swapped_script_is_never_used_unnoticed() {
    let good = script(":");
    let mut noticed = 0;
    let mut ran = 0;
    let folder = Folder::with_entries(
        r#"{"mcpServers": {"s": {"command": "${HOST_PLUGIN_ROOT}/server.sh"}}}"#,
    )
    .executable("server.sh", &good);
    // A new file in the plugin would be noticed for its own sake.
    let outside = Folder::new();
    let home = folder.at("home");
    let grant = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).env("KEYWAY_HOME", &home);
    assert_eq!(grant.args(["trust", "grant", "s"]).run().code, 0);
    // However long a machine takes to start one.
    let began = Instant::now();
    assert_eq!(tools(folder.path(), &home).0, 0);
    let whole = began.elapsed();
    let rounds = rounds();
    for round in 0..rounds {
        // A name of its own: what a round before was stopped at may still arrive.
        let name = format!("evil-{round}");
        let evil = script(&format!("echo x > \"{}\"", outside.at(&name).display()));
        // From before the first look to after the last one.
        let delay = whole * u32::try_from(round % STEPS).unwrap() / LATEST;
        let (code, output) = std::thread::scope(|scope| {
            let call = scope.spawn(|| tools(folder.path(), &home));
            // The moment of the swap is what each round varies.
            std::thread::sleep(delay);
            swap(&folder, &outside, &evil);
            call.join().unwrap()
        });
        if outside.at(&name).exists() {
            ran += 1;
            assert_eq!(code, 4, "round {round}: {output}");
        }
        if code == 4 {
            noticed += 1;
            assert!(
                output.contains("keyway trust grant"),
                "round {round}: {output}"
            );
        } else {
            assert_eq!(code, 0, "round {round}: {output}");
        }
        swap(&folder, &outside, &good);
    }
    println!("{rounds} rounds: noticed {noticed}, of these {ran} after it had begun to run");
    assert!(noticed > 0, "the swap never came in time");
    assert!(noticed < rounds, "the swap was never late");
}

/// A delay is so many parts of a whole call; a few of them are longer than that.
const STEPS: u64 = 60;
const LATEST: u32 = 40;

/// The short form; the long one is asked for by number.
fn rounds() -> u64 {
    let asked = std::env::var("KEYWAY_SWAP_ROUNDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(120)
}
