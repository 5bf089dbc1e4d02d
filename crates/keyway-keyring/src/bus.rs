//! One connection to a message bus, for one task and up to one deadline.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use keyway_vault::{KeyringAbsence, KeyringFailure};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::address::BusAddress;
use crate::malformed::Malformed;
use crate::message::{Call, Kind, Message};
use crate::wire::Writer;

/// A connection after the D-Bus handshake.
#[derive(Debug)]
pub(crate) struct Bus {
    stream: UnixStream,
    deadline: Instant,
    serial: u32,
    /// Signals that came while an answer was waited for.
    signals: Vec<Message>,
}

impl Bus {
    /// Connects to the first bus that listens, and introduces us.
    pub(crate) fn connect(addresses: &[BusAddress], deadline: Instant) -> Result<Self, BusError> {
        let stream = addresses.iter().find_map(|address| address.connect().ok());
        let stream = stream.ok_or(BusError::NoBus)?;
        check_peer(&stream)?;
        let mut bus = Self {
            stream,
            deadline,
            serial: 0,
            signals: Vec::new(),
        };
        bus.authenticate()?;
        bus.call(bus_call("Hello", "", Writer::default()))?;
        Ok(bus)
    }

    /// Gives everything from now on until `deadline`.
    pub(crate) const fn extend(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// Asks to be told of signals.
    pub(crate) fn add_match(&mut self, rule: &str) -> Result<(), BusError> {
        let mut body = Writer::default();
        body.text(rule);
        self.call(bus_call("AddMatch", "s", body)).map(drop)
    }

    /// Calls a method and waits for its answer.
    pub(crate) fn call(&mut self, call: Call<'_>) -> Result<Message, BusError> {
        self.serial = self.serial.wrapping_add(1).max(1);
        let serial = self.serial;
        self.send(call.to_bytes(serial).as_slice())?;
        loop {
            let message = self.receive()?;
            match &message.kind {
                Kind::Return(to) if *to == serial => return Ok(message),
                Kind::Error(to, name) if *to == serial => {
                    return Err(BusError::Refused {
                        name: keyway_secret::printable(name).chars().take(100).collect(),
                    });
                }
                Kind::Signal if self.signals.len() < SIGNALS => self.signals.push(message),
                _ => {}
            }
        }
    }

    /// Waits for a signal of the object at `path`.
    pub(crate) fn wait_for(&mut self, path: &str, member: &str) -> Result<Message, BusError> {
        let is_it = |message: &Message| {
            message.kind == Kind::Signal && message.path == path && message.member == member
        };
        if let Some(at) = self.signals.iter().position(is_it) {
            return Ok(self.signals.swap_remove(at));
        }
        loop {
            let message = self.receive()?;
            if is_it(&message) {
                return Ok(message);
            }
        }
    }

    /// Authenticates by the credentials of the socket (D-Bus specification, "EXTERNAL").
    fn authenticate(&mut self) -> Result<(), BusError> {
        let user = rustix::process::geteuid().as_raw().to_string();
        let user: String = user.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.send(format!("\0AUTH EXTERNAL {user}\r\n").as_bytes())?;
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            if line.len() >= LINE {
                return Err(BusError::NotAuthenticated);
            }
            let mut byte = [0];
            self.fill(&mut byte)?;
            line.extend(byte);
        }
        if !line.starts_with(b"OK ") {
            return Err(BusError::NotAuthenticated);
        }
        self.send(b"BEGIN\r\n")
    }

    fn receive(&mut self) -> Result<Message, BusError> {
        let mut prefix = [0; Message::PREFIX];
        self.fill(&mut prefix)?;
        let mut bytes = Zeroizing::new(vec![0; Message::length(&prefix)?]);
        let (start, rest) = bytes
            .split_at_mut_checked(prefix.len())
            .ok_or(Malformed::Short)?;
        start.copy_from_slice(&prefix);
        self.fill(rest)?;
        Ok(Message::parse(&bytes)?)
    }

    fn send(&mut self, mut bytes: &[u8]) -> Result<(), BusError> {
        while !bytes.is_empty() {
            let left = self.time_left()?;
            self.stream.set_write_timeout(Some(left))?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn fill(&mut self, mut buffer: &mut [u8]) -> Result<(), BusError> {
        while !buffer.is_empty() {
            let left = self.time_left()?;
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(read) => buffer = buffer.get_mut(read..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn time_left(&self) -> Result<Duration, BusError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(BusError::TimedOut);
        }
        Ok(left)
    }
}

fn bus_call<'a>(member: &'a str, signature: &'a str, body: Writer) -> Call<'a> {
    Call {
        destination: "org.freedesktop.DBus",
        path: "/org/freedesktop/DBus",
        interface: "org.freedesktop.DBus",
        member,
        signature,
        body,
    }
}

/// Refuses a socket that another user listens on: any user can take an abstract one.
#[cfg(target_os = "linux")]
fn check_peer(stream: &UnixStream) -> Result<(), BusError> {
    let peer = rustix::net::sockopt::socket_peercred(stream).map_err(io::Error::from)?;
    let ours = rustix::process::geteuid();
    if is_trusted(peer.uid.as_raw(), ours.as_raw()) {
        return Ok(());
    }
    Err(BusError::ForeignBus)
}

/// Elsewhere another user cannot take the session bus.
#[cfg(not(target_os = "linux"))]
fn check_peer(_stream: &UnixStream) -> Result<(), BusError> {
    Ok(())
}

/// Tells whether a bus of user `peer` may see the secrets of user `ours`.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "asked on Linux alone")
)]
const fn is_trusted(peer: u32, ours: u32) -> bool {
    peer == ours || peer == SUPERUSER
}

/// Why the bus did not do what was asked.
#[derive(Debug, Error)]
pub(crate) enum BusError {
    #[error("no session bus is running")]
    NoBus,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "found on Linux alone")
    )]
    #[error("the session bus belongs to another user")]
    ForeignBus,
    #[error("the session bus refused authentication")]
    NotAuthenticated,
    #[error("timed out")]
    TimedOut,
    #[error("the answer was `{name}`")]
    Refused { name: String },
    #[error("the answer cannot be read: {0}")]
    Malformed(#[from] Malformed),
    #[error("the connection to the session bus failed")]
    Connection(#[source] io::Error),
}

impl From<io::Error> for BusError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Connection(error),
        }
    }
}

impl From<BusError> for KeyringFailure {
    fn from(error: BusError) -> Self {
        match &error {
            BusError::NoBus => Self::Absent(KeyringAbsence::SessionBus),
            BusError::ForeignBus => Self::Absent(KeyringAbsence::ForeignBus),
            BusError::TimedOut => Self::TimedOut,
            BusError::Refused { name } => match name.as_str() {
                "org.freedesktop.Secret.Error.IsLocked" => Self::Locked,
                name if NOT_THERE.contains(&name) => Self::Absent(KeyringAbsence::Service),
                name if TOO_SLOW.contains(&name) => Self::TimedOut,
                _ => Self::Failed(io::Error::other(error)),
            },
            _ => Self::Failed(io::Error::other(error)),
        }
    }
}

/// The bus's errors for a name without an owner that cannot be started either.
const NOT_THERE: [&str; 7] = [
    "org.freedesktop.DBus.Error.ServiceUnknown",
    "org.freedesktop.DBus.Error.NameHasNoOwner",
    "org.freedesktop.DBus.Error.Spawn.ServiceNotFound",
    "org.freedesktop.DBus.Error.Spawn.ExecFailed",
    "org.freedesktop.DBus.Error.Spawn.ChildExited",
    "org.freedesktop.DBus.Error.Spawn.ChildSignaled",
    "org.freedesktop.DBus.Error.Spawn.Failed",
];
const TOO_SLOW: [&str; 2] = [
    "org.freedesktop.DBus.Error.Timeout",
    "org.freedesktop.DBus.Error.TimedOut",
];
const SUPERUSER: u32 = 0;
/// No line of the handshake is longer.
const LINE: usize = 512;
/// How many signals are kept while an answer is waited for.
const SIGNALS: usize = 16;

#[cfg(test)]
mod tests;
