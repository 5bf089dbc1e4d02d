//! People who call at the moment when their tokens have to be renewed, and processes that are killed
//! meanwhile; the same for each gateway.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::verdict::{Row, Why};
use crate::checker;
use crate::families::Profile;
use crate::http;
use crate::kill_trigger::{Killed, Point};
use crate::people::SignIn;
use crate::seed::Seed;
use crate::timeouts::{
    CALL_TIMEOUT, DUE_POLL, FIRST_CALLS_WITHIN, KILL_WAIT, PART_AT_MOST, PROBE_PAUSE, READY_POLL,
    TOKENS_LIVE_AT_MOST,
};
use crate::upstream::{World, page};

/// A gateway that runs, with people who have signed in.
pub(crate) struct Running {
    /// With its version.
    pub(crate) name: String,
    pub(crate) processes: Box<dyn Processes>,
    pub(crate) ports: Vec<u16>,
    /// For so long before its end a token counts as expired to the gateway.
    pub(crate) ahead: Duration,
    pub(crate) callers: Vec<Arc<Caller>>,
}

/// The processes of a gateway, which end with this value.
pub(crate) trait Processes {
    /// Starts one again that was killed, at the same port, and waits until it is ready.
    fn start_again(&mut self, number: usize) -> Result<(), String>;
}

/// A sign-in, and how its person calls the tool.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) sign_in: SignIn,
    /// The request line and headers, each with its line's end.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// What is done in one part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// How many calls of a person come at once, each at another process.
    pub(crate) at_once: usize,
    pub(crate) kills: usize,
    pub(crate) time: Duration,
}

/// What came of a part.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// By the number of the profile.
    pub(crate) rows: BTreeMap<usize, Row>,
    pub(crate) kills: usize,
    pub(crate) pages: usize,
    /// How calls failed, those at the end not counted.
    pub(crate) failures: BTreeMap<String, usize>,
    /// What people were told at the end who got no page.
    pub(crate) told: BTreeMap<String, usize>,
    pub(crate) wrong: Vec<String>,
    /// The journals of sign-ins that were lost although nothing was done to them.
    journals: Vec<String>,
}

/// Everything that one part needs.
pub(crate) struct Stage<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) world: &'a Arc<World>,
    pub(crate) kills: &'a mut UnboundedReceiver<Killed>,
    pub(crate) seed: Seed,
}

impl Stage<'_> {
    /// Has people call for a while, lets all come to rest, and asks each for a page once more.
    pub(crate) fn play(
        &mut self,
        running: &mut Running,
        part: Part,
        callers: &[Arc<Caller>],
    ) -> Outcome {
        let crowd = Arc::new(Crowd {
            world: Arc::clone(self.world),
            ports: running.ports.clone(),
            ahead: running.ahead,
            at_once: part.at_once,
            under_way: AtomicUsize::new(0),
            stops: AtomicBool::new(false),
            notes: Mutex::default(),
        });
        self.world.lose_answers(true);
        for caller in callers {
            let seed = Seed(self.seed.next());
            let person = Arc::clone(&crowd).person(Arc::clone(caller), seed);
            self.runtime.spawn(person);
        }
        let (began, mut killed) = (Instant::now(), Vec::new());
        let mut outcome = Outcome::default();
        while began.elapsed() < part.time
            || (killed.len() < part.kills && began.elapsed() < PART_AT_MOST)
        {
            if killed.len() < part.kills {
                let kill = self.kill(running, &mut outcome.wrong);
                killed.extend(kill);
            } else {
                std::thread::sleep(READY_POLL);
            }
        }
        self.world.lose_answers(false);
        crowd.stops.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + CALL_TIMEOUT;
        while crowd.under_way.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
            std::thread::sleep(READY_POLL);
        }
        // So that each of them needs a renewal that nothing disturbs.
        std::thread::sleep(TOKENS_LIVE_AT_MOST);
        let told = self.runtime.block_on(crowd.probe(callers));
        outcome.kills = killed.len();
        let mut notes = crowd.notes.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.pages = notes.pages;
        outcome.failures = std::mem::take(&mut notes.failures);
        outcome.wrong.append(&mut notes.foreign);
        self.world.families(|all| {
            for (caller, told) in callers.iter().zip(told) {
                let sign_in = caller.sign_in;
                let family = &all.0[sign_in.family];
                let row = outcome.rows.entry(sign_in.server).or_default();
                let why = row.add(family, &killed, told.is_some());
                if matches!(why, Some(Why::Nothing | Why::LateAnswer)) {
                    // Shown, so that a reader can check it.
                    outcome.journals.push(format!(
                        "{}: {}",
                        sign_in.profile().name(),
                        checker::shown(family)
                    ));
                }
                if let Some(told) = told {
                    *outcome.told.entry(told).or_default() += 1;
                }
            }
        });
        outcome
    }

    /// Kills a process at one of the points of its next token request, and starts it again.
    fn kill(&mut self, running: &mut Running, wrong: &mut Vec<String>) -> Option<Killed> {
        // At no point of a request would seldom hit one.
        let point = Point::ALL[self.seed.below(Point::ALL.len() - 1)];
        self.world.kill_trigger.arm(Some(point));
        let deadline = Instant::now() + KILL_WAIT;
        let killed = loop {
            if let Ok(killed) = self.kills.try_recv() {
                break killed;
            }
            if Instant::now() > deadline {
                self.world.kill_trigger.arm(None);
                std::thread::sleep(READY_POLL);
                break self.kills.try_recv().ok()?;
            }
            std::thread::sleep(READY_POLL);
        };
        let at = killed.at.as_secs_f32();
        println!(
            "    {at:.1}: process {} killed {}",
            killed.replica,
            point.name()
        );
        if let Err(why) = running.processes.start_again(killed.replica) {
            wrong.push(format!(
                "process {} does not start again: {why}",
                killed.replica
            ));
        }
        Some(killed)
    }
}

/// The people of one part.
struct Crowd {
    world: Arc<World>,
    ports: Vec<u16>,
    ahead: Duration,
    at_once: usize,
    /// Relaxed: a figure.
    under_way: AtomicUsize,
    /// Relaxed: it is enough that people see it soon.
    stops: AtomicBool,
    /// Held for one entry each.
    notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    pages: usize,
    failures: BTreeMap<String, usize>,
    foreign: Vec<String>,
}

/// What an answer is.
#[derive(Debug, PartialEq, Eq)]
enum Answered {
    Page,
    Foreign,
    /// What it said in place of a page.
    Not(String),
}

impl Crowd {
    /// Has a person call whenever the token has to be renewed, until the part is over.
    async fn person(self: Arc<Self>, caller: Arc<Caller>, mut seed: Seed) {
        let mut in_vain: u32 = 0;
        // All at the same moment would test how many calls a gateway carries, and nothing else.
        let spread = u64::try_from(FIRST_CALLS_WITHIN.as_millis()).unwrap_or(1);
        tokio::time::sleep(Duration::from_millis(seed.next() % spread)).await;
        loop {
            // A person who gets nothing asks less often, so that others are served.
            let pause = if in_vain < PATIENCE { 500 } else { 8_000 };
            tokio::time::sleep(Duration::from_millis(pause + seed.next() % 1_000)).await;
            while !self.is_due(&caller) && !self.stops.load(Ordering::Relaxed) {
                tokio::time::sleep(DUE_POLL).await;
            }
            if self.stops.load(Ordering::Relaxed) {
                return;
            }
            self.under_way.fetch_add(1, Ordering::Relaxed);
            let first = seed.below(self.ports.len());
            let mut calls = JoinSet::new();
            for step in 0..self.at_once {
                let port = self.ports[(first + step) % self.ports.len()];
                calls.spawn(call(port, Arc::clone(&caller)));
            }
            let answers = calls.join_all().await;
            self.under_way.fetch_sub(1, Ordering::Relaxed);
            in_vain = match answers.contains(&Answered::Page) {
                true => 0,
                false => in_vain + 1,
            };
            answers.into_iter().for_each(|it| self.note(it, &caller));
        }
    }

    fn is_due(&self, caller: &Caller) -> bool {
        let now = self.world.now();
        let family = caller.sign_in.family;
        let ends = self.world.families(|all| all.0[family].expires_at());
        now + self.ahead > ends
    }

    fn note(&self, answered: Answered, caller: &Caller) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        match answered {
            Answered::Page => notes.pages += 1,
            Answered::Foreign => {
                let text = format!("{:?} got another person's page", caller.sign_in);
                notes.foreign.push(text);
            }
            Answered::Not(why) => *notes.failures.entry(why).or_default() += 1,
        }
    }

    /// Asks each person's server for a page, one process after the other, a few people at once; returns
    /// what those were told who got none.
    async fn probe(self: &Arc<Self>, callers: &[Arc<Caller>]) -> Vec<Option<String>> {
        let mut told = vec![None; callers.len()];
        for (callers, told) in callers
            .chunks(PROBED_AT_ONCE)
            .zip(told.chunks_mut(PROBED_AT_ONCE))
        {
            let mut probes = JoinSet::new();
            for (index, caller) in callers.iter().enumerate() {
                let probe = Arc::clone(self).probe_one(Arc::clone(caller));
                probes.spawn(async move { (index, probe.await) });
            }
            for (index, said) in probes.join_all().await {
                told[index] = said;
            }
        }
        told
    }

    async fn probe_one(self: Arc<Self>, caller: Arc<Caller>) -> Option<String> {
        let mut said = None;
        for attempt in 0..PROBES {
            let port = self.ports[attempt % self.ports.len()];
            match call(port, Arc::clone(&caller)).await {
                Answered::Page => return None,
                Answered::Foreign => self.note(Answered::Foreign, &caller),
                Answered::Not(why) => said = Some(why),
            }
            tokio::time::sleep(PROBE_PAUSE).await;
        }
        said
    }
}

async fn call(port: u16, caller: Arc<Caller>) -> Answered {
    let exchange = http::exchange(port, &caller.head, &caller.body);
    match tokio::time::timeout(CALL_TIMEOUT, exchange).await {
        Err(_) => Answered::Not("no answer".to_owned()),
        Ok(Err(error)) => Answered::Not(format!("cut: {}", error.kind())),
        Ok(Ok(reply)) => answered((reply.status, &reply.body), caller.sign_in),
    }
}

fn answered((status, body): (u16, &str), sign_in: SignIn) -> Answered {
    if body.contains(&page(sign_in.person, sign_in.profile())) {
        return Answered::Page;
    }
    if body.contains("page of ") {
        return Answered::Foreign;
    }
    let code = body.split("\"code\":\"").nth(1);
    let code = code.and_then(|rest| rest.split('"').next());
    let text = body
        .split("\"text\":")
        .nth(1)
        .or_else(|| body.split("\"message\":").nth(1));
    let told = code.or(text).unwrap_or(body);
    let told: String = told
        .chars()
        .filter(|it| !it.is_control())
        .take(SHOWN)
        .collect();
    Answered::Not(format!("{status} {}", without_numbers(&told)))
}

/// Leaves out what differs from one sign-in to the next.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars() {
        let shape = if character.is_ascii_digit() {
            'N'
        } else {
            character
        };
        if shape != 'N' || !shown.ends_with('N') {
            shown.push(shape);
        }
    }
    shown
}

impl Outcome {
    /// Returns the row of each profile, in their order.
    pub(crate) fn row(&self, profile: usize) -> Row {
        self.rows.get(&profile).cloned().unwrap_or_default()
    }

    pub(crate) fn print(&self, what: &str) {
        println!("  {what}: {} pages, {} kills", self.pages, self.kills);
        for (profile, row) in &self.rows {
            println!("    {}: {}", Profile::ALL[*profile].name(), row.cells());
        }
        println!("    calls that failed: {:?}", self.failures);
        for journal in &self.journals {
            println!("    lost without a cause: {journal}");
        }
        println!("    told at the end: {:?}", self.told);
    }
}

/// After so many calls in vain a person asks less often.
const PATIENCE: u32 = 4;
const PROBED_AT_ONCE: usize = 8;
const PROBES: usize = 4;
const SHOWN: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_person_s_own_page_counts_as_a_page() {
        let sign_in = SignIn {
            family: 0,
            person: 1,
            server: 3,
        };
        let of = |person| page(person, Profile::ALL[3]);
        assert_eq!(answered((200, &of(1)), sign_in), Answered::Page);
        assert_eq!(answered((200, &of(11)), sign_in), Answered::Foreign);
        let told = answered((200, r#"{"message":"Tool 17 failed"}"#), sign_in);
        assert_eq!(told, Answered::Not("200 \"Tool N failed\"}".to_owned()));
    }
}
