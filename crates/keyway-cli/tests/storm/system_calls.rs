//! System calls that fail, one at a time: each command ends in the old or the new state, and says so
//! if it failed. `strace` makes them fail.
//!
//! A short form by default; `KEYWAY_SYSTEM_CALLS=1` fails every call of every kind, of all commands or
//! of those that `KEYWAY_SYSTEM_CALLS_ONLY` names, with commas.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use keyway_testkit::rig::Settings;
use keyway_testkit::{Desk, Keyway, Outcome};
use serde_json::Value;

/// A call that fails, how, and what it is about.
#[derive(Debug, Clone, Copy)]
struct Fault(&'static str, &'static str, About);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Disk,
    Lock,
    /// What was sent may have arrived, and its answer is lost.
    Network,
}

const FAULTS: [Fault; 15] = [
    Fault("openat", "EMFILE", About::Disk),
    Fault("write", "ENOSPC", About::Disk),
    Fault("pwrite64", "ENOSPC", About::Disk),
    Fault("pwrite64", "EIO", About::Disk),
    Fault("fdatasync", "EIO", About::Disk),
    Fault("fsync", "EIO", About::Disk),
    Fault("ftruncate", "ENOSPC", About::Disk),
    Fault("renameat2", "EIO", About::Disk),
    Fault("fcntl", "ENOLCK", About::Lock),
    Fault("flock", "ENOLCK", About::Lock),
    Fault("connect", "ECONNREFUSED", About::Network),
    Fault("connect", "ETIMEDOUT", About::Network),
    Fault("sendto", "ECONNRESET", About::Network),
    Fault("writev", "EPIPE", About::Network),
    Fault("recvfrom", "ECONNRESET", About::Network),
];

/// How often each kind of call fails in the short form.
const SAMPLES: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Old,
    New,
}

/// A command, what it needs, and how its effect is told.
struct Case {
    words: &'static [&'static str],
    input: &'static str,
    prepare: fn(&Desk),
    state: fn(&Desk) -> State,
    /// What must hold in either state, after what the command said.
    check: fn(&Desk, &Outcome, About),
}

fn run(desk: &Desk, words: &[&str], input: &str) -> Outcome {
    call(desk, words, input).run()
}

/// Clients are looked for in the home of the desk alone.
fn call(desk: &Desk, words: &[&str], input: &str) -> Keyway {
    let config = desk.folder.at("home/config");
    desk.keyway(words)
        .env("XDG_CONFIG_HOME", config)
        .stdin(input)
}

#[track_caller]
fn done(desk: &Desk, words: &[&str], input: &str) -> Outcome {
    let outcome = run(desk, words, input);
    assert_eq!(outcome.code, 0, "{words:?} {}", outcome.everything());
    outcome
}

fn json(desk: &Desk, words: &[&str]) -> Value {
    serde_json::from_str(&done(desk, words, "").stdout).unwrap()
}

fn vault_is_sound(desk: &Desk, _: &Outcome, _: About) {
    if desk.folder.at("home/keyway/data/vault.db").exists() {
        done(desk, &["vault", "verify"], "");
    }
}

fn when(is_new: bool) -> State {
    if is_new { State::New } else { State::Old }
}

fn is_signed_in(desk: &Desk) -> bool {
    let status = json(desk, &["status", "s", "--format", "json"]);
    !status["servers"][0]["scopes"].is_null()
}

/// The sign-in still works, with a refresh if need be, and no token was sent twice, unless its answer
/// was lost on the way. Without a sign-in there is no token at the server either.
fn sign_in_works(desk: &Desk, said: &Outcome, about: About) {
    vault_is_sound(desk, said, about);
    if !is_signed_in(desk) {
        let is_lost = about == About::Network;
        let live = desk.rig.live_refresh_tokens();
        assert!(is_lost || live == 0, "{live} live: {}", said.everything());
        return;
    }
    done(desk, &["call", "s", "echo", "message=x"], "");
    let families = desk.rig.families();
    let newest = families.last().unwrap();
    let is_chain = about == About::Network || newest.is_chain();
    assert!(newest.ended.is_none() && is_chain, "{newest:?}");
}

/// A token that lives on at the server is one that is still here, or that the command named.
fn is_revoked_or_told(desk: &Desk, said: &Outcome, about: About) {
    vault_is_sound(desk, said, about);
    let live = desk.rig.live_refresh_tokens();
    if is_signed_in(desk) {
        assert_eq!(live, 1, "it is here, and dead: {}", said.everything());
    } else if live > 0 {
        let text = said.everything();
        let is_told = [
            "which stays valid there",
            "so they stay valid until they expire",
        ];
        assert!(is_told.iter().any(|it| text.contains(it)), "{text}");
        assert_ne!(said.code, 0, "{text}");
        assert_ne!(about, About::Lock, "the server could be asked: {text}");
    }
}

/// The keys of the vault, as they are in their files.
fn keys(desk: &Desk) -> Vec<Vec<u8>> {
    let files = fs::read_dir(desk.folder.at("home/keyway/config")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let is_key = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("vault-")
    };
    files
        .filter(is_key)
        .map(|path| fs::read(path).unwrap())
        .collect()
}

const LITERAL: &str = "sbp_38db93c4def7414fdb269a51c07e62b8d3f0475e";

const CASES: [(&str, Case); 9] = [
    (
        "env",
        Case {
            words: &["env", "set", "NAME"],
            input: "value",
            prepare: |desk| drop(done(desk, &["env", "set", "OLD"], "value")),
            state: |desk| {
                let listed = done(desk, &["env", "list"], "").stdout;
                assert!(listed.contains("OLD"), "{listed}");
                when(listed.contains("NAME"))
            },
            check: vault_is_sound,
        },
    ),
    (
        "token",
        Case {
            words: &["token", "new", "--name", "n", "--server", "p:s"],
            input: "",
            prepare: |_| {},
            state: |desk| {
                let listed = json(desk, &["token", "list", "--format", "json"]);
                when(
                    listed["tokens"]
                        .as_array()
                        .is_some_and(|all| !all.is_empty()),
                )
            },
            check: vault_is_sound,
        },
    ),
    (
        "trust",
        Case {
            words: &["trust", "grant", "s"],
            input: "",
            prepare: |desk| {
                let entry = r#"{"s": {"type": "stdio", "command": "true"}}"#;
                fs::write(desk.folder.at(".mcp.json"), entry).unwrap();
            },
            state: |desk| {
                let found = json(desk, &["vault", "status", "--format", "json"]);
                when(found["entries"]["trust"] == 1)
            },
            check: vault_is_sound,
        },
    ),
    (
        "rekey",
        Case {
            words: &["vault", "rekey"],
            input: "",
            prepare: |desk| {
                done(desk, &["env", "set", "OLD"], "value");
                let [key] = keys(desk).try_into().unwrap();
                fs::write(desk.folder.at("home/key-before"), key).unwrap();
            },
            state: |desk| {
                // Opened first: a start finishes what an earlier process began, and removes the key
                // that is not in force.
                let listed = done(desk, &["env", "list"], "").stdout;
                assert!(listed.contains("OLD"), "{listed}");
                let before = fs::read(desk.folder.at("home/key-before")).unwrap();
                let keys = keys(desk);
                assert!(!keys.is_empty(), "no key");
                when(!keys.contains(&before))
            },
            check: vault_is_sound,
        },
    ),
    (
        "migrate",
        Case {
            words: &["migrate", "env", "--write", "--offline"],
            input: "",
            prepare: |desk| {
                let entry = format!(
                    r#"{{"db": {{"type": "http", "url": "https://h.example", "headers": {{"Authorization": "Bearer {LITERAL}"}}}}}}"#
                );
                fs::write(desk.folder.at(".mcp.json"), entry).unwrap();
            },
            state: |desk| {
                let file = desk.folder.read(".mcp.json");
                serde_json::from_str::<Value>(&file).unwrap();
                when(!file.contains(LITERAL))
            },
            check: |desk, _, _| {
                let is_in = |name: &str| {
                    let path = desk.folder.at(name);
                    path.exists() && fs::read_to_string(path).unwrap().contains(LITERAL)
                };
                assert!(is_in(".mcp.json") || is_in(".env"), "the value is gone");
            },
        },
    ),
    (
        "install",
        Case {
            words: &["install", "claude-code", "--server", "s", "--yes"],
            input: "",
            prepare: |desk| {
                let text = r#"{"numStartups": 3, "mcpServers": {}}"#;
                fs::write(desk.folder.at("home/.claude.json"), text).unwrap();
            },
            state: |desk| {
                let file = desk.folder.read("home/.claude.json");
                let file: Value = serde_json::from_str(&file).unwrap();
                assert_eq!(file["numStartups"], 3);
                when(!file["mcpServers"]["s"].is_null())
            },
            check: |_, _, _| {},
        },
    ),
    (
        "login",
        Case {
            words: &["login", "s"],
            input: "",
            prepare: |_| {},
            state: |desk| when(is_signed_in(desk)),
            check: sign_in_works,
        },
    ),
    (
        "refresh",
        Case {
            words: &["call", "s", "echo", "message=x"],
            input: "",
            prepare: |desk| {
                desk.sign_in();
                desk.rig.reset();
            },
            state: |desk| {
                assert!(is_signed_in(desk), "the sign-in is gone");
                when(desk.rig.refreshes() > 0)
            },
            check: sign_in_works,
        },
    ),
    (
        "logout",
        Case {
            words: &["logout", "s"],
            input: "",
            prepare: Desk::sign_in,
            state: |desk| when(!is_signed_in(desk)),
            check: is_revoked_or_told,
        },
    ),
];

/// Runs the command of a case with `strace` around it.
fn traced(case: &Case, desk: &Desk, options: &[String]) -> Outcome {
    let call = call(desk, case.words, case.input);
    // A sign-in whose browser was hit would wait for five minutes.
    let limit = if case.words == ["login", "s"] {
        "15"
    } else {
        "40"
    };
    let strace = [
        "/usr/bin/timeout",
        "--kill-after=1",
        limit,
        "/usr/bin/strace",
        "-f",
        "-qq",
        "-o",
    ];
    let strace = strace.map(str::to_owned);
    let log = desk.folder.at("home/calls").to_string_lossy().into_owned();
    let wrapper = strace.into_iter().chain([log]).chain(options.to_vec());
    let _person = desk.person();
    call.started_by(wrapper).run()
}

/// Counts how often one thread of the command makes each call: `when=` counts per thread.
fn counts(case: &Case) -> Vec<usize> {
    let desk = Desk::new(crate::KEYWAY, Settings::default());
    (case.prepare)(&desk);
    let names: Vec<&str> = FAULTS.iter().map(|Fault(name, ..)| *name).collect();
    let trace = ["-e".to_owned(), format!("trace={}", names.join(","))];
    let outcome = traced(case, &desk, &trace);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let log = fs::read_to_string(desk.folder.at("home/calls")).unwrap();
    let count = |name: &str| {
        let mut threads = std::collections::BTreeMap::<&str, usize>::new();
        for line in log.lines() {
            let (thread, call) = line.split_once(' ').unwrap_or_default();
            if call.trim_start().starts_with(&format!("{name}(")) {
                *threads.entry(thread).or_default() += 1;
            }
        }
        threads.into_values().max().unwrap_or(0)
    };
    names.iter().map(|name| count(name)).collect()
}

/// Fails one call and compares the outcome with the state that it left; tells whether the command
/// failed.
fn fail(name: &str, case: &Case, fault: Fault, number: usize) -> bool {
    let Fault(call, error, about) = fault;
    let mut settings = Settings::default();
    if about == About::Network {
        // The same token may come twice if its answer was lost: otherwise a server without grace
        // ends the sign-in, and rightly.
        settings.grace = Duration::from_secs(60);
    }
    let desk = Desk::new(crate::KEYWAY, settings);
    (case.prepare)(&desk);
    let before = (case.state)(&desk);
    let inject = format!("inject={call}:error={error}:when={number}");
    let outcome = traced(case, &desk, &["-e".to_owned(), inject.clone()]);
    let log = fs::read_to_string(desk.folder.at("home/calls")).unwrap_or_default();
    let hit = log.lines().filter(|line| line.contains("(INJECTED)"));
    let hit: Vec<&str> = hit.collect();
    let context = format!("{name} {inject}\n{hit:#?}\n{}", outcome.everything());
    let state = (case.state)(&desk);
    // The browser is traced as well; where it does not start, the sign-in waits for its person.
    let is_late = matches!(outcome.code, 124 | 137);
    assert!(!is_late || name == "login", "it does not end: {context}");
    if outcome.code == 0 {
        assert_eq!(state, State::New, "success without an effect: {context}");
    } else {
        // What failed may be the very writing of the words.
        let is_silenced = hit.iter().any(|line| line.contains(" write(2, "));
        let is_told = is_late
            || is_silenced
            || outcome.code == 127
            || outcome.stderr.contains("error")
            || ["could not be told", "could not be revoked"]
                .iter()
                .any(|it| outcome.everything().contains(it));
        assert!(
            is_told,
            "{}, a failure without a word: {context}",
            outcome.code
        );
        assert!(state == before || state == State::New, "{context}");
    }
    (case.check)(&desk, &outcome, about);
    outcome.code != 0
}

fn numbers(count: usize) -> Vec<usize> {
    if crate::number("KEYWAY_SYSTEM_CALLS").is_some() || count <= SAMPLES {
        return (1..=count).collect();
    }
    // The last ones are those that matter: what comes first is the start of the process.
    (count + 1 - SAMPLES..=count).collect()
}

#[test]
fn a_system_call_that_fails_leaves_the_old_or_the_new_state_and_an_error() {
    if !Path::new("/usr/bin/strace").exists() || !may_trace() {
        return crate::skipped("strace cannot trace here");
    }
    let chosen = std::env::var("KEYWAY_SYSTEM_CALLS_ONLY").ok();
    let is_chosen = |name: &str| {
        let names = chosen.as_deref();
        names.is_none_or(|names| names.split(',').any(|it| it == name))
    };
    let cases: Vec<_> = CASES.iter().filter(|(name, _)| is_chosen(name)).collect();
    assert!(!cases.is_empty(), "no command is named `{chosen:?}`");
    // Two at a time: each waits for the disk for most of its time.
    let (first, second) = cases.split_at(cases.len() / 2);
    thread::scope(|scope| {
        for half in [first, second] {
            scope.spawn(move || half.iter().for_each(|(name, case)| all(name, case)));
        }
    });
}

fn all(name: &str, case: &Case) {
    let started = Instant::now();
    let (mut faults, mut told) = (0, 0);
    for (at, count) in counts(case).into_iter().enumerate() {
        let (more, of_these) = match crate::number("KEYWAY_SYSTEM_CALLS") {
            Some(_) => elsewhere(name, at, count),
            None => each(name, case, at, count),
        };
        faults += more;
        told += of_these;
    }
    let time = started.elapsed();
    println!("{name}: {faults} faults, {told} ended it with an error, {time:.1?}");
    assert!(told > 0, "{name}: no fault had an effect");
}

/// Fails a kind of call at each number; returns how often, and how often the command failed.
fn each(name: &str, case: &Case, at: usize, count: usize) -> (usize, usize) {
    let numbers = numbers(count);
    let failed = numbers
        .iter()
        .filter(|it| fail(name, case, FAULTS[at], **it));
    (numbers.len(), failed.count())
}

/// The same in a process of its own: the servers of a test live as long as its process, and those of
/// thousands of faults are more threads than a machine has.
fn elsewhere(name: &str, at: usize, count: usize) -> (usize, usize) {
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own)
        .args([
            "--exact",
            "system_calls::one_kind_of_fault",
            "--ignored",
            "--nocapture",
        ])
        .env(ONE_KIND, format!("{name} {at} {count}"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaints}");
    let counted = said.lines().find_map(|line| {
        let (faults, told) = line.strip_prefix("counted ")?.split_once(' ')?;
        Some((faults.parse().ok()?, told.parse().ok()?))
    });
    counted.unwrap_or_else(|| panic!("{said}{complaints}"))
}

#[test]
#[ignore = "a part of the test above, which starts it with what it is to do"]
fn one_kind_of_fault() {
    let Ok(given) = std::env::var(ONE_KIND) else {
        return;
    };
    let mut words = given.split(' ');
    let name = words.next().unwrap();
    let mut number = || words.next().unwrap().parse::<usize>().unwrap();
    let (at, count) = (number(), number());
    let (_, case) = CASES.iter().find(|(known, _)| *known == name).unwrap();
    let (faults, told) = each(name, case, at, count);
    println!("counted {faults} {told}");
}

const ONE_KIND: &str = "KEYWAY_SYSTEM_CALLS_OF";

/// Some containers do not permit it.
fn may_trace() -> bool {
    let traced = Command::new("/usr/bin/strace")
        .args(["-qq", "-o", "/dev/null", "/bin/true"])
        .status();
    traced.is_ok_and(|status| status.success())
}
