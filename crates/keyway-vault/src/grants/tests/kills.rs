//! Workers that are killed at random points, several on one store: what they were told is kept.
//!
//! A worker says what it is about to do before each call, and what it was told after the call
//! returned. After a kill, the test finds one of these two in the store, and nothing else.

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::processes::{start, variable};
use super::*;
use crate::key::KeySources;
use crate::key_source::SourceKind;
use crate::seal::random_bytes;
use crate::store::Namespace;

/// The part of the worker: puts, claims, commits and deletes without pause.
pub(super) fn work(vault: &Vault) {
    let lane = variable(LANE).unwrap();
    let first: usize = variable(FIRST).unwrap().parse().unwrap();
    let grant = grant_of(&lane);
    let rows = vault.sealed(Namespace::new("storm").unwrap());
    println!("@ ready");
    for number in (first..).step_by(2) {
        announce("grant", number);
        let put = vault.put(&grant, &numbered(number)).unwrap();
        done("grant", number);
        let claim = vault.claim(&grant, put, LONG).unwrap();
        assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
        announce("grant", number + 1);
        let saved = vault.commit(&grant, put, &numbered(number + 1)).unwrap();
        assert!(matches!(saved, Commit::Committed { .. }), "{saved:?}");
        done("grant", number + 1);
        announce("row", number);
        rows.put(&lane, number.to_string().as_bytes()).unwrap();
        done("row", number);
        if number % 3 == 0 {
            announce("grant", GONE);
            vault.delete(&grant).unwrap();
            done("grant", GONE);
            announce("row", GONE);
            rows.delete(&lane).unwrap();
            done("row", GONE);
        }
    }
}

fn announce(what: &str, number: usize) {
    println!("@ try {what} {number}");
}

fn done(what: &str, number: usize) {
    println!("@ done {what} {number}");
}

fn grant_of(lane: &str) -> GrantKey {
    grant().account(lane.to_owned())
}

fn numbered(number: usize) -> Tokens {
    Tokens::new(Secret::new(format!("access-{number}")))
        .with_refresh(Secret::new(format!("refresh-{number}")))
}

/// What the store may hold of one thing: what was acknowledged last, or what was tried after that.
#[derive(Clone, Copy, Debug)]
struct Known {
    acknowledged: usize,
    tried: usize,
}

impl Known {
    const fn new(value: usize) -> Self {
        Self {
            acknowledged: value,
            tried: value,
        }
    }

    fn hear(&mut self, word: &str, number: usize) {
        self.tried = number;
        if word == "done" {
            self.acknowledged = number;
        }
    }

    /// Compares with what is there, which is the truth from now on.
    fn settle(&mut self, found: usize, moment: &str) {
        let known = found == self.acknowledged || found == self.tried;
        assert!(known, "{moment}: found {found}, knew {self:?}");
        *self = Self::new(found);
    }
}

/// Reads a worker's words until it is dead; returns how often it was told something.
fn listen(
    mut lines: impl Iterator<Item = String>,
    (grant, row): (&mut Known, &mut Known),
    enough: impl Fn(usize),
) -> usize {
    let mut told = 0;
    enough(0);
    for said in 1.. {
        let Some(line) = lines.next() else { break };
        enough(said);
        let mut words = line.split(' ');
        let (Some(word), Some(what), Some(number)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let number = number.parse().unwrap();
        match what {
            "grant" => grant.hear(word, number),
            _ => row.hear(word, number),
        }
        told += usize::from(word == "done");
    }
    told
}

/// Reads whole lines of a worker; half a line at its death was not said.
fn lines_of(child: &mut Child) -> impl Iterator<Item = String> + Send + use<> {
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    std::iter::from_fn(move || {
        let mut line = String::new();
        stdout
            .read_line(&mut line)
            .ok()
            .filter(|_| line.ends_with('\n'))?;
        Some(line)
    })
    .filter_map(|line| Some(line.trim_end().split_once("@ ")?.1.to_owned()))
}

/// How many workers all lanes together kill.
struct Kills {
    wanted: Option<usize>,
    begun: AtomicUsize,
    started: Instant,
}

impl Kills {
    /// Returns the number of the next; `None` after enough.
    fn next(&self) -> Option<usize> {
        let kill = self.begun.fetch_add(1, Ordering::Relaxed);
        let is_time_up = kill >= FEWEST && self.started.elapsed() > TIME;
        let is_enough = match self.wanted {
            Some(wanted) => kill >= wanted,
            None => kill >= MOST || is_time_up,
        };
        (!is_enough).then_some(kill)
    }
}

/// Kills workers of one lane, one after the other; returns how many, and how often they were told
/// something.
fn lane(home: &Home, lane: &str, kills: &Kills) -> (usize, usize) {
    let vault = home.open();
    let rows = vault.sealed(Namespace::new("storm").unwrap());
    let (mut grant, mut row) = (Known::new(GONE), Known::new(GONE));
    let (mut killed, mut told) = (0, 0);
    while let Some(kill) = kills.next() {
        // Numbers are never used twice, so that each stands for one value.
        let first = (kill + 1) * 1_000_000;
        let mut child = start("kills", home, &[(LANE, lane), (FIRST, &first.to_string())]);
        let lines = lines_of(&mut child);
        let [dice, more, low, high] = random_bytes::<4>().unwrap();
        // One in four dies while it starts and opens the store, the others at work.
        let words = if dice % 4 == 0 {
            0
        } else {
            1 + usize::from(more % 8)
        };
        let pause =
            u64::from(u16::from_le_bytes([low, high])) % if words == 0 { 40_000 } else { 5_000 };
        let (said_enough, waiting) = std::sync::mpsc::channel();
        let ears = std::thread::spawn(move || {
            let enough = |said| {
                if said == words {
                    said_enough.send(()).unwrap();
                }
            };
            let told = listen(lines, (&mut grant, &mut row), enough);
            (grant, row, told)
        });
        waiting.recv().unwrap();
        // The moment of the kill is what each round varies.
        std::thread::sleep(Duration::from_micros(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        let heard;
        (grant, row, heard) = ears.join().unwrap();
        (killed, told) = (killed + 1, told + heard);
        let moment = format!("kill {kill}, {lane}");
        let found = vault.read(&grant_of(lane)).unwrap();
        grant.settle(found.as_ref().map_or(GONE, number_of), &moment);
        if let Some(found) = found {
            let claim = vault
                .claim(&grant_of(lane), found.generation, LONG)
                .unwrap();
            let Claim::Claimed(claim) = claim else {
                panic!("{moment}: the dead hold a claim: {claim:?}");
            };
            let fits = claim.refresh.expose().replace("refresh", "access");
            assert_eq!(&fits, found.access.expose(), "{moment}");
            vault.release(&grant_of(lane), claim.id).unwrap();
        }
        let found = rows.get(lane).unwrap().map_or(GONE, |record| {
            std::str::from_utf8(record.value.expose())
                .unwrap()
                .parse()
                .unwrap()
        });
        row.settle(found, &moment);
        if kill % 20 == 0 {
            // As a new process does.
            let problems = home.open().verify().unwrap().problems;
            assert!(problems.is_empty(), "{moment}: {problems:?}");
        }
    }
    (killed, told)
}

fn number_of(grant: &Grant) -> usize {
    let text = grant.access.expose();
    text.strip_prefix("access-").unwrap().parse().unwrap()
}

/// `KEYWAY_STORM_KILLS` sets how many; 10,000 take about ten times as long. Without it there are a
/// thousand, or on a slow disk as many as there is time for.
#[test]
fn nothing_acknowledged_is_lost_by_killing_workers() {
    let home = Home::new();
    drop(home.open());
    let kills = Kills {
        wanted: variable(KILLS).map(|kills| kills.parse().unwrap()),
        begun: AtomicUsize::new(0),
        started: Instant::now(),
    };
    let lanes: Vec<_> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|number| {
                let (home, kills) = (&home, &kills);
                scope.spawn(move || lane(home, &format!("lane-{number}"), kills))
            })
            .collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
    });
    let killed: usize = lanes.iter().map(|(killed, _)| killed).sum();
    let told: usize = lanes.iter().map(|(_, told)| told).sum();
    let took = kills.started.elapsed();
    println!("{killed} kills, {told} acknowledgements, {took:?}");
    assert!(killed >= kills.wanted.unwrap_or(FEWEST), "only {killed}");
    assert!(told > killed / 2, "only {told} acknowledgements");
    let vault = home.open();
    let problems = vault.verify().unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
    assert!(vault.orphans().unwrap().is_empty());
}

/// The part of the worker that changes the key without pause.
pub(super) fn change_keys(vault: &Vault) {
    println!("@ ready");
    loop {
        vault
            .rekey(SourceKind::KeyFile, KeySources::default())
            .unwrap();
        println!("@ changed");
    }
}

#[test]
fn vault_opens_whenever_a_change_of_its_key_is_killed() {
    let home = Home::new();
    home.open().put(&grant(), &numbered(1)).unwrap();
    for kill in 0..30 {
        let mut child = start("rekey", &home, &[]);
        let mut lines = lines_of(&mut child);
        let [words, pause] = random_bytes::<2>().unwrap();
        for _ in 0..=words % 3 {
            assert!(lines.next().is_some());
        }
        // The moment of the kill is what each round varies.
        std::thread::sleep(Duration::from_micros(u64::from(pause) * 20));
        child.kill().unwrap();
        child.wait().unwrap();
        let vault = home.open();
        let found = vault.read(&grant()).unwrap().unwrap();
        assert_eq!(found.access.expose(), "access-1", "kill {kill}");
        let problems = vault.verify().unwrap().problems;
        assert!(problems.is_empty(), "kill {kill}: {problems:?}");
    }
}

const LANE: &str = "KEYWAY_VAULT_TEST_LANE";
const FIRST: &str = "KEYWAY_VAULT_TEST_FIRST";
const KILLS: &str = "KEYWAY_STORM_KILLS";
const LANES: usize = 4;
const FEWEST: usize = 200;
const MOST: usize = 1_000;
const TIME: Duration = Duration::from_secs(120);
/// Stands for nothing being there.
const GONE: usize = 0;
