//! A network that does not do what it should, between a client and a [`Rig`](crate::rig::Rig).

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A proxy that passes bytes on as it is told; it lives as long as the process.
#[derive(Debug, Clone)]
pub struct ChaosProxy {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    trouble: Fault,
    /// Bytes to the client since the trouble was set, pages of a browser left out.
    passed: usize,
}

/// What happens to connections, from the next one on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// After so many bytes to the client, over all connections, all are closed; then there is none.
    CutAfter(usize),
    /// They are accepted, and closed while the request is not read, which the kernel says at once.
    Reset,
    /// They are accepted, and nothing ever comes.
    HalfOpen,
    /// Each piece of an answer is held up for so long.
    Delay(Duration),
    /// One byte of an answer at a time, with so much time between.
    Drip(Duration),
}

#[expect(clippy::expect_used, reason = "a test without its network must stop")]
impl ChaosProxy {
    /// Listens; where it leads is said by [`Self::lead_to`].
    pub(crate) fn bind() -> (Self, TcpListener) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::default();
        (Self { port, state }, listener)
    }

    /// Passes everything on to a port.
    pub(crate) fn lead_to(&self, listener: TcpListener, upstream: u16) {
        let proxy = self.clone();
        drop(thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let proxy = proxy.clone();
                drop(thread::spawn(move || drop(proxy.pass(client, upstream))));
            }
        }));
    }

    /// Returns the port that clients see.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Sets what happens from now on, and counts from zero.
    pub fn set(&self, trouble: Fault) {
        *self.lock() = State { trouble, passed: 0 };
    }

    /// Returns how many bytes went to the client since [`Self::set`].
    #[must_use]
    pub fn passed(&self) -> usize {
        self.lock().passed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self, mut client: TcpStream, upstream: u16) -> io::Result<()> {
        client.set_nodelay(true)?;
        let trouble = self.lock().trouble;
        let mut first = [0; 4096];
        match trouble {
            Fault::Reset => {
                // What was not read when it is closed makes it a reset.
                client.peek(&mut first)?;
                return Ok(());
            }
            Fault::HalfOpen => {
                // Until the client has had enough.
                return io::copy(&mut client, &mut io::sink()).map(drop);
            }
            _ => {}
        }
        let length = client.read(&mut first)?;
        let request = first.get(..length).unwrap_or_default();
        let is_browser = request.starts_with(b"GET /authorize");
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, upstream))?;
        server.set_nodelay(true)?;
        server.write_all(request)?;
        let (mut up_from, mut up_to) = (client.try_clone()?, server.try_clone()?);
        drop(thread::spawn(move || {
            drop(io::copy(&mut up_from, &mut up_to));
            drop(up_to.shutdown(Shutdown::Write));
        }));
        let ended = if is_browser {
            io::copy(&mut server, &mut client).map(drop)
        } else {
            self.answer(&mut server, &mut client)
        };
        drop(client.shutdown(Shutdown::Both));
        drop(server.shutdown(Shutdown::Both));
        ended
    }

    fn answer(&self, server: &mut TcpStream, client: &mut TcpStream) -> io::Result<()> {
        let mut piece = [0; 4096];
        loop {
            let length = server.read(&mut piece)?;
            if length == 0 {
                return Ok(());
            }
            let piece = piece.get(..length).unwrap_or_default();
            let (kept, is_cut, trouble) = self.count(length);
            match trouble {
                Fault::Drip(pause) => {
                    for byte in piece {
                        client.write_all(&[*byte])?;
                        // Slow on command.
                        thread::sleep(pause);
                    }
                }
                Fault::Delay(pause) => {
                    // Slow on command.
                    thread::sleep(pause);
                    client.write_all(piece)?;
                }
                _ => client.write_all(piece.get(..kept).unwrap_or_default())?,
            }
            if is_cut {
                return Ok(());
            }
        }
    }

    /// Counts bytes to the client; says how many of them may pass, and whether they are the last.
    fn count(&self, length: usize) -> (usize, bool, Fault) {
        let mut state = self.lock();
        let before = state.passed;
        state.passed += length;
        let trouble = state.trouble;
        let Fault::CutAfter(limit) = trouble else {
            return (length, false, trouble);
        };
        if state.passed < limit {
            return (length, false, trouble);
        }
        state.trouble = Fault::None;
        (limit.saturating_sub(before).min(length), true, trouble)
    }
}
