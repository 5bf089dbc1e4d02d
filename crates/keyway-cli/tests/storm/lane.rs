//! One person with one sign-in, whose processes and answers get into trouble round after round.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use keyway_testkit::rig::{Delivery, Settings};
use keyway_testkit::{Desk, Keyway, Running, eventually};
use rustix::process::{Pid, Signal, kill_process};

use crate::KEYWAY;
use crate::chain::{Cause, end_of, never_ends};
use crate::clock::SetClock;
use crate::disk::{self, SmallDisk};
use crate::faults::{Fault, Times};
use crate::seed::Seed;

/// A lane; it panics, with its seed, as soon as a promise is broken.
#[derive(Debug)]
pub(crate) struct Lane {
    desk: Desk,
    seed: Seed,
    times: Times,
    has_grace: bool,
    disk: Option<SmallDisk>,
    clock: Option<SetClock>,
    /// When processes were killed, by the server's clock.
    kills: Vec<Duration>,
    pub(crate) score: Score,
    /// What the processes of this round printed.
    printed: String,
}

/// What happened in a lane.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Score {
    pub(crate) rounds: usize,
    pub(crate) processes: usize,
    pub(crate) redemptions: usize,
    pub(crate) kills: usize,
    /// How often processes were killed at each [`KillPoint`].
    pub(crate) kill_points: [usize; KillPoint::ALL.len()],
    pub(crate) broken_answers: usize,
    pub(crate) lost: usize,
}

/// How far a process is when it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KillPoint {
    /// It starts.
    Start,
    /// A claim is recorded, or about to be; nothing is sent.
    Claim,
    /// The request is at the server, which thinks.
    Request,
    /// The answer is on its way, or just there.
    Answer,
    /// The answer is being stored, or was just.
    Commit,
}

impl KillPoint {
    pub(crate) const ALL: [Self; 5] = [
        Self::Start,
        Self::Claim,
        Self::Request,
        Self::Answer,
        Self::Commit,
    ];
}

impl Lane {
    pub(crate) fn new(seed: u64, times: Times, has_grace: bool) -> Self {
        let mut settings = Settings::default();
        if has_grace {
            settings.grace = GRACE;
        }
        Self {
            desk: Desk::new(KEYWAY, settings),
            seed: Seed(seed),
            times,
            has_grace,
            disk: None,
            clock: None,
            kills: Vec::new(),
            score: Score::default(),
            printed: String::new(),
        }
    }

    /// Signs in; `false` if this machine cannot do what the fault needs.
    pub(crate) fn begin(&mut self, fault: Fault) -> bool {
        if fault == Fault::FullDisk {
            self.disk = SmallDisk::mount(&self.desk);
            if self.disk.is_none() {
                return false;
            }
        }
        if fault == Fault::Clock {
            self.clock = SetClock::make(&self.desk);
            if self.clock.is_none() {
                return false;
            }
        }
        self.sign_in();
        fault != Fault::SlowDisk || disk::slow(&self.desk, KEYWAY, &[], 0).is_some()
    }

    /// One round: every process finds its access token refused, and something goes wrong.
    pub(crate) fn round(&mut self, fault: Fault) {
        self.printed.clear();
        self.desk.rig.reset();
        self.desk.rig.forget();
        match fault {
            Fault::SlowAnswer => self.slow_answer(),
            Fault::LostAnswer => self.broken_answer(Delivery::Lost),
            Fault::CutAnswer => {
                let length = usize::try_from(self.seed.within(1..=200)).unwrap();
                self.broken_answer(Delivery::Cut(length));
            }
            Fault::DrippingAnswer => self.dripping_answer(),
            Fault::Stop => self.stop(),
            Fault::Kill => self.kill(),
            Fault::Signal => self.signal(),
            Fault::Clock => self.clock(),
            Fault::FullDisk => self.full_disk(),
            Fault::SlowDisk => self.slow_disk(),
        }
        self.settle(fault);
        self.score.rounds += 1;
    }

    fn slow_answer(&mut self) {
        let answer = self.seed.millis(self.times.answer());
        self.delay(answer);
        let calls = self.calls(1..=3);
        self.finish(calls);
    }

    fn broken_answer(&mut self, delivery: Delivery) {
        self.desk
            .rig
            .set(|settings| settings.token_delivery = delivery);
        let delay = self.seed.millis(0..=200);
        self.delay(delay);
        let calls = self.calls(1..=3);
        self.finish(calls);
    }

    fn dripping_answer(&mut self) {
        let millis = self.seed.within(self.times.answer());
        let dripping = Delivery::Dripping(millis);
        self.desk
            .rig
            .set(|settings| settings.token_delivery = dripping);
        let calls = self.calls(1..=3);
        self.finish(calls);
    }

    /// Suspended, stopped by a debugger, or in a virtual machine that freezes: one command of this
    /// person, all of them, or these and what carries their exchange.
    fn stop(&mut self) {
        self.delay(Duration::from_secs(1));
        let calls = self.calls(1..=3);
        self.await_refresh();
        let all = self.processes();
        let stopped = match self.seed.within(0..=2) {
            0 => vec![Pid::from_child(&calls[0].child)],
            1 => all,
            _ => self.processes_and_carriers(),
        };
        signal_all(&stopped, Signal::STOP);
        let time = self.seed.millis(self.times.stop());
        pause(time);
        signal_all(&stopped, Signal::CONT);
        self.finish(calls);
    }

    /// At each of the points in turn: one command, all of them, or these and what carries their
    /// exchange.
    fn kill(&mut self) {
        let point = KillPoint::ALL[self.score.rounds % KillPoint::ALL.len()];
        let delay = self.seed.millis(30..=300);
        self.delay(delay);
        let calls = self.calls(2..=4);
        self.await_point(point, delay);
        let all = self.processes();
        let killed = match self.seed.within(0..=2) {
            0 => vec![Pid::from_child(&calls[0].child)],
            1 => all,
            _ => self.processes_and_carriers(),
        };
        signal_all(&killed, Signal::KILL);
        self.printed.push_str(&format!("killed: {point:?}\n"));
        self.kills.push(self.desk.rig.elapsed());
        self.score.kills += killed.len();
        self.score.kill_points[point as usize] += 1;
        self.finish(calls);
    }

    /// Waits until a process is there, by what it leaves behind.
    fn await_point(&mut self, point: KillPoint, delay: Duration) {
        match point {
            KillPoint::Start => pause(self.seed.millis(0..=60)),
            KillPoint::Claim => {
                let home = self.desk.folder.at("home/keyway/data/owners");
                let has_owner = || std::fs::read_dir(&home).is_ok_and(|all| all.count() > 0);
                eventually("an owner of a claim", has_owner);
            }
            KillPoint::Request => self.await_refresh(),
            KillPoint::Answer => {
                self.await_refresh();
                pause((delay + self.seed.millis(0..=30)).saturating_sub(TEN_MILLIS));
            }
            KillPoint::Commit => {
                let log = self.desk.folder.at("home/keyway/data/vault.db-wal");
                let written = || std::fs::metadata(&log).and_then(|it| it.modified()).ok();
                self.await_refresh();
                let (before, until) = (written(), Instant::now() + delay + STORED);
                while written() == before && Instant::now() < until {
                    pause(Duration::from_millis(1));
                }
            }
        }
    }

    /// A client or a terminal ends a bridge in the middle of an exchange.
    fn signal(&mut self) {
        let delay = self.seed.millis(1000..=8000);
        self.delay(delay);
        let mut run = self.desk.without_browser(&["run", "--server", "s"]).start();
        self.score.processes += 1;
        let stdin = run.child.stdin.as_mut().unwrap();
        std::io::Write::write_all(stdin, HELLO).unwrap();
        self.await_refresh();
        pause(self.seed.millis(0..=900));
        let signals = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
        let ending = self.seed.choose(&signals);
        signal_all(&[Pid::from_child(&run.child)], ending);
        self.finish(vec![run]);
    }

    /// The clock is set while processes wait for an answer, for all of them and for what carries
    /// their exchange; and a second process comes by whose clock alone it is another hour or year.
    fn clock(&mut self) {
        let delay = self.seed.millis(2000..=11_000);
        self.delay(delay);
        SetClock::set(&self.desk, 0);
        let mut calls = self.calls(1..=2);
        self.await_refresh();
        // The answer takes two seconds or more: until then its carrier is there. One that begins has
        // not loaded the clock yet, and one of a process that only waits may just have ended.
        eventually("carriers with the clock of this lane", || {
            let carriers = self.carriers();
            !carriers.is_empty() && carriers.into_iter().all(SetClock::is_of)
        });
        let (step, words) = self.seed.choose(&[
            (20, "+20"),
            (3600, "+3600"),
            (-3600, "-3600"),
            (34_560_000, "+400d"),
            (-34_560_000, "-400d"),
        ]);
        SetClock::set(&self.desk, step);
        let ahead = self
            .call()
            .env("LD_PRELOAD", faketime())
            .env("FAKETIME", words)
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        calls.push(ahead.start());
        calls.push(self.call().start());
        self.score.processes += 2;
        self.finish(calls);
    }

    /// The disk fills between the request and the commit.
    fn full_disk(&mut self) {
        let delay = self.seed.millis(1000..=4000);
        self.delay(delay);
        let calls = self.calls(1..=2);
        self.await_refresh();
        self.disk.as_ref().unwrap().fill(&self.desk);
        // A process that cannot store its tokens holds them until there is space.
        let room = self.seed.millis(0..=5000);
        pause(delay + room);
        self.disk.as_ref().unwrap().empty(&self.desk);
        self.finish(calls);
    }

    fn slow_disk(&mut self) {
        let delay = self.seed.millis(0..=2000);
        self.delay(delay);
        let millis = self.seed.within(200..=2000);
        let slow = disk::slow(&self.desk, KEYWAY, &CALL, millis)
            .unwrap()
            .start();
        self.score.processes += 1;
        let mut calls = self.calls(0..=2);
        calls.push(slow);
        self.finish(calls);
    }

    /// Without any more trouble the sign-in works, or it was lost for a reason that was told.
    fn settle(&mut self, fault: Fault) {
        self.delay(Duration::ZERO);
        self.desk
            .rig
            .set(|settings| settings.token_delivery = Delivery::Whole);
        // The stored token is redeemed: so it is the server's last.
        self.desk.rig.reset();
        let started = Instant::now();
        loop {
            let call = self.call().run();
            self.printed.push_str(&call.everything());
            match call.code {
                0 => break,
                3 => {
                    self.sign_in();
                    break;
                }
                // A process that was killed may have left its exchange to another.
                _ => assert!(started.elapsed() < LONGEST, "{fault:?}: {}", self.printed),
            }
        }
        self.check(fault);
    }

    fn check(&mut self, fault: Fault) {
        let families = self.desk.rig.families();
        let (mut lost, mut broken, mut redemptions) = (0, 0, 0);
        for family in &families {
            let end = if self.has_grace {
                never_ends(family)
            } else {
                end_of(family, &self.kills)
            };
            let end = end.unwrap_or_else(|what| panic!("{fault:?}: {what}\n{}", self.printed));
            lost += usize::from(end.is_some());
            redemptions += family.redemptions.len();
            let is_broken = |it: &Delivery| matches!(it, Delivery::Lost | Delivery::Cut(_));
            let deliveries = family.redemptions.iter().map(|it| it.delivery);
            broken += deliveries.filter(is_broken).count();
            if end.is_some() && lost > self.score.lost {
                self.is_told(end, fault);
            }
        }
        assert_eq!(
            families.len(),
            lost + 1,
            "{fault:?}: a sign-in for each that was lost: {families:?}\n{}",
            self.printed
        );
        self.score.lost = lost;
        self.score.broken_answers = broken;
        self.score.redemptions = redemptions;
    }

    /// What cost the sign-in is in the message of a process that noticed.
    fn is_told(&self, end: Option<Cause>, fault: Fault) {
        let told = ["a process was stopped while", "was lost on the way"];
        assert!(
            told.iter().any(|text| self.printed.contains(text)),
            "{fault:?}, {end:?}: nothing says why\n{}",
            self.printed
        );
    }

    fn sign_in(&self) {
        if self.disk.is_none() && self.clock.is_none() {
            return self.desk.sign_in();
        }
        let _person = self.desk.person();
        let outcome = self
            .program(&["login", "s", "--force"])
            .env("BROWSER", self.desk.folder.at("home/browser"))
            .run();
        assert_eq!(outcome.code, 0, "{}", outcome.everything());
    }

    fn call(&self) -> Keyway {
        self.program(&CALL)
    }

    /// Prepares a command where this person's disk and clock are.
    fn program(&self, words: &[&str]) -> Keyway {
        let inside: Vec<&str> = [KEYWAY].into_iter().chain(words.iter().copied()).collect();
        match (&self.disk, &self.clock) {
            (Some(disk), _) => disk.program(&self.desk, &inside),
            (None, Some(clock)) => clock.program(&self.desk, &inside),
            (None, None) => self.desk.without_browser(words),
        }
    }

    fn calls(&mut self, count: std::ops::RangeInclusive<u64>) -> Vec<Running> {
        let count = self.seed.within(count);
        let calls: Vec<_> = (0..count).map(|_| self.call().start()).collect();
        self.score.processes += calls.len();
        calls
    }

    /// Finds all commands of this person: they have the home in their environment.
    fn processes(&self) -> Vec<Pid> {
        let home = self.desk.folder.at("home/keyway");
        let home = home.to_str().unwrap().as_bytes();
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let ours = all.filter_map(|entry| {
            let number: i32 = entry.file_name().to_str()?.parse().ok()?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let is_ours = environment.windows(home.len()).any(|part| part == home);
            is_ours.then(|| Pid::from_raw(number))?
        });
        ours.collect()
    }

    /// Finds the commands, and the processes that carry an exchange: these have no environment, but
    /// the vault open.
    fn processes_and_carriers(&self) -> Vec<Pid> {
        let home = self.desk.folder.at("home/keyway");
        let home = std::fs::canonicalize(home).unwrap();
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let mut ours = self.processes();
        for entry in all {
            let number = entry.file_name().to_str().and_then(|it| it.parse().ok());
            let Some(process) = number.and_then(Pid::from_raw) else {
                continue;
            };
            let files = std::fs::read_dir(entry.path().join("fd"));
            let mut files = files.into_iter().flatten().flatten();
            let is_ours = files.any(|file| {
                let path = std::fs::read_link(file.path());
                path.is_ok_and(|path| path.starts_with(&home))
            });
            if is_ours && !ours.contains(&process) {
                ours.push(process);
            }
        }
        ours
    }

    /// What carries the exchanges of commands, without these.
    fn carriers(&self) -> Vec<Pid> {
        let commands = self.processes();
        let mut carriers = self.processes_and_carriers();
        carriers.retain(|process| !commands.contains(process));
        carriers
    }

    fn delay(&self, delay: Duration) {
        self.desk.rig.set(|settings| settings.token_delay = delay);
    }

    fn await_refresh(&self) {
        eventually("a refresh", || self.desk.rig.refreshes() > 0);
    }

    /// Waits for processes; one that does not end hangs.
    fn finish(&mut self, calls: Vec<Running>) {
        let started = Instant::now();
        for mut call in calls {
            while call.child.try_wait().unwrap().is_none() {
                assert!(started.elapsed() < LONGEST, "it hangs: {}", self.printed);
                pause(Duration::from_millis(20));
            }
            self.printed.push_str(&call.outcome().everything());
        }
    }
}

fn signal_all(processes: &[Pid], signal: Signal) {
    for process in processes {
        // Those that are not our children may have ended meanwhile.
        let _ended: Result<(), rustix::io::Errno> = kill_process(*process, signal);
    }
}

fn pause(time: Duration) {
    // When something goes wrong is what each round varies.
    std::thread::sleep(time);
}

/// The library that gives a process another clock.
fn faketime() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").unwrap().flatten();
    let mut libraries = folders.map(|it| it.path().join("faketime/libfaketimeMT.so.1"));
    let found = libraries.find(|path| path.exists());
    found.expect("`cargo xtask test --setup` installs libfaketime")
}

const CALL: [&str; 4] = ["call", "s", "echo", "message=hello"];
const HELLO: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n";
const TEN_MILLIS: Duration = Duration::from_millis(10);
/// After its answer came, until it is stored or never will be.
const STORED: Duration = Duration::from_secs(2);
/// As Auth0 and Okta have it, roughly.
const GRACE: Duration = Duration::from_secs(60);
/// Longer than an exchange with everything before and after it, and less than a hang.
const LONGEST: Duration = Duration::from_secs(150);
