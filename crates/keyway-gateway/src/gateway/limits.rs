//! How much clients may ask: requests and bytes in a second, and requests at once, for each client
//! and for each server. What is too much is refused before any of it reaches a server.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use keyway::settings::{Limit, LimitSettings};
use keyway_mcp::jsonrpc::LOCAL_ERROR;
use keyway_transport::{Reply, RequestId};
use tokio::time::Instant;

use super::principal::{Principal, PrincipalId};
use super::reply;
use crate::timeouts::LIMIT_BURST;

/// The limits, and what counts towards them now.
#[derive(Debug, Default)]
pub(super) struct Limits {
    clients: Meters<PrincipalId>,
    servers: Meters<(String, String)>,
}

/// What a request holds until its server is done with it: its places among those that may be made at once.
#[derive(Debug, Default)]
pub(super) struct Permits {
    client: Option<Place>,
    /// Set later where all servers can be asked: which one is meant is known once the names are.
    server: OnceLock<Option<Place>>,
}

/// Why a request is refused, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch {
    what: &'static str,
    wait: Duration,
}

impl Permits {
    /// Says whether anything has to be given back.
    pub(super) fn holds_places(&self) -> bool {
        self.client.is_some() || self.server.get().is_some_and(Option::is_some)
    }
}

impl Limits {
    pub(super) fn new(settings: LimitSettings) -> Self {
        Self {
            clients: Meters::new(settings.client),
            servers: Meters::new(settings.server),
        }
    }

    /// Counts a message of a client; one that expects an answer takes a place until its [`Permits`]
    /// are dropped.
    pub(super) fn admit(
        &self,
        principal: &Principal,
        message: Message,
    ) -> Result<Permits, TooMuch> {
        let client = match principal.id() {
            // The person of this machine, by a socket that is theirs alone.
            PrincipalId::SameUser => None,
            id => self.clients.admit(id, message)?,
        };
        Ok(Permits {
            client,
            server: OnceLock::new(),
        })
    }

    /// Counts a message for the server that it goes to; the first server counts.
    pub(super) fn admit_to(
        &self,
        permits: &Permits,
        server: (&str, &str),
        message: Message,
    ) -> Result<(), TooMuch> {
        if !self.servers.is_limited() || permits.server.get().is_some() {
            return Ok(());
        }
        let (plugin, name) = server;
        let place = self
            .servers
            .admit((plugin.to_owned(), name.to_owned()), message)?;
        let _first = permits.server.set(place);
        Ok(())
    }
}

/// What a message counts as.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub(super) bytes: usize,
    /// Whether an answer is expected.
    pub(super) is_request: bool,
    /// Whether it is a request or a notification, and no answer.
    pub(super) is_call: bool,
}

/// What counts for each client or server.
#[derive(Debug)]
pub(super) struct Meters<K> {
    limit: Limit,
    /// Held for a look-up and the sweep, which is as rare as the number of keys is large.
    used: Mutex<Used<K>>,
}

#[derive(Debug)]
struct Used<K> {
    meters: HashMap<K, Arc<Meter>>,
    /// At this number those that count nothing are removed.
    sweep_at: usize,
}

impl<K> Default for Meters<K> {
    fn default() -> Self {
        Self {
            limit: Limit::NONE,
            used: Mutex::new(Used {
                meters: HashMap::new(),
                sweep_at: SWEEP_AT,
            }),
        }
    }
}

impl<K: Eq + Hash> Meters<K> {
    pub(super) fn new(limit: Limit) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Says whether anything is counted at all.
    const fn is_limited(&self) -> bool {
        let Limit {
            calls_per_second,
            calls_at_once,
            bytes_per_second,
            ..
        } = self.limit;
        calls_per_second.is_some() || calls_at_once.is_some() || bytes_per_second.is_some()
    }

    pub(super) fn admit(&self, key: K, message: Message) -> Result<Option<Place>, TooMuch> {
        if !self.is_limited() {
            return Ok(None);
        }
        let now = Instant::now();
        let meter = self.meter(key, now);
        // The place first: one that is refused below gives it back, and a rate would not.
        let place = match self.limit.calls_at_once.filter(|_| message.is_request) {
            Some(most) => Some(meter.place(most)?),
            None => None,
        };
        meter.count(&self.limit, message, now)?;
        Ok(place)
    }

    fn meter(&self, key: K, now: Instant) -> Arc<Meter> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.meters.len() >= used.sweep_at {
            used.meters.retain(|_, meter| meter.is_in_use(now));
            used.sweep_at = SWEEP_AT.max(2 * used.meters.len());
        }
        Arc::clone(used.meters.entry(key).or_default())
    }
}

/// What one client or server has used.
#[derive(Debug, Default)]
struct Meter {
    /// Relaxed: the number stands for itself, and nothing else is read by it.
    at_once: AtomicU32,
    /// Held for a few comparisons.
    rates: Mutex<Rates>,
}

#[derive(Debug, Default)]
struct Rates {
    calls: Rate,
    bytes: Rate,
}

impl Meter {
    fn place(self: &Arc<Self>, most: u32) -> Result<Place, TooMuch> {
        let more = |count: u32| (count < most).then_some(count + 1);
        let taken = self
            .at_once
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map_err(|_| TooMuch {
            what: "too many requests wait for their answer",
            wait: Duration::ZERO,
        })?;
        Ok(Place(Arc::clone(self)))
    }

    fn count(&self, limit: &Limit, message: Message, now: Instant) -> Result<(), TooMuch> {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = limit.calls_per_second.filter(|_| message.is_call);
        let calls = calls.map(|most| share(1, most));
        let bytes = limit.bytes_per_second;
        let bytes = bytes.map(|most| share(message.bytes, most));
        let refuse = |what| move |wait| TooMuch { what, wait };
        // Both are asked before either counts: what is refused has used nothing up.
        if let Some(takes) = calls {
            let refused = refuse("too many requests in a second");
            rates.calls.look(takes, now).map_err(refused)?;
        }
        if let Some(takes) = bytes {
            let refused = refuse("too many bytes in a second");
            rates.bytes.look(takes, now).map_err(refused)?;
        }
        if let Some(takes) = calls {
            rates.calls.add(takes, now);
        }
        if let Some(takes) = bytes {
            rates.bytes.add(takes, now);
        }
        Ok(())
    }

    fn is_in_use(&self, now: Instant) -> bool {
        let rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        self.at_once.load(Ordering::Relaxed) > 0
            || rates.calls.is_in_use(now)
            || rates.bytes.is_in_use(now)
    }
}

/// How fast something comes: each unit takes its part of a second, and a second may be owed.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// When everything so far has had its time.
    free_at: Option<Instant>,
}

impl Rate {
    /// Says for how long this may not come; what takes longer than a second waits until nothing is
    /// owed.
    pub(super) fn look(&self, takes: Duration, now: Instant) -> Result<(), Duration> {
        let wait = (self.owed(now) + takes.min(LIMIT_BURST)).saturating_sub(LIMIT_BURST);
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }

    pub(super) fn add(&mut self, takes: Duration, now: Instant) {
        self.free_at = Some(now + self.owed(now) + takes);
    }

    fn owed(&self, now: Instant) -> Duration {
        let free_at = self.free_at.unwrap_or(now);
        free_at.saturating_duration_since(now)
    }

    fn is_in_use(&self, now: Instant) -> bool {
        self.owed(now) > Duration::ZERO
    }
}

/// Returns the time that units take at a rate.
fn share(units: usize, per_second: u32) -> Duration {
    let units = u32::try_from(units).unwrap_or(u32::MAX);
    LIMIT_BURST * units / per_second.max(1)
}

/// One of the requests that may be made at once; dropping it makes room.
#[derive(Debug)]
pub(super) struct Place(Arc<Meter>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.at_once.fetch_sub(1, Ordering::Relaxed);
    }
}

impl TooMuch {
    /// Answers the request.
    pub(super) fn reply(self, id: Option<&RequestId>) -> Reply {
        let seconds = self.wait.as_secs() + u64::from(self.wait.subsec_nanos() > 0);
        let seconds = seconds.max(1);
        let what = format!(
            "{}; try again in {seconds} s (the gateway's administrator sets the limit)",
            self.what
        );
        let refused = reply::refusal(StatusCode::TOO_MANY_REQUESTS, id, LOCAL_ERROR, &what);
        refused.header(RETRY_AFTER, HeaderValue::from(seconds))
    }
}

/// At least so many are kept before any is removed.
const SWEEP_AT: usize = 1024;

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const CALL: Message = Message {
        bytes: 10,
        is_request: true,
        is_call: true,
    };

    fn meters(limit: Limit) -> Meters<u32> {
        Meters::new(limit)
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_of_requests_may_come_at_once_and_then_as_many_as_the_rate_says() {
        let meters = meters(Limit::NONE.calls_per_second(5));
        for call in 0..5 {
            assert!(meters.admit(1, CALL).is_ok(), "{call}");
        }
        let refused = meters.admit(1, CALL).unwrap_err();
        assert!(refused.wait <= Duration::from_millis(200), "{refused:?}");
        // Another client is not concerned.
        assert!(meters.admit(2, CALL).is_ok());
        advance(Duration::from_millis(201)).await;
        assert!(meters.admit(1, CALL).is_ok());
        assert!(meters.admit(1, CALL).is_err());
        advance(Duration::from_secs(10)).await;
        let came = (0..20).filter(|_| meters.admit(1, CALL).is_ok());
        assert_eq!(came.count(), 5, "a pause saves up no more than a second");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_uses_nothing_up() {
        let meters = meters(Limit::NONE.calls_per_second(1).calls_at_once(1));
        let place = meters.admit(1, CALL).unwrap();
        for _ in 0..100 {
            assert!(meters.admit(1, CALL).is_err());
        }
        drop(place);
        assert!(meters.admit(1, CALL).is_err(), "the second is not over");
        advance(Duration::from_millis(1001)).await;
        assert!(meters.admit(1, CALL).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_message_is_taken_and_the_next_waits_for_as_long() {
        let meters = meters(Limit::NONE.bytes_per_second(100));
        let large = Message {
            bytes: 1000,
            is_request: false,
            is_call: false,
        };
        assert!(meters.admit(1, large).is_ok());
        assert_eq!(
            meters.admit(1, CALL).unwrap_err().wait,
            Duration::from_millis(9100)
        );
        advance(Duration::from_millis(9101)).await;
        assert!(meters.admit(1, CALL).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn clients_that_are_gone_are_forgotten() {
        let meters = Meters::new(Limit::NONE.calls_per_second(1));
        for client in 0..10_000_u32 {
            assert!(meters.admit(client, CALL).is_ok());
            if client % 1000 == 0 {
                advance(Duration::from_secs(2)).await;
            }
        }
        let known = meters.used.lock().unwrap().meters.len();
        assert!(known <= 2 * SWEEP_AT + 1000, "{known}");
    }
}
