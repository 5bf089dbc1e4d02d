//! A world in which the whole flow runs without a socket: servers as data, a person that can be
//! told how to behave, time that is moved by hand, and the real vault.

mod honest;
mod manual_clock;
mod person;
mod tasks;
mod test_vault;
mod world;

use std::sync::Arc;
use std::time::Duration;

use futures_lite::future::{block_on, or};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method};
use keyway_secret::Secret;
use keyway_store::{Grant, GrantKey, GrantStore as _};
use keyway_vault::{Folders, KeySources, Vault};
use tempfile::TempDir;
use url::Url;

use super::{AccountPin, OAuth, OAuthError, Ports, PromptPolicy, RefreshTraffic, Server, Settings};
use crate::authorizer::{Authorizer as _, Challenge, Credential, Verdict};
use crate::error::AuthError;
use crate::observer::ServerObserver;
use crate::ports::{ExchangeCarrier, HttpClient as _, HttpRequest, RecordStore};

pub(crate) use self::honest::{Honest, metadata, resource};
pub(crate) use self::manual_clock::ManualClock;
pub(crate) use self::person::{Deed, Person};
pub(crate) use self::tasks::Threads;
pub(crate) use self::test_vault::TestVault;
pub(crate) use self::world::{Reply, Seen, World};

/// The MCP server.
pub(crate) const MCP: &str = "https://mcp.example/mcp";
/// Its authorization server.
pub(crate) const AS: &str = "https://as.example";
pub(crate) const PRM: &str = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
pub(crate) const PRM_ROOT: &str = "https://mcp.example/.well-known/oauth-protected-resource";
pub(crate) const META: &str = "https://as.example/.well-known/oauth-authorization-server";
pub(crate) const REGISTER: &str = "https://as.example/register";
pub(crate) const TOKEN: &str = "https://as.example/token";
pub(crate) const REVOKE: &str = "https://as.example/revoke";

/// Everything that a sign-in needs, all of it in this process.
pub(crate) struct Kit {
    pub(crate) world: Arc<World>,
    pub(crate) honest: Arc<Honest>,
    pub(crate) person: Arc<Person>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) tasks: Arc<Threads>,
    pub(crate) shelf: Arc<TestVault>,
    pub(crate) settings: Settings,
    pub(crate) prompt_policy: PromptPolicy,
    pub(crate) fixed: Vec<(HeaderName, HeaderValue)>,
    pub(crate) observer: ServerObserver,
    pub(crate) account_pin: Option<AccountPin>,
    pub(crate) carrier: Option<Arc<dyn ExchangeCarrier>>,
    pub(crate) traffic: Arc<RefreshTraffic>,
    pub(crate) issuers: Option<Arc<dyn RecordStore>>,
    pub(crate) key: GrantKey,
    folders: Folders,
    _home: TempDir,
}

impl Kit {
    /// A server and an authorization server that keep to all rules, and a person who agrees.
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::below(home.path().join("k"));
        let clock = Arc::new(ManualClock::default());
        let world = Arc::new(World::new(Arc::clone(&clock)));
        let vault = Vault::open(&folders, KeySources::default()).unwrap();
        Self {
            honest: Honest::settle(&world),
            world,
            person: Arc::default(),
            tasks: Arc::new(Threads::new(Arc::clone(&clock))),
            shelf: Arc::new(TestVault::new(vault, Arc::clone(&clock))),
            clock,
            settings: Settings::default(),
            prompt_policy: PromptPolicy::WhenNeeded,
            fixed: Vec::new(),
            observer: ServerObserver::default(),
            account_pin: None,
            carrier: None,
            traffic: Arc::default(),
            issuers: None,
            key: GrantKey::new("default").plugin("demo").server("search"),
            folders,
            _home: home,
        }
    }

    /// One process that uses the server.
    pub(crate) fn oauth(&self) -> OAuth {
        self.process(&self.shelf)
    }

    /// A handle to the same vault as another process would have it.
    pub(crate) fn other_shelf(&self) -> Arc<TestVault> {
        let vault = Vault::open(&self.folders, KeySources::default()).unwrap();
        Arc::new(TestVault::new(vault, Arc::clone(&self.clock)))
    }

    /// A process with a handle of its own.
    pub(crate) fn process(&self, shelf: &Arc<TestVault>) -> OAuth {
        let server = Server {
            name: "search".to_owned(),
            url: Url::parse(MCP).unwrap(),
            key: self.key.clone(),
        };
        let settings = self.settings.clone();
        OAuth::new(
            server,
            settings,
            self.ports(shelf),
            self.prompt_policy,
            self.fixed.clone(),
        )
    }

    /// The world as a process with this handle sees it.
    pub(crate) fn ports(&self, shelf: &Arc<TestVault>) -> Ports {
        Ports {
            http: self.world.clone(),
            clock: self.clock.clone(),
            tasks: self.tasks.clone(),
            grants: shelf.clone(),
            records: shelf.clone(),
            issuers: self.issuers.clone(),
            documents: shelf.clone(),
            interaction: Some(self.person.clone()),
            observer: self.observer.clone(),
            account_pin: self.account_pin.clone(),
            carrier: self.carrier.clone(),
            traffic: self.traffic.clone(),
        }
    }

    /// What is stored, access token included.
    pub(crate) fn stored(&self) -> Option<Grant> {
        self.shelf.read(&self.key).unwrap()
    }

    /// The stored access token; empty if there is none.
    pub(crate) fn stored_access(&self) -> String {
        let stored = self.stored();
        stored.map_or_else(String::new, |grant| grant.access.expose().clone())
    }

    /// Sends one request as the transport would; returns the last status.
    pub(crate) fn call(&self, oauth: &OAuth) -> Result<u16, AuthError> {
        self.run(self.calling(oauth))
    }

    /// The same, to be awaited.
    pub(crate) async fn calling(&self, oauth: &OAuth) -> Result<u16, AuthError> {
        let mut credential = oauth.obtain().await?;
        for attempt in 1.. {
            let response = self.send(&credential).await;
            if !matches!(response.0, 401 | 403) || attempt > MOST {
                return Ok(response.0);
            }
            let challenge = Challenge {
                attempt,
                ..response.1
            };
            match oauth.challenged(&credential, challenge).await? {
                Verdict::Retry(better) => credential = better,
                Verdict::Stand => return Ok(response.0),
            }
        }
        unreachable!("the loop ends by returning")
    }

    async fn send(&self, credential: &Credential) -> (u16, Challenge) {
        let url = Url::parse(MCP).unwrap();
        let mut request = HttpRequest::post(url.clone(), Secret::new(b"{}".to_vec()));
        for (name, value) in credential.expose() {
            request.headers.insert(name.clone(), value.clone());
        }
        if let Some((name, value)) = credential.proof_for(&Method::POST, &url) {
            request.headers.insert(name, value);
        }
        let response = self.world.send(request).await.unwrap();
        let told = response.headers.get_all(WWW_AUTHENTICATE);
        let challenge = Challenge {
            status: response.status,
            www_authenticate: told.iter().cloned().collect(),
            dpop_nonce: response.headers.get("dpop-nonce").cloned(),
            attempt: 0,
        };
        (response.status, challenge)
    }

    /// Runs something while time passes as fast as the clock was told to.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let passing = async {
            loop {
                let tick = Arc::clone(&self.clock);
                let turn = Arc::new(async_lock::OnceCell::new());
                let done = Arc::clone(&turn);
                std::thread::spawn(move || {
                    // The hand moves while real threads work: a moment each, so that they are not overtaken.
                    std::thread::sleep(Duration::from_millis(10));
                    tick.pass();
                    done.set_blocking(()).unwrap();
                });
                turn.wait().await;
            }
        };
        block_on(or(work, passing))
    }

    /// Signs in and returns the process that did.
    pub(crate) fn signed_in(&self) -> OAuth {
        let oauth = self.oauth();
        assert_eq!(self.call(&oauth).unwrap(), 200);
        oauth
    }
}

/// Says which error it was.
pub(crate) fn cause(error: AuthError) -> OAuthError {
    match error {
        AuthError::OAuth(error) => *error,
        other => panic!("{other}"),
    }
}

/// The token that a credential carries.
pub(crate) fn bearer(credential: &Credential) -> String {
    let mut headers = credential.expose().iter();
    let found = headers.find(|(name, _)| name == AUTHORIZATION);
    found.map_or_else(String::new, |(_, value)| value.to_str().unwrap().to_owned())
}

/// How often the transport asks what to do about one request.
const MOST: u32 = 4;
