//! What else fails: the holder of the wrapping key, a disk, a link, a host.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Faults;
use crate::checker::{Cause, Incident};
use crate::config::{BEHIND_LINK, ON_SMALL_DISK, REPLICAS};
use crate::families::{Delivery, Profile};
use crate::load::NO_KEY;
use crate::namespaces::Cut;
use crate::timeouts::{
    COMMIT_TIME, CUT_NOTICED_AFTER, KEY_READY_TIMEOUT, LEFT_AT_LEAST, LEFT_AT_MOST,
    VANISHED_HOST_LOOKED_FOR,
};
use crate::transit::Absence;

impl Faults<'_> {
    /// Replicas that know the keys of people notice nothing. One that was just started knows none and
    /// says so to its clients; one that is started meanwhile ends, and is started again, as a
    /// supervisor does.
    pub(super) fn wrapper_away(&mut self) {
        let is_silent = self.seed.below(2) == 0;
        let absence = if is_silent {
            Absence::Silent
        } else {
            Absence::Sealed
        };
        let (replica, is_before) = (self.seed.below(REPLICAS), self.seed.below(2) == 0);
        let when = if is_before { "before" } else { "meanwhile" };
        println!("          {absence:?}; replica {replica} is restarted {when}");
        if is_before {
            self.restart(replica);
            self.cluster.becomes_ready(replica, KEY_READY_TIMEOUT);
        }
        let from = self.world.now();
        self.world.transit.set_absence(Some(absence));
        if is_before {
            sleep(Duration::from_millis(4_000 + self.seed.next() % 2_000));
        } else {
            self.restart(replica);
        }
        let pause = Duration::from_millis(2_000 + self.seed.next() % 3_000);
        self.supervise(replica, Instant::now() + pause);
        self.world.transit.set_absence(None);
        self.done.key_absences.push((from, self.world.now()));
        // Its last try may still be waiting for the answer that did not come.
        self.supervise(replica, Instant::now() + KEY_READY_TIMEOUT);
    }

    /// Starts a replica again that ends because of its wrapping key, until it is ready after that.
    fn supervise(&mut self, replica: usize, until: Instant) {
        while Instant::now() < until {
            if self.cluster.has_ended(replica) {
                self.cluster.reap(replica, self.world);
                let log = self.cluster.log(replica);
                let tail = log.get(log.len().saturating_sub(400)..).unwrap_or_default();
                if !tail.contains(NO_KEY) {
                    let text = format!("replica {replica} ended by itself:\n{tail}");
                    self.done.unexpected.push(text);
                }
                self.cluster.start_replica(replica, self.world);
            } else if self
                .cluster
                .becomes_ready(replica, Duration::from_millis(200))
            {
                return;
            }
        }
    }

    /// Fills the disk, ends the database while an answer is under way, and starts it after that.
    pub(super) fn full_disk(&mut self) {
        self.wait_for_slow_request(ON_SMALL_DISK, LEFT_AT_MOST, Duration::from_secs(4));
        let Some(disk) = &self.cluster.disk else {
            return;
        };
        disk.fill();
        let before = disk.count(JOURNAL, JOURNALED);
        self.done.restarts.push(self.world.now());
        self.cluster.primary.control(&["-m", "immediate", "stop"]);
        let from = self.world.now();
        // Answers that arrive now are kept nowhere but in memory; the journal is tried after a second.
        let (mut deadline, end) = (Duration::from_secs(4), Duration::from_secs(14));
        while self.world.now() - from < deadline {
            sleep(Duration::from_millis(100));
            let is_awaited = self.pending(ON_SMALL_DISK, Profile::Slow).is_some();
            let is_kept = self.answered(ON_SMALL_DISK, from) > 0;
            if is_awaited && !is_kept && deadline < end {
                deadline += Duration::from_millis(100);
            }
        }
        let written = disk.count(JOURNAL, JOURNALED).saturating_sub(before);
        let kept = self.answered(ON_SMALL_DISK, from);
        println!("          {kept} answers came meanwhile, {written} are in the journal");
        self.cluster.primary.control(&["start"]);
        self.done.restarts.push(self.world.now());
        if written > 0 {
            let text = format!("{written} answers fitted on the full disk: it was not full");
            self.done.unexpected.push(text);
        }
        self.done.kept_in_memory += kept;
        // For the commits, before there is room again.
        sleep(COMMIT_TIME);
        disk.free();
    }

    /// Cuts the link of a host without a word to the other end, and restores it.
    pub(super) fn cut_link(&mut self) {
        let how = self.how_to_cut();
        let longest = u64::try_from(self.longest_stop.as_millis()).unwrap_or(1_000);
        let pause = Duration::from_millis(1_000 + self.seed.next() % longest);
        println!("          {how:?} for {:.1} s", pause.as_secs_f32());
        let Some(link) = &self.cluster.link else {
            return;
        };
        let from = self.world.now();
        link.cut(how);
        sleep(pause);
        link.restore(how);
        let process = self.cluster.process(BEHIND_LINK);
        let cut = process.map(|it| (it, from, self.world.now()));
        self.done.stops.extend(cut);
        // Other replicas do not notice a shorter one: the lock stays, and answers arrive later.
        if pause > CUT_NOTICED_AFTER {
            self.vanished(from);
        }
    }

    /// Cuts the link of a host, kills what runs there, and measures how long the others need to find
    /// out; then another host takes its place.
    pub(super) fn vanish_host(&mut self) {
        let how = self.how_to_cut();
        println!("          {how:?}");
        self.wait_for_slow_request(BEHIND_LINK, Profile::Slow.delay(), Duration::from_secs(6));
        let owner = self.cluster.owner_behind_link();
        let Some(link) = &self.cluster.link else {
            return;
        };
        let from = self.world.now();
        link.cut(how);
        self.cluster.kill_host();
        self.vanished(from);
        self.cluster.reap(BEHIND_LINK, self.world);
        // An announcement that the server cannot deliver must not make it believe in the host longer.
        sleep(Duration::from_millis(500 + self.seed.next() % 1_500));
        self.cluster.sql("SELECT pg_notify('keyway', 'storm')");
        if let Some(owner) = owner {
            self.measure_take_over(&owner, from);
        }
        self.cluster.replace_host();
        self.cluster.start_replica(BEHIND_LINK, self.world);
    }

    /// Waits until no claim of an owner is left. Those from before a restart of the database are left
    /// until their time is over: locks say nothing of them.
    fn measure_take_over(&mut self, owner: &str, from: Duration) {
        let claims = format!(
            "SELECT count(*) FROM keyway.grants
             WHERE claim_owner = {owner} AND claim_server = keyway.server_start()"
        );
        let open = self.cluster.sql(&claims);
        while self.world.now() < from + VANISHED_HOST_LOOKED_FOR {
            if self.cluster.sql(&claims) == "0" {
                if open != "0" {
                    let until = self.world.now();
                    let took = until.saturating_sub(from).as_secs_f32();
                    println!("          {open} claims after {took:.1} s");
                    self.done.take_overs.push((from, until));
                }
                return;
            }
            sleep(Duration::from_millis(50));
        }
        let seconds = VANISHED_HOST_LOOKED_FOR.as_secs();
        let text = format!("claims of a host that vanished were not taken over in {seconds} s");
        self.done.unexpected.push(text);
    }

    fn vanished(&mut self, from: Duration) {
        self.done.incidents.push(Incident {
            cause: Cause::Vanished,
            replica: Some(BEHIND_LINK),
            from,
            until: self.world.now(),
        });
    }

    fn how_to_cut(&mut self) -> Cut {
        match self.seed.below(2) {
            0 => Cut::Unplugged,
            _ => Cut::Silent,
        }
    }

    /// Waits until a replica has sent a token that is answered late, and some of that time is over.
    fn wait_for_slow_request(&self, replica: usize, left_at_most: Duration, within: Duration) {
        let deadline = Instant::now() + within;
        let delay = Profile::Slow.delay();
        while Instant::now() < deadline {
            let sent = self.pending(replica, Profile::Slow);
            let left = sent.map(|at| (at + delay).saturating_sub(self.world.now()));
            if left.is_some_and(|left| left > LEFT_AT_LEAST && left < left_at_most) {
                return;
            }
            sleep(Duration::from_millis(50));
        }
    }

    /// Returns when a replica sent the token whose answer is to come next.
    fn pending(&self, replica: usize, profile: Profile) -> Option<Duration> {
        self.world.families(|all| {
            let of_profile = all.0.iter().filter(|it| it.profile == profile);
            let last = of_profile.filter_map(|it| it.redemptions.last());
            let pending = last.filter(|it| {
                it.replica == Some(replica) && it.delivery == Delivery::Pending && it.accepted
            });
            pending.map(|it| it.at).min()
        })
    }

    /// Counts the answers that were written to a replica since some time.
    fn answered(&self, replica: usize, since: Duration) -> usize {
        self.world.families(|all| {
            let redemptions = all.0.iter().flat_map(|it| &it.redemptions);
            let written = redemptions.filter(|it| {
                it.replica == Some(replica)
                    && it.accepted
                    && it.delivery == Delivery::Written
                    && it.answered_at.is_some_and(|at| at > since)
            });
            written.count()
        })
    }
}

/// The folder of the journal, inside of a replica's.
const JOURNAL: &str = "data/database-journal";
const JOURNALED: &str = "journal-";
