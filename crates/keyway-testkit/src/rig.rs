//! One server on loopback that plays MCP server and authorization server, and misbehaves on command.
//!
//! Refresh tokens rotate strictly: one that comes twice ends its whole family. Consent is given
//! without a question. [`Settings`] are the levers; every request is kept in a journal, those to a
//! second port, which no client should ever reach, as well. A program that is not a test pulls the
//! levers over HTTP: see [`control`](self::control).

mod assertions;
mod authorization;
mod clients;
mod confidential;
mod control;
mod delivery;
mod device;
mod journal;
mod resource;
mod sessions;
mod settings;
mod streams;
mod tokens;

use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use self::confidential::{Confidential, SecretMethod};
pub use self::journal::{Door, Seen};
pub use self::settings::{Assertions, Consent, Delivery, Iss, Revocation, Settings};
pub use self::streams::Stream;
pub use self::tokens::{End, Family, Redemption};
pub use crate::http::Request;

use self::device::Devices;
use self::sessions::Sessions;
use self::streams::{Streams, Tap};
use self::tokens::Tokens;
use crate::http::{self, Answer, Reply};

/// A running rig; it lives as long as the process.
#[derive(Debug, Clone)]
pub struct Rig(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    port: u16,
    elsewhere: u16,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    settings: Settings,
    tokens: Tokens,
    devices: Devices,
    journal: Vec<Seen>,
    sessions: Sessions,
    streams: Streams,
}

impl Rig {
    /// Starts a rig on two free ports.
    #[must_use]
    pub fn start(settings: Settings) -> Self {
        Self::start_behind(settings, |port| port)
    }

    /// Starts a rig that clients reach at another port; `proxy` gets the rig's and returns that.
    #[expect(clippy::expect_used, reason = "a test without its server must stop")]
    pub(crate) fn start_behind(settings: Settings, proxy: impl FnOnce(u16) -> u16) -> Self {
        let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let (main, elsewhere) = (bind(), bind());
        let rig = Self(Arc::new(Shared {
            port: proxy(port(&main)),
            elsewhere: port(&elsewhere),
            started: Instant::now(),
            state: Mutex::new(State {
                settings,
                ..State::default()
            }),
        }));
        rig.listen(main, Door::Main);
        rig.listen(elsewhere, Door::Elsewhere);
        rig
    }

    /// Returns the address of the MCP server.
    #[must_use]
    pub fn mcp(&self) -> String {
        format!("{}/mcp", self.origin())
    }

    /// Returns the address of the same MCP server over HTTP with SSE.
    #[must_use]
    pub fn sse(&self) -> String {
        format!("{}/sse", self.origin())
    }

    /// Returns the origin, which is the issuer as well.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.0.port)
    }

    /// Returns the origin of the port that no client should ever reach.
    #[must_use]
    pub fn elsewhere(&self) -> String {
        format!("http://127.0.0.1:{}", self.0.elsewhere)
    }

    /// Pulls levers; returns what `change` does.
    pub fn set<T>(&self, change: impl FnOnce(&mut Settings) -> T) -> T {
        change(&mut self.state().settings)
    }

    /// Refuses every access token that was issued so far, whatever its clock says.
    pub fn reset(&self) {
        self.state().tokens.reset();
    }

    /// Returns every request since the start or since [`Self::forget`].
    #[must_use]
    pub fn journal(&self) -> Vec<Seen> {
        self.state().journal.clone()
    }

    /// Empties the journal; tokens and families stay.
    pub fn forget(&self) {
        self.state().journal.clear();
    }

    /// Returns the requests to one path, in order; `path` is compared without the query.
    #[must_use]
    pub fn seen(&self, path: &str) -> Vec<Seen> {
        let mut journal = self.journal();
        journal.retain(|seen| seen.door == Door::Main && seen.request.path == path);
        journal
    }

    /// Returns the requests that have to do with OAuth: all but those to the MCP server itself.
    #[must_use]
    pub fn oauth_requests(&self) -> Vec<Seen> {
        let mut journal = self.journal();
        let is_oauth = |path: &str| !["/mcp", "/sse", "/messages"].contains(&path);
        journal.retain(|seen| seen.door == Door::Main && is_oauth(&seen.request.path));
        journal
    }

    /// Returns the requests to the second port.
    #[must_use]
    pub fn strays(&self) -> Vec<Seen> {
        let mut journal = self.journal();
        journal.retain(|seen| seen.door == Door::Elsewhere);
        journal
    }

    /// Returns how often a refresh token came, whatever became of it.
    #[must_use]
    pub fn refreshes(&self) -> usize {
        let asks = self.seen("/token").into_iter();
        asks.filter(|seen| seen.field("grant_type").as_deref() == Some("refresh_token"))
            .count()
    }

    /// Counts the refresh tokens that would be accepted.
    #[must_use]
    pub fn live_refresh_tokens(&self) -> usize {
        self.state().tokens.live()
    }

    /// Counts the access tokens that would be accepted now.
    #[must_use]
    pub fn live_access_tokens(&self) -> usize {
        let now = self.0.started.elapsed();
        self.state().tokens.live_access(now)
    }

    /// Returns the families of refresh tokens, one per sign-in.
    #[must_use]
    pub fn families(&self) -> Vec<Family> {
        self.state().tokens.families().to_vec()
    }

    /// Returns the time since the start, by which the journal is kept.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// Returns every stream that was opened, in order.
    #[must_use]
    pub fn streams(&self) -> Vec<Stream> {
        let now = self.0.started.elapsed();
        let mut state = self.state();
        state.streams.sweep(now);
        state.streams.all().to_vec()
    }

    /// Drops every stream that is open, as a server does that is restarted.
    pub fn drop_streams(&self) {
        let now = self.0.started.elapsed();
        self.state().streams.drop_all(now);
    }

    /// Returns every code, access and refresh token that was ever issued.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        self.state().tokens.secrets().to_vec()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, listener: TcpListener, door: Door) {
        let rig = self.clone();
        drop(http::serve(listener, move |request| {
            let opens = (request.method.as_str(), request.path.as_str()) == STREAM;
            let (answer, delivery) = rig.answer(request, door);
            match delivery {
                Delivery::Whole if opens && answer.status == 200 => rig.stream(),
                Delivery::Whole => Reply::Answer(answer),
                _ => Reply::Taken(Box::new(move |client| {
                    drop(delivery::deliver(client, &answer, delivery));
                })),
            }
        }));
    }

    fn stream(&self) -> Reply {
        let rig = self.clone();
        Reply::Taken(Box::new(move |client| {
            let now = rig.0.started.elapsed();
            let tap = rig.state().streams.open(&client, now);
            drop(tap.and_then(Tap::run));
        }))
    }

    fn answer(&self, request: Request, door: Door) -> (Answer, Delivery) {
        if request.path.starts_with("/_") {
            return (control::answer(self, &request), Delivery::Whole);
        }
        let at = self.0.started.elapsed();
        // Locked until it is noted: what is answered by a stream arrives before this returns.
        let mut state = self.state();
        let (answer, wait) = match door {
            Door::Main => self.route(&mut state, &request, at),
            Door::Elsewhere => (Answer::json(200, &serde_json::json!({})), Duration::ZERO),
        };
        let mut delivery = Delivery::Whole;
        if request.field("grant_type").as_deref() == Some("refresh_token") {
            delivery = std::mem::take(&mut state.settings.token_delivery);
            state.tokens.deliver(at, delivery);
        }
        let status = answer.status;
        state.journal.push(Seen {
            at,
            door,
            request,
            status,
        });
        drop(state);
        // Slow on command.
        std::thread::sleep(wait);
        (answer, delivery)
    }

    /// Decides at once, as a server does that writes to its database and then is slow to answer.
    fn route(&self, state: &mut State, request: &Request, now: Duration) -> (Answer, Duration) {
        state.streams.sweep(now);
        let State {
            settings,
            tokens,
            devices,
            sessions,
            streams,
            ..
        } = state;
        if let Some(status) = settings.redirects.get(&request.path) {
            let to = format!("{}{}", self.elsewhere(), request.path);
            return (Answer::redirect(*status, &to), Duration::ZERO);
        }
        let place = Place {
            origin: self.origin(),
            now,
        };
        let wait = match request.path.as_str() {
            "/token" => settings.token_delay,
            _ => Duration::ZERO,
        };
        let answer = match request.path.as_str() {
            "/mcp" if !sessions.admits(request) => Answer::empty(404),
            "/mcp" => {
                let answer = resource::answer(request, settings, tokens, &place);
                sessions.note(request, answer)
            }
            "/sse" | "/messages" => {
                let answer = resource::answer(request, settings, tokens, &place);
                match request.parameter("stream") {
                    Some(stream) if answer.status == 200 => {
                        let is_open = streams.send(&stream, answer.body);
                        Answer::empty(if is_open { 202 } else { 404 })
                    }
                    _ => answer,
                }
            }
            path if path.starts_with("/.well-known/oauth-protected-resource") => {
                resource::metadata(path, settings, &place)
            }
            _ => authorization::answer(request, settings, (tokens, devices), &place),
        };
        (answer, wait)
    }
}

/// What opens a stream.
const STREAM: (&str, &str) = ("GET", "/sse");

/// Where and when a request is answered.
struct Place {
    origin: String,
    now: Duration,
}

#[cfg(test)]
mod tests;
