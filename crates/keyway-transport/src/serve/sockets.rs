//! Where clients connect: the loopback addresses, a socket in a folder of our own, or what the program
//! lets in from other machines.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use keyway_auth::BoxFuture;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio::time::sleep;

use crate::timeouts::ACCEPT_RETRY_DELAY;

/// The sender of a request, as far as the kernel vouches for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peer {
    /// Any process on this machine, a web page included; the port that was reached.
    Loopback {
        /// The port.
        port: u16,
    },
    /// A process of the same user.
    SameUser,
    /// A client on any machine, whom the program let in.
    Remote,
}

/// Connections of clients on other machines, which are encrypted or come from a proxy: what lets
/// them in knows which.
pub trait RemoteConnections: Send + Sync + fmt::Debug {
    /// Waits for the next connection, which is handed over as one end of a pair of sockets that
    /// does not block.
    ///
    /// Cancel safety: must be cancel safe; no connection is lost.
    fn next(&self) -> BoxFuture<'_, std::os::unix::net::UnixStream>;
}

/// A socket that is listened on.
#[derive(Debug)]
pub struct Listener(Sockets);

#[derive(Debug)]
enum Sockets {
    Tcp {
        first: TcpListener,
        second: Option<TcpListener>,
        port: u16,
    },
    Unix {
        listener: UnixListener,
        /// The file to remove at the end; `None` if another process made it.
        path: Option<PathBuf>,
    },
    Remote(Box<dyn RemoteConnections>),
}

/// A connection that was made.
#[derive(Debug)]
pub(super) enum Accepted {
    Tcp(TcpStream, u16),
    Unix(UnixStream, Peer),
}

impl Accepted {
    pub(super) const fn peer(&self) -> Peer {
        match self {
            Self::Tcp(_, port) => Peer::Loopback { port: *port },
            Self::Unix(_, peer) => *peer,
        }
    }
}

impl Listener {
    /// Takes a port on the loopback interface; 0 means any that is free.
    ///
    /// The same port of the other loopback address is taken as well, where the machine has one:
    /// `localhost` may lead there, and no other process shall listen there.
    ///
    /// # Errors
    ///
    /// Returns [`ListenError::NotLoopback`] for any other address, and [`ListenError::Busy`] if
    /// another process has the port.
    pub fn loopback(address: SocketAddr) -> Result<Self, ListenError> {
        let other = match address.ip() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            _ => return Err(ListenError::NotLoopback { address }),
        };
        let tries = if address.port() == 0 { MAX_TRIES } else { 1 };
        let mut failed = None;
        for _ in 0..tries {
            match pair(address, other) {
                Ok(kind) => return Ok(Self(kind)),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if error.kind() != io::ErrorKind::AddrInUse => Err(error.into()),
            _ => Err(ListenError::Busy { address }),
        }
    }

    /// Listens on a socket file (0600); one without a listener is replaced.
    ///
    /// Only processes of the same user are let in. The folder has to be the user's own.
    ///
    /// # Errors
    ///
    /// Returns [`ListenError::Taken`] if another process listens there, or the file is not a
    /// socket.
    pub fn unix(path: &Path) -> Result<Self, ListenError> {
        let taken = || ListenError::Taken {
            path: path.to_owned(),
        };
        if let Ok(found) = std::fs::symlink_metadata(path) {
            let is_ours = found.file_type().is_socket();
            if !is_ours || std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(taken());
            }
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        let path = path.to_owned();
        // The peer's user is checked as well, so the moment in between opens nothing.
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&path, mode)?;
        let path = Some(path);
        Ok(Self(Sockets::Unix { listener, path }))
    }

    /// Serves connections of other machines.
    #[must_use]
    pub fn remote(connections: Box<dyn RemoteConnections>) -> Self {
        Self(Sockets::Remote(connections))
    }

    /// Takes over a socket of the loopback interface, and the one of its other address, from the
    /// process that listened before us.
    ///
    /// # Errors
    ///
    /// Returns [`ListenError::NotLoopback`] for any other address, and [`ListenError::Foreign`] if
    /// the two do not have the same port.
    pub fn inherited_loopback(
        first: std::net::TcpListener,
        second: Option<std::net::TcpListener>,
    ) -> Result<Self, ListenError> {
        let mut port = None;
        for listener in std::iter::once(&first).chain(&second) {
            let address = listener.local_addr()?;
            let is_loopback = address.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST)
                || address.ip() == IpAddr::V6(Ipv6Addr::LOCALHOST);
            if !is_loopback {
                return Err(ListenError::NotLoopback { address });
            }
            if port.is_some_and(|port| port != address.port()) {
                return Err(ListenError::Foreign);
            }
            port = Some(address.port());
            listener.set_nonblocking(true)?;
        }
        let port = port.ok_or(ListenError::Foreign)?;
        Ok(Self(Sockets::Tcp {
            first: TcpListener::from_std(first)?,
            second: second.map(TcpListener::from_std).transpose()?,
            port,
        }))
    }

    /// Takes over a socket file, which stays where it is afterwards.
    ///
    /// # Errors
    ///
    /// Returns [`ListenError::Socket`] if the system refuses.
    pub fn inherited_unix(listener: std::os::unix::net::UnixListener) -> Result<Self, ListenError> {
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        Ok(Self(Sockets::Unix {
            listener,
            path: None,
        }))
    }

    /// Returns the port of the loopback interface; `None` for others.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        match &self.0 {
            Sockets::Tcp { port, .. } => Some(*port),
            _ => None,
        }
    }

    /// Returns the socket file; `None` for a port.
    #[must_use]
    pub fn socket(&self) -> Option<PathBuf> {
        let Sockets::Unix { listener, .. } = &self.0 else {
            return None;
        };
        let address = listener.local_addr().ok()?;
        std::path::absolute(address.as_pathname()?).ok()
    }

    /// Waits for the next process of the same user, and returns a socket that does not block; never
    /// returns for a port.
    ///
    /// Cancel safety: cancel safe; no connection is lost.
    pub async fn same_user(&self) -> std::os::unix::net::UnixStream {
        if self.port().is_some() {
            return std::future::pending().await;
        }
        loop {
            if let Accepted::Unix(stream, Peer::SameUser) = self.accept().await
                && let Ok(stream) = stream.into_std()
            {
                return stream;
            }
        }
    }

    /// Waits for the next connection that may be let in.
    pub(super) async fn accept(&self) -> Accepted {
        loop {
            match self.try_accept().await {
                Ok(Some(accepted)) => return accepted,
                Ok(None) => {}
                // Out of descriptors, or a connection that is gone already.
                Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
            }
        }
    }

    async fn try_accept(&self) -> io::Result<Option<Accepted>> {
        match &self.0 {
            Sockets::Tcp {
                first,
                second,
                port,
            } => {
                // `accept` is cancel safe: what the other socket has stays in its backlog.
                let (stream, _) = tokio::select! {
                    accepted = first.accept() => accepted?,
                    accepted = accept_maybe(second.as_ref()) => accepted?,
                };
                stream.set_nodelay(true)?;
                Ok(Some(Accepted::Tcp(stream, *port)))
            }
            Sockets::Unix { listener, .. } => {
                let (stream, _) = listener.accept().await?;
                let user = stream.peer_cred()?.uid();
                let is_same = user == rustix::process::geteuid().as_raw();
                Ok(is_same.then_some(Accepted::Unix(stream, Peer::SameUser)))
            }
            Sockets::Remote(connections) => {
                let stream = UnixStream::from_std(connections.next().await)?;
                Ok(Some(Accepted::Unix(stream, Peer::Remote)))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Sockets::Unix {
            path: Some(path), ..
        } = &self.0
        {
            drop(std::fs::remove_file(path));
        }
    }
}

fn pair(address: SocketAddr, other: IpAddr) -> io::Result<Sockets> {
    let first = listen(address)?;
    let port = first.local_addr()?.port();
    let second = match listen(SocketAddr::new(other, port)) {
        Ok(second) => Some(second),
        // Another process listens where `localhost` may lead.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
        // The machine has no such address: no other process can have it either.
        Err(_) => None,
    };
    Ok(Sockets::Tcp {
        first,
        second,
        port,
    })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Otherwise connections that have just ended would keep a restarted gateway from its port.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept_maybe(listener: Option<&TcpListener>) -> io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// Why nothing can be listened on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Not an address of this machine alone.
    #[error("`{address}` is not a loopback address")]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// Another process has the port.
    #[error("`{address}` is in use on 127.0.0.1 or [::1]")]
    Busy {
        /// The address.
        address: SocketAddr,
    },
    /// Another process listens on the socket file, or the file is not a socket.
    #[error("`{}` is in use", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// What was handed to us is not what we listen on.
    #[error("the inherited sockets do not belong together")]
    Foreign,
    /// The system refused.
    #[error("cannot listen")]
    Socket {
        /// Why.
        #[from]
        source: io::Error,
    },
}

const MAX_TRIES: usize = 16;
const BACKLOG: u32 = 1024;
