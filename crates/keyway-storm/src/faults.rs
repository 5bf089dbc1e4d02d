//! What is done to replicas and databases, one after the other and some at once, as the seed says.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::checker::{Blow, Cause};
use crate::cluster::{Cluster, REPLICAS};
use crate::seed::Seed;
use crate::trap::{Point, Sprung};
use crate::upstream::World;

/// Something that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// SIGKILL of a replica at a point, by its number in [`Point::ALL`].
    Kill(usize),
    /// SIGSTOP of a replica for a while.
    Stop,
    /// The sessions that show which replicas live are ended.
    EndLiveness,
    /// All sessions of replicas are ended.
    EndSessions,
    /// The database ends at once and is started again.
    RestartDatabase,
    /// The standby takes over, and lacks what was committed last.
    FailOver,
    /// A replica is started again whose clock is ahead, or behind, by an hour.
    Clock,
}

impl Fault {
    pub(crate) const ALL: [Self; 11] = [
        Self::Kill(0),
        Self::Kill(1),
        Self::Kill(2),
        Self::Kill(3),
        Self::Kill(4),
        Self::Stop,
        Self::EndLiveness,
        Self::EndSessions,
        Self::RestartDatabase,
        Self::FailOver,
        Self::Clock,
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Kill(point) => format!("SIGKILL {}", Point::ALL[point].name()),
            Self::Stop => "SIGSTOP".to_owned(),
            Self::EndLiveness => "liveness sessions ended".to_owned(),
            Self::EndSessions => "all sessions ended".to_owned(),
            Self::RestartDatabase => "database restarted (immediate)".to_owned(),
            Self::FailOver => "failover to the standby".to_owned(),
            Self::Clock => "clock of a replica ±1 h".to_owned(),
        }
    }
}

/// What was done, and how often.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) blows: Vec<Blow>,
    /// When the database was restarted or replaced.
    pub(crate) restarts: Vec<Duration>,
    pub(crate) counts: std::collections::BTreeMap<Fault, usize>,
    /// Replicas that ended although nobody had killed them.
    pub(crate) surprises: Vec<String>,
    /// How long it took from a fault to a state in which all replicas are ready.
    pub(crate) worst_recovery: Duration,
}

/// The part of the storm that does something.
pub(crate) struct Faults<'a> {
    pub(crate) cluster: &'a mut Cluster,
    pub(crate) world: &'a World,
    pub(crate) sprung: UnboundedReceiver<Sprung>,
    pub(crate) seed: Seed,
    /// How long a replica is stopped at most.
    pub(crate) longest_stop: Duration,
    pub(crate) done: Done,
}

impl Faults<'_> {
    /// Does one thing after the other for a while, each at least once if there is time; everything
    /// runs when this returns.
    pub(crate) fn run(&mut self, only: Option<&[Fault]>, until: Instant) {
        let mut left: Vec<Fault> = Vec::new();
        while Instant::now() < until {
            if left.is_empty() {
                left = only.unwrap_or(&Fault::ALL).to_vec();
            }
            let fault = left.swap_remove(self.seed.below(left.len()));
            let at = self.world.now().as_secs_f32();
            println!("{at:6.1} s: {}", fault.name());
            *self.done.counts.entry(fault).or_default() += 1;
            // Some with another one in the middle: a replica dies while the database is away.
            let is_mixed = !matches!(fault, Fault::Kill(_)) && self.seed.below(3) == 0;
            if is_mixed {
                let point = self.seed.below(Point::ALL.len() - 1);
                println!("          and {}", Fault::Kill(point).name());
                *self.done.counts.entry(Fault::Kill(point)).or_default() += 1;
                self.world.trap.arm(Point::ALL.get(point).copied());
            }
            self.inflict(fault);
            if is_mixed {
                self.bury(Duration::from_secs(5));
            }
            self.watch();
            let began = Instant::now();
            for number in 0..REPLICAS {
                if !self.cluster.becomes_ready(number, Duration::from_secs(60)) {
                    let log = self.cluster.log(number);
                    let tail = log.get(log.len().saturating_sub(600)..).unwrap_or_default();
                    let text = format!(
                        "replica {number} is not ready a minute after: {}\n{tail}",
                        fault.name()
                    );
                    self.done.surprises.push(text);
                }
            }
            self.done.worst_recovery = self.done.worst_recovery.max(began.elapsed());
            sleep(Duration::from_millis(1_000 + self.seed.next() % 2_000));
        }
    }

    fn inflict(&mut self, fault: Fault) {
        match fault {
            Fault::Kill(point) => self.kill(Point::ALL[point]),
            Fault::Stop => {
                let replica = self.seed.below(REPLICAS);
                let longest = u64::try_from(self.longest_stop.as_millis()).unwrap_or(1_000);
                let pause = Duration::from_millis(1_000 + self.seed.next() % longest);
                println!(
                    "          replica {replica} for {:.1} s",
                    pause.as_secs_f32()
                );
                if self.cluster.signal(replica, Signal::STOP) {
                    sleep(pause);
                    self.cluster.signal(replica, Signal::CONT);
                }
            }
            Fault::EndLiveness => {
                for _ in 0..=self.seed.below(4) {
                    self.end_sessions(
                        "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')",
                    );
                    sleep(Duration::from_millis(self.seed.next() % 600));
                }
            }
            Fault::EndSessions => self.end_sessions("usename = 'keyway'"),
            Fault::RestartDatabase => {
                self.done.restarts.push(self.world.now());
                let primary = &self.cluster.primary;
                primary.control(&["-m", "immediate", "restart"]);
            }
            Fault::FailOver => self.fail_over(),
            Fault::Clock => {
                let replica = self.seed.below(REPLICAS);
                let offset = if self.seed.below(2) == 0 {
                    "+1h"
                } else {
                    "-1h"
                };
                println!("          replica {replica}, {offset}");
                self.cluster.signal(replica, Signal::TERM);
                let ended = self.cluster.reap(replica, self.world);
                if ended != Some(true) && ended.is_some() {
                    self.done
                        .surprises
                        .push(format!("replica {replica} failed at its end"));
                }
                self.cluster.replicas[replica].clock = Some(offset);
                self.cluster.start_replica(replica, self.world);
            }
        }
    }

    fn end_sessions(&self, which: &str) {
        let sql = format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {which} AND pid <> pg_backend_pid()"
        );
        self.cluster.sql(&sql);
    }

    fn kill(&mut self, point: Point) {
        if point == Point::AnyTime {
            sleep(Duration::from_millis(self.seed.next() % 1_000));
            let replica = self.seed.below(REPLICAS);
            let at = self.world.now();
            if self.cluster.signal(replica, Signal::KILL) {
                self.died(Sprung { replica, at });
            }
            return;
        }
        self.world.trap.arm(Some(point));
        self.bury(Duration::from_secs(10));
    }

    /// Waits for the replica that the trap kills, and starts it again.
    fn bury(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        loop {
            if let Ok(sprung) = self.sprung.try_recv() {
                return self.died(sprung);
            }
            if Instant::now() > deadline {
                self.world.trap.arm(None);
                // It may have been sprung in this very moment.
                sleep(Duration::from_millis(50));
                if let Ok(sprung) = self.sprung.try_recv() {
                    self.died(sprung);
                }
                return;
            }
            sleep(Duration::from_millis(5));
        }
    }

    fn died(&mut self, sprung: Sprung) {
        self.done.blows.push(Blow {
            cause: Cause::Kill,
            replica: Some(sprung.replica),
            from: sprung.at,
            until: sprung.at,
        });
        self.cluster.reap(sprung.replica, self.world);
        sleep(Duration::from_millis(self.seed.next() % 3_000));
        self.cluster.start_replica(sprung.replica, self.world);
    }

    fn fail_over(&mut self) {
        let Some(standby) = &self.cluster.standby else {
            return;
        };
        keyway_testkit::eventually("the standby has what the primary has", || {
            let ends = "SELECT pg_current_wal_lsn()";
            let has = "SELECT pg_last_wal_replay_lsn() >= '";
            let end = self.cluster.sql(ends);
            standby.sql("postgres", &format!("{has}{end}'")) == "t"
        });
        let from = self.world.now();
        // It follows no more: what is committed from now on it lacks.
        standby.sql("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
        standby.sql("postgres", "SELECT pg_reload_conf()");
        sleep(Duration::from_millis(500 + self.seed.next() % 1_500));
        self.cluster.fail_over();
        self.done.restarts.push(self.world.now());
        self.done.blows.push(Blow {
            cause: Cause::Failover,
            replica: None,
            from,
            until: self.world.now(),
        });
        // Copied otherwise, and the next one would not follow either.
        self.cluster.sql("ALTER SYSTEM RESET primary_conninfo");
        self.cluster.add_standby();
    }

    /// Notes who ended by himself, and starts him again.
    fn watch(&mut self) {
        for number in self.cluster.ended() {
            self.cluster.reap(number, self.world);
            let log = self.cluster.log(number);
            let tail = log.get(log.len().saturating_sub(800)..).unwrap_or_default();
            self.done
                .surprises
                .push(format!("replica {number} ended by itself:\n{tail}"));
            self.cluster.start_replica(number, self.world);
        }
    }
}
