//! Calls by a person with a token of their issuer, beside calls by a client with a gateway token.

use std::time::{Duration, Instant};

use super::client::{Client, call};
use super::site::PAGE;
use super::team::Badges;
use super::{Goal, Plan, Stage, milliseconds, percentile};
use crate::timeouts::LONG;

/// Measures both in turn, call by call.
pub(crate) fn measure(stage: Stage<'_>, plan: &Plan, goals: &mut Vec<Goal>) {
    let mut team = stage.team(plan, 1);
    let store = team.store(4);
    let pattern = team.pattern(&store);
    team.store_people(&store, (&pattern, 1), LONG);
    let local = team.run(0, &["token", "new", "--name", "figures"]);
    team.start(0);
    let person = Badges::new(&stage.site).of(0);
    let port = team.port(0);
    let count = plan.rounds * CALLS;
    let (mut by_person, mut by_token) = stage.runtime.block_on(async {
        let mut clients = [&*person, &*local].map(|token| (Client::new(port), call(token)));
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..WARM_UP_CALLS + count {
            for ((client, (headers, message)), times) in clients.iter_mut().zip(&mut times) {
                let began = Instant::now();
                let reply = client.post("/mcp/s", headers, message).await;
                let elapsed = began.elapsed();
                let reply = reply.expect("an answer");
                assert!(reply.body.contains(PAGE), "{reply:?}");
                if round >= WARM_UP_CALLS {
                    times.push(elapsed);
                }
            }
        }
        let [person, token] = times;
        (person, token)
    });
    let p50 = |times: &mut [Duration]| percentile(times, 50);
    let (ours, theirs) = (p50(&mut by_person), p50(&mut by_token));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let text = format!(
        "{:.3} ms and {:.3} ms: {ratio:.2} times",
        milliseconds(ours),
        milliseconds(theirs)
    );
    let what =
        format!("p50 of {count} calls with a person's JWT, beside as many with a gateway token");
    goals.push(Goal::new(what, "≤ 1.15 times", text).holds(ratio <= 1.15));
}

/// In each round, of each.
const CALLS: usize = 1_000;
const WARM_UP_CALLS: usize = 200;
