//! A client's stay: its session goes on while the connection behind it is exchanged for another.
//!
//! That happens when somebody signs in or out. The new connection is greeted as the client greeted,
//! what the server says there is not told again, and streams go on where they were. The account
//! stays the same, or the stay is over.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use keyway_transport::{Envelope, Frame};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::holders::Principal;
use super::incoming::Incoming;
use super::room::{Asked, Item, Room, Unkept};
use super::roster::{Hold, Reached, Served, Tie, finish};
use super::routes::Route;
use super::told::Told;
use super::ways::Ways;
use keyway::sign_in::AccountPin;
use keyway_mcp::eras::Spoken;
use keyway_mcp::splice::with_member;

/// One client, and the room that it is in.
#[derive(Debug)]
pub(super) struct Stay {
    room: Mutex<Arc<Room>>,
    /// Held while the client is moved.
    moving: tokio::sync::Mutex<()>,
    guest: Guest,
    terms: Mutex<Terms>,
    has_greeted: AtomicBool,
    /// How often somebody had signed out when the room was opened.
    departures: AtomicU64,
    is_over: AtomicBool,
}

/// What both sides agreed on.
#[derive(Debug, Clone)]
struct Terms {
    /// What the client began with; none if it is too long to be kept.
    hello: Option<Frame>,
    /// The version that was agreed on, as written.
    version: Option<Box<str>>,
    told: Told,
}

impl Terms {
    /// Returns the greeting as it would have been, had the client known the version.
    fn greeting(&self) -> Option<Frame> {
        let hello = self.hello.as_ref()?;
        let asked_for = || {
            let text = str::from_utf8(hello.bytes()).ok()?;
            let params = hello.envelope().ok()?.params?;
            let params = with_member(params.get(), VERSION, self.version.as_deref()?)?;
            Frame::new(with_member(text, "params", &params)?).ok()
        };
        Some(asked_for().unwrap_or_else(|| hello.clone()))
    }

    /// Says whether a welcome is one to the same as before.
    fn are_met_by(&self, welcome: &Frame) -> bool {
        let is_same = |welcome: Welcome<'_>| {
            let version = welcome.version.map(RawValue::get);
            self.version.is_none() || version == self.version.as_deref()
        };
        Welcome::read(welcome).is_some_and(is_same)
    }
}

/// Who came, to where, over whose account.
#[derive(Debug)]
pub(super) struct Guest {
    principal: Principal,
    route: Route,
    whose: AccountPin,
}

impl Guest {
    /// Whoever sends a message; whose account it is will turn out.
    pub(super) fn of(incoming: &Incoming) -> Self {
        Self {
            principal: incoming.principal.clone(),
            route: incoming.route.clone(),
            whose: AccountPin::default(),
        }
    }

    /// Opens the first room, and says `hello` there.
    pub(super) async fn enter(
        &self,
        ways: &Ways,
        hello: &Frame,
        asked: &Asked,
    ) -> io::Result<(Arc<Room>, mpsc::Receiver<Item>)> {
        let whose = Some(&self.whose);
        let reached = ways.connect(&self.principal, &self.route, whose).await;
        let streams = Arc::default();
        Room::open(reached, hello.clone(), Spoken::Legacy, asked, streams).await
    }
}

impl Stay {
    /// Begins with a room where the client said `hello`.
    pub(super) fn begin(room: Arc<Room>, guest: Guest, hello: &Frame) -> Arc<Self> {
        let terms = Terms {
            hello: (hello.bytes().len() <= LONGEST_HELLO).then(|| hello.detached()),
            version: None,
            told: Told::default(),
        };
        Arc::new(Self {
            room: Mutex::new(room),
            moving: tokio::sync::Mutex::default(),
            guest,
            terms: Mutex::new(terms),
            has_greeted: AtomicBool::new(false),
            departures: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        })
    }

    /// Notes how the client was welcomed.
    pub(super) fn welcomed(&self, welcome: &Frame) {
        let welcome = Welcome::read(welcome).unwrap_or_default();
        let mut terms = lock(&self.terms);
        terms.told = welcome.capabilities.map(Told::by).unwrap_or_default();
        let version = welcome.version.map(RawValue::get);
        terms.version = version.filter(|it| it.starts_with('"')).map(Into::into);
    }

    /// Returns the room as it is now.
    pub(super) fn room(&self) -> Arc<Room> {
        Arc::clone(&lock(&self.room))
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
            || self.guest.whose.was_refused()
            || self.room().is_over()
    }

    /// Says whether the room still leads where the client wants to go.
    pub(super) fn hold(&self, servers: &[Arc<Served>]) -> Hold {
        let room = self.room();
        let departures = self.departures.load(Ordering::Acquire);
        match room.hold(servers) {
            // The connection would ask for a sign-in at whatever the client says next.
            Hold::Holds if room.is_direct() && self.guest.whose.sign_out_count() != departures => {
                Hold::Moves
            }
            hold => hold,
        }
    }

    /// Returns the room to go on in, after the client was moved if need be; `None` at the end.
    pub(super) async fn settled(self: &Arc<Self>, ways: &Arc<Ways>) -> Option<Arc<Room>> {
        match self.hold(&ways.servers()) {
            Hold::Holds => Some(self.room()),
            Hold::Ends => None,
            Hold::Moves => {
                let (stay, ways) = (Arc::clone(self), Arc::clone(ways));
                // Aside, so that it comes to an end even if whoever asked goes away.
                let moving = tokio::spawn(async move {
                    let _moving = stay.moving.lock().await;
                    stay.move_on(&ways).await
                });
                moving.await.ok().flatten()
            }
        }
    }

    /// Moves the client if need be, unless somebody does already.
    pub(super) async fn settle(&self, ways: &Ways) {
        if let Ok(_moving) = self.moving.try_lock() {
            Box::pin(self.move_on(ways)).await;
        }
    }

    /// Notes a message of the client that nobody answers.
    pub(super) fn heard(&self, envelope: &Envelope<'_>) {
        if envelope.method.as_deref() == Some(INITIALIZED) {
            self.has_greeted.store(true, Ordering::Release);
        }
    }

    /// Ends the connection in good order.
    pub(super) async fn close(&self) {
        self.is_over.store(true, Ordering::Release);
        self.room().close().await;
    }

    /// The same, once the calls under way have their answers.
    pub(super) async fn finish(self: Arc<Self>) {
        self.is_over.store(true, Ordering::Release);
        finish(self.room()).await;
    }

    async fn move_on(&self, ways: &Ways) -> Option<Arc<Room>> {
        let before = self.room();
        match self.hold(&ways.servers()) {
            _ if self.is_over() => return None,
            Hold::Holds => return Some(before),
            Hold::Ends => return None,
            Hold::Moves => {}
        }
        let departures = self.guest.whose.sign_out_count();
        let Some(room) = self.greeted(ways, &before).await else {
            self.is_over.store(true, Ordering::Release);
            return None;
        };
        before.retire();
        *lock(&self.room) = Arc::clone(&room);
        self.departures.store(departures, Ordering::Release);
        ways.closings.begin(finish(before));
        if self.is_over() {
            // It ended meanwhile, and whoever ended it saw the other room.
            room.close().await;
            return None;
        }
        let told = lock(&self.terms).told;
        for note in told.changes() {
            room.streams.note(&note).await;
        }
        Some(room)
    }

    /// Opens another room in the place of one, and greets there as the client did.
    async fn greeted(&self, ways: &Ways, before: &Arc<Room>) -> Option<Arc<Room>> {
        let Guest {
            principal,
            route,
            whose,
        } = &self.guest;
        let route = route.by_now(&ways.servers(), principal)?;
        let has_left = whose.sign_out_count() != self.departures.load(Ordering::Acquire);
        if !has_left {
            let greeting = async {
                let reached = ways.connect(principal, &route, Some(whose)).await;
                let is_direct = reached.tie.is_some();
                let room = self.greet(self.tied(reached, &route), before).await;
                (room, is_direct)
            };
            match timeout(GREETING_TIME, greeting).await {
                Ok((Some(room), _)) => return Some(room),
                Ok((None, false)) => return None,
                _ if whose.was_refused() => return None,
                _ => {}
            }
        }
        // Whoever has just signed out must not come back with what is about to be deleted, and a
        // server may not answer now: this says so, and goes on when there is a way.
        let reached = ways.adapted(principal, &route, Some(whose));
        self.greet(self.tied(reached, &route), before).await
    }

    /// Binds a connection to the entry, which the stay must not outlive.
    fn tied(&self, mut reached: Reached, route: &Route) -> Reached {
        if let (None, Some(server)) = (&reached.tie, route.only()) {
            let tie = Tie::new(server, &self.guest.principal, route);
            reached.tie = Some(tie.adapting());
        }
        reached
    }

    async fn greet(&self, reached: Reached, before: &Arc<Room>) -> Option<Arc<Room>> {
        let terms = lock(&self.terms).clone();
        let hello = terms.greeting()?;
        let asked = Asked {
            id: hello.envelope().ok()?.id()?,
            token: None,
            takes_events: false,
        };
        let streams = Arc::clone(&before.streams);
        let opened = Room::open(reached, hello, Spoken::Legacy, &asked, streams);
        let (room, mut items) = opened.await.ok()?;
        let unkept = Unkept::new(Arc::clone(&room));
        room.mention_only(terms.told);
        let is_welcome = loop {
            match items.recv().await {
                Some(Item::Note(_)) => {}
                Some(Item::Answer(answer, _)) => break terms.are_met_by(&answer),
                None => break false,
            }
        };
        if !is_welcome {
            return None;
        }
        if self.has_greeted.load(Ordering::Acquire)
            && let Ok(frame) =
                Frame::new(format!(r#"{{"jsonrpc":"2.0","method":"{INITIALIZED}"}}"#))
        {
            // Whoever asks for something finds out where nobody is there.
            drop(room.tell(frame).await);
        }
        unkept.keep();
        Some(room)
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an answer to `initialize` says about the time after it.
#[derive(Default, Deserialize)]
struct Welcome<'a> {
    #[serde(borrow, rename = "protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    capabilities: Option<&'a RawValue>,
}

impl<'a> Welcome<'a> {
    fn read(answer: &'a Frame) -> Option<Self> {
        let result = answer.envelope().ok()?.result?;
        serde_json::from_str(result.get()).ok()
    }
}

const VERSION: &str = "protocolVersion";
/// Who says more at the beginning begins anew when something changes.
const LONGEST_HELLO: usize = 64 * 1024;
const INITIALIZED: &str = "notifications/initialized";
/// How long a server may take that is greeted for a client.
const GREETING_TIME: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_server_is_greeted_in_the_version_that_was_agreed_on() {
        let hello = r#"{"id":1,"params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
        let terms = |version: Option<&str>| Terms {
            hello: Some(Frame::new(hello.to_owned()).unwrap()),
            version: version.map(Into::into),
            told: Told::default(),
        };
        let agreed = terms(Some("\"2025-06-18\""));
        let expected = hello.replace("2025-11-25", "2025-06-18");
        assert_eq!(agreed.greeting().unwrap().bytes(), expected.as_bytes());
        let unknown = terms(None).greeting().unwrap();
        assert_eq!(unknown.bytes(), hello.as_bytes());
        for (answer, is_met) in [
            (
                r#"{"id":1,"result":{"protocolVersion":"2025-06-18"}}"#,
                true,
            ),
            (
                r#"{"id":1,"result":{"protocolVersion":"2025-03-26"}}"#,
                false,
            ),
            (r#"{"id":1,"error":{"message":"no code"}}"#, false),
        ] {
            let answer = Frame::new(answer).unwrap();
            assert_eq!(agreed.are_met_by(&answer), is_met, "{answer:?}");
        }
    }
}
