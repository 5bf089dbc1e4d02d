//! `cargo xtask storm`: many people at several replicas, while everything around them fails.
//!
//! ```text
//!  people ─▶ haproxy ─▶ keyway serve ×3 ─▶ haproxy ─▶ PostgreSQL ⇢ standby
//!    (load)                  │
//!                            ├─▶ holder of the wrapping key (transit)
//!                            └─▶ MCP and authorization servers of eight profiles (upstream), journal
//!                                                                      (families) ─▶ checker
//! ```
//!
//! Servers, people and checker are in this process, with the holder of the wrapping key (transit);
//! everything else are the real programs. One replica has its folder on a small disk, and one is on a
//! host of its own whose link can be cut (namespaces). See `docs/postgres.md` for what it found.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a storm that cannot continue must stop, and it starts programs"
)]

mod checker;
mod cluster;
mod config;
mod families;
mod faults;
mod figures;
mod http;
mod issuer;
mod kill_trigger;
mod load;
mod namespaces;
mod people;
mod report;
mod rivals;
mod seed;
mod timeouts;
mod transit;
mod upstream;

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Parser as _;
use keyway_store::{GrantKey, GrantState, GrantStore as _};
use tokio::runtime::Runtime;

use crate::checker::{Observed, Stored};
use crate::cluster::Cluster;
use crate::config::Ports;
use crate::faults::{Done, Faults};
use crate::kill_trigger::KillTrigger;
use crate::load::Load;
use crate::people::SignIn;
use crate::report::Outcome;
use crate::seed::Seed;
use crate::timeouts::{WARM_UP_EACH, WARM_UP_LEAST};
use crate::upstream::{TEMPLATE, World};

/// How it is run.
#[derive(Debug, clap::Parser)]
struct Options {
    /// The program `keyway`
    program: PathBuf,
    /// For how long things fail
    #[arg(long, default_value_t = 90)]
    seconds: u64,
    /// The number that decides what happens when
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many people have three sign-ins each
    #[arg(long, default_value_t = 1_000)]
    people: usize,
    /// How many sign-ins are used at once; more are added while the machine keeps up
    #[arg(long, default_value_t = 300)]
    active: usize,
    /// How long a replica is stopped at most, in seconds
    #[arg(long, default_value_t = 15)]
    longest_stop: u64,
    /// Do only what has this in its name
    #[arg(long)]
    only: Option<String>,
    /// An older `keyway`, which replicas run until the first rolling restart
    #[arg(long)]
    older: Option<PathBuf>,
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("figures") => return figures::run(),
        Some("rivals") => return rivals::run(),
        _ => {}
    }
    let options = Options::parse();
    let runtime = Runtime::new().expect("a runtime");
    let began = Instant::now();
    println!("seed {}", options.seed);
    let (kills_sender, kills) = tokio::sync::mpsc::unbounded_channel();
    let ports = Ports::free();
    let seed = Seed(options.seed);
    let public = ports.address();
    let world = World::start(&public, KillTrigger::new(kills_sender), seed.clone());
    let world = runtime.block_on(world).expect("ports");
    let mut cluster = Cluster::prepare((&options.program, options.older.as_deref()), ports, &world);
    cluster.sign_in_once();
    let store = people::store(&cluster.direct(), &world);
    let (sign_ins, keys) = people::store_all(&store, &world, options.people);
    drop(store);
    let (count, took) = (sign_ins.len(), began.elapsed().as_secs_f32());
    println!(
        "{count} sign-ins of {} people stored after {took:.0} s",
        options.people
    );
    cluster.start(&world);

    let load = Load::new(Arc::clone(&world), cluster.public());
    let in_use = ActiveSignIns::choose(&load, sign_ins, seed.clone());
    let active = in_use.start(&runtime, options.active);
    let storm = Storm {
        options: &options,
        world: &world,
        load: &load,
    };
    storm.warm_up();
    world.lose_answers(true);
    let mut faults = Faults {
        cluster: &mut cluster,
        world: &world,
        kills,
        seed: Seed(options.seed ^ 0xf00d),
        longest_stop: Duration::from_secs(options.longest_stop),
        done: Done::default(),
    };
    let from = (Instant::now(), world.refreshes.load(Ordering::Relaxed));
    let times = report::ProcessorTimes::read();
    let only = options.only.as_deref().map(report::faults_named);
    faults.run(
        only.as_deref(),
        from.0 + Duration::from_secs(options.seconds),
    );
    let done = faults.done;
    let refreshes = world.refreshes.load(Ordering::Relaxed) - from.1;
    let seconds = from.0.elapsed();
    let stolen = times.stolen_since();
    world.lose_answers(false);
    let open = storm.settle(&cluster);
    let collected = storm.collect(&cluster, &active, &keys);
    let outcome = Outcome {
        done: &done,
        refreshes,
        seconds,
        stolen,
        collected: &collected,
        open: &open,
        left_out: &cluster.left_out,
    };
    report::print(&storm, &outcome)
}

/// The sign-ins that are used, in the order in which they come.
struct ActiveSignIns<'a> {
    load: &'a Arc<Load>,
    sign_ins: Vec<SignIn>,
    seed: Seed,
}

impl<'a> ActiveSignIns<'a> {
    fn choose(load: &'a Arc<Load>, mut sign_ins: Vec<SignIn>, mut seed: Seed) -> Self {
        for index in (1..sign_ins.len()).rev() {
            sign_ins.swap(index, seed.below(index + 1));
        }
        Self {
            load,
            sign_ins,
            seed,
        }
    }

    fn start(mut self, runtime: &Runtime, count: usize) -> Vec<SignIn> {
        self.sign_ins.truncate(count);
        for sign_in in &self.sign_ins {
            let seed = Seed(self.seed.next());
            let first_within = first_calls_within(count);
            let person = Arc::clone(self.load).person(*sign_in, seed, first_within);
            runtime.spawn(person);
        }
        self.sign_ins
    }
}

/// In how long a time so many people call first, as fast as two processors connect them.
fn first_calls_within(count: usize) -> Duration {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    WARM_UP_LEAST.max(WARM_UP_EACH.saturating_mul(count))
}

struct Storm<'a> {
    options: &'a Options,
    world: &'a Arc<World>,
    load: &'a Arc<Load>,
}

/// What was collected at the end.
struct Collected {
    stored: HashMap<usize, Stored>,
    audit: HashMap<usize, Vec<String>>,
    /// By family, all that the audit says of its renewals.
    trail: HashMap<usize, Vec<String>>,
}

impl Storm<'_> {
    /// Waits until there have been as many answers as there are sign-ins in use.
    fn warm_up(&self) {
        let deadline = Instant::now() + 3 * first_calls_within(self.options.active);
        while self.load.answered.load(Ordering::Relaxed) < self.options.active
            && Instant::now() < deadline
        {
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Lets everything come to its end; returns the claims that stay open.
    fn settle(&self, cluster: &Cluster) -> String {
        // Long enough for what was lost last to be tried again.
        std::thread::sleep(Duration::from_secs(15));
        self.load.stops.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + Duration::from_secs(40);
        // Those from before a restart of the database stay until their end, as the protocol has it.
        let open = "SELECT count(*) FROM keyway.grants
             WHERE claim IS NOT NULL AND claim_server = keyway.server_start()";
        loop {
            let count = cluster.sql(open);
            let is_quiet = self.load.under_way.load(Ordering::Relaxed) == 0 && count == "0";
            if is_quiet || Instant::now() > deadline {
                return count;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Reads the store and the audit.
    fn collect(&self, cluster: &Cluster, active: &[SignIn], keys: &[GrantKey]) -> Collected {
        let replica = people::store(&cluster.direct(), self.world);
        let mut stored = HashMap::new();
        for sign_in in active {
            let grants = replica.grants(people::person(self.world, sign_in.person));
            let key = &keys[sign_in.server];
            let (grant, refresh) = (grants.read(key), grants.refresh_to_revoke(key));
            if let (Ok(Some(grant)), Ok(Some(refresh))) = (grant, refresh) {
                let needs_reauth = grant.state == GrantState::NeedsReauth;
                let refresh = refresh.expose().clone();
                stored.insert(
                    sign_in.family,
                    Stored {
                        refresh,
                        needs_reauth,
                    },
                );
            }
        }
        let mut audit: HashMap<usize, Vec<String>> = HashMap::new();
        let of: HashMap<_, _> = active
            .iter()
            .map(|it| {
                let person = people::name(self.world, it.person);
                ((person, hex(&keys[it.server].name())), it.family)
            })
            .collect();
        let rows = cluster.sql(
            "SELECT person, encode(name, 'hex'), cause, outcome, generation & 65535,
                    replica % 1000, round(at / 1000.0, 1) - round(extract(epoch FROM now()), 1)
             FROM keyway.audit WHERE event IN ('refresh', 'claim') ORDER BY at",
        );
        let end = self.world.now().as_secs_f32();
        let mut trail: HashMap<usize, Vec<String>> = HashMap::new();
        for row in rows.lines() {
            let mut columns = row.split('|').map(str::to_owned);
            let (Some(person), Some(name), Some(cause), Some(outcome)) = (
                columns.next(),
                columns.next(),
                columns.next(),
                columns.next(),
            ) else {
                continue;
            };
            let Some(family) = of.get(&(person, name)) else {
                continue;
            };
            let rest: Vec<String> = columns.collect();
            if let [generation, replica, ago] = rest.as_slice() {
                let at = end + ago.parse().unwrap_or(0.0);
                let text = format!("{at:.1}: #{generation} {outcome} {cause} by {replica}");
                trail.entry(*family).or_default().push(text);
            }
            if outcome == "rejected" {
                audit.entry(*family).or_default().push(cause);
            }
        }
        Collected {
            stored,
            audit,
            trail,
        }
    }

    fn check(&self, done: &Done, collected: &Collected) -> checker::Findings {
        let families = self.world.families(|all| std::mem::take(&mut all.0));
        let mut used = families;
        // Those that were copied were used by no person.
        used.iter_mut()
            .filter(|it| it.person == TEMPLATE)
            .for_each(|it| it.redemptions.clear());
        let notes = self.load.notes();
        let observed = Observed {
            families: &used,
            incidents: &done.incidents,
            restarts: &done.restarts,
            stalls: &self.world.stalls(),
            stored: &collected.stored,
            audit: &collected.audit,
            trail: &collected.trail,
            asked: &notes.asked,
            end: self.world.now(),
        };
        observed.check()
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}
