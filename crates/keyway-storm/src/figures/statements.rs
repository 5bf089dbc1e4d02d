//! The store of the gateway beside `pgbench`: claims with their commits, and reads.
//!
//! `pgbench` runs the very statements: they are read from the server's log while the store is used once.
//! Both have the same number of connections, the same PostgreSQL and the same table; rounds alternate.
//! The store sends a whole transaction at once. `pgbench` is run in both ways: at once, with one
//! acknowledgement for all of it, and statement by statement.

mod script;

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use keyway_postgres::{PostgresGrants, Replica};
use keyway_store::{Claim, Commit, Generation, GrantStore as _};

use self::script::{FIRST, Script, Scripts};
use super::team::{Pattern, Team};
use super::{Goal, Plan, median};
use crate::timeouts::{CLAIM_LIFETIME, LONG};

/// Rates per second: the store's, and those of `pgbench`.
#[derive(Clone, Copy, Debug)]
struct Rates {
    ours: f64,
    at_once: f64,
    one_by_one: f64,
}

/// Measures both in turn; returns the rates of claims with their commits.
pub(crate) fn measure(team: &Team, plan: &Plan, goals: &mut Vec<Goal>) -> f64 {
    let store = team.store(CONNECTIONS);
    let pattern = team.pattern(&store);
    let people = PEOPLE_EACH * CONNECTIONS;
    team.store_people(&store, (&pattern, people), LONG);
    let scripts = Scripts::learn(team, &pattern);
    team.sql(&scripts.people);
    let mut bench = Bench {
        team,
        store: &store,
        pattern: &pattern,
        seconds: plan.seconds,
        generations: Vec::new(),
    };
    bench.warm_up();
    let claims = bench.rounds(plan.rounds, Kind::Claim, &scripts.claim);
    let reads = bench.rounds(plan.rounds, Kind::Read, &scripts.read);
    for (what, rates) in [("claim and commit", claims), ("read", reads)] {
        let beside = |theirs: f64, how: &str, goal: &str| {
            let ratio = rates.ours / theirs;
            let text = format!(
                "{:.0} each second, `pgbench` {theirs:.0}: {ratio:.2} times",
                rates.ours
            );
            let what = format!("{what}, {CONNECTIONS} connections, beside `pgbench`, {how}");
            (Goal::new(what, goal, text), ratio)
        };
        let (goal, ratio) = beside(rates.one_by_one, "statement by statement", "≥ 0.70 times");
        goals.push(goal.holds(ratio >= 0.7));
        // The best that could be: our driver asks for an acknowledgement of each statement.
        let (figure, _) = beside(rates.at_once, "a transaction at once", "–");
        goals.push(figure);
    }
    claims.ours
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Claim,
    Read,
}

struct Bench<'a> {
    team: &'a Team,
    store: &'a Replica,
    pattern: &'a Pattern,
    seconds: u64,
    /// What is stored of each person.
    generations: Vec<Generation>,
}

impl Bench<'_> {
    fn grants(&self, person: usize) -> PostgresGrants {
        self.store.grants(self.team.person(person))
    }

    /// Reads each sign-in once, so that each person's key is known.
    fn warm_up(&mut self) {
        let read = |person| {
            let grant = self.grants(person).read(&self.pattern.key);
            grant.expect("a sign-in").expect("a sign-in").generation
        };
        self.generations = (0..PEOPLE_EACH * CONNECTIONS).map(read).collect();
    }

    /// Runs all three in turn and returns the medians.
    fn rounds(&mut self, rounds: usize, kind: Kind, script: &Script) -> Rates {
        let mut rates: [Vec<f64>; 3] = Default::default();
        let one_by_one = script.one_by_one();
        for round in 0..rounds {
            for turn in 0..rates.len() {
                // Another one is the first in each round, so that none gains by what grows with time.
                let side = (round + turn) % rates.len();
                self.prepare();
                let rate = match side {
                    0 => self.ours(kind),
                    1 => self.theirs(kind, script),
                    _ => self.theirs(kind, &one_by_one),
                };
                rates[side].push(rate);
            }
            let [ours, at_once, one_by_one] = [0, 1, 2].map(|side| rates[side][round]);
            println!("  {kind:?}: {ours:.0} beside {at_once:.0} and {one_by_one:.0}");
        }
        let [ours, at_once, one_by_one] = rates.map(|mut rates| median(&mut rates));
        Rates {
            ours,
            at_once,
            one_by_one,
        }
    }

    /// Leaves the same behind for each side: `pgbench` counts from the first generation, and nothing of
    /// the round before is left to be cleaned up.
    fn prepare(&self) {
        self.team.sql(&format!(
            "UPDATE keyway.grants SET generation = (person::bigint - {FIRST} + 1) << 32
             WHERE person ~ '^[0-9]+$'"
        ));
        self.team.sql("VACUUM keyway.grants");
        self.team.sql("CHECKPOINT");
    }

    /// Runs the store with a thread for each connection; returns how often each second.
    fn ours(&mut self, kind: Kind) -> f64 {
        let (stops, count) = (AtomicBool::new(false), AtomicUsize::new(0));
        let mut generations = std::mem::take(&mut self.generations);
        let began = Instant::now();
        std::thread::scope(|scope| {
            for (thread, own) in generations.chunks_mut(PEOPLE_EACH).enumerate() {
                let (this, stops, count) = (&*self, &stops, &count);
                scope.spawn(move || {
                    let people = thread * PEOPLE_EACH..;
                    let mut each: Vec<_> = people.zip(own).collect();
                    // Relaxed: a wish, and a figure.
                    while !stops.load(Ordering::Relaxed) {
                        for (person, generation) in &mut each {
                            this.once(kind, *person, generation);
                            count.fetch_add(1, Ordering::Relaxed);
                            if stops.load(Ordering::Relaxed) {
                                return;
                            }
                        }
                    }
                });
            }
            std::thread::sleep(Duration::from_secs(self.seconds));
            stops.store(true, Ordering::Relaxed);
        });
        self.generations = generations;
        per_second(count.into_inner(), began.elapsed())
    }

    fn once(&self, kind: Kind, person: usize, generation: &mut Generation) {
        let (grants, key) = (self.grants(person), &self.pattern.key);
        if kind == Kind::Read {
            let found = grants.read(key).expect("a read");
            assert!(found.is_some(), "no sign-in of {person}");
            return;
        }
        let claim = grants.claim(key, *generation, CLAIM_LIFETIME);
        let Claim::Claimed(_) = claim.expect("a claim") else {
            panic!("the sign-in of {person} is claimed by another");
        };
        let tokens = self.pattern.tokens((person, 1));
        let tokens = tokens.with_lifetime(LONG);
        let committed = grants.commit(key, *generation, &tokens);
        let Commit::Committed { generation: next } = committed.expect("a commit") else {
            panic!("another committed the sign-in of {person}");
        };
        *generation = next;
    }

    /// Runs `pgbench` with the same number of connections; returns how often each second.
    fn theirs(&self, kind: Kind, script: &Script) -> f64 {
        let before = self.renewed();
        self.team.folder.put("script.sql", &script.text);
        let constants = script.constants.iter();
        let constants = constants.flat_map(|it| ["-D".to_owned(), it.clone()]);
        let output = Command::new("/usr/lib/postgresql/15/bin/pgbench")
            .args(["-n", "-M", "prepared", "-h", "127.0.0.1", "-U", "keyway"])
            .args(constants)
            .args(["-D", "n=-1", "-j", "2", "-c", &CONNECTIONS.to_string()])
            .args(["-T", &self.seconds.to_string()])
            .args(["-p", &self.team.database_port().to_string(), "-f"])
            .arg(self.team.folder.at("script.sql"))
            .arg("team")
            .output()
            .expect("pgbench");
        let said = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "pgbench: {said}{error}");
        let number = |text: &str| {
            let rest = said.split(text).nth(1)?;
            rest.split_whitespace().next()?.parse::<f64>().ok()
        };
        let done = number("transactions actually processed: ").expect("a count");
        if kind == Kind::Claim {
            // Statements that find no row are fast.
            let renewed = self.renewed() - before;
            assert!((renewed - done).abs() < 0.5, "{renewed} of {done} renewed");
        }
        number("tps = ").expect("a rate")
    }

    fn renewed(&self) -> f64 {
        let sum = "SELECT coalesce(sum(generation & 4294967295), 0) FROM keyway.grants
             WHERE person ~ '^[0-9]+$'";
        self.team.sql(sum).parse().expect("a number")
    }
}

fn per_second(count: usize, time: Duration) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / time.as_secs_f64()
}

/// As many as a replica has unless its settings say otherwise.
const CONNECTIONS: usize = 16;
/// So many for each connection, which no other uses.
const PEOPLE_EACH: usize = 100;
