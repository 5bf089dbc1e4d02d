//! Servers that are made ready when a client first needs them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use keyway::aggregate::{Connector, Entrance, Opened};
use keyway::connect::{BoxFuture, Connection, Host};
use keyway::gateway::Upstream;
use keyway::load::Loaded;
use keyway::sign_in::Door;
use keyway::states::Trouble;
use tokio::time::timeout;

use crate::error::CliError;
use crate::reach::{Reach, Ready, find};
use crate::session::Session;

/// A server that is made ready each time it is connected to, so that an approval given meanwhile
/// counts.
#[derive(Debug)]
pub(crate) struct Lazy {
    reach: Reach,
    session: Session,
    loaded: Arc<Loaded>,
    server: String,
    host: Arc<Host>,
    direct: Option<Arc<Host>>,
    door: OnceLock<Option<Door>>,
}

impl Lazy {
    pub(crate) fn new(
        reach: &Reach,
        session: &Session,
        loaded: &Arc<Loaded>,
        server: &str,
        host: &Arc<Host>,
    ) -> Self {
        Self {
            reach: reach.clone(),
            session: session.clone(),
            loaded: Arc::clone(loaded),
            server: server.to_owned(),
            host: Arc::clone(host),
            direct: None,
            door: OnceLock::new(),
        }
    }

    /// Lets a client talk to the server itself, by a host that may ask for a sign-in.
    pub(crate) fn directly(mut self, host: &Arc<Host>) -> Self {
        self.direct = Some(Arc::clone(host));
        self
    }

    fn ready(&self) -> Result<Ready, CliError> {
        let entry = find(&self.loaded, Some(&self.server))?;
        self.reach.prepare(&self.session, &self.loaded, entry)
    }
}

impl Connector for Lazy {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, Trouble>> {
        Box::pin(async move {
            let ready = self.ready().map_err(|error| error.trouble())?;
            let connected = ready
                .connect(&self.host)
                .await
                .map_err(|error| error.trouble())?;
            Ok(Opened {
                connection: connected.connection,
                offer: connected.offer,
            })
        })
    }

    fn entrance(&self) -> Option<&dyn Entrance> {
        let door = self.door.get_or_init(|| {
            let ready = self.ready().ok()?;
            ready.door(&self.host)
        });
        door.as_ref().map(|door| door as &dyn Entrance)
    }
}

impl Upstream for Lazy {
    fn open(&self) -> BoxFuture<'_, Option<Connection>> {
        Box::pin(async move {
            let host = self.direct.as_ref()?;
            let ready = self.ready().ok()?;
            if !ready.is_open(host).await {
                return None;
            }
            Some(ready.connect(host).await.ok()?.connection)
        })
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
