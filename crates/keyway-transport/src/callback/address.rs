//! The port of a callback: which one, and on which addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use keyway_auth::ports::{InteractionError, Redirect};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::sleep;
use url::{Host, Url};

use crate::timeouts::ACCEPT_RETRY_DELAY;

/// Where an answer is received.
#[derive(Debug, Clone)]
pub(super) struct CallbackAddress {
    /// Exactly as it has to be sent.
    pub(super) uri: String,
    pub(super) path: String,
    pub(super) port: u16,
}

/// Where an answer should be received.
#[derive(Debug)]
pub(super) struct RequestedAddress {
    uri: Url,
    port: Option<u16>,
    addresses: Addresses,
}

/// What a browser makes of the host of a redirect address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Addresses {
    /// `localhost`: one or the other, so both have to be ours.
    Both,
    V4,
    V6,
}

impl CallbackAddress {
    /// Reads what the client was registered with.
    pub(super) fn requested(redirect: &Redirect) -> Result<RequestedAddress, InteractionError> {
        let uri = match &redirect.uri {
            Some(uri) => uri.clone(),
            None => Url::parse(DEFAULT).map_err(|_| listener("invalid redirect URL"))?,
        };
        if uri.scheme() != "http" {
            return Err(listener("the redirect URL is not `http`"));
        }
        if !uri.username().is_empty() || uri.password().is_some() || uri.fragment().is_some() {
            return Err(listener("the redirect URL has user info or a fragment"));
        }
        let addresses = match uri.host() {
            Some(Host::Domain("localhost")) => Addresses::Both,
            Some(Host::Ipv4(Ipv4Addr::LOCALHOST)) => Addresses::V4,
            Some(Host::Ipv6(Ipv6Addr::LOCALHOST)) => Addresses::V6,
            _ => return Err(listener("the redirect URL is not a loopback address")),
        };
        // RFC 8252 §7.3: a loopback address that names no port stands for all of them.
        let port = uri.port().or(redirect.port);
        Ok(RequestedAddress {
            uri,
            port,
            addresses,
        })
    }
}

impl RequestedAddress {
    fn place(mut self, port: u16) -> Result<CallbackAddress, InteractionError> {
        let unwritable = |()| listener("the redirect URL takes no port");
        self.uri.set_port(Some(port)).map_err(unwritable)?;
        Ok(CallbackAddress {
            path: self.uri.path().to_owned(),
            uri: self.uri.into(),
            port,
        })
    }
}

/// The listening sockets.
#[derive(Debug)]
pub(super) struct Sockets {
    v4: Option<TcpListener>,
    v6: Option<TcpListener>,
}

impl Sockets {
    /// Takes the requested port, or any that is free on all addresses.
    pub(super) fn bind(
        requested: RequestedAddress,
    ) -> Result<(CallbackAddress, Self), InteractionError> {
        let tries = if requested.port.is_some() {
            1
        } else {
            MAX_TRIES
        };
        let mut failed = None;
        for _ in 0..tries {
            match Self::open(requested.port.unwrap_or(0), requested.addresses) {
                Ok((port, sockets)) => return Ok((requested.place(port)?, sockets)),
                Err(error) => failed = Some(error.kind()),
            }
        }
        Err(match (failed, requested.port) {
            (Some(io::ErrorKind::AddrInUse), Some(port)) => InteractionError::PortBusy { port },
            (Some(io::ErrorKind::AddrInUse), None) => listener("no port is free"),
            (Some(io::ErrorKind::PermissionDenied), _) => {
                listener("permission denied for this port")
            }
            _ => listener("cannot listen on the loopback interface"),
        })
    }

    fn open(port: u16, addresses: Addresses) -> io::Result<(u16, Self)> {
        if addresses == Addresses::V6 {
            let (port, v6) = listen(Ipv6Addr::LOCALHOST.into(), port)?;
            let v6 = Some(v6);
            return Ok((port, Self { v4: None, v6 }));
        }
        let (port, v4) = listen(Ipv4Addr::LOCALHOST.into(), port)?;
        let v6 = match addresses {
            Addresses::Both => match listen(Ipv6Addr::LOCALHOST.into(), port) {
                Ok((_, v6)) => Some(v6),
                // Another process listens where `localhost` may lead.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
                // No IPv6 here: no other process can have the port either.
                Err(_) => None,
            },
            _ => None,
        };
        let v4 = Some(v4);
        Ok((port, Self { v4, v6 }))
    }

    /// Waits for the next connection.
    pub(super) async fn accept(&self) -> TcpStream {
        loop {
            // `accept` is cancel safe: what the other socket has stays in its backlog.
            let accepted = tokio::select! {
                accepted = accept(self.v4.as_ref()) => accepted,
                accepted = accept(self.v6.as_ref()) => accepted,
            };
            match accepted {
                Ok(stream) => return stream,
                // Out of descriptors, or a connection that is gone already.
                Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
            }
        }
    }
}

/// Listens without sharing: neither `SO_REUSEADDR` nor `SO_REUSEPORT` is set.
fn listen(address: IpAddr, port: u16) -> io::Result<(u16, TcpListener)> {
    let socket = match address {
        IpAddr::V4(_) => TcpSocket::new_v4()?,
        IpAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.bind(SocketAddr::new(address, port))?;
    let listener = socket.listen(BACKLOG)?;
    Ok((listener.local_addr()?.port(), listener))
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => listener.accept().await.map(|(stream, _)| stream),
        None => std::future::pending().await,
    }
}

fn listener(why: &str) -> InteractionError {
    let why = why.to_owned();
    InteractionError::Listener { why }
}

const DEFAULT: &str = "http://localhost/callback";
const MAX_TRIES: usize = 16;
const BACKLOG: u32 = 256;
