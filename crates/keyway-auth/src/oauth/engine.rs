//! One server, and everything that signing in to it needs.

use std::fmt;
use std::sync::Arc;

use keyway_secret::Clock;
use keyway_store::{GrantKey, GrantStore};
use url::Url;

use super::account_pin::AccountPin;
use super::blocking::BlockingTasks;
use super::dpop::Nonces;
use super::grant_access::GrantAccess;
use super::metadata_cache::MetadataCache;
use super::person::Person;
use super::refresh_traffic::RefreshTraffic;
use super::registered_clients::RegisteredClients;
use super::renewal_status::RenewalStatus;
use super::replaced_tokens::ReplacedTokens;
use super::required_scopes::RequiredScopes;
use super::rotation::Rotations;
use super::settings::Settings;
use super::wire::Wire;
use crate::observer::ServerObserver;
use crate::ports::{DocumentCache, ExchangeCarrier, HttpClient, Interaction, RecordStore, Tasks};

/// The server to sign in to.
#[derive(Clone)]
#[non_exhaustive]
pub struct Server {
    /// Its name, as people know it.
    pub name: String,
    /// Its address.
    pub url: Url,
    /// Under which its sign-in is kept.
    pub key: GrantKey,
}

impl Server {
    /// Names a server, its address, and what its sign-in is kept under.
    #[must_use]
    pub const fn new(name: String, url: Url, key: GrantKey) -> Self {
        Self { name, url, key }
    }
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
#[non_exhaustive]
pub struct Ports {
    /// For authorization servers and metadata.
    pub http: Arc<dyn HttpClient>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Runs background work.
    pub tasks: Arc<dyn Tasks>,
    /// The sign-ins.
    pub grants: Arc<dyn GrantStore>,
    /// The registrations.
    pub records: Arc<dyn RecordStore>,
    /// What was learned of issuers that all people may know; absent where one person has `records`.
    pub issuers: Option<Arc<dyn RecordStore>>,
    /// The discovery documents.
    pub documents: Arc<dyn DocumentCache>,
    /// The person; absent where no person may be asked.
    pub interaction: Option<Arc<dyn Interaction>>,
    /// Receives events and notes.
    pub observer: ServerObserver,
    /// The conversation that the tokens are for, if they are for one.
    pub account_pin: Option<AccountPin>,
    /// What renewals are handed to so that they survive the end of this process; without it they
    /// run here.
    pub carrier: Option<Arc<dyn ExchangeCarrier>>,
    /// What all sign-ins of a host share about their renewals; by default this one has its own, and
    /// no ceiling.
    pub traffic: Arc<RefreshTraffic>,
}

impl Ports {
    /// Takes what every sign-in needs. No person is asked, nothing observes it, and renewals run
    /// in this process.
    #[must_use]
    pub fn new(
        http: Arc<dyn HttpClient>,
        clock: Arc<dyn Clock>,
        tasks: Arc<dyn Tasks>,
        stores: SignInStores,
    ) -> Self {
        let SignInStores {
            grants,
            records,
            issuers,
            documents,
        } = stores;
        Self {
            http,
            clock,
            tasks,
            grants,
            records,
            issuers,
            documents,
            interaction: None,
            observer: ServerObserver::default(),
            account_pin: None,
            carrier: None,
            traffic: Arc::default(),
        }
    }
}

/// Where sign-ins, registrations and discovery documents are stored.
#[derive(Clone)]
pub struct SignInStores {
    grants: Arc<dyn GrantStore>,
    records: Arc<dyn RecordStore>,
    issuers: Option<Arc<dyn RecordStore>>,
    documents: Arc<dyn DocumentCache>,
}

impl SignInStores {
    /// Takes one store of each kind; one type may be all three.
    #[must_use]
    pub fn new(
        grants: Arc<dyn GrantStore>,
        records: Arc<dyn RecordStore>,
        documents: Arc<dyn DocumentCache>,
    ) -> Self {
        Self {
            grants,
            records,
            issuers: None,
            documents,
        }
    }

    /// Keeps here what was learned of issuers, for all people who use them. Without it each person
    /// who has registrations of their own learns it for themselves.
    #[must_use]
    pub fn with_issuers(mut self, issuers: Arc<dyn RecordStore>) -> Self {
        self.issuers = Some(issuers);
        self
    }
}

impl fmt::Debug for SignInStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignInStores").finish_non_exhaustive()
    }
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports")
            .field("interaction", &self.interaction)
            .finish_non_exhaustive()
    }
}

/// One server and the parts that signing in to it needs, each with the fields that it needs.
///
/// The flows are methods of this type, one file each: `probe`, `sign_in`, `refresh`, `sign_out`.
pub(super) struct OAuthEngine {
    pub(super) server: Server,
    pub(super) settings: Settings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) tasks: Arc<dyn Tasks>,
    pub(super) observer: ServerObserver,
    pub(super) account_pin: Option<AccountPin>,
    pub(super) carrier: Option<Arc<dyn ExchangeCarrier>>,
    pub(super) traffic: Arc<RefreshTraffic>,
    pub(super) wire: Wire,
    /// What a renewal is waiting for, while there is one.
    pub(super) renewal: RenewalStatus,
    pub(super) nonces: Arc<Nonces>,
    pub(super) grant: GrantAccess,
    pub(super) metadata: MetadataCache,
    pub(super) registered_clients: RegisteredClients,
    pub(super) required_scopes: RequiredScopes,
    pub(super) replaced_tokens: ReplacedTokens,
    pub(super) rotations: Rotations,
    pub(super) person: Person,
}

impl OAuthEngine {
    pub(super) fn new(server: Server, settings: Settings, ports: Ports) -> Self {
        let Ports {
            http,
            clock,
            tasks,
            grants,
            records,
            issuers,
            documents,
            interaction,
            observer,
            account_pin,
            carrier,
            traffic,
        } = ports;
        let key = server.key.clone();
        let wire = Wire::new(
            http,
            Arc::clone(&clock),
            Arc::clone(&tasks),
            observer.clone(),
        );
        let blocking = BlockingTasks::new(Arc::clone(&tasks));
        Self {
            metadata: MetadataCache::new(key.clone(), documents, wire.clone(), blocking.clone()),
            required_scopes: RequiredScopes::new(&key, &records, &blocking),
            replaced_tokens: ReplacedTokens::new(&key, &records, &blocking),
            rotations: Rotations::new(&records, issuers, &blocking),
            registered_clients: RegisteredClients::new(
                records,
                Arc::clone(&clock),
                blocking.clone(),
                &settings,
            ),
            person: Person::new(interaction, Arc::clone(&clock), observer.clone()),
            grant: GrantAccess::new(key, grants, blocking),
            nonces: Arc::default(),
            server,
            settings,
            clock,
            tasks,
            observer,
            account_pin,
            carrier,
            traffic,
            wire,
            renewal: RenewalStatus::default(),
        }
    }
}

impl fmt::Debug for OAuthEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthEngine")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
