//! What a killed replica was renewing, and how soon a survivor redeems it.
//!
//! The authorization server has read the requests and holds its answers back when the replica is
//! killed; a survivor has redeemed a claim when the same refresh token comes once more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use keyway_store::GrantStore as _;

use super::client::{Client, call};
use super::site::{Redemption, Site};
use super::team::Badges;
use super::{Goal, Plan, Stage, milliseconds, percentile};
use crate::timeouts::{HELD_BACK, JOURNAL_POLL, TAKE_OVER_TIMEOUT};

/// Kills replicas in turn, each with some renewals under way.
pub(crate) fn measure(stage: Stage<'_>, plan: &Plan, kills: usize, goals: &mut Vec<Goal>) {
    let mut team = stage.team(plan, REPLICAS);
    let store = team.store(4);
    let pattern = team.pattern(&store);
    for number in 0..REPLICAS {
        team.start(number);
    }
    let site = &stage.site;
    site.accept_from(1);
    let badges = Badges::new(site);
    let mut times = Vec::new();
    for kill in 0..kills {
        let people = kill * AT_ONCE..(kill + 1) * AT_ONCE;
        for person in people.clone() {
            let tokens = pattern.tokens((person, 0));
            let expired = tokens.with_lifetime(Duration::from_millis(1));
            let grants = store.grants(team.person(person));
            grants.put(&pattern.key, &expired).expect("a sign-in");
        }
        site.delay_tokens(HELD_BACK);
        let victim = kill % REPLICAS;
        for person in people {
            let (badge, port) = (badges.of(person), team.port(victim));
            stage.runtime.spawn(async move {
                let (headers, message) = call(&badge);
                // It is killed before it answers.
                let _cut = Client::new(port).post("/mcp/s", &headers, &message).await;
            });
        }
        wait_for(site, AT_ONCE);
        let sent = site.take_journal();
        site.delay_tokens(Duration::ZERO);
        let killed = team.kill(victim);
        wait_for(site, AT_ONCE);
        let again = site.take_journal();
        times.extend(latencies(&sent, &again, killed));
        team.start(victim);
    }
    let count = times.len();
    let shares = [50, 99, 100].map(|share| percentile(&mut times, share));
    let [p50, p99, most] = shares;
    let text = format!(
        "p50 {:.0} ms, p99 {:.0} ms, at most {:.0} ms",
        milliseconds(p50),
        milliseconds(p99),
        milliseconds(most)
    );
    let what =
        format!("from SIGKILL to the survivor's token request, {count} claims, {kills} kills");
    let goal = Goal::new(what, "p99 ≤ 1 s", text);
    goals.push(goal.holds(p99 <= Duration::from_secs(1) && count == kills * AT_ONCE));
}

/// Returns how long after the kill each token came once more.
fn latencies(sent: &[Redemption], again: &[Redemption], killed: Instant) -> Vec<Duration> {
    let late = |first: &Redemption| {
        let mut same = again
            .iter()
            .filter(|it| (it.sign_in, it.number) == (first.sign_in, first.number));
        same.next()
            .map(|it| it.at.saturating_duration_since(killed))
    };
    sent.iter().filter_map(late).collect()
}

fn wait_for(site: &Arc<Site>, count: usize) {
    let deadline = Instant::now() + TAKE_OVER_TIMEOUT;
    // What does not come is missing in the figures.
    while site.count() < count && Instant::now() < deadline {
        std::thread::sleep(JOURNAL_POLL);
    }
}

const REPLICAS: usize = 3;
/// So many renewals are under way when a replica is killed.
const AT_ONCE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_that_never_comes_again_has_no_latency() {
        let killed = Instant::now();
        let came = |sign_in, millis| Redemption {
            at: killed + Duration::from_millis(millis),
            sign_in,
            number: 0,
        };
        let found = latencies(&[came(1, 0), came(2, 0)], &[came(2, 600)], killed);
        assert_eq!(found, [Duration::from_millis(600)]);
    }
}
