//! `cargo xtask storm --rivals`: what becomes of people's sign-ins at other gateways, beside ours.
//!
//! The same authorization servers with their journals, the same people and the same faults, one gateway
//! after the other, each in three processes on a PostgreSQL of its own. Two parts: people who call once
//! when their token has to be renewed, while processes are killed under token requests; and people who
//! call three times at that moment, at different processes, while nothing is killed. In both some
//! servers answer late and some answers are lost. A gateway that cannot be made to run is named with
//! what it said.

mod drive;
mod forge;
mod litellm;
mod ours;
mod processes;
mod verdict;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use keyway_testkit::free_port;
use tokio::runtime::Runtime;

use self::drive::{Outcome, Part, Running, Stage};
use crate::families::Profile;
use crate::kill_trigger::KillTrigger;
use crate::seed::Seed;
use crate::timeouts::{FORGE_RENEWS_AHEAD, TOKENS_LIVE_AT_LEAST, TOKENS_LIVE_LONGER};
use crate::upstream::{Terms, World};

/// How it is run.
#[derive(Debug, clap::Parser)]
struct Options {
    /// The program `keyway`
    program: PathBuf,
    /// Another gateway, ready to run: `NAME=FOLDER` of its virtual environment; may be repeated
    #[arg(long)]
    rival: Vec<String>,
    /// The number that decides what happens when
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many people have a sign-in, half of them in each part
    #[arg(long, default_value_t = 48)]
    people: usize,
    /// How long each part takes, without what comes before and after
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// How many processes are killed in the first part
    #[arg(long, default_value_t = 8)]
    kills: usize,
    /// Only gateways with this in their name
    #[arg(long)]
    only: Option<String>,
}

/// Which gateway is to run.
#[derive(Debug)]
enum Contender {
    Keyway(PathBuf),
    ContextForge(PathBuf),
}

impl Contender {
    const fn name(&self) -> &'static str {
        match self {
            Self::Keyway(_) => "Keyway",
            Self::ContextForge(_) => "ContextForge",
        }
    }
}

/// Runs each gateway in turn and prints the table; fails if ours is not as it has to be.
pub(crate) fn run() -> ExitCode {
    // The first word chose this mode.
    let options = Options::parse_from(std::env::args().skip(1));
    let runtime = Runtime::new().expect("a runtime");
    println!("seed {}, load average {}", options.seed, load_average());
    let mut contenders = vec![Contender::Keyway(options.program.clone())];
    let mut rows = Vec::new();
    let mut absent = Vec::new();
    for rival in &options.rival {
        match rival.split_once('=') {
            Some(("contextforge", folder)) => {
                contenders.push(Contender::ContextForge(folder.into()));
            }
            Some(("litellm", folder)) => absent.push(litellm::tried(folder.as_ref())),
            _ => absent.push((
                rival.clone(),
                "neither `contextforge=` nor `litellm=`".to_owned(),
            )),
        }
    }
    let only = options.only.as_deref().unwrap_or_default().to_lowercase();
    contenders.retain(|it| it.name().to_lowercase().contains(&only));
    let mut wrong = Vec::new();
    for contender in contenders {
        match measure(&runtime, &options, &contender) {
            Ok(measured) => {
                wrong.extend(measured.wrong);
                rows.extend(measured.rows);
            }
            Err(why) => absent.push((contender.name().to_owned(), why)),
        }
    }
    println!(
        "\nseed {}, {} people, {} kills wanted, load average {}\n",
        options.seed,
        options.people,
        options.kills,
        load_average()
    );
    println!(
        "| gateway | the server's refresh tokens | sign-ins | renewed | came again without a cause | lost by nothing | by late answers | by lost answers | by kills |\n|---|---|---|---|---|---|---|---|---|"
    );
    rows.iter().for_each(|row| println!("{row}"));
    for (name, why) in &absent {
        println!(
            "| {name} | does not run: {} | – | – | – | – | – | – | – |",
            cell(why)
        );
    }
    for what in &wrong {
        println!("\nWRONG: {what}");
    }
    if wrong.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// What one gateway showed.
struct Measured {
    rows: Vec<String>,
    wrong: Vec<String>,
}

fn measure(
    runtime: &Runtime,
    options: &Options,
    contender: &Contender,
) -> Result<Measured, String> {
    let (kills_sender, mut kills) = tokio::sync::mpsc::unbounded_channel();
    let public = format!("http://127.0.0.1:{}", free_port());
    let trigger = KillTrigger::new(kills_sender);
    let world = World::start(&public, trigger, Seed(options.seed));
    let world = runtime.block_on(world).map_err(|error| error.to_string())?;
    let wanted: Vec<_> = (0..options.people)
        .map(|person| (person, person % Profile::ALL.len()))
        .collect();
    let mut running = match contender {
        Contender::Keyway(program) => {
            world.set_terms(terms(Duration::ZERO));
            ours::start(program, (&world, &public), &wanted)?
        }
        Contender::ContextForge(folder) => {
            world.set_terms(terms(FORGE_RENEWS_AHEAD));
            runtime.block_on(forge::start(folder, &world, &wanted))?
        }
    };
    println!("{}: {} sign-ins", running.name, running.callers.len());
    let callers = running.callers.clone();
    let (first, second) = callers.split_at(callers.len() / 2);
    let time = Duration::from_secs(options.seconds);
    let mut stage = Stage {
        runtime,
        world: &world,
        kills: &mut kills,
        seed: Seed(options.seed ^ 0xf00d),
    };
    let kills = Part {
        at_once: 1,
        kills: options.kills,
        time,
    };
    let alone = stage.play(&mut running, kills, first);
    alone.print("one call at a time, and kills");
    let crowded = Part {
        at_once: PROCESSES,
        kills: 0,
        time,
    };
    let crowded = stage.play(&mut running, crowded, second);
    crowded.print("three calls at once");
    Ok(Measured::new(&running, &[alone, crowded]))
}

impl Measured {
    fn new(running: &Running, parts: &[Outcome]) -> Self {
        let mut rows = Vec::new();
        for (number, profile) in Profile::ALL.into_iter().enumerate() {
            let mut row = verdict::Row::default();
            parts.iter().for_each(|part| row.merge(&part.row(number)));
            let name = &running.name;
            rows.push(format!("| {name} | {} | {} |", profile.name(), row.cells()));
        }
        let wrong = parts.iter().flat_map(|part| &part.wrong);
        let wrong = wrong.map(|what| format!("{}: {what}", running.name));
        Self {
            rows,
            wrong: wrong.collect(),
        }
    }
}

/// Leaves out what would end a cell of a table.
fn cell(text: &str) -> String {
    text.replace(['\n', '|'], " ")
}

/// Renewals are due as often at each gateway, however long before the end it renews.
fn terms(ahead: Duration) -> Terms {
    Terms {
        first: ahead + TOKENS_LIVE_AT_LEAST,
        lifetime: ahead + TOKENS_LIVE_AT_LEAST,
        spread: TOKENS_LIVE_LONGER,
        loses_one_of: LOSES_ONE_OF,
    }
}

/// Returns the load average of the last minute, five and fifteen minutes.
fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// How many processes each gateway has.
pub(crate) const PROCESSES: usize = 3;
/// More often than in the storm, which has many more renewals.
const LOSES_ONE_OF: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewals_are_due_as_often_at_each_gateway() {
        let (ours, theirs) = (terms(Duration::ZERO), terms(FORGE_RENEWS_AHEAD));
        assert_eq!(ours.lifetime, theirs.lifetime - FORGE_RENEWS_AHEAD);
        assert_eq!(
            (ours.spread, ours.loses_one_of),
            (theirs.spread, theirs.loses_one_of)
        );
    }
}
