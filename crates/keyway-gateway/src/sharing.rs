//! Connections of one process, used by others of the same user: `keyway run` through a gateway.
//!
//! Over a socket of the user's own folder. A process that connects shows that it would make the
//! very same connection: same entry, same values of variables, same environment of programs. What
//! is shown is a hash of all that under a key which is sealed in the vault, for this one handshake.
//! So either side learns whether both are alike and nothing else, and a process that cannot open
//! the vault learns nothing: without the key no guess at a value can be checked, not even later.

mod handshake;
mod relay;

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Arc;

use keyway_secret::Secret;
use keyway_transport::Listener;
use keyway_vault::{Namespace, Vault, VaultError};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use self::handshake::{ClientHello, Nonce, ServerHello};
pub use self::relay::relay;
use crate::gateway::{Gateway, ServedServer, SharedClient};
use crate::timeouts::{HANDSHAKE_TIMEOUT, SHARING_LOOK_INTERVAL};
use keyway::connect::{Connection, ConnectionFingerprint, FingerprintKey};
use keyway_mcp::bridge::{BridgedServer, bridge_explained, socket_pipes};

/// Returns the key of a vault; `None` if nothing was shared yet.
///
/// # Errors
///
/// Returns a [`VaultError`] if the vault cannot be read.
pub fn key(vault: &Vault) -> Result<Option<FingerprintKey>, VaultError> {
    let rows = vault.sealed(Namespace::new(NAMESPACE)?);
    let Some(record) = rows.get(ROW)? else {
        return Ok(None);
    };
    let bytes: Option<[u8; 32]> = record.value.expose().as_slice().try_into().ok();
    Ok(bytes.map(|bytes| FingerprintKey::new(Secret::new(bytes))))
}

/// Returns the key of a vault, made if there is none; `None` without randomness.
///
/// # Errors
///
/// Returns a [`VaultError`] if the vault cannot be used.
pub fn make_key(vault: &Vault) -> Result<Option<FingerprintKey>, VaultError> {
    if let Some(key) = key(vault)? {
        return Ok(Some(key));
    }
    let Some(made) = FingerprintKey::random() else {
        return Ok(None);
    };
    let rows = vault.sealed(Namespace::new(NAMESPACE)?);
    rows.put(ROW, made.hash("sharing", &[]).as_bytes())?;
    // Another process may have made one at the same time; the stored one counts.
    key(vault)
}

/// Lets processes of the same user use the connections of a gateway, until this is dropped.
///
/// Cancel safety: it never ends by itself. Dropping the future drops the connections of all
/// processes at once, in the middle of a message if one is being written; their requests get an
/// error, and each process connects by itself.
pub async fn share(listener: Listener, gateway: Arc<Gateway>, key: FingerprintKey) {
    // A permit is taken before a connection is accepted: what has none waits in the backlog.
    let permits = Arc::new(Semaphore::new(MAX_PROCESSES));
    let mut processes = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let Ok(stream) = UnixStream::from_std(listener.same_user().await) else {
            continue;
        };
        while processes.try_join_next().is_some() {}
        let (gateway, key) = (Arc::clone(&gateway), key.clone());
        processes.spawn(async move {
            // A process that disconnects or sends something else needs no report.
            drop(serve_process(stream, gateway, &key).await);
            drop(permit);
        });
    }
}

/// Serves one process.
async fn serve_process(
    mut stream: UnixStream,
    gateway: Arc<Gateway>,
    key: &FingerprintKey,
) -> io::Result<()> {
    let client_hello = timeout(HANDSHAKE_TIMEOUT, ClientHello::read(&mut stream)).await??;
    let servers = gateway.servers();
    let named = |it: &&Arc<ServedServer>| {
        it.plugin == client_hello.plugin && it.name == client_hello.server
    };
    let served = servers.iter().find(named).cloned();
    let server_hello = match &served {
        Some(served) => answer(served, &client_hello, key).await,
        None => None,
    };
    let Some(server_hello) = server_hello else {
        return ServerHello::refuse(&mut stream).await;
    };
    server_hello.write(&mut stream).await?;
    let Some(served) = served else {
        return Ok(());
    };
    // Where there is none after all, the other side sees the end and works alone.
    let Some(connection) = served.upstream.open(None).await else {
        return Ok(());
    };
    let server = shared_server(&gateway, &served, connection);
    let (input, output) = socket_pipes(stream.into_std()?)?;
    // Not biased: either ends both. A bridge that loses is dropped, which ends its connection at
    // once; the process sees the end of the stream and connects by itself.
    tokio::select! {
        ended = bridge_explained(input, output, server) => ended,
        () = until_replaced(&gateway, &served) => Ok(()),
    }
}

/// Describes a server for a process that uses a connection to it: recorded like the requests of
/// other clients, and with an aggregate of one in its place if it does not answer.
pub(crate) fn shared_server(
    gateway: &Arc<Gateway>,
    served: &Arc<ServedServer>,
    connection: Connection,
) -> BridgedServer {
    let (connection, tool_memory) = gateway.guard_shared(served, connection);
    let (stand_in, of) = (Arc::clone(gateway), Arc::clone(served));
    // A client drops a server whose `initialize` fails, and does not come back to it.
    let fallback = Box::new(move || stand_in.fallback_shared(&of));
    BridgedServer::new(connection, served.upstream.explainer(), fallback)
        .with_tool_memory(tool_memory)
        .with_observer(SharedClient::begin(gateway, served))
}

/// Returns the answer to a process that would make the same connection.
async fn answer(
    served: &Arc<ServedServer>,
    client_hello: &ClientHello,
    key: &FingerprintKey,
) -> Option<ServerHello> {
    let (upstream, own_key) = (Arc::clone(&served.upstream), key.clone());
    // It reads files and the vault.
    let found = tokio::task::spawn_blocking(move || upstream.fingerprint(&own_key));
    let own = found.await.ok().flatten()?;
    client_hello
        .matches(&own, key)
        .then(|| ServerHello::new(client_hello, &own, key))
}

/// Waits until a server is not served any more as it was.
async fn until_replaced(gateway: &Gateway, served: &Arc<ServedServer>) {
    let mut beat = interval(SHARING_LOOK_INTERVAL);
    loop {
        beat.tick().await;
        let servers = gateway.servers();
        if !servers.iter().any(|it| Arc::ptr_eq(it, served)) {
            return;
        }
    }
}

/// What a process wants to share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedRequest<'a> {
    /// The name of the plugin.
    pub(crate) plugin: &'a str,
    /// The name of the server.
    pub(crate) server: &'a str,
    /// What a connection of its own would depend on.
    pub(crate) fingerprint: ConnectionFingerprint,
}

/// Says whether a socket exists that only the same user can listen on.
#[must_use]
pub fn is_own_socket(socket: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let folder = socket.parent().and_then(|it| it.symlink_metadata().ok());
    let is_private = folder
        .is_some_and(|it| it.file_type().is_dir() && it.uid() == own && it.mode() & OTHERS == 0);
    let found = socket.symlink_metadata();
    is_private && found.is_ok_and(|it| it.file_type().is_socket() && it.uid() == own)
}

/// Asks the process that listens at a socket to share a connection. `None` if there is none, if it
/// belongs to another user, or if its connection would be a different one.
///
/// Cancel safety: the socket is closed, and the gateway drops what it had opened for it.
pub(crate) async fn connect_shared(
    socket: &Path,
    wanted: SharedRequest<'_>,
    key: &FingerprintKey,
) -> Option<UnixStream> {
    if !is_own_socket(socket) {
        return None;
    }
    let mut stream = UnixStream::connect(socket).await.ok()?;
    let user = stream.peer_cred().ok()?.uid();
    if user != rustix::process::geteuid().as_raw() {
        return None;
    }
    let client_hello = ClientHello::new(wanted, Nonce::random()?, key);
    let handshake = async {
        client_hello.write(&mut stream).await.ok()?;
        let server_hello = ServerHello::read(&mut stream).await.ok()??;
        server_hello
            .matches(&client_hello, &wanted.fingerprint, key)
            .then_some(())
    };
    timeout(HANDSHAKE_TIMEOUT, handshake).await.ok()??;
    Some(stream)
}

/// A connection of a gateway that this process may use.
#[derive(Debug)]
pub struct SharedConnection(pub(crate) UnixStream);

/// Turns a shared connection into one like any other.
pub(crate) fn into_connection(shared: SharedConnection) -> io::Result<Connection> {
    let (input, output) = socket_pipes(shared.0.into_std()?)?;
    Ok(relay::connection(input, output))
}

const NAMESPACE: &str = "sharing";
const ROW: &str = "key";
const OTHERS: u32 = 0o077;
const MAX_PROCESSES: usize = 1024;

#[cfg(test)]
mod tests;
