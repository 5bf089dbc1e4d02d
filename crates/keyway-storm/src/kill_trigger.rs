//! Kills a replica at a named point of one of its token requests.
//!
//! Which replica sent a request is told by the socket at its other end, which the kernel shows to be
//! one of the replica's.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::Mutex as AsyncMutex;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use crate::timeouts::LOOK_PAUSE;

/// Where a replica is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// The request has arrived, and the server has not read it.
    BeforeRead,
    /// The server has read it and decided nothing.
    AfterRead,
    /// The server has spent the token and said nothing.
    AfterRotation,
    /// The answer was written a moment ago.
    AfterAnswer,
    /// At no point of a request.
    AnyTime,
}

impl Point {
    pub(crate) const ALL: [Self; 5] = [
        Self::BeforeRead,
        Self::AfterRead,
        Self::AfterRotation,
        Self::AfterAnswer,
        Self::AnyTime,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::BeforeRead => "before the request is read",
            Self::AfterRead => "after the request is read",
            Self::AfterRotation => "after the token is spent",
            Self::AfterAnswer => "after the answer is written",
            Self::AnyTime => "at any time",
        }
    }
}

/// A kill that happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Killed {
    pub(crate) replica: usize,
    pub(crate) at: Duration,
}

/// Waits for the next request at a point.
#[derive(Debug)]
pub(crate) struct KillTrigger {
    /// Held for moments: what is armed, and the processes of the replicas.
    state: Mutex<State>,
    kills: UnboundedSender<Killed>,
    /// When all connections were looked at last. Held while others wait for the next look, which is
    /// one for all of them.
    looked: AsyncMutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct State {
    armed: Option<Point>,
    /// By number; with the address that the replica's requests come from, if that is its own.
    replicas: Vec<Option<(u32, IpAddr)>>,
    /// Whose connections on loopback are, by the ports of client and server, until they end. A look at
    /// all of them costs as much as one at one: tens of milliseconds where there are thousands.
    owners: HashMap<(u16, u16), (usize, u32)>,
}

impl KillTrigger {
    pub(crate) fn new(kills: UnboundedSender<Killed>) -> Self {
        Self {
            state: Mutex::default(),
            kills,
            looked: AsyncMutex::default(),
        }
    }

    pub(crate) fn arm(&self, point: Option<Point>) {
        self.lock().armed = point;
    }

    pub(crate) fn runs(&self, replica: usize, process: Option<(u32, IpAddr)>) {
        let mut state = self.lock();
        if state.replicas.len() <= replica {
            state.replicas.resize(replica + 1, None);
        }
        if let Some(known) = state.replicas.get_mut(replica) {
            *known = process;
        }
    }

    /// Kills the replica that sent a request, if this is the point that was waited for.
    pub(crate) fn pass(&self, point: Point, now: Duration, (client, server): (SocketAddr, u16)) {
        let mut state = self.lock();
        if state.armed != Some(point) {
            return;
        }
        // At once: with a pause the moment would be over.
        if state.owner(client, server).is_none() {
            state.look();
        }
        let Some((replica, pid)) = state.owner(client, server) else {
            return;
        };
        if kill(pid, Signal::KILL) {
            state.armed = None;
            // No receiver is left when the storm ends.
            self.kills.send(Killed { replica, at: now }).ok();
        }
    }

    /// Returns the replica at the other end of a connection.
    pub(crate) async fn sender(&self, ends: (SocketAddr, u16)) -> Option<usize> {
        self.owner(ends).await.map(|(replica, _)| replica)
    }

    /// Returns the process of the replica at the other end of a connection.
    pub(crate) async fn process(&self, ends: (SocketAddr, u16)) -> Option<u32> {
        self.owner(ends).await.map(|(_, pid)| pid)
    }

    /// Cancel safety: a look that is not made is made by the next one that waits.
    async fn owner(&self, (client, server): (SocketAddr, u16)) -> Option<(usize, u32)> {
        let owner = || self.lock().owner(client, server);
        if let Some(owner) = owner() {
            return Some(owner);
        }
        let mut looked = self.looked.lock().await;
        // The look that others waited for was one at this connection as well.
        if let Some(owner) = owner() {
            return Some(owner);
        }
        if let Some(at) = *looked {
            tokio::time::sleep_until(at + LOOK_PAUSE).await;
        }
        self.look();
        *looked = Some(Instant::now());
        owner()
    }

    /// Looks whose all connections are, before a replica is killed that had sent something over them.
    pub(crate) fn look(&self) {
        self.lock().look();
    }

    /// Forgets a connection that has ended: another one may have its ports.
    pub(crate) fn ended(&self, (client, server): (SocketAddr, u16)) {
        self.lock().owners.remove(&(client.port(), server));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn owner(&self, client: SocketAddr, server: u16) -> Option<(usize, u32)> {
        if !client.ip().is_loopback() {
            let numbered = self.replicas.iter().enumerate();
            let mut known = numbered.filter_map(|(number, it)| it.map(|it| (number, it)));
            let own = known.find(|(_, (_, address))| *address == client.ip())?;
            return Some((own.0, own.1.0));
        }
        self.owners.get(&(client.port(), server)).copied()
    }

    fn look(&mut self) {
        let sockets = sockets();
        for (number, replica) in self.replicas.iter().enumerate() {
            let Some((pid, _)) = replica else { continue };
            let own = open_sockets(*pid);
            let own = own.iter().filter_map(|inode| sockets.get(inode));
            self.owners
                .extend(own.map(|ports| (*ports, (number, *pid))));
        }
    }
}

/// Sends a signal to a process of ours; says whether it was there.
pub(crate) fn kill(pid: u32, signal: Signal) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
}

/// Returns the ports of all sockets on loopback, their own first, by inode.
fn sockets() -> HashMap<u64, (u16, u16)> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let port = |address: &str| {
        let (_, port) = address.split_once(':')?;
        u16::from_str_radix(port, 16).ok()
    };
    let sockets = table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let ports = (port(words.next()?)?, port(words.next()?)?);
        // Between the addresses and the inode: state, queues, timer, retransmissions, user, time-out.
        Some((words.nth(6)?.parse().ok()?, ports))
    });
    sockets.collect()
}

/// Returns the inodes of a process's sockets.
fn open_sockets(pid: u32) -> Vec<u64> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let open = open.into_iter().flatten().flatten();
    let inodes = open.filter_map(|it| {
        let link = std::fs::read_link(it.path()).ok()?;
        let inode = link.to_str()?.strip_prefix("socket:[")?;
        inode.strip_suffix(']')?.parse().ok()
    });
    inodes.collect()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn the_process_at_the_other_end_of_a_connection_is_found() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(("127.0.0.1", server)).unwrap();
        let address = client.local_addr().unwrap();
        let (kills, _) = tokio::sync::mpsc::unbounded_channel();
        let trigger = KillTrigger::new(kills);
        let (ends, own) = ((address, server), std::process::id());
        trigger.runs(0, Some((1, address.ip())));
        assert_eq!(trigger.sender(ends).await, None);
        trigger.runs(1, Some((own, address.ip())));
        assert_eq!(trigger.sender(ends).await, Some(1));
        assert_eq!(trigger.process(ends).await, Some(own));
        drop(client);
        assert_eq!(trigger.sender(ends).await, Some(1), "until it has ended");
        trigger.ended(ends);
        assert_eq!(trigger.sender(ends).await, None);
    }
}
