//! What `keyway serve` costs with ten and with a thousand declared servers, none of which is in use.
//!
//! Times depend on the machine, so that this is measured by hand:
//! `cargo test --release -p keyway-cli --test commands many_servers -- --ignored --nocapture`. Which servers
//! are planned is counted by the tests of `keyway-gateway`.

#![expect(clippy::unwrap_used, reason = "tests stop where they cannot go on")]

use std::time::{Duration, Instant};

use keyway_testkit::{Folder, Gateway, Keyway, eventually};
use serde_json::{Map, Value, json};

#[test]
#[ignore = "a measurement"]
fn a_thousand_servers_cost_at_most_three_times_what_ten_do() {
    // The first run of a program reads it from the disk.
    measure(10);
    let (few, many) = (best(10), best(1000));
    println!("10 servers: {few:?}; 1,000 servers: {many:?}");
    assert!(many.until_it_listens <= few.until_it_listens * 3);
    assert!(many.processor_time <= few.processor_time * 3);
}

#[derive(Debug, Clone, Copy)]
struct Cost {
    until_it_listens: Duration,
    /// Until it is quiet.
    processor_time: Duration,
}

/// Returns the best of three runs, which others on the machine have disturbed least.
fn best(count: usize) -> Cost {
    let runs = [measure(count), measure(count), measure(count)];
    let least = |of: fn(&Cost) -> Duration| runs.iter().map(of).min().unwrap_or_default();
    Cost {
        until_it_listens: least(|it| it.until_it_listens),
        processor_time: least(|it| it.processor_time),
    }
}

fn measure(count: usize) -> Cost {
    // A file holds at most 256 servers.
    let folder = Folder::new();
    let names = ["p0", "p1", "p2", "p3", "p4"];
    for name in names {
        folder.put(&format!("{name}/.mcp.json"), entries(count / names.len()));
    }
    let keyway = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .env("KEYWAY_HOME", folder.at("home"));
    let begun = Instant::now();
    let gateway = Gateway::start(keyway, &names);
    let until_it_listens = begun.elapsed();
    let pid = gateway.running.child.id();
    let mut processor_time = used(pid);
    let mut since = Instant::now();
    eventually("it is quiet", || {
        let now = used(pid);
        if now - processor_time > QUIET {
            (processor_time, since) = (now, Instant::now());
        }
        since.elapsed() > BETWEEN_LOOKS
    });
    Cost {
        until_it_listens,
        processor_time,
    }
}

fn entries(count: usize) -> String {
    let entry = |at: usize| {
        (
            format!("s{at}"),
            json!({ "command": "true", "args": [at.to_string()] }),
        )
    };
    let all: Map<String, Value> = (0..count).map(entry).collect();
    json!({ "mcpServers": all }).to_string()
}

/// Returns the processor time that all threads of a process have used.
fn used(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let nanoseconds = tasks.map(|task| {
        let text = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
        let first = text.split_whitespace().next().map(str::parse::<u64>);
        first.and_then(Result::ok).unwrap_or_default()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// The gateway looks at its files once a second.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
const QUIET: Duration = Duration::from_millis(10);
