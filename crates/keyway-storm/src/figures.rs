//! `cargo xtask bench team`: what the gateway of a team costs, as ratios within one run.
//!
//! Servers, people and `pgbench` run on the same machine as what is measured, as they do in each
//! comparison alike. Absolute figures say more about the machine than about the program.

mod calls;
pub(crate) mod client;
mod expiry;
mod kills;
mod memory;
pub(crate) mod rivals;
mod site;
mod statements;
mod team;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use keyway_testkit::free_port;
use tokio::runtime::Runtime;

use self::site::Site;
use self::team::Team;

/// How the figures are taken.
#[derive(Debug, clap::Parser)]
struct Options {
    /// The program `keyway`
    program: PathBuf,
    /// Only these: `statements`, `calls`, `expiry`, `kills`, `memory`, `rivals`; may be repeated
    #[arg(long)]
    only: Vec<String>,
    /// How often each side is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// For how long in each round
    #[arg(long, default_value_t = 6)]
    seconds: u64,
    /// How many people have a sign-in
    #[arg(long, default_value_t = 10_000)]
    people: usize,
    /// How many token requests a second the ceiling allows, where there is one
    #[arg(long, default_value_t = 500)]
    ceiling: u32,
    /// How often a replica is killed
    #[arg(long, default_value_t = 60)]
    kills: usize,
    /// How many sessions of older clients are open
    #[arg(long, default_value_t = 1_000)]
    sessions: usize,
    /// Another gateway, ready to run: `NAME=FOLDER` of its virtual environment; may be repeated
    #[arg(long)]
    rival: Vec<String>,
}

/// What decides how long it takes.
#[derive(Clone, Debug)]
struct Plan {
    program: PathBuf,
    rounds: usize,
    seconds: u64,
    people: usize,
}

/// One line of the table.
#[derive(Debug)]
struct Goal {
    what: String,
    goal: String,
    measured: String,
    /// `None` if it is only shown.
    is_met: Option<bool>,
}

impl Goal {
    fn new(what: impl Into<String>, goal: &str, measured: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            goal: goal.to_owned(),
            measured: measured.into(),
            is_met: None,
        }
    }

    const fn holds(mut self, is_met: bool) -> Self {
        self.is_met = Some(is_met);
        self
    }

    fn row(&self) -> String {
        let verdict = match self.is_met {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "–",
        };
        format!(
            "| {} | {} | {} | {verdict} |",
            self.what, self.goal, self.measured
        )
    }
}

/// Takes the figures and prints the table; fails if a goal is missed.
pub(crate) fn run() -> ExitCode {
    // The first word chose this mode.
    let options = Options::parse_from(std::env::args().skip(1));
    let plan = Plan {
        program: options.program.clone(),
        rounds: options.rounds,
        seconds: options.seconds,
        people: options.people,
    };
    let runtime = Runtime::new().expect("a runtime");
    let is_wanted =
        |name: &str| options.only.is_empty() || options.only.iter().any(|it| it == name);
    let mut goals = Vec::new();
    let mut rate = None;
    if is_wanted("statements") {
        let team = Stage::new(&runtime, "").team(&plan, 1);
        rate = Some(statements::measure(&team, &plan, &mut goals));
        show(&goals);
    }
    if is_wanted("calls") {
        calls::measure(Stage::new(&runtime, ""), &plan, &mut goals);
        show(&goals);
    }
    if is_wanted("expiry") {
        for ceiling in [0, options.ceiling] {
            expiry::measure((&runtime, ceiling), &plan, rate, &mut goals);
            show(&goals);
        }
    }
    if is_wanted("kills") {
        kills::measure(Stage::new(&runtime, ""), &plan, options.kills, &mut goals);
        show(&goals);
    }
    if is_wanted("memory") {
        memory::measure(
            Stage::new(&runtime, ""),
            &plan,
            options.sessions,
            &mut goals,
        );
        show(&goals);
    }
    if is_wanted("rivals") {
        let stage = Stage::new(&runtime, "");
        rivals::measure(stage, &plan, &options.rival, &mut goals);
    }
    println!("\n| what | goal | measured | met |\n|---|---|---|---|");
    for goal in &goals {
        println!("{}", goal.row());
    }
    let is_missed = goals.iter().any(|it| it.is_met == Some(false));
    if is_missed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Shows the last lines of the table while the rest is measured.
fn show(goals: &[Goal]) {
    if let Some(last) = goals.last() {
        println!("{}", last.row());
    }
}

/// The servers of one measurement, before there is a gateway.
struct Stage<'a> {
    runtime: &'a Runtime,
    public: String,
    site: Arc<Site>,
    /// Added to the configuration of each replica.
    more: String,
}

impl<'a> Stage<'a> {
    fn new(runtime: &'a Runtime, more: &str) -> Self {
        let public = format!("http://127.0.0.1:{}", free_port());
        let site = runtime.block_on(Site::start(&public)).expect("ports");
        Self {
            runtime,
            public,
            site,
            more: more.to_owned(),
        }
    }

    fn team(&self, plan: &Plan, replicas: usize) -> Team {
        let gateway = (plan.program.as_path(), self.public.as_str());
        Team::prepare(gateway, &self.site, replicas, &self.more)
    }
}

/// Returns the middle of some rates.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Returns the time that a share of all, in hundredths, do not exceed.
fn percentile(times: &mut [Duration], share: usize) -> Duration {
    times.sort_unstable();
    let at = (times.len() * share).div_ceil(100).saturating_sub(1);
    times.get(at).copied().unwrap_or_default()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_times_is_not_above_its_percentile() {
        let mut times: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&mut times, 50), Duration::from_millis(100));
        assert_eq!(percentile(&mut times, 99), Duration::from_millis(198));
        assert_eq!(percentile(&mut times, 100), Duration::from_millis(200));
        assert_eq!(percentile(&mut [], 99), Duration::ZERO);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]).to_bits(), 2.0_f64.to_bits());
    }

    #[test]
    fn goal_that_is_missed_is_said_so_in_its_row() {
        let goal = Goal::new("a", "≥ 2", "1");
        assert_eq!(goal.row(), "| a | ≥ 2 | 1 | – |");
        assert_eq!(goal.holds(false).row(), "| a | ≥ 2 | 1 | **no** |");
    }
}
