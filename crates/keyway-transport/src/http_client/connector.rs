//! How a connection comes about: resolve, check, connect to just that, tunnel, TLS.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::header::{HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderValue, Method, Uri};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use url::Host;

use super::body::FullBody;
use super::failure::ConnectFailure;
use super::proxy::{Proxies, ProxyRoute};
use super::resolver::GuardedResolver;
use super::server_address::ServerAddress;
use super::stream::Stream;
use super::tls::{Configs, Tls};
use super::{AGENT, Purpose};
use crate::network_cause::{TlsHandshakeFailed, TunnelRefused};
use crate::timeouts::{CONNECT_TIMEOUT, FAMILY_HEAD_START, TCP_KEEPALIVE};

/// Makes connections for one client.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) resolver: GuardedResolver,
    pub(super) proxies: Proxies,
    pub(super) tls: Tls,
    pub(super) purpose: Purpose,
}

impl Connector {
    /// Connects to a server, through a proxy if one stands in between.
    pub(super) async fn connect(&self, origin: &ServerAddress) -> Result<Stream, ConnectFailure> {
        let connecting = timeout(CONNECT_TIMEOUT, self.open(origin));
        connecting.await.unwrap_or(Err(ConnectFailure::TimedOut))
    }

    async fn open(&self, origin: &ServerAddress) -> Result<Stream, ConnectFailure> {
        if !origin.is_encrypted() {
            // Only this machine is reached so, and never through a proxy.
            return self.direct(origin).await.map(Stream::Plain);
        }
        let configs = self.tls.configs().await;
        let configs = configs.map_err(ConnectFailure::Settings)?;
        let stream = match self.proxies.hop(origin.url()) {
            Some(hop) => self.tunnel(&hop, origin, configs).await?,
            None => self.direct(origin).await.map(Stream::Plain)?,
        };
        let config = match self.purpose {
            Purpose::Exchange | Purpose::Authorization => &configs.any,
            #[cfg(feature = "ws")]
            Purpose::Upgrade => &configs.http1,
        };
        tls_handshake(stream, origin.host(), config).await
    }

    async fn direct(&self, origin: &ServerAddress) -> Result<TcpStream, ConnectFailure> {
        let addresses = self.resolver.addresses(origin.host()).await?;
        dial(&addresses, origin.port()).await
    }

    /// Asks a proxy, in HTTP/1.1, to connect us with a server; the proxy may be anywhere.
    async fn tunnel(
        &self,
        hop: &ProxyRoute,
        origin: &ServerAddress,
        configs: &Configs,
    ) -> Result<Stream, ConnectFailure> {
        let addresses = self.resolver.proxy_addresses(&hop.host).await?;
        let mut stream = Stream::Plain(dial(&addresses, hop.port).await?);
        if hop.is_encrypted {
            stream = tls_handshake(stream, &hop.host, &configs.http1).await?;
        }
        let target = format!("{}:{}", origin.host(), origin.port());
        let opening = tunnel_through(stream, &target, hop.credential.as_ref());
        opening.await.map_err(ConnectFailure::Broken)
    }
}

/// Connects to the first address that answers.
///
/// If the first family is slow, the other gets its chance beside it (RFC 8305).
async fn dial(addresses: &[IpAddr], port: u16) -> Result<TcpStream, ConnectFailure> {
    let is_v6 = addresses.first().is_some_and(IpAddr::is_ipv6);
    let (preferred, other): (Vec<_>, Vec<_>) = addresses
        .iter()
        .map(|&address| SocketAddr::new(address, port))
        .partition(|address| address.is_ipv6() == is_v6);
    let stream = if other.is_empty() {
        dial_in_order(&preferred).await
    } else {
        race(&preferred, &other).await
    };
    let stream = stream.map_err(|error| ConnectFailure::Broken(error.into()))?;
    // Where the system knows no such thing, it goes without.
    drop(stream.set_nodelay(true));
    let _ = rustix::net::sockopt::set_socket_keepalive(&stream, true);
    let _ = rustix::net::sockopt::set_tcp_keepidle(&stream, TCP_KEEPALIVE);
    Ok(stream)
}

async fn race(preferred: &[SocketAddr], other: &[SocketAddr]) -> io::Result<TcpStream> {
    let first = dial_in_order(preferred);
    tokio::pin!(first);
    // The preferred family has a head start; the loser is dropped, which closes its socket.
    tokio::select! {
        stream = &mut first => match stream {
            Ok(stream) => return Ok(stream),
            Err(_) => return dial_in_order(other).await,
        },
        () = sleep(FAMILY_HEAD_START) => {}
    }
    let second = dial_in_order(other);
    tokio::pin!(second);
    // Either may be first now; only if both fail does the connection.
    tokio::select! {
        stream = &mut first => match stream {
            Ok(stream) => Ok(stream),
            Err(_) => second.await,
        },
        stream = &mut second => match stream {
            Ok(stream) => Ok(stream),
            Err(_) => first.await,
        },
    }
}

async fn dial_in_order(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

async fn tls_handshake(
    stream: Stream,
    host: &str,
    config: &Arc<ClientConfig>,
) -> Result<Stream, ConnectFailure> {
    let name = match Host::parse(host) {
        Ok(Host::Ipv4(address)) => Ok(ServerName::from(IpAddr::from(address))),
        Ok(Host::Ipv6(address)) => Ok(ServerName::from(IpAddr::from(address))),
        _ => ServerName::try_from(host.trim_end_matches('.').to_owned()),
    };
    let name = name.map_err(|error| ConnectFailure::Broken(error.into()))?;
    let connecting = TlsConnector::from(Arc::clone(config)).connect(name, stream);
    match connecting.await {
        Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
        Err(source) => Err(ConnectFailure::Broken(TlsHandshakeFailed { source }.into())),
    }
}

/// Asks a proxy for a tunnel (RFC 9110 §9.3.6) and returns its inside.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the guarded client that all other code uses"
)]
async fn tunnel_through(
    stream: Stream,
    target: &str,
    credential: Option<&HeaderValue>,
) -> Result<Stream, Box<dyn Error + Send + Sync>> {
    let mut request = http::Request::new(FullBody::default());
    *request.method_mut() = Method::CONNECT;
    *request.uri_mut() = Uri::builder().authority(target).build()?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(target)?);
    headers.insert(USER_AGENT, AGENT);
    if let Some(credential) = credential {
        headers.insert(PROXY_AUTHORIZATION, credential.clone());
    }
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_TUNNEL_HEAD)
        .handshake(TokioIo::new(stream))
        .await?;
    // Ends with the tunnel's beginning.
    drop(tokio::spawn(connection.with_upgrades()));
    let response = sender.send_request(request).await?;
    if response.status() != http::StatusCode::OK {
        let status = response.status().as_u16();
        return Err(TunnelRefused { status }.into());
    }
    let inside = hyper::upgrade::on(response).await?;
    let parts = inside.downcast::<TokioIo<Stream>>();
    match parts {
        Ok(parts) if parts.read_buf.is_empty() => Ok(parts.io.into_inner()),
        _ => Err(TunnelRefused { status: 200 }.into()),
    }
}

const MAX_TUNNEL_HEAD: usize = 8 * 1024;
