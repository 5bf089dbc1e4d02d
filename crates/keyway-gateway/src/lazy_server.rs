//! A server that is planned, approved and connected when a client first needs it.

mod cached;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use keyway::connect::{BoxFuture, Connection, ConnectionFingerprint, FingerprintKey};
use keyway::diagnosis::explainer;
use keyway::sign_in::{AccountPin, SignInGate};
use keyway::{Approved, Error, Host, Plan, Plugin};
use keyway_mcp::aggregate::{Connector, Opened, SignInPort};
use keyway_mcp::declaration_site::DeclarationSite;
use keyway_mcp::explain::Explainer;
use keyway_mcp::session::OfferedEras;
use keyway_mcp::states::Trouble;
use keyway_secret::Secret;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use self::cached::Cached;
use crate::gateway::Upstream;
use crate::shared_gateway::SharedGateway;
use crate::sharing;

/// A server that is planned and approved when it is connected to, so that an approval given
/// meanwhile counts.
///
/// ```text
/// named ──plan, approve──▶ approved ──connect──▶ connection
///   ▲                         │ a second later, or at a change where that is watched
///   └─────────────────────────┘
/// ```
pub struct LazyServer {
    /// Under a host that asks nobody to sign in.
    plugin: Plugin,
    server: String,
    options: LazyServerOptions,
    gate: OnceLock<Option<SignInGate>>,
    /// Words errors with what the entry says, once it could be filled in.
    explainer: std::sync::Mutex<Option<Explainer>>,
    /// Held while a plan is made, so that clients that come together share one.
    approved: Mutex<Cached<Approved<Plan>>>,
}

/// What a [`LazyServer`] can be told beyond its name.
#[derive(Debug, Default)]
pub struct LazyServerOptions {
    /// Lets a client talk to the server itself, by a host that may ask for a sign-in.
    pub direct: Option<Host>,
    /// Is set when a connection was made with a sign-in, for whoever has to notice its end.
    pub presence: Presence,
    /// What else decides about connections, for processes that want to share them.
    pub process_facts: Arc<[Secret<Vec<u8>>]>,
    /// Takes connections from a gateway where they are the same.
    pub shared: Option<SharedGateway>,
    /// What the server depends on is watched, and this is replaced at a change.
    pub is_watched: bool,
    /// What was approved at the last look, where it is watched.
    pub last_seen: Option<Approved<Plan>>,
}

/// Whether a connection was made with a sign-in.
pub type Presence = Arc<AtomicBool>;

impl fmt::Debug for LazyServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyServer")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl LazyServer {
    /// Names a server; nothing is read yet.
    #[must_use]
    pub fn new(plugin: Plugin, server: String, mut options: LazyServerOptions) -> Self {
        let cached = if options.is_watched {
            Cached::watched(options.last_seen.take(), Instant::now())
        } else {
            Cached::unwatched()
        };
        Self {
            plugin,
            server,
            options,
            gate: OnceLock::new(),
            explainer: std::sync::Mutex::default(),
            approved: Mutex::new(cached),
        }
    }

    /// Drops values that no client has asked for lately; called from time to time by whoever
    /// watches.
    pub fn drop_unused(&self) {
        // A lock that is held is about to use them.
        if let Ok(mut cached) = self.approved.try_lock() {
            // What words errors holds the same values.
            if cached.forget(Instant::now()) {
                *self.lock_explainer() = None;
            }
        }
    }

    /// Held for a moment only, inside or outside of the lock of the plan.
    fn lock_explainer(&self) -> MutexGuard<'_, Option<Explainer>> {
        self.explainer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Is called before a connection is made, so that no end of a sign-in is missed.
    async fn note_presence(&self, server: &Approved<Plan>) {
        if let Some(oauth) = server.oauth()
            && oauth.is_signed_in().await.unwrap_or(false)
        {
            // `Relaxed`: the flag guards no other data. If the sign-in ends between the read and
            // this store, the next look finds the flag set and no sign-in, and closes the
            // connection.
            self.options.presence.store(true, Ordering::Relaxed);
        }
    }

    /// Plans and approves on a thread that may block: files are read and the vault is opened, which
    /// may take a second, and one thread serves every client. A client that comes right afterwards
    /// gets the same plan; where changes are watched, every client does.
    async fn approved(&self) -> Result<Approved<Plan>, Error> {
        // Held over the await on purpose: a second client waits for the first one's plan.
        let mut cached = self.approved.lock().await;
        let at = Instant::now();
        let (known, has_gate) = (cached.get(at), self.gate.get().is_some());
        if let Some(known) = known.as_ref().filter(|_| has_gate) {
            return Ok(Approved::clone(known));
        }
        let (plugin, server) = (self.plugin.clone(), self.server.clone());
        let planning = spawn_blocking(move || {
            let found = match known {
                Some(known) => Ok(Approved::clone(&known)),
                None => {
                    let plan = plugin.plan(&server)?;
                    match plan.find_approval()? {
                        Some(approved) => Ok(approved),
                        None => Err(plan),
                    }
                }
            };
            let gate = match &found {
                Ok(approved) if !has_gate => Some(approved.sign_in_gate()),
                _ => None,
            };
            Ok::<_, Error>((found, gate))
        });
        let (found, gate) = planning.await.unwrap_or(Err(Error::Cancelled))?;
        let approved = match found {
            Ok(approved) => approved,
            Err(plan) => plan.approve().await?,
        };
        if !has_gate {
            let gate = gate.unwrap_or_else(|| approved.sign_in_gate());
            self.gate.get_or_init(|| gate);
        }
        cached.put(&Arc::new(approved.clone()), at);
        let site = self.plugin.declaration_site(&self.server);
        let explainer = explainer(approved.spec().clone(), site);
        *self.lock_explainer() = Some(explainer);
        Ok(approved)
    }

    async fn open_as(&self, pin: Option<&AccountPin>) -> Result<Opened, Trouble> {
        let approved = self.approved().await.map_err(|error| error.problem())?;
        let approved = pinned(approved, pin);
        if let Some(shared) = &self.options.shared
            && approved.is_open().await
            && let Some(stream) = shared.connect(&approved).await
        {
            return Ok(Opened {
                connection: sharing::into_connection(stream),
                // The gateway finds out which version the server speaks.
                offer: OfferedEras::Legacy,
            });
        }
        self.note_presence(&approved).await;
        let connected = approved.open().await.map_err(|error| error.problem())?;
        Ok(Opened {
            connection: connected.connection,
            offer: connected.offer,
        })
    }
}

/// The same for connections of a session that keeps to one account.
fn pinned(approved: Approved<Plan>, pin: Option<&AccountPin>) -> Approved<Plan> {
    match pin {
        Some(pin) => approved.on(&approved.host().with_account_pin(pin)),
        None => approved,
    }
}

impl Connector for LazyServer {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, Trouble>> {
        Box::pin(self.open_as(None))
    }

    fn find_sign_in(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            drop(self.approved().await);
        })
    }

    fn sign_in_port(&self) -> Option<&dyn SignInPort> {
        let gate = self.gate.get()?.as_ref()?;
        Some(gate as &dyn SignInPort)
    }

    fn explainer(&self) -> Option<Explainer> {
        self.lock_explainer().clone()
    }

    fn declaration_site(&self) -> Option<DeclarationSite> {
        Some(self.plugin.declaration_site(&self.server))
    }
}

impl Upstream for LazyServer {
    fn open<'a>(&'a self, account: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        Box::pin(async move {
            let direct = self.options.direct.as_ref()?;
            let approved = self.approved().await.ok()?.on(direct);
            let approved = pinned(approved, account);
            if !approved.is_open().await {
                return None;
            }
            self.note_presence(&approved).await;
            Some(approved.open().await.ok()?.connection)
        })
    }

    fn connect_as<'a>(&'a self, account: &'a AccountPin) -> BoxFuture<'a, Result<Opened, Trouble>> {
        Box::pin(self.open_as(Some(account)))
    }

    fn fingerprint(&self, key: &FingerprintKey) -> Option<ConnectionFingerprint> {
        let direct = self.options.direct.as_ref()?;
        let plan = self.plugin.plan(&self.server).ok()?;
        let approved = plan.approved_before().ok()?.on(direct);
        let facts = self.options.process_facts.iter();
        let facts: Vec<&[u8]> = facts.map(|it| it.expose().as_slice()).collect();
        Some(approved.fingerprint(&facts, key))
    }
}
