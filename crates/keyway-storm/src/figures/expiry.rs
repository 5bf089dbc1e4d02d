//! Many sign-ins whose tokens end in the same second, while all their people call.
//!
//! Each person has called once before, so that the gateway has a connection for each. The tokens end
//! together by the database's clock; then everyone calls within one second.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::client::{Client, call};
use super::site::{PAGE, Redemption, Site};
use super::team::{Badges, Team};
use super::{Goal, Plan, Stage};
use crate::timeouts::{
    BURST, LONG, RENEWAL_POLL, RENEWAL_TIMEOUT, RENEWED_AHEAD, WARM_UP_EACH, WARM_UP_LEAST,
};

/// Measures it with a ceiling of so many token requests a second, 0 for none. `rate` is that of claims
/// with their commits.
pub(crate) fn measure(
    (runtime, ceiling): (&Runtime, u32),
    plan: &Plan,
    rate: Option<f64>,
    goals: &mut Vec<Goal>,
) {
    let stage = Stage::new(
        runtime,
        &format!("[oauth]\nrefreshes_per_second = {ceiling}\n"),
    );
    let mut team = stage.team(plan, REPLICAS);
    let store = team.store(16);
    let pattern = team.pattern(&store);
    let people = u32::try_from(plan.people).unwrap_or(u32::MAX);
    let warm_up = RENEWED_AHEAD + WARM_UP_LEAST + WARM_UP_EACH * people;
    team.store_people(&store, (&pattern, plan.people), LONG);
    drop(store);
    for number in 0..REPLICAS {
        team.start(number);
    }
    let badges = Arc::new(Badges::new(&stage.site));
    let run = Run {
        runtime,
        team: &team,
        site: &stage.site,
        badges: &badges,
        people: plan.people,
    };
    // All of them at the same moment, which no replica has read yet.
    let ends = Instant::now() + warm_up;
    team.sql(&format!(
        "UPDATE keyway.grants SET expires_at = keyway.now() + {} WHERE person <> ''",
        warm_up.as_millis()
    ));
    run.warm_up();
    let left = ends.saturating_duration_since(Instant::now());
    println!(
        "  all have called, {:.0} s before the end",
        left.as_secs_f64()
    );
    assert!(
        left > RENEWED_AHEAD,
        "the machine is too slow for so many people"
    );
    assert!(
        stage.site.take_journal().is_empty(),
        "a token was renewed too early"
    );
    std::thread::sleep(left);
    stage.site.accept_from(1);
    let done = run.burst();
    judge(&done, (plan.people, ceiling), rate, goals);
}

struct Run<'a> {
    runtime: &'a Runtime,
    team: &'a Team,
    site: &'a Arc<Site>,
    badges: &'a Arc<Badges>,
    people: usize,
}

/// What the burst came to.
struct Done {
    journal: Vec<Redemption>,
    /// From the first call to the last commit; `None` if some never came.
    took: Option<Duration>,
    answered: usize,
    /// The most connections to the database that were seen.
    connections: usize,
}

impl Run<'_> {
    /// Has each person call once, a few at the same time.
    fn warm_up(&self) {
        let slots = Arc::new(Semaphore::new(WARM_UP_AT_ONCE));
        let answered = self.runtime.block_on(async {
            let mut calls = JoinSet::new();
            for person in 0..self.people {
                let slot = Arc::clone(&slots).acquire_owned().await;
                let (badge, port) = (self.badges.of(person), self.port(person));
                calls.spawn(async move {
                    let _slot = slot;
                    is_page(port, &badge).await
                });
            }
            calls.join_all().await
        });
        let failed = answered.iter().filter(|it| !**it).count();
        assert_eq!(failed, 0, "calls with good tokens that failed");
    }

    /// Has everyone call within a second, whatever comes of the calls before.
    fn burst(&self) -> Done {
        let (began, start) = (Instant::now(), self.team.sql("SELECT keyway.now()"));
        let (mut calls, mut connections) = (JoinSet::new(), 0);
        let _entered = self.runtime.enter();
        for person in 0..self.people {
            let share = f64::from(u32::try_from(person).unwrap_or(u32::MAX))
                / f64::from(u32::try_from(self.people).unwrap_or(u32::MAX));
            let (badge, port) = (self.badges.of(person), self.port(person));
            calls.spawn(async move {
                tokio::time::sleep(BURST.mul_f64(share)).await;
                is_page(port, &badge).await
            });
        }
        let mut took = None;
        while took.is_none() && began.elapsed() < RENEWAL_TIMEOUT {
            std::thread::sleep(RENEWAL_POLL);
            let seen = self.team.sql(SEEN);
            let (renewed, open) = seen.split_once('|').expect("two columns");
            connections = connections.max(open.parse().unwrap_or_default());
            let is_done = renewed == self.people.to_string();
            // By the database's clock: how often it is looked has no part in it.
            took = is_done.then(|| {
                let took = self.team.sql(&format!(
                    "SELECT max(at) - {start} FROM keyway.audit WHERE event = 'refresh'"
                ));
                Duration::from_millis(took.parse().expect("milliseconds"))
            });
        }
        let answered = self.runtime.block_on(calls.join_all());
        Done {
            journal: self.site.take_journal(),
            took,
            answered: answered.into_iter().filter(|it| *it).count(),
            connections,
        }
    }

    fn port(&self, person: usize) -> u16 {
        self.team.port(person % REPLICAS)
    }
}

async fn is_page(port: u16, badge: &str) -> bool {
    let (headers, message) = call(badge);
    let reply = Client::new(port).post("/mcp/s", &headers, &message).await;
    reply.is_ok_and(|it| it.body.contains(PAGE))
}

fn judge(done: &Done, (people, ceiling): (usize, u32), rate: Option<f64>, goals: &mut Vec<Goal>) {
    let requests = done.journal.len();
    let distinct: HashSet<_> = done.journal.iter().map(|it| it.sign_in).collect();
    let is_exact = requests == people && distinct.len() == people;
    let how = match ceiling {
        0 => "no ceiling".to_owned(),
        _ => format!("a ceiling of {ceiling} each second"),
    };
    let what = format!("token requests for {people} tokens that end in one second, {how}");
    let text = format!("{requests}; {} of {people} calls answered", done.answered);
    goals.push(Goal::new(what, &format!("exactly {people}"), text).holds(is_exact));
    let seconds = done.took.map_or(f64::INFINITY, |it| it.as_secs_f64());
    let count = f64::from(u32::try_from(people).unwrap_or(u32::MAX));
    if ceiling == 0 {
        let text = format!("{seconds:.2} s");
        let what = "the same, from the first call to the last commit";
        let goal = match rate {
            Some(rate) => {
                let most = 1.5 * count / rate;
                Goal::new(
                    what,
                    &format!("≤ {most:.2} s, 1.5 times claim and commit"),
                    text,
                )
                .holds(seconds <= most)
            }
            None => Goal::new(what, "needs `statements` in the same run", text),
        };
        goals.push(goal);
        let each = done.connections / REPLICAS;
        let text = format!("{each}, {} of {REPLICAS} replicas", done.connections);
        let goal = Goal::new(
            "connections to the database at that time, per replica",
            "≤ 24",
            text,
        );
        goals.push(goal.holds(done.connections <= 24 * REPLICAS));
        return;
    }
    let (count, span) = most_above(&done.journal, ceiling);
    let allowed = f64::from(ceiling) * (1.0 + span.as_secs_f64()) + f64::from(REPLICA_STARTS);
    let text = format!(
        "{count} in the busiest {:.1} s, {allowed:.0} allowed; all after {seconds:.1} s",
        span.as_secs_f64()
    );
    let what = format!("token requests with {how}, a burst of as many included");
    goals.push(Goal::new(what, "never above", text).holds(is_below(&done.journal, ceiling)));
}

/// Says whether no span of time has more requests than the burst and the rate allow.
fn is_below(journal: &[Redemption], ceiling: u32) -> bool {
    let (count, span) = most_above(journal, ceiling);
    let allowed = f64::from(ceiling) * (1.0 + span.as_secs_f64()) + f64::from(REPLICA_STARTS);
    f64::from(count) <= allowed
}

/// Returns the span in which most requests came beyond what the rate alone allows, and how many.
fn most_above(journal: &[Redemption], ceiling: u32) -> (u32, Duration) {
    let mut times: Vec<Instant> = journal.iter().map(|it| it.at).collect();
    times.sort_unstable();
    let Some(first) = times.first().copied() else {
        return (0, Duration::ZERO);
    };
    let surplus = |index: u32, at: Instant| {
        f64::from(index) - f64::from(ceiling) * (at - first).as_secs_f64()
    };
    // The largest rise of the surplus between two requests.
    let (mut lowest, mut best) = ((0, first), (f64::MIN, 0, Duration::ZERO));
    for (index, at) in (0_u32..).zip(times) {
        if surplus(index, at) < surplus(lowest.0, lowest.1) {
            lowest = (index, at);
        }
        let rise = surplus(index, at) - surplus(lowest.0, lowest.1);
        if rise > best.0 {
            best = (rise, index - lowest.0 + 1, at - lowest.1);
        }
    }
    (best.1, best.2)
}

const REPLICAS: usize = 3;
/// One request for each issuer at each start, so that a single renewal waits for nothing.
const REPLICA_STARTS: u32 = 3;
const WARM_UP_AT_ONCE: usize = 32;
const SEEN: &str = "SELECT
    (SELECT count(*) FROM keyway.grants
     WHERE person <> '' AND generation & 4294967295 > 0 AND claim IS NULL),
    (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'keyway')";

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(every: &[u64]) -> Vec<Redemption> {
        let start = Instant::now();
        let at = |millis: &u64| Redemption {
            at: start + Duration::from_millis(*millis),
            sign_in: 0,
            number: 0,
        };
        every.iter().map(at).collect()
    }

    #[test]
    fn requests_above_the_ceiling_are_found_wherever_they_are() {
        let even: Vec<u64> = (0..100).map(|step| step * 100).collect();
        assert!(is_below(&journal(&even), 10));
        let mut crowded = even.clone();
        // The burst of ten and the three of the starts are allowed once.
        crowded.extend(std::iter::repeat_n(5_050, 12));
        assert!(is_below(&journal(&crowded), 10));
        crowded.extend(std::iter::repeat_n(5_051, 3));
        assert!(!is_below(&journal(&crowded), 10));
    }
}
