//! What a replica takes: memory with many people known, with many sessions open, and connections.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::client::{Client, Session, call};
use super::site::PAGE;
use super::team::{Badges, Team};
use super::{Goal, Plan, Stage};
use crate::timeouts::{IDLE_TIMEOUT, LONG, SETTLE};

/// Measures one replica.
pub(crate) fn measure(stage: Stage<'_>, plan: &Plan, sessions: usize, goals: &mut Vec<Goal>) {
    let mut team = stage.team(plan, 1);
    let store = team.store(16);
    let pattern = team.pattern(&store);
    team.store_people(&store, (&pattern, plan.people), LONG);
    drop(store);
    team.start(0);
    let badges = Arc::new(Badges::new(&stage.site));
    goals.push(Goal::new(
        format!(
            "memory of a replica that was just started, {} people in the database",
            plan.people
        ),
        "–",
        mebibytes(resident(&team)),
    ));
    let port = team.port(0);
    let all = each(&stage, plan.people, |person| {
        let badge = badges.of(person);
        async move {
            let (headers, message) = call(&badge);
            let reply = Client::new(port).post("/mcp/s", &headers, &message).await;
            reply.is_ok_and(|it| it.body.contains(PAGE)).then_some(())
        }
    });
    assert_eq!(all.len(), plan.people, "calls that failed");
    let what = format!("the same, right after {} people have called", plan.people);
    goals.push(Goal::new(what, "–", mebibytes(resident(&team))));
    connections(&team, "connections to the database then", goals);
    let closed = closed_after(&team);
    let idle = resident(&team);
    let text = format!("after {:.0} s", closed.as_secs_f64());
    goals.push(Goal::new("all of their connections are closed", "–", text));
    let what = format!(
        "the same, idle: {} people have called, their connections are closed",
        plan.people
    );
    goals.push(Goal::new(what, "≤ 40 MiB", mebibytes(idle)).holds(idle <= 40 << 10));

    // A replica that has done nothing else.
    team.kill(0);
    team.start(0);
    let open = each(&stage, sessions, |person| {
        let headers = format!("authorization: Bearer {}\r\n", badges.of(person));
        async move {
            let client = Client::new(port);
            let session = Session::begin(client, "/mcp/s", &headers, "2025-11-25").await;
            let mut session = session.ok()?;
            let reply = session.call("page").await.ok()?;
            reply.body.contains(PAGE).then_some(session)
        }
    });
    assert_eq!(open.len(), sessions, "sessions that failed");
    let taken = resident(&team);
    let what =
        format!("memory with {sessions} sessions of 2025-11-25 open, each of another person");
    goals.push(Goal::new(what, "≤ 120 MiB", mebibytes(taken)).holds(taken <= 120 << 10));
    connections(&team, "connections to the database then", goals);
    drop(open);
}

/// Does something for each of so many people, some at the same time; returns what worked.
fn each<T: Send + 'static, F: Future<Output = Option<T>> + Send + 'static>(
    stage: &Stage<'_>,
    people: usize,
    work: impl Fn(usize) -> F,
) -> Vec<T> {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let done = stage.runtime.block_on(async {
        let mut all = JoinSet::new();
        for person in 0..people {
            let slot = Arc::clone(&slots).acquire_owned().await;
            let work = work(person);
            all.spawn(async move {
                let _slot = slot;
                work.await
            });
        }
        all.join_all().await
    });
    done.into_iter().flatten().collect()
}

fn connections(team: &Team, what: &str, goals: &mut Vec<Goal>) {
    let open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'keyway'";
    let open: usize = team.sql(open).parse().unwrap_or(usize::MAX);
    goals.push(Goal::new(what, "≤ 24", open.to_string()).holds(open <= 24));
}

/// Waits until no sign-in is in use any more; returns how long that took.
fn closed_after(team: &Team) -> Duration {
    println!("  waiting for connections to be closed, five minutes after their last use");
    let began = Instant::now();
    while team.sql("SELECT count(*) FROM keyway.in_use") != "0" && began.elapsed() < IDLE_TIMEOUT {
        std::thread::sleep(SETTLE);
    }
    began.elapsed()
}

/// Returns the resident memory of the replica in KiB.
fn resident(team: &Team) -> u64 {
    // What was freed a moment ago goes back to the system.
    std::thread::sleep(SETTLE);
    let status = std::fs::read_to_string(format!("/proc/{}/status", team.pid(0)));
    let status = status.expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.expect("its memory")
}

fn mebibytes(kibibytes: u64) -> String {
    let exact = f64::from(u32::try_from(kibibytes).unwrap_or(u32::MAX)) / 1024.0;
    format!("{exact:.1} MiB")
}

const AT_ONCE: usize = 32;
