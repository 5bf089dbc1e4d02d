//! What a child started ends with it, and with its host (threats D14, E3).

use std::ffi::OsString;
use std::fs::DirEntry;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use keyway_transport::{Isolation, IsolationMechanism, IsolationProfile, Launcher};
use serde_json::json;

use crate::escapes::TYPE;
use crate::stdio::{call, server};
use crate::{CHILD, launcher, until};

/// A number of seconds that no other process sleeps for.
fn mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("1000{}.{count}", std::process::id())
}

/// Says whether any process has this argument.
fn is_running(mark: &str) -> bool {
    count(mark) > 0
}

/// Counts the processes that have this argument.
fn count(mark: &str) -> usize {
    processes(mark).len()
}

/// Returns the numbers of the processes that have this argument.
fn processes(mark: &str) -> Vec<OsString> {
    let has_mark = |process: &DirEntry| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|word| word == mark.as_bytes())
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let found = processes.filter(has_mark);
    found.map(|process| process.file_name()).collect()
}

/// Leaves the group, the session and the parent.
fn escape(mark: &str) -> String {
    format!(
        "(setsid sh -c 'setsid sleep {mark} & exit' &) </dev/null >/dev/null 2>&1; sleep {mark}"
    )
}

#[tokio::test]
async fn everything_that_a_child_started_ends_with_it() {
    for (profile, mechanism) in [
        (IsolationProfile::Hide, IsolationMechanism::Best),
        (IsolationProfile::Hide, IsolationMechanism::Landlock),
        (IsolationProfile::None, IsolationMechanism::Best),
    ] {
        for is_closed in [true, false] {
            let mark = mark();
            let mut server = server();
            server.program.isolation = Isolation::default();
            server.program.isolation.profile = profile;
            server.program.isolation.mechanism = mechanism;
            let mut connection = server.open(&launcher()).await.unwrap().0;
            let script = format!("{} & ", escape(&mark));
            call(
                &mut connection,
                "shell",
                json!(format!("{{ {script} }} >/dev/null 2>&1")),
            )
            .await;
            until(|| is_running(&mark)).await;
            if is_closed {
                connection.link.close().await;
            }
            drop(connection);
            until(|| !is_running(&mark)).await;
        }
    }
}

/// Supervisor and first process wait together; what is started twice would be four.
#[tokio::test]
async fn launcher_started_ahead_starts_the_next_program_of_its_kind_and_ends_with_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    // A name by which its processes are told from those of other tests.
    let path = folder.path().join("launcher");
    std::os::unix::fs::symlink(CHILD, &path).unwrap();
    let mark = path.to_str().unwrap();
    for (ahead, is_used) in [
        (IsolationProfile::Hide, true),
        (IsolationProfile::None, false),
    ] {
        let launcher = Launcher::new(&path);
        let mut server = server();
        server.program.isolation = Isolation::default();
        let mut isolation = Isolation::default();
        isolation.profile = ahead;
        launcher.start_ahead(&isolation);
        until(|| count(mark) == 2).await;
        let waiting = processes(mark);
        let mut connection = server.open(&launcher.clone()).await.unwrap().0;
        let answer = call(&mut connection, "shell", json!("echo here")).await;
        assert!(answer.to_string().contains("here"), "{answer}");
        // One that does not fit is ended at once, and does not wait for a program that may never come.
        until(|| count(mark) == 2).await;
        let is_same = processes(mark).iter().all(|it| waiting.contains(it));
        assert_eq!(is_same, is_used, "{ahead:?}");
        drop((connection, launcher));
        until(|| !is_running(mark)).await;
    }
    let launcher = Launcher::new(&path);
    launcher.start_ahead(&Isolation::default());
    until(|| count(mark) == 2).await;
    launcher.end_ahead();
    until(|| !is_running(mark)).await;
}

/// Starts a host that runs a script, and waits until that has printed [`BEGUN`].
#[expect(
    clippy::disallowed_methods,
    reason = "not by the launcher that is tested"
)]
fn host(profile: &str, script: &str) -> Child {
    let mut host = Command::new(CHILD)
        .args(["host", profile, "stay", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(host.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert!(line.contains("result"), "{line}");
    host
}

#[tokio::test]
async fn everything_that_a_child_started_ends_after_its_host_was_killed() {
    for profile in ["hide", "confine", "landlock", "off"] {
        let mark = mark();
        let mut host = host(profile, &format!("{BEGUN}; {}", escape(&mark)));
        until(|| is_running(&mark)).await;
        host.kill().unwrap();
        host.wait().unwrap();
        until(|| !is_running(&mark)).await;
    }
}

/// Returns the process that has this argument.
fn running(mark: &str) -> Option<String> {
    let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
    let found = processes.find(|it| {
        let line = std::fs::read(it.path().join("cmdline")).unwrap_or_default();
        line.starts_with(format!("sleep\0{mark}\0").as_bytes())
    });
    Some(found?.file_name().to_str()?.to_owned())
}

/// Without a PID namespace, and with nothing of Keyway's left that could look for processes.
#[tokio::test]
async fn control_group_ends_everything_after_its_supervisor_was_killed() {
    let mut isolation = Isolation::default();
    isolation.profile = IsolationProfile::None;
    let level = launcher().probe(&isolation).await.unwrap();
    let can_be_grouped = level.has_control_group();
    for profile in ["landlock", "off"] {
        for is_host_killed in [false, true] {
            let mark = mark();
            let mut first = host(profile, &format!("{BEGUN}; {}", escape(&mark)));
            until(|| running(&mark).is_some()).await;
            let own = running(&mark).unwrap();
            let groups = || std::fs::read_to_string(format!("/proc/{own}/cgroup")).unwrap();
            if !can_be_grouped {
                println!("SKIPPED: no control group can be made here");
                first.kill().unwrap();
                first.wait().unwrap();
                return;
            }
            // A program that is kept from nothing does not wait for its group.
            until(|| groups().contains("/keyway-")).await;
            let groups = groups();
            let group = groups.rsplit("/keyway-").next().unwrap().trim();
            let supervisor = rustix::process::Pid::from_raw(group.parse().unwrap()).unwrap();
            if is_host_killed {
                first.kill().unwrap();
            }
            rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
            if is_host_killed {
                first.wait().unwrap();
                // The next one that starts a program finds the group.
                let mut next = host(profile, BEGUN);
                until(|| !is_running(&mark)).await;
                next.kill().unwrap();
                next.wait().unwrap();
            } else {
                until(|| !is_running(&mark)).await;
                first.kill().unwrap();
                first.wait().unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_child_may_end_in_good_order_after_its_host_was_killed() {
    let folder = tempfile::TempDir::new().unwrap();
    let note = folder.path().join("ended");
    let script = format!(
        "exec 2>/dev/null; trap 'echo x > {}; exit' TERM; {BEGUN}; while :; do sleep 0.05; done",
        note.display()
    );
    let mut host = host("hide", &script);
    host.kill().unwrap();
    host.wait().unwrap();
    until(|| note.exists()).await;
}

/// Prints a message of the protocol.
const BEGUN: &str = "echo '{\"id\":1,\"result\":0}'";

/// Threat E3, under a real terminal: it can be neither opened nor typed into.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "`script` brings a terminal along"
)]
async fn e3_a_child_has_no_terminal() {
    if !crate::has(&["script", "python3"]) {
        return;
    }
    let open = "if (exec 3<>/dev/tty) 2>/dev/null; then r=opened; else r=refused; fi";
    for profile in ["hide", "confine", "landlock", "off"] {
        let typed = format!("case $({TYPE}) in *CANARY*) r=typed;; esac");
        let inner = format!("{open}; {typed}; echo \"{{\\\"id\\\":1,\\\"result\\\":\\\"$r\\\"}}\"");
        let outer = format!("{open}; echo outside-$r; \"$CHILD\" host {profile} end \"$INNER\"");
        let output = Command::new("script")
            .args(["-qec", &outer, "/dev/null"])
            .env("CHILD", CHILD)
            .env("INNER", &inner)
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("outside-opened"), "no terminal: {text}");
        assert!(text.contains("\"result\":\"refused\""), "{profile}: {text}");
    }
}
