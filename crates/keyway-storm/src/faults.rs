//! What is done to replicas and databases, one after the other and some at once, as the seed says.

mod outages;

use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::checker::{Cause, Incident, TakeOver};
use crate::cluster::Cluster;
use crate::config::REPLICAS;
use crate::kill_trigger::{Killed, Point};
use crate::seed::Seed;
use crate::timeouts::READY_AGAIN_TIMEOUT;
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
    /// What holds the wrapping key does not answer, and a replica is started meanwhile.
    WrapperAway,
    /// An answer arrives that neither the database nor the full disk below the journal can keep.
    FullDisk,
    /// The link of a replica's host is cut for a while.
    CutLink,
    /// The host of a replica vanishes, without a packet that says so.
    VanishHost,
    /// One replica after the other is ended by SIGTERM and started again, as an upgrade does.
    RollingRestart,
}

impl Fault {
    pub(crate) const ALL: [Self; 16] = [
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
        Self::WrapperAway,
        Self::FullDisk,
        Self::CutLink,
        Self::VanishHost,
        Self::RollingRestart,
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
            Self::WrapperAway => "key wrapper away".to_owned(),
            Self::FullDisk => "full disk while the database is away".to_owned(),
            Self::CutLink => "link of a host cut".to_owned(),
            Self::VanishHost => "host vanished".to_owned(),
            Self::RollingRestart => "rolling restart".to_owned(),
        }
    }

    /// Whether this machine can do it.
    const fn is_possible(self, cluster: &Cluster) -> bool {
        match self {
            Self::FullDisk => cluster.disk.is_some(),
            Self::CutLink | Self::VanishHost => cluster.link.is_some(),
            _ => true,
        }
    }
}

/// What was done, and how often.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) incidents: Vec<Incident>,
    /// When the database was restarted or replaced.
    pub(crate) restarts: Vec<Duration>,
    pub(crate) counts: std::collections::BTreeMap<Fault, usize>,
    /// Which processes were stopped by SIGSTOP or cut off, and when.
    pub(crate) stops: Vec<(u32, Duration, Duration)>,
    /// When the wrapping key could not be used.
    pub(crate) key_absences: Vec<(Duration, Duration)>,
    /// How many answers arrived that only memory could keep.
    pub(crate) kept_in_memory: usize,
    /// When hosts vanished, and when the last of their claims had other owners.
    pub(crate) take_overs: Vec<TakeOver>,
    /// When all replicas were restarted one after the other, and nothing else happened.
    pub(crate) rolling: Vec<(Duration, Duration)>,
    /// What must not happen, whatever the journals say, such as a replica that ends by itself.
    pub(crate) unexpected: Vec<String>,
    /// How long it took from a fault to a state in which all replicas are ready.
    pub(crate) worst_recovery: Duration,
}

/// Does one thing after the other.
pub(crate) struct Faults<'a> {
    pub(crate) cluster: &'a mut Cluster,
    pub(crate) world: &'a World,
    pub(crate) kills: UnboundedReceiver<Killed>,
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
                left.retain(|fault| fault.is_possible(self.cluster));
            }
            if left.is_empty() {
                return;
            }
            let fault = left.swap_remove(self.seed.below(left.len()));
            let at = self.world.now().as_secs_f32();
            println!("{at:6.1} s: {}", fault.name());
            *self.done.counts.entry(fault).or_default() += 1;
            // Some with another one in the middle: a replica dies while the database is away. Not
            // where a host vanishes: its processes may die as well, and then that explains nothing.
            // Nor where no call may fail.
            let is_alone = matches!(
                fault,
                Fault::Kill(_) | Fault::CutLink | Fault::VanishHost | Fault::RollingRestart
            );
            let is_mixed = !is_alone && self.seed.below(3) == 0;
            if is_mixed {
                let point = self.seed.below(Point::ALL.len() - 1);
                println!("          and {}", Fault::Kill(point).name());
                *self.done.counts.entry(Fault::Kill(point)).or_default() += 1;
                self.world.kill_trigger.arm(Point::ALL.get(point).copied());
            }
            self.apply(fault);
            if is_mixed {
                self.restart_killed(Duration::from_secs(5));
            }
            let began = Instant::now();
            self.wait_until_ready(fault, began + READY_AGAIN_TIMEOUT);
            self.done.worst_recovery = self.done.worst_recovery.max(began.elapsed());
            sleep(Duration::from_millis(500 + self.seed.next() % 1_500));
        }
    }

    /// Waits until all replicas are ready; those that end by themselves meanwhile are started again.
    fn wait_until_ready(&mut self, fault: Fault, deadline: Instant) {
        for number in 0..REPLICAS {
            self.restart_ended();
            while !self.cluster.becomes_ready(number, Duration::from_secs(1)) {
                self.restart_ended();
                if Instant::now() > deadline {
                    let log = self.cluster.log(number);
                    let tail = log.get(log.len().saturating_sub(600)..).unwrap_or_default();
                    let text = format!(
                        "replica {number} is not ready a minute after: {}\n{tail}",
                        fault.name()
                    );
                    self.done.unexpected.push(text);
                    break;
                }
            }
        }
    }

    fn apply(&mut self, fault: Fault) {
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
                let (process, from) = (self.cluster.process(replica), self.world.now());
                if self.cluster.signal(replica, Signal::STOP) {
                    sleep(pause);
                    self.cluster.signal(replica, Signal::CONT);
                    let stop = process.map(|it| (it, from, self.world.now()));
                    self.done.stops.extend(stop);
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
                let is_ahead = self.seed.below(2) == 0;
                let offset = if is_ahead { "+1h" } else { "-1h" };
                println!("          replica {replica}, {offset}");
                self.cluster.replicas[replica].clock = Some(offset);
                self.restart(replica);
            }
            Fault::WrapperAway => self.wrapper_away(),
            Fault::FullDisk => self.full_disk(),
            Fault::CutLink => self.cut_link(),
            Fault::VanishHost => self.vanish_host(),
            Fault::RollingRestart => self.rolling_restart(),
        }
    }

    /// Restarts one replica after the other, each once the one before is ready again.
    fn rolling_restart(&mut self) {
        let from = self.world.now();
        if self.cluster.upgrade() {
            println!("          to the newer program");
        }
        for replica in 0..REPLICAS {
            self.restart(replica);
            self.wait_until_ready(Fault::RollingRestart, Instant::now() + READY_AGAIN_TIMEOUT);
        }
        self.done.rolling.push((from, self.world.now()));
    }

    /// Ends a replica by SIGTERM and starts it again.
    fn restart(&mut self, replica: usize) {
        self.cluster.signal(replica, Signal::TERM);
        let ended = self.cluster.reap(replica, self.world);
        if ended == Some(false) && self.kills.is_empty() {
            let text = format!("replica {replica} failed at its end");
            self.done.unexpected.push(text);
        }
        self.cluster.start_replica(replica, self.world);
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
            self.world.kill_trigger.look();
            let at = self.world.now();
            if self.cluster.signal(replica, Signal::KILL) {
                self.start_again(Killed { replica, at });
            }
            return;
        }
        self.world.kill_trigger.arm(Some(point));
        self.restart_killed(Duration::from_secs(10));
    }

    /// Waits for the replica that the trigger kills, and starts it again.
    fn restart_killed(&mut self, within: Duration) {
        let deadline = Instant::now() + within;
        loop {
            if let Ok(killed) = self.kills.try_recv() {
                return self.start_again(killed);
            }
            if Instant::now() > deadline {
                self.world.kill_trigger.arm(None);
                // It may have killed one in this very moment.
                sleep(Duration::from_millis(50));
                if let Ok(killed) = self.kills.try_recv() {
                    self.start_again(killed);
                }
                return;
            }
            sleep(Duration::from_millis(5));
        }
    }

    fn start_again(&mut self, killed: Killed) {
        let (replica, at) = (killed.replica, killed.at.as_secs_f32());
        println!("          replica {replica} killed at {at:.1} s");
        self.done.incidents.push(Incident {
            cause: Cause::Kill,
            replica: Some(killed.replica),
            from: killed.at,
            until: killed.at,
        });
        // One that was restarted since is another process.
        if self.ends_soon(killed.replica) {
            self.cluster.reap(killed.replica, self.world);
            sleep(Duration::from_millis(self.seed.next() % 3_000));
            self.cluster.start_replica(killed.replica, self.world);
        }
    }

    /// Waits for the end of a process that was killed a moment ago.
    fn ends_soon(&mut self, replica: usize) -> bool {
        (0..20).any(|_| {
            sleep(Duration::from_millis(50));
            self.cluster.has_ended(replica)
        })
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
        // It does not follow any more, and lacks what is committed from now on.
        standby.sql("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
        standby.sql("postgres", "SELECT pg_reload_conf()");
        sleep(Duration::from_millis(500 + self.seed.next() % 1_500));
        self.cluster.fail_over();
        self.done.restarts.push(self.world.now());
        self.done.incidents.push(Incident {
            cause: Cause::Failover,
            replica: None,
            from,
            until: self.world.now(),
        });
        // Copied otherwise, and the next one would not follow either.
        self.cluster.sql("ALTER SYSTEM RESET primary_conninfo");
        self.cluster.add_standby();
    }

    /// Notes which replicas ended by themselves, and starts them again.
    fn restart_ended(&mut self) {
        for number in self.cluster.ended() {
            self.cluster.reap(number, self.world);
            let log = self.cluster.log(number);
            let tail = log.get(log.len().saturating_sub(800)..).unwrap_or_default();
            self.done.unexpected.push(format!(
                "replica {number} ended by itself at {:.1} s:\n{tail}",
                self.world.now().as_secs_f32()
            ));
            self.cluster.start_replica(number, self.world);
        }
    }
}
