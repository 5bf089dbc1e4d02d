//! One server, and everything that signing in to it needs.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_lock::OnceCell;
use keyway_secret::Clock;
use keyway_store::{Grant, GrantKey, GrantStore, StoreError, UseMarker};
use url::Url;

use super::account_pin::AccountPin;
use super::dpop::Nonces;
use super::error::OAuthError;
use super::registration::Registration;
use super::settings::Settings;
use super::wire::Wire;
use crate::observer::{ServerObserver, Topic};
use crate::ports::{DocumentCache, HttpClient, Interaction, RecordStore, Tasks};

/// The server to sign in to.
#[derive(Clone)]
pub struct Server {
    /// Its name, as people know it.
    pub name: String,
    /// Its address.
    pub url: Url,
    /// Under which its sign-in is kept.
    pub key: GrantKey,
}

/// Without the address, which may hold what a variable held.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What signing in needs of the outside world.
#[derive(Clone)]
pub struct Ports {
    /// For authorization servers and metadata.
    pub http: Arc<dyn HttpClient>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Work beside whoever asked for it.
    pub tasks: Arc<dyn Tasks>,
    /// The sign-ins.
    pub grants: Arc<dyn GrantStore>,
    /// The registrations.
    pub records: Arc<dyn RecordStore>,
    /// The discovery documents.
    pub documents: Arc<dyn DocumentCache>,
    /// The person; absent where nobody may be asked.
    pub interaction: Option<Arc<dyn Interaction>>,
    /// Who is told what happens.
    pub observer: ServerObserver,
    /// The conversation that the tokens are for, if they are for one.
    pub account_pin: Option<AccountPin>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports")
            .field("interaction", &self.interaction)
            .finish_non_exhaustive()
    }
}

/// One server, and everything that signing in to it needs.
pub(super) struct OAuthEngine {
    pub(super) server: Server,
    pub(super) settings: Settings,
    pub(super) key: GrantKey,
    pub(super) wire: Wire,
    pub(super) nonces: Arc<Nonces>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) tasks: Arc<dyn Tasks>,
    grants: Arc<dyn GrantStore>,
    pub(super) records: Arc<dyn RecordStore>,
    pub(super) documents: Arc<dyn DocumentCache>,
    /// The consent page that a person is being asked on.
    page: Mutex<Option<String>>,
    is_queued: AtomicBool,
    pub(super) interaction: Option<Arc<dyn Interaction>>,
    /// How often a person was asked.
    asked: AtomicU32,
    pub(super) observer: ServerObserver,
    pub(super) account_pin: Option<AccountPin>,
    /// Whether others are to see that the sign-in is in use here.
    is_marked_in_use: AtomicBool,
    /// What they see.
    presence: Arc<Mutex<Option<Box<dyn UseMarker>>>>,
}

impl OAuthEngine {
    pub(super) fn new(server: Server, settings: Settings, ports: Ports) -> Self {
        Self {
            key: server.key.clone(),
            server,
            settings,
            wire: Wire::new(ports.http, Arc::clone(&ports.clock), ports.observer.clone()),
            nonces: Arc::default(),
            clock: ports.clock,
            tasks: ports.tasks,
            grants: ports.grants,
            records: ports.records,
            documents: ports.documents,
            page: Mutex::new(None),
            is_queued: AtomicBool::new(false),
            interaction: ports.interaction,
            asked: AtomicU32::new(0),
            observer: ports.observer,
            account_pin: ports.account_pin,
            is_marked_in_use: AtomicBool::new(false),
            presence: Arc::default(),
        }
    }

    /// Returns who can be asked, if anybody can.
    pub(super) fn person(&self) -> Option<&Arc<dyn Interaction>> {
        let person = self.interaction.as_ref();
        person.filter(|it| it.is_available())
    }

    /// Returns the consent page that a person is being asked on.
    pub(super) fn consent_page_shown(&self) -> Option<String> {
        self.page().clone()
    }

    /// Remembers the page for as long as `asking` takes.
    pub(super) async fn asked_on<T>(&self, page: &str, asking: impl Future<Output = T>) -> T {
        *self.page() = Some(page.to_owned());
        let started = self.clock.monotonic();
        let line = "a person is asked to agree";
        self.observer.note(Topic::OAuth, || line.to_owned());
        let answer = asking.await;
        self.observer.note(Topic::OAuth, || {
            let took = self.clock.monotonic().saturating_duration_since(started);
            format!("the question was settled after {} ms", took.as_millis())
        });
        *self.page() = None;
        answer
    }

    fn page(&self) -> MutexGuard<'_, Option<String>> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the right to ask a person.
    pub(super) async fn queue<T>(&self, turn: impl Future<Output = T>) -> T {
        self.is_queued.store(true, Ordering::Relaxed);
        let turn = turn.await;
        self.is_queued.store(false, Ordering::Relaxed);
        turn
    }

    /// Says whether somebody else asks the person, and we wait for that.
    pub(super) fn is_queued(&self) -> bool {
        self.is_queued.load(Ordering::Relaxed)
    }

    /// Returns how often a person was asked.
    pub(super) fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Notes that a person is about to be asked.
    pub(super) fn ask_once_more(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// Does something with the sign-ins, on a thread that may wait for the disk.
    pub(super) async fn vault<T, W>(&self, work: W) -> Result<T, OAuthError>
    where
        T: Clone + Send + Sync + 'static,
        W: FnOnce(&dyn GrantStore) -> Result<T, StoreError> + Send + 'static,
    {
        let grants = Arc::clone(&self.grants);
        self.blocking(move || work(&*grants).map_err(|error| vault_error(&error)))
            .await
    }

    /// Reads the sign-in; whoever attends is seen before that.
    pub(super) async fn stored(&self) -> Result<Option<Grant>, OAuthError> {
        let is_marked_in_use = self.is_marked_in_use.load(Ordering::Relaxed);
        let (key, presence) = (self.key.clone(), Arc::clone(&self.presence));
        self.vault(move |grants| {
            let mut presence = presence.lock().unwrap_or_else(PoisonError::into_inner);
            if is_marked_in_use && presence.is_none() {
                // Where it cannot be shown, a sign-out is noticed when the token is refused.
                *presence = grants.mark_in_use(&key).ok().flatten();
            }
            drop(presence);
            grants.read(&key)
        })
        .await
    }

    /// Shows the use of the sign-in to others from now on.
    pub(super) fn attend(&self) {
        self.is_marked_in_use.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stop_requested(&self) -> bool {
        let presence = self.presence.lock();
        let presence = presence.unwrap_or_else(PoisonError::into_inner);
        presence.as_ref().is_some_and(|it| it.is_stop_requested())
    }

    /// Says that the sign-in is not in use any more.
    pub(super) fn leave(&self) {
        let mut presence = self.presence.lock().unwrap_or_else(PoisonError::into_inner);
        drop(presence.take());
    }

    /// Returns the client that was registered with an issuer, unless its secret has ended.
    pub(super) async fn registration(&self, issuer: &str) -> Option<Registration> {
        let (records, name) = (Arc::clone(&self.records), Registration::name(issuer));
        let found = self.blocking(move || records.get(&name)).await?;
        let found = Registration::decode(found.expose())?;
        (!found.has_ended(self.clock.wall())).then_some(found)
    }

    pub(super) async fn keep_registration(
        &self,
        issuer: &str,
        registration: &Registration,
    ) -> Result<(), OAuthError> {
        let (records, name) = (Arc::clone(&self.records), Registration::name(issuer));
        let value = registration.encode();
        self.blocking(move || {
            let kept = records.put(&name, value.expose());
            kept.map_err(|error| vault_error(&error))
        })
        .await
    }

    /// Forgets a client that an issuer does not know any more, unless there is another by now.
    pub(super) async fn forget_client(&self, issuer: &str, id: &str) -> Result<(), OAuthError> {
        match self.registration(issuer).await {
            Some(kept) if kept.is_of(id) => self.forget_registration(issuer).await,
            _ => Ok(()),
        }
    }

    pub(super) async fn forget_registration(&self, issuer: &str) -> Result<(), OAuthError> {
        let (records, name) = (Arc::clone(&self.records), Registration::name(issuer));
        self.blocking(move || records.delete(&name).map_err(|error| vault_error(&error)))
            .await
    }

    pub(super) async fn blocking<T: Clone + Send + Sync + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let cell = Arc::new(OnceCell::new());
        let result = Arc::clone(&cell);
        self.tasks.block(Box::new(move || {
            drop(result.set_blocking(work()));
        }));
        cell.wait().await.clone()
    }
}

impl fmt::Debug for OAuthEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

fn vault_error(error: &StoreError) -> OAuthError {
    let cause = std::error::Error::source(error);
    let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
    OAuthError::Vault {
        message: format!("{error}{cause}"),
        hint: error.hint(),
    }
}
