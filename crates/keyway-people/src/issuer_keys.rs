//! The keys of one issuer: fetched when first needed, cached, and fetched again with restraint.
//!
//! ```text
//!   none ──first use, all wait──▶ known ──10 minutes, none waits──▶ fetched again
//!    ▲ fails: again after 5 s       │   a key is not known: once a minute, its users wait; while
//!    │                              │   the last fetch failed, they are told so and to come back
//!    └──────────────────────────────┴── fails: the last good keys stay
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::HeaderValue;
use http::header::ACCEPT;
use keyway_auth::PeerDocument;
use keyway_auth::oauth::DocumentError;
use keyway_auth::ports::{HttpFailure, HttpRequest};
use keyway_secret::Clock;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::timeout;
use url::Url;

use crate::issuer::{Issuer, IssuerError, address};
use crate::key_set::{KeySet, KeySetError};
use crate::timeouts::{KEYS_LIFETIME, KEYS_TIMEOUT, RETRY_PAUSE, UNKNOWN_KEY_PAUSE};

/// The keys of an issuer, as far as they are known.
#[derive(Debug)]
pub(crate) struct IssuerKeys {
    issuer: Issuer,
    clock: Arc<dyn Clock>,
    /// Held for a look or a change, never across an await.
    state: Mutex<State>,
    /// What the issuer last said of itself, or why it did not, for browsers. Held while it is asked: all
    /// who come meanwhile get the same answer.
    remembered: tokio::sync::Mutex<Option<Remembered>>,
}

/// A look at the metadata: when, and what came of it.
type Remembered = (Instant, Result<Arc<PeerDocument>, KeysError>);

#[derive(Debug, Default)]
struct State {
    keys: Option<Arc<KeySet>>,
    /// When a fetch last ended, and how if it failed.
    fetched: Option<(Instant, Option<KeysError>)>,
    /// When a key that is not known last led to a fetch.
    unknown_at: Option<Instant>,
    /// The fetch that is under way: its end closes the channel, also by a panic.
    fetching: Option<watch::Receiver<()>>,
}

impl State {
    fn under_way(&self) -> Option<watch::Receiver<()>> {
        let running = self.fetching.as_ref();
        running.filter(|it| it.has_changed().is_ok()).cloned()
    }

    /// Returns why the last fetch failed, if it did.
    fn failure(&self) -> Option<KeysError> {
        self.fetched.as_ref()?.1.clone()
    }
}

impl IssuerKeys {
    pub(crate) fn new(issuer: Issuer, clock: Arc<dyn Clock>) -> Self {
        Self {
            issuer,
            clock,
            state: Mutex::default(),
            remembered: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.issuer.name
    }

    pub(crate) const fn issuer(&self) -> &Issuer {
        &self.issuer
    }

    /// Returns the keys without waiting for any; old ones are fetched again meanwhile.
    ///
    /// Must be called inside a runtime.
    pub(crate) fn known_keys(self: &Arc<Self>) -> Option<Arc<KeySet>> {
        let mut state = self.state();
        let keys = Arc::clone(state.keys.as_ref()?);
        let age = state.fetched.as_ref().map(|(at, _)| self.age(*at));
        if age.is_none_or(|age| age >= KEYS_LIFETIME) {
            drop(self.fetch(&mut state));
        }
        Some(keys)
    }

    /// Returns the keys, which may be those from before the issuer went away.
    ///
    /// Cancel safety: cancel safe; a fetch that it began goes on for others.
    pub(crate) async fn keys(self: &Arc<Self>) -> Result<Arc<KeySet>, KeysError> {
        if let Some(keys) = self.known_keys() {
            return Ok(keys);
        }
        let fetch = {
            let mut state = self.state();
            // Another may have fetched them in between.
            if let Some(keys) = &state.keys {
                return Ok(Arc::clone(keys));
            }
            if let Some((at, Some(failed))) = &state.fetched
                && self.age(*at) < RETRY_PAUSE
            {
                return Err(failed.clone());
            }
            self.fetch(&mut state)
        };
        wait_for(fetch).await;
        let state = self.state();
        let failed = || state.failure().unwrap_or(KeysError::Slow);
        state.keys.clone().ok_or_else(failed)
    }

    /// Returns other keys than those in which one was not found; `None` if there are none, or it is
    /// too early to ask again.
    ///
    /// # Errors
    ///
    /// Returns why the issuer could not be asked: then it is not known whether there are others.
    ///
    /// Cancel safety: cancel safe; a fetch that it began goes on for others.
    pub(crate) async fn keys_after(
        self: &Arc<Self>,
        seen: &Arc<KeySet>,
    ) -> Result<Option<Arc<KeySet>>, KeysError> {
        let is_other = |keys: &Arc<KeySet>| !Arc::ptr_eq(keys, seen);
        let fetch = {
            let mut state = self.state();
            if let Some(keys) = state.keys.clone().filter(is_other) {
                return Ok(Some(keys));
            }
            match state.under_way() {
                Some(running) => running,
                None if state
                    .unknown_at
                    .is_some_and(|at| self.age(at) < UNKNOWN_KEY_PAUSE) =>
                {
                    return state.failure().map_or(Ok(None), Err);
                }
                None => {
                    state.unknown_at = Some(self.clock.monotonic());
                    self.fetch(&mut state)
                }
            }
        };
        wait_for(fetch).await;
        let state = self.state();
        match state.keys.clone().filter(is_other) {
            Some(others) => Ok(Some(others)),
            None => state.failure().map_or(Ok(None), Err),
        }
    }

    /// Begins a fetch in a task of its own, so that a client that goes away does not end it for
    /// others; returns the one that is under way, if there is one.
    fn fetch(self: &Arc<Self>, state: &mut State) -> watch::Receiver<()> {
        if let Some(running) = state.under_way() {
            return running;
        }
        let (running, ended) = watch::channel(());
        state.fetching = Some(ended.clone());
        let this = Arc::clone(self);
        drop(tokio::spawn(async move {
            let fetched = timeout(KEYS_TIMEOUT, this.read()).await;
            let fetched = fetched.unwrap_or(Err(KeysError::Slow));
            let mut state = this.state();
            let failed = match fetched {
                Ok(keys) => {
                    state.keys = Some(Arc::new(keys));
                    None
                }
                Err(error) => Some(error),
            };
            state.fetched = Some((this.clock.monotonic(), failed));
            state.fetching = None;
            drop(state);
            drop(running);
        }));
        ended
    }

    async fn read(&self) -> Result<KeySet, KeysError> {
        let address = match &self.issuer.jwks {
            Some(address) => address.clone(),
            None => self.discover().await?,
        };
        match self.get(address).await? {
            Some(body) => Ok(KeySet::parse(&body)?),
            None => Err(KeysError::Status),
        }
    }

    /// Asks the issuer where its keys are.
    async fn discover(&self) -> Result<Url, KeysError> {
        let document = self.metadata().await?;
        let uri = document.text("jwks_uri")?.ok_or(KeysError::NoAddress)?;
        address(uri).map_err(KeysError::Address)
    }

    /// Returns what the issuer said of itself a short while ago, or asks it. Browsers need no sign-in for
    /// this: however often they come, the issuer is asked as rarely as for its keys.
    ///
    /// Cancel safety: cancel safe; the next caller asks.
    pub(crate) async fn remembered_metadata(&self) -> Result<Arc<PeerDocument>, KeysError> {
        let mut remembered = self.remembered.lock().await;
        if let Some((at, known)) = &*remembered {
            let lifetime = match known {
                Ok(_) => KEYS_LIFETIME,
                Err(_) => RETRY_PAUSE,
            };
            if self.age(*at) < lifetime {
                return known.clone();
            }
        }
        let asked = timeout(KEYS_TIMEOUT, self.metadata()).await;
        let known = asked.unwrap_or(Err(KeysError::Slow)).map(Arc::new);
        *remembered = Some((self.clock.monotonic(), known.clone()));
        known
    }

    /// Asks the issuer what it says of itself.
    async fn metadata(&self) -> Result<PeerDocument, KeysError> {
        for address in self.issuer.metadata() {
            let Some(body) = self.get(address).await? else {
                continue;
            };
            let document = PeerDocument::parse(&body)?;
            // RFC 8414 section 3.3: otherwise one tenant could speak for another.
            if document.text("issuer")? != Some(&self.issuer.name) {
                return Err(KeysError::OtherIssuer);
            }
            return Ok(document);
        }
        Err(KeysError::NoMetadata)
    }

    /// Returns a document; `None` if there is none.
    async fn get(&self, url: Url) -> Result<Option<Vec<u8>>, KeysError> {
        let mut request = HttpRequest::get(url);
        let json = HeaderValue::from_static("application/json, application/jwk-set+json");
        request.headers.insert(ACCEPT, json);
        let response = self.issuer.http.send(request).await?;
        Ok((response.status == 200).then(|| response.body.expose().clone()))
    }

    fn age(&self, at: Instant) -> std::time::Duration {
        self.clock.monotonic().saturating_duration_since(at)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end of a fetch, which only closes the channel.
async fn wait_for(mut fetch: watch::Receiver<()>) {
    while fetch.changed().await.is_ok() {}
}

/// Why the keys of an issuer cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeysError {
    /// There is no answer.
    #[error(transparent)]
    Http(#[from] HttpFailure),
    /// It takes longer than ten seconds.
    #[error("the issuer takes longer than {} seconds", KEYS_TIMEOUT.as_secs())]
    Slow,
    /// The issuer publishes no metadata where it should be.
    #[error("the issuer publishes no metadata; name its `jwks_uri` in the settings")]
    NoMetadata,
    /// The metadata cannot be read.
    #[error("the issuer's metadata cannot be read: {0}")]
    Metadata(#[from] DocumentError),
    /// The metadata is of another issuer.
    #[error("the metadata names another issuer")]
    OtherIssuer,
    /// The metadata does not say where the keys are.
    #[error("the issuer's metadata has no `jwks_uri`")]
    NoAddress,
    /// The keys are where nothing may be fetched from.
    #[error("`jwks_uri` cannot be used: {0}")]
    Address(IssuerError),
    /// There are no keys at the address.
    #[error("there are no keys at the issuer's `jwks_uri`")]
    Status,
    /// The keys cannot be used.
    #[error("the issuer's keys cannot be used: {0}")]
    KeySet(#[from] KeySetError),
}
