//! The service manager that started this process: the sockets it passes, and what we notify it of.

use std::net::TcpListener;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use keyway_gateway::gateway::{ListenError, Listener};
use listenfd::ListenFd;

use crate::environment::ProcessEnvironment;

/// Returns the listening sockets that the service manager passed; empty if it passed none.
///
/// If any of them is not a socket that a gateway listens on, all are refused: the author of the
/// unit meant something that we do not do.
pub(crate) fn inherited() -> Result<Vec<Listener>, ListenError> {
    if !ProcessEnvironment::has_sockets() {
        return Ok(Vec::new());
    }
    let mut handed = ListenFd::from_env();
    let (mut tcp, mut unix) = (Vec::new(), Vec::new());
    for at in 0..handed.len() {
        match take(&mut handed, at)? {
            Handed::Tcp(listener) => tcp.push(listener),
            Handed::Unix(listener) => unix.push(listener),
        }
    }
    let mut listeners = Vec::new();
    let mut tcp = tcp.into_iter();
    if let Some(first) = tcp.next() {
        listeners.push(Listener::inherited_loopback(first, tcp.next())?);
    }
    if tcp.next().is_some() {
        return Err(ListenError::Foreign);
    }
    for listener in unix {
        listeners.push(Listener::inherited_unix(listener)?);
    }
    Ok(listeners)
}

enum Handed {
    Tcp(TcpListener),
    Unix(UnixListener),
}

fn take(handed: &mut ListenFd, at: usize) -> Result<Handed, ListenError> {
    if let Ok(Some(listener)) = handed.take_unix_listener(at) {
        return Ok(Handed::Unix(listener));
    }
    match handed.take_tcp_listener(at) {
        Ok(Some(listener)) => Ok(Handed::Tcp(listener)),
        _ => Err(ListenError::Foreign),
    }
}

/// Tells the service manager how it stands, if there is one; it need not listen.
pub(crate) fn tell(state: State) {
    let Some(name) = ProcessEnvironment::notify_socket() else {
        return;
    };
    let text: &[u8] = match state {
        State::Ready => b"READY=1",
        State::Stopping => b"STOPPING=1",
    };
    let address = match name.as_bytes().split_first() {
        #[cfg(target_os = "linux")]
        Some((b'@', rest)) => SocketAddr::from_abstract_name(rest),
        Some((b'/', _)) => SocketAddr::from_pathname(&name),
        _ => return,
    };
    if let (Ok(address), Ok(socket)) = (address, UnixDatagram::unbound()) {
        let _unheard = socket.send_to_addr(text, &address);
    }
}

/// How a service stands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum State {
    /// It serves.
    Ready,
    /// It was told to end, and finishes what it does.
    Stopping,
}
