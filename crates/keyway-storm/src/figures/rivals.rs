//! Calls through other gateways, beside the same calls through ours.
//!
//! The same server, the same client of 2025-06-18, the same number of sessions; rounds alternate. Each
//! gateway checks a token of its own. One that cannot be started is named with what it said.

use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use self::programs::{Rival, Surroundings};
use super::client::{Client, Session};
use super::site::PAGE;
use super::{Goal, Plan, Stage, median, milliseconds, percentile};

pub(crate) mod programs;

/// Measures all that can be started in turn.
pub(super) fn measure(stage: Stage<'_>, plan: &Plan, rivals: &[String], goals: &mut Vec<Goal>) {
    let mut team = stage.team(plan, 1);
    let token = team.run(0, &["token", "new", "--name", "figures"]);
    team.start(0);
    let ours = Target {
        name: "keyway".to_owned(),
        port: team.port(0),
        path: "/mcp/open",
        headers: format!("authorization: Bearer {token}\r\n"),
        tool: String::new(),
        _process: None,
    };
    let mut targets = vec![ours];
    let upstream = format!("{}/open/mcp", stage.site.origin());
    // The same server of databases for those that want one.
    let create = "CREATE DATABASE rival OWNER keyway";
    team.database.sql("postgres", create);
    let port = team.database_port();
    let surroundings = Surroundings {
        upstream: &upstream,
        database: format!("keyway@127.0.0.1:{port}/rival"),
        folder: &team.folder,
    };
    for text in rivals {
        match Rival::parse(text).and_then(|it| it.start(&surroundings)) {
            Ok(target) => targets.push(target),
            Err(why) => goals.push(Goal::new(
                text.as_str(),
                "–",
                format!("does not run: {why}"),
            )),
        }
    }
    let mut ready = Vec::new();
    for mut target in targets {
        match stage.runtime.block_on(target.learn()) {
            Ok(()) => ready.push((Arc::new(target), Figures::default())),
            Err(why) => {
                let text = format!("does not answer: {why}");
                goals.push(Goal::new(target.name.as_str(), "–", text));
            }
        }
    }
    for _ in 0..plan.rounds {
        for (target, figures) in &mut ready {
            let load = load(Arc::clone(target), Duration::from_secs(plan.seconds));
            let (rate, p99, failed) = stage.runtime.block_on(load);
            println!("  {}: {rate:.0} each second, p99 {p99:.2} ms", target.name);
            figures.rates.push(rate);
            figures.p99.push(p99);
            figures.failed += failed;
        }
    }
    judge(ready, goals);
}

fn judge(ready: Vec<(Arc<Target>, Figures)>, goals: &mut Vec<Goal>) {
    let mut all = ready.into_iter().map(|(target, mut figures)| {
        let (rate, p99) = (median(&mut figures.rates), median(&mut figures.p99));
        (target.name.clone(), rate, p99, figures.failed)
    });
    let Some((_, rate, p99, failed)) = all.next() else {
        return;
    };
    let what = format!("calls through `keyway serve`, {SESSIONS} sessions");
    let text = format!("{rate:.0} each second, p99 {p99:.2} ms, {failed} failed");
    goals.push(Goal::new(what, "–", text).holds(failed == 0));
    for (name, their_rate, their_p99, failed) in all {
        let (times, share) = (rate / their_rate, their_p99 / p99);
        let text = format!(
            "{their_rate:.0} each second, p99 {their_p99:.2} ms, {failed} failed: {times:.1} times \
             as many calls, {share:.1} times as long at p99"
        );
        let what = format!("the same through {name}");
        goals.push(Goal::new(what, "≥ 10 times, both", text).holds(times >= 10.0 && share >= 10.0));
    }
}

/// What rounds showed.
#[derive(Debug, Default)]
struct Figures {
    rates: Vec<f64>,
    /// In milliseconds.
    p99: Vec<f64>,
    failed: usize,
}

/// A gateway that runs.
struct Target {
    name: String,
    port: u16,
    path: &'static str,
    /// What lets a client in.
    headers: String,
    /// What the gateway calls the tool.
    tool: String,
    /// Killed with this value.
    _process: Option<Ended>,
}

/// A process that ends with this value.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Target {
    async fn session(&self) -> std::io::Result<Session> {
        let client = Client::new(self.port);
        Session::begin(client, self.path, &self.headers, "2025-06-18").await
    }

    /// Finds out what the tool is called, and calls it once.
    async fn learn(&mut self) -> Result<(), String> {
        let text = |error: std::io::Error| error.to_string();
        let mut session = self.session().await.map_err(text)?;
        let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
        let listed = session.send(&list).await.map_err(text)?;
        let mut names = listed.body.split("\"name\":").skip(1);
        let name = names.find_map(|rest| {
            let name = rest
                .trim_start()
                .trim_start_matches('"')
                .split('"')
                .next()?;
            name.ends_with("page").then(|| name.to_owned())
        });
        self.tool = name.ok_or_else(|| format!("no tool in {}", listed.body))?;
        let called = session.call(&self.tool).await.map_err(text)?;
        match called.body.contains(PAGE) {
            true => Ok(()),
            false => Err(format!("{}: {}", called.status, called.body)),
        }
    }
}

/// Calls for a while in some sessions; returns calls each second, p99 in milliseconds, and how many
/// failed.
async fn load(target: Arc<Target>, time: Duration) -> (f64, f64, usize) {
    let mut sessions = JoinSet::new();
    let mut opened = Vec::new();
    for _ in 0..SESSIONS {
        opened.push(target.session().await.expect("a session"));
    }
    let began = Instant::now();
    for mut session in opened {
        let target = Arc::clone(&target);
        sessions.spawn(async move {
            let (mut times, mut failed) = (Vec::new(), 0);
            while began.elapsed() < time {
                let at = Instant::now();
                let reply = session.call(&target.tool).await;
                if reply.is_ok_and(|it| it.body.contains(PAGE)) {
                    times.push(at.elapsed());
                } else {
                    failed += 1;
                }
            }
            (times, failed)
        });
    }
    let each = sessions.join_all().await;
    let elapsed = began.elapsed().as_secs_f64();
    let failed = each.iter().map(|(_, failed)| failed).sum();
    let mut times: Vec<Duration> = each.into_iter().flat_map(|(times, _)| times).collect();
    let count = f64::from(u32::try_from(times.len()).unwrap_or(u32::MAX));
    (
        count / elapsed,
        milliseconds(percentile(&mut times, 99)),
        failed,
    )
}

/// So many call at the same time.
const SESSIONS: usize = 16;
