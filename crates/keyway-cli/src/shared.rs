//! A gateway of the same user that runs, whose connections are used in place of own ones.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use keyway::connect::{Host, LikenessKey};
use keyway_gateway::sharing::{self, Wanted};
use keyway_secret::Secret;
use tokio::net::UnixStream;

use crate::environment::ProcessEnvironment;
use crate::reach::Ready;
use crate::settings;
use crate::vault::open_vault;

/// A gateway that may be asked for connections.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    socket: PathBuf,
    own: Arc<OnceLock<Option<Own>>>,
}

/// What is needed to ask, found out when somebody is there to be asked.
#[derive(Debug)]
struct Own {
    key: LikenessKey,
    around: Vec<Secret<Vec<u8>>>,
}

impl Shared {
    /// Looks for a gateway; where none runs, this costs a look at a file that is not there.
    pub(crate) fn find() -> Option<Self> {
        let socket = socket()?;
        sharing::is_ours(&socket).then(|| Self {
            socket,
            own: Arc::default(),
        })
    }

    /// Asks for a connection that is the same as an own one would be.
    pub(crate) async fn ask(&self, ready: &Ready, host: &Host) -> Option<UnixStream> {
        let own = self.own.get_or_init(|| {
            let vault = open_vault().ok()?;
            let key = sharing::key(&vault).ok()??;
            let around = settings::around();
            Some(Own { key, around })
        });
        let Own { key, around } = own.as_ref()?;
        let around: Vec<&[u8]> = around.iter().map(|it| it.expose().as_slice()).collect();
        let wanted = Wanted {
            plugin: ready.plugin(),
            server: &ready.spec.name,
            likeness: ready.likeness(host, &around, key),
        };
        sharing::knock(&self.socket, wanted, key).await
    }
}

/// Returns where a gateway shares its connections; none without a home.
pub(crate) fn socket() -> Option<PathBuf> {
    let folders = ProcessEnvironment::folders()?;
    Some(folders.runtime.join("run.sock"))
}
