//! One issuer's ceiling: a bucket that fills by a share of the rate, and whose turn it is.
//!
//! Each host has the rate divided by the number of hosts. Counting in the database instead would
//! cost each renewal a statement on one row that all of them want; this costs none. What the whole
//! sends in a time `t` is at most `burst + rate × t`, also while hosts come and go:
//!
//! - a bucket never gains requests by a larger share, only by time;
//! - what was taken and not sent yet keeps its place in the bucket: requests that waited for a store do
//!   not come on top of those that became due meanwhile;
//! - a host that joins gains none until the others have heard of it, or have stopped for want of news;
//! - a host that hears nothing gains none.
//!
//! Beyond that are one request for each issuer at each start of a host, so that a single renewal
//! waits for nothing, and what was redeemed for hosts that died, which is taken from later requests.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::RefreshLimit;
use crate::timeouts::{CEILING_MAX_WAIT, CEILING_MIN_WAIT};

/// How much of each ceiling is this host's, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    hosts: f64,
    /// Requests become due between these moments.
    from: Option<Instant>,
    until: Option<Instant>,
    is_known: bool,
}

impl Default for Share {
    /// All of it.
    fn default() -> Self {
        Self {
            hosts: 1.0,
            from: None,
            until: None,
            is_known: true,
        }
    }
}

impl Share {
    pub(super) fn unknown() -> Self {
        Self {
            is_known: false,
            ..Self::default()
        }
    }

    pub(super) fn of(hosts: u32, from: Instant, until: Instant) -> Self {
        Self {
            hosts: f64::from(hosts.max(1)),
            from: Some(from),
            until: Some(until),
            is_known: true,
        }
    }

    /// Returns for how long of the time between two moments requests became due.
    fn counted(&self, since: Instant, now: Instant) -> Duration {
        if !self.is_known {
            return Duration::ZERO;
        }
        let from = self.from.map_or(since, |from| from.max(since));
        let until = self.until.map_or(now, |until| until.min(now));
        until.saturating_duration_since(from)
    }
}

/// Who waits for a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::oauth) enum Urgency {
    /// Callers, whose token cannot be used any more.
    CallersWait,
    /// Nothing: the token is still good.
    Ahead,
}

impl Urgency {
    const fn line(self) -> usize {
        match self {
            Self::CallersWait => 0,
            Self::Ahead => 1,
        }
    }
}

/// One issuer's ceiling.
#[derive(Debug)]
pub(super) struct Ceiling {
    limit: RefreshLimit,
    /// Held for a few sums.
    bucket: Mutex<Bucket>,
    /// Held by the first of those that wait, while it waits for the bucket; the rest line up here in
    /// the order in which they came. Apart by urgency; the bucket is locked under it, for a moment.
    pub(super) lines: [async_lock::Mutex<()>; 2],
}

#[derive(Debug)]
struct Bucket {
    requests: f64,
    /// Taken, and not sent yet.
    unsent: f64,
    filled_at: Option<Instant>,
    waiting: [usize; 2],
}

impl Ceiling {
    pub(super) fn new(limit: RefreshLimit) -> Self {
        Self {
            limit,
            bucket: Mutex::new(Bucket {
                requests: 1.0,
                unsent: 0.0,
                filled_at: None,
                waiting: [0; 2],
            }),
            lines: [async_lock::Mutex::new(()), async_lock::Mutex::new(())],
        }
    }

    /// Takes a request that no other waits for.
    pub(super) fn take_at_once(&self, urgency: Urgency, share: Share, now: Instant) -> bool {
        let mut bucket = self.lock();
        let [urgent, others] = bucket.waiting;
        let is_first = match urgency {
            Urgency::CallersWait => urgent == 0,
            Urgency::Ahead => urgent + others == 0,
        };
        bucket.fill(self.limit, share, now);
        is_first && bucket.take()
    }

    /// Takes a request for the first in its line, or says when to try again. One that callers wait
    /// for comes first.
    pub(super) fn take(
        &self,
        urgency: Urgency,
        share: Share,
        now: Instant,
    ) -> Result<(), Duration> {
        let mut bucket = self.lock();
        bucket.fill(self.limit, share, now);
        let [urgent, _] = bucket.waiting;
        let must_yield = urgency == Urgency::Ahead && urgent > 0;
        if !must_yield && bucket.take() {
            return Ok(());
        }
        let missing = (1.0 - bucket.requests).max(0.0);
        let missing = if must_yield { missing + 1.0 } else { missing };
        let rate = f64::from(self.limit.per_second.max(1)) / share.hosts;
        // Looked at again before long: the share may change meanwhile.
        Err(Duration::from_secs_f64(missing / rate).clamp(CEILING_MIN_WAIT, CEILING_MAX_WAIT))
    }

    /// Takes a request whether or not there is one; later ones wait for as long.
    pub(super) fn take_in_advance(&self, share: Share, now: Instant) {
        let mut bucket = self.lock();
        bucket.fill(self.limit, share, now);
        bucket.requests -= 1.0;
    }

    /// Counts what has become due by a share that ends now.
    pub(super) fn settle(&self, share: Share, now: Instant) {
        self.lock().fill(self.limit, share, now);
    }

    /// Counts a request that was taken as sent.
    pub(super) fn sent(&self) {
        self.lock().unsent -= 1.0;
    }

    /// Returns a request that was taken, and is not sent.
    pub(super) fn give_back(&self) {
        let mut bucket = self.lock();
        bucket.unsent -= 1.0;
        bucket.requests += 1.0;
    }

    /// Returns how far apart requests are.
    pub(super) fn interval(&self, share: Share) -> Duration {
        Duration::from_secs_f64(share.hosts / f64::from(self.limit.per_second.max(1)))
    }

    pub(super) fn line_up(&self, urgency: Urgency) {
        if let Some(waiting) = self.lock().waiting.get_mut(urgency.line()) {
            *waiting += 1;
        }
    }

    pub(super) fn leave(&self, urgency: Urgency) {
        if let Some(waiting) = self.lock().waiting.get_mut(urgency.line()) {
            *waiting = waiting.saturating_sub(1);
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.iter().sum()
    }

    fn lock(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bucket {
    fn fill(&mut self, limit: RefreshLimit, share: Share, now: Instant) {
        let since = self.filled_at.unwrap_or(now);
        // Another thread may have looked at the clock a little later.
        self.filled_at = Some(since.max(now));
        let rate = f64::from(limit.per_second.max(1)) / share.hosts;
        let most = (f64::from(limit.burst) / share.hosts).max(1.0);
        let gained = share.counted(since, now).as_secs_f64() * rate;
        self.requests = (self.requests + gained).min(most - self.unsent);
    }

    fn take(&mut self) -> bool {
        let is_there = self.requests >= 1.0;
        if is_there {
            self.requests -= 1.0;
            self.unsent += 1.0;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RefreshLimit = RefreshLimit::new(10, 20);
    const LEASE: Duration = Duration::from_secs(2);

    /// Takes all that there is; returns how many.
    fn take_all(ceiling: &Ceiling, share: Share, now: Instant) -> usize {
        let taken = std::iter::repeat_with(|| ceiling.take(Urgency::CallersWait, share, now));
        taken.take_while(Result::is_ok).count()
    }

    /// Takes all that there is and sends it; returns how many.
    fn drain(ceiling: &Ceiling, share: Share, now: Instant) -> usize {
        let count = take_all(ceiling, share, now);
        (0..count).for_each(|_| ceiling.sent());
        count
    }

    /// Says whether any window of `sent` holds more than a bucket and the rate allow.
    fn is_below(sent: &[Duration], spare: f64) {
        for (first, from) in sent.iter().enumerate() {
            for (count, until) in sent.iter().skip(first).enumerate() {
                let time = (*until - *from).as_secs_f64();
                let allowed = f64::from(LIMIT.burst) + f64::from(LIMIT.per_second) * time + spare;
                let count = u32::try_from(count + 1).unwrap();
                assert!(f64::from(count) <= allowed + 1e-6, "{count} in {time} s");
            }
        }
    }

    #[test]
    fn a_bucket_begins_with_one_request_and_saves_no_more_than_the_burst() {
        let start = Instant::now();
        let ceiling = Ceiling::new(LIMIT);
        let all = Share::default();
        assert_eq!(drain(&ceiling, all, start), 1);
        assert_eq!(drain(&ceiling, all, start + Duration::from_millis(350)), 3);
        assert_eq!(drain(&ceiling, all, start + Duration::from_secs(60)), 20);
        ceiling.take_in_advance(all, start + Duration::from_secs(60));
        let late = start + Duration::from_millis(60_150);
        assert_eq!(drain(&ceiling, all, late), 0, "it was taken in advance");
    }

    #[test]
    fn without_news_of_the_others_nothing_becomes_due() {
        let start = Instant::now();
        let ceiling = Ceiling::new(LIMIT);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(drain(&ceiling, Share::unknown(), start), 1);
        assert_eq!(drain(&ceiling, Share::unknown(), at(100)), 0);
        let share = Share::of(2, at(100), at(102));
        assert_eq!(drain(&ceiling, share, at(101)), 5);
        // The news is old from the second second on.
        assert_eq!(drain(&ceiling, share, at(200)), 5);
        assert_eq!(drain(&ceiling, share, at(300)), 0);
    }

    #[test]
    fn what_waits_for_a_store_is_not_sent_on_top_of_what_became_due_meanwhile() {
        let start = Instant::now();
        let ceiling = Ceiling::new(LIMIT);
        let all = Share::default();
        let at = |seconds| start + Duration::from_secs(seconds);
        ceiling.settle(all, start);
        assert_eq!(take_all(&ceiling, all, at(60)), 20);
        assert_eq!(take_all(&ceiling, all, at(120)), 0, "the bucket is full");
        // Twelve are sent now, and three come back unsent.
        (0..12).for_each(|_| ceiling.sent());
        (0..3).for_each(|_| ceiling.give_back());
        assert_eq!(take_all(&ceiling, all, at(120)), 3);
        assert_eq!(take_all(&ceiling, all, at(121)), 10);
        assert_eq!(take_all(&ceiling, all, at(180)), 2);
        assert_eq!(take_all(&ceiling, all, at(240)), 0, "the bucket is full");
    }

    #[test]
    fn together_they_stay_below_the_ceiling_while_hosts_come_and_go() {
        let start = Instant::now();
        let steps = 6_000_u32;
        let at = |step: u32| start + Duration::from_millis(5) * step;
        // Each is there for a part of the time; all want as much as they can get, now and then after
        // a pause that fills their buckets.
        let lives = [0..6_000_u32, 700..2_500, 1_000..4_000, 3_000..6_000];
        let ceilings = [(); 4].map(|()| Ceiling::new(LIMIT));
        let mut shares = [Share::unknown(); 4];
        let mut joined = [None; 4];
        let mut sent = Vec::new();
        for step in 0..steps {
            let now = at(step);
            let hosts = lives.iter().filter(|life| life.contains(&step)).count();
            let hosts = u32::try_from(hosts).unwrap();
            for (host, life) in lives.iter().enumerate() {
                if !life.contains(&step) {
                    continue;
                }
                // Each looks every half second, at a moment of its own.
                if (step + 23 * u32::try_from(host).unwrap()).is_multiple_of(100) {
                    let wait = if hosts == 1 { Duration::ZERO } else { LEASE };
                    let from = *joined[host].get_or_insert(now + wait);
                    ceilings[host].settle(shares[host], now);
                    shares[host] = Share::of(hosts, from, now + LEASE);
                }
                let is_pause = (step / 500).is_multiple_of(3);
                if !is_pause {
                    let count = drain(&ceilings[host], shares[host], now);
                    sent.extend(std::iter::repeat_n(now - start, count));
                }
            }
        }
        assert!(sent.len() > 150, "{}", sent.len());
        // One for each start.
        is_below(&sent, 4.0);
    }
}
