//! Listening beyond this machine: with a certificate of our own, behind proxies that are named, or
//! not at all.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyway::settings::{PublicAddress, TlsFiles};
use keyway_auth::BoxFuture;
use keyway_transport::{ListenError, Listener, RemoteConnections};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;

use crate::timeouts::{ACCEPT_PAUSE, TLS_TIMEOUT};

/// Listens at an address that other machines reach. Files are read once: a new certificate counts
/// after a restart.
///
/// Must be called inside a runtime.
///
/// # Errors
///
/// Returns [`PublicListenError::NotProtected`] unless the settings name an `https` address and
/// either a certificate or proxies; otherwise why nothing can be listened on.
pub fn listen(address: SocketAddr, public: &PublicAddress) -> Result<Listener, PublicListenError> {
    if !public.is_protected() {
        return Err(PublicListenError::NotProtected { address });
    }
    let tls = public.tls.as_ref().map(acceptor).transpose()?;
    let socket = |source| PublicListenError::Socket { address, source };
    let listener = std::net::TcpListener::bind(address).map_err(socket)?;
    listener.set_nonblocking(true).map_err(socket)?;
    let listener = TcpListener::from_std(listener).map_err(socket)?;
    // One at a time: what is above the limit of connections waits in the backlog.
    let (sender, streams) = mpsc::channel(1);
    let door = PublicDoor {
        proxies: public.trusted_proxies.clone(),
        tls,
        sender,
    };
    drop(tokio::spawn(door.accept(listener)));
    Ok(Listener::remote(Box::new(Admitted(Mutex::new(streams)))))
}

/// The connections that were let in.
// The one task that accepts holds the lock while it waits; no other asks for it.
#[derive(Debug)]
struct Admitted(Mutex<mpsc::Receiver<StdUnixStream>>);

impl RemoteConnections for Admitted {
    fn next(&self) -> BoxFuture<'_, StdUnixStream> {
        Box::pin(async move {
            match self.0.lock().await.recv().await {
                Some(stream) => stream,
                None => std::future::pending().await,
            }
        })
    }
}

/// Lets connections in.
struct PublicDoor {
    /// Empty where every machine may connect.
    proxies: Vec<IpAddr>,
    tls: Option<TlsAcceptor>,
    sender: mpsc::Sender<StdUnixStream>,
}

impl PublicDoor {
    /// Accepts until the gateway has stopped listening.
    async fn accept(self, listener: TcpListener) {
        // A client that is slow to begin takes a place from others like it, not from those that
        // are connected.
        let places = Arc::new(Semaphore::new(MAX_HANDSHAKES));
        loop {
            // Both branches are cancel safe: what was not accepted stays in the backlog.
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.sender.closed() => return,
            };
            let Ok((stream, peer)) = accepted else {
                // Out of descriptors, or a connection that is gone already.
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            if !self.admits(peer.ip()) || stream.set_nodelay(true).is_err() {
                continue;
            }
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let (tls, sender) = (self.tls.clone(), self.sender.clone());
            drop(tokio::spawn(async move {
                match tls {
                    Some(tls) => {
                        // A client that does not finish in time, or speaks something else, is not
                        // told why.
                        if let Ok(Ok(stream)) = timeout(TLS_TIMEOUT, tls.accept(stream)).await {
                            drop(place);
                            hand_over(stream, &sender).await;
                        }
                    }
                    None => {
                        drop(place);
                        hand_over(stream, &sender).await;
                    }
                }
            }));
        }
    }

    fn admits(&self, peer: IpAddr) -> bool {
        // A socket for both families sees addresses of the older one inside of the newer.
        self.proxies.is_empty() || self.proxies.contains(&peer.to_canonical())
    }
}

/// Hands a connection over, and copies in both directions until one side ends.
async fn hand_over(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    sender: &mpsc::Sender<StdUnixStream>,
) {
    let pair = || -> io::Result<_> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        Ok((UnixStream::from_std(ours)?, theirs))
    };
    let Ok((mut ours, theirs)) = pair() else {
        return;
    };
    if sender.send(theirs).await.is_ok() {
        // Either side may break off; the other is closed then.
        drop(copy_bidirectional(&mut stream, &mut ours).await);
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, PublicListenError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |_| PublicListenError::Unreadable { path }
    };
    let path = &files.certificate;
    let chain = CertificateDer::pem_file_iter(path).map_err(unreadable(path))?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(unreadable(path))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(unreadable(&files.key))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let config = builder.and_then(|it| it.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| PublicListenError::Certificate {
        why: error.to_string(),
    })?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Why nothing is listened on for other machines.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PublicListenError {
    /// What came in would not be encrypted.
    #[error("`{address}` can be reached from other machines, and nothing protects it")]
    NotProtected {
        /// The address.
        address: SocketAddr,
    },
    /// A file of the certificate cannot be read.
    #[error("`{}` is not a readable file in PEM", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
    },
    /// The certificate and its key do not belong together, or cannot be used.
    #[error("`tls_certificate` and `tls_key` cannot be used: {why}")]
    Certificate {
        /// In a few words.
        why: String,
    },
    /// The admin port cannot be listened on.
    #[error("cannot listen on `{address}` for admins")]
    Admin {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: ListenError,
    },
    /// The system refused.
    #[error("cannot listen on `{address}`")]
    Socket {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// How many clients may be about to agree on a key at once.
const MAX_HANDSHAKES: usize = 256;
