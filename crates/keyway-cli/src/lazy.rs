//! Servers that are made ready when a client first needs them.

mod kept;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use keyway::connect::{BoxFuture, Connection, Host, Likeness, LikenessKey};
use keyway::load::Loaded;
use keyway::sign_in::{AccountPin, Door};
use keyway_gateway::gateway::Upstream;
use keyway_gateway::sharing;
use keyway_mcp::aggregate::{Connector, Entrance, Opened};
use keyway_mcp::session::Offer;
use keyway_mcp::states::Trouble;
use keyway_mcp::whereabouts::Whereabouts;
use keyway_secret::Secret;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use self::kept::Kept;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::reach::{Reach, ReachError, Ready, find, whereabouts};
use crate::shared::Shared;

/// A server that is made ready when it is connected to, so that an approval given meanwhile counts.
#[derive(Debug)]
pub(crate) struct Lazy {
    reach: Reach,
    context: CommandContext,
    loaded: Arc<Loaded>,
    server: String,
    host: Arc<Host>,
    direct: Option<Arc<Host>>,
    door: OnceLock<Option<Door>>,
    presence: Presence,
    around: Arc<[Secret<Vec<u8>>]>,
    shared: Option<Shared>,
    kept: Mutex<Kept<Ready>>,
}

/// Whether a connection was made with a sign-in, for who has to notice its end.
pub(crate) type Presence = Arc<AtomicBool>;

impl Lazy {
    pub(crate) fn new(
        reach: &Reach,
        context: &CommandContext,
        loaded: &Arc<Loaded>,
        server: &str,
        host: &Arc<Host>,
    ) -> Self {
        Self {
            reach: reach.clone(),
            context: context.clone(),
            loaded: Arc::clone(loaded),
            server: server.to_owned(),
            host: Arc::clone(host),
            direct: None,
            door: OnceLock::new(),
            presence: Presence::default(),
            around: Arc::default(),
            shared: None,
            kept: Mutex::new(Kept::unwatched()),
        }
    }

    /// Says that somebody watches what the server depends on, and puts another in the place of this
    /// at a change; `ready` is what was seen at the last look.
    pub(crate) fn watched(mut self, ready: Option<Ready>) -> Self {
        self.kept = Mutex::new(Kept::watched(ready, Instant::now()));
        self
    }

    /// Lets go of values that nobody has asked for lately; who watches says this from time to time.
    pub(crate) fn forget(&self) {
        // Whoever holds it is about to use it.
        if let Ok(mut kept) = self.kept.try_lock() {
            kept.forget(Instant::now());
        }
    }

    /// Lets a client talk to the server itself, by a host that may ask for a sign-in.
    pub(crate) fn directly(mut self, host: &Arc<Host>) -> Self {
        self.direct = Some(Arc::clone(host));
        self
    }

    /// Takes connections from a gateway where they are the same.
    pub(crate) fn sharing(mut self, shared: Option<&Shared>) -> Self {
        self.shared = shared.cloned();
        self
    }

    /// Says what else decides about connections, for those who want to share them.
    pub(crate) fn amid(mut self, around: &Arc<[Secret<Vec<u8>>]>) -> Self {
        self.around = Arc::clone(around);
        self
    }

    /// Notes in `presence` that a connection was made with a sign-in.
    pub(crate) fn noting(mut self, presence: &Presence) -> Self {
        self.presence = Arc::clone(presence);
        self
    }

    /// Is called before a connection is made, so that no end of a sign-in is missed.
    async fn note(&self, ready: &Ready, host: &Host) {
        if let Some(oauth) = ready.oauth(host)
            && oauth.is_signed_in().await.unwrap_or(false)
        {
            self.presence.store(true, Ordering::Relaxed);
        }
    }

    fn ready(&self) -> Result<Ready, CliError> {
        let entry = find(&self.loaded, Some(&self.server))?;
        self.reach.prepare(&self.context, &self.loaded, entry)
    }

    /// The same aside: files are read and the vault is opened, which may take a second, and there is
    /// one thread for everybody. Who comes right afterwards gets the same, and where somebody watches
    /// everybody does.
    async fn ready_aside(&self) -> Result<Arc<Ready>, CliError> {
        let mut kept = self.kept.lock().await;
        let at = Instant::now();
        let (known, has_door) = (kept.get(at), self.door.get().is_some());
        if let Some(known) = known.as_ref().filter(|_| has_door) {
            return Ok(Arc::clone(known));
        }
        let (reach, context) = (self.reach.clone(), self.context.clone());
        let (loaded, server) = (Arc::clone(&self.loaded), self.server.clone());
        let host = Arc::clone(&self.host);
        let making = spawn_blocking(move || {
            let ready = match known {
                Some(known) => known,
                None => {
                    let entry = find(&loaded, Some(&server))?;
                    Arc::new(reach.prepare(&context, &loaded, entry)?)
                }
            };
            let door = (!has_door).then(|| ready.door(&host));
            Ok::<_, CliError>((ready, door))
        });
        let made = making.await;
        let (ready, door) = made.unwrap_or_else(|_| Err(ReachError::Cancelled.into()))?;
        if let Some(door) = door {
            self.door.get_or_init(|| door);
        }
        kept.put(&ready, at);
        Ok(ready)
    }

    async fn reach_by(&self, host: &Host) -> Result<Opened, Trouble> {
        let made = self.ready_aside().await;
        let ready = made.map_err(|error| error.trouble())?;
        if let Some(shared) = &self.shared
            && ready.is_open(host).await
            && let Some(stream) = shared.ask(&ready, host).await
        {
            return Ok(Opened {
                connection: sharing::connection(stream),
                // Which era the server speaks, the gateway finds out.
                offer: Offer::Legacy,
            });
        }
        self.note(&ready, host).await;
        let connected = ready.connect(host).await;
        let connected = connected.map_err(|error| error.trouble())?;
        Ok(Opened {
            connection: connected.connection,
            offer: connected.offer,
        })
    }
}

/// Returns the same host for connections of a conversation that keeps to one account.
fn kept_to(host: &Arc<Host>, whose: &AccountPin) -> Arc<Host> {
    let mut host = Host::clone(host);
    if let Some(accounts) = &mut host.accounts {
        accounts.whose = Some(whose.clone());
    }
    Arc::new(host)
}

impl Connector for Lazy {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, Trouble>> {
        Box::pin(self.reach_by(&self.host))
    }

    fn look(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            drop(self.ready_aside().await);
        })
    }

    fn entrance(&self) -> Option<&dyn Entrance> {
        let door = self.door.get()?.as_ref()?;
        Some(door as &dyn Entrance)
    }

    fn whereabouts(&self) -> Option<Whereabouts> {
        Some(whereabouts(&self.loaded, &self.server))
    }
}

impl Upstream for Lazy {
    fn open<'a>(&'a self, whose: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        Box::pin(async move {
            let host = self.direct.as_ref()?;
            let host = whose.map_or_else(|| Arc::clone(host), |whose| kept_to(host, whose));
            let ready = self.ready_aside().await.ok()?;
            if !ready.is_open(&host).await {
                return None;
            }
            self.note(&ready, &host).await;
            Some(ready.connect(&host).await.ok()?.connection)
        })
    }

    fn connect_as<'a>(&'a self, whose: &'a AccountPin) -> BoxFuture<'a, Result<Opened, Trouble>> {
        Box::pin(async move {
            let host = kept_to(&self.host, whose);
            self.reach_by(&host).await
        })
    }

    fn likeness(&self, key: &LikenessKey) -> Option<Likeness> {
        let host = self.direct.as_ref()?;
        let ready = self.ready().ok()?;
        let around: Vec<&[u8]> = self
            .around
            .iter()
            .map(|it| it.expose().as_slice())
            .collect();
        Some(ready.likeness(host, &around, key))
    }
}

impl Ready {
    /// Says whether the server can be talked to as it is: it needs no sign-in, or has one.
    pub(crate) async fn is_open(&self, host: &Host) -> bool {
        let Some(oauth) = self.oauth(host) else {
            return true;
        };
        match oauth.is_signed_in().await {
            Ok(true) => true,
            // The client waits meanwhile; a server that is slower is shown as not there yet.
            Ok(false) => match timeout(PROBE_WAIT, oauth.wants_sign_in()).await {
                Ok(wants) => !wants,
                Err(_) => false,
            },
            Err(_) => false,
        }
    }
}

const PROBE_WAIT: Duration = Duration::from_secs(3);
