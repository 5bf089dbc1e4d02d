//! A gateway of the same user that runs, whose connections are used in place of own ones.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use keyway::connect::FingerprintKey;
use keyway::{Approved, Plan};
use keyway_secret::Secret;

use crate::sharing::{self, SharedConnection, SharedRequest};

/// Returns what else decides about the connections of a process: how the network is reached, and
/// what `config.toml` says.
pub type ProcessFacts = fn() -> Vec<Secret<Vec<u8>>>;

/// A gateway that may be asked for connections.
#[derive(Debug, Clone)]
pub struct SharedGateway {
    socket: PathBuf,
    facts: ProcessFacts,
    own: Arc<OnceLock<Option<Own>>>,
}

/// What is needed to ask, found out when there is a gateway to ask.
#[derive(Debug)]
struct Own {
    key: FingerprintKey,
    facts: Vec<Secret<Vec<u8>>>,
}

impl SharedGateway {
    /// Looks for a gateway; where none runs, this costs a look at a file that is not there.
    #[must_use]
    pub fn find(runtime: &Path, facts: ProcessFacts) -> Option<Self> {
        let socket = socket(runtime);
        sharing::is_own_socket(&socket).then(|| Self {
            socket,
            facts,
            own: Arc::default(),
        })
    }

    /// Asks for a connection that is the same as an own one would be.
    ///
    /// Cancel safety: the socket is closed, and the gateway drops what it had opened for it.
    pub async fn connect(&self, server: &Approved<Plan>) -> Option<SharedConnection> {
        let own = self.own.get_or_init(|| {
            let vault = server.host().accounts()?.vault()?.get().ok()?;
            let key = sharing::key(&vault).ok()??;
            let facts = (self.facts)();
            Some(Own { key, facts })
        });
        let Own { key, facts } = own.as_ref()?;
        let facts: Vec<&[u8]> = facts.iter().map(|it| it.expose().as_slice()).collect();
        let wanted = SharedRequest {
            plugin: server.plugin(),
            server: server.server(),
            fingerprint: server.fingerprint(&facts, key),
        };
        let shared = sharing::connect_shared(&self.socket, wanted, key).await;
        shared.map(SharedConnection)
    }
}

/// Returns where a gateway shares its connections, in the folder for run-time files.
#[must_use]
pub fn socket(runtime: &Path) -> PathBuf {
    runtime.join("run.sock")
}
