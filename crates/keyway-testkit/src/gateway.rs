//! `keyway serve` as a process, and HTTP to it.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::{Keyway, PATIENCE, Running};

/// A server that has said where it listens; it is killed with this value.
///
/// Every method panics on failure: it is for tests.
#[derive(Debug)]
pub struct Gateway {
    /// The process; its streams are read by the gateway.
    pub running: Running,
    port: u16,
    said: Arc<Mutex<String>>,
}

#[expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without its gateway must stop"
)]
impl Gateway {
    /// Starts `keyway serve` on a port of its own; `call` has the folder and the variables, and
    /// `words` follow.
    #[must_use]
    pub fn start(call: Keyway, words: &[&str]) -> Self {
        let call = call.args(["serve", "--listen", "127.0.0.1:0"]);
        Self::listening(&call.args(words.iter().copied()))
    }

    /// Starts any program that prints an address on loopback, and waits for that.
    #[must_use]
    pub fn listening(call: &Keyway) -> Self {
        let mut running = call.start();
        drop(running.child.stdin.take());
        let said: Arc<Mutex<String>> = Arc::default();
        let heard = Arc::clone(&said);
        let stderr = BufReader::new(running.child.stderr.take().expect("a pipe"));
        let errors = thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                lock(&heard).push_str(&format!("{line}\n"));
            }
        });
        let mut stdout = BufReader::new(running.child.stdout.take().expect("a pipe"));
        let port = loop {
            let mut line = String::new();
            if stdout.read_line(&mut line).unwrap_or(0) == 0 {
                drop(running);
                errors.join().expect("the reader");
                panic!("it does not listen: {}", lock(&said));
            }
            if let Some(port) = port_in(&line) {
                break port;
            }
        };
        // Nothing that it prints later may hold it up.
        drop(thread::spawn(move || {
            io::copy(&mut stdout, &mut io::sink())
        }));
        Self {
            running,
            port,
            said,
        }
    }

    /// Makes a capability, with what follows `keyway token new`.
    #[must_use]
    pub fn token(call: Keyway, words: &[&str]) -> String {
        let call = call.args(["token", "new"]);
        let made = call.args(words.iter().copied()).run();
        assert_eq!(made.code, 0, "{}", made.everything());
        made.stdout.trim().to_owned()
    }

    /// Returns the port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns an address of it.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns what it has said on its error stream.
    #[must_use]
    pub fn said(&self) -> String {
        lock(&self.said).clone()
    }

    /// Posts a message as a client of MCP does, and returns the whole answer.
    #[must_use]
    pub fn post(&self, path: &str, token: Option<&str>, message: &str) -> String {
        let shown = token.map_or_else(String::new, |it| format!("authorization: Bearer {it}\r\n"));
        self.request("POST", path, &format!("{shown}{MCP}"), message)
    }

    /// Sends a request and returns the whole answer; each of the headers ends with its line.
    #[must_use]
    pub fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let headers = format!("{headers}connection: close\r\n");
        let mut stream = self.send(method, path, &headers, body);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sends a request and returns the connection on which the answer comes.
    #[must_use]
    pub fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a read that ends");
        let (port, length) = (self.port, body.len());
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).expect("a request");
        stream
    }
}

fn lock(text: &Mutex<String>) -> std::sync::MutexGuard<'_, String> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

fn port_in(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    rest.trim().split('/').next()?.parse().ok()
}

const MCP: &str =
    "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
