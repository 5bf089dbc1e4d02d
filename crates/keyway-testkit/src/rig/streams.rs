//! HTTP with SSE, the transport of 2024-11-05: a stream at `/sse`, messages to `/messages`.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde::Serialize;

/// A stream that was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stream {
    /// When, since the start.
    pub opened: Duration,
    /// When its client was found to have gone.
    pub closed: Option<Duration>,
}

/// The streams of all clients, each known by its place.
#[derive(Debug, Default)]
pub(super) struct Streams {
    all: Vec<Stream>,
    open: HashMap<usize, (Sender<String>, TcpStream)>,
}

/// The end of a stream from which its client is written to.
#[derive(Debug)]
pub(super) struct Tap {
    stream: usize,
    messages: Receiver<String>,
    client: TcpStream,
}

impl Streams {
    pub(super) fn open(&mut self, client: &TcpStream, now: Duration) -> io::Result<Tap> {
        client.set_read_timeout(Some(LOOK))?;
        let (sender, messages) = channel();
        let stream = self.all.len();
        self.open.insert(stream, (sender, client.try_clone()?));
        self.all.push(Stream {
            opened: now,
            closed: None,
        });
        Ok(Tap {
            stream,
            messages,
            client: client.try_clone()?,
        })
    }

    /// Sends a message down a stream; returns `false` if it is not open.
    pub(super) fn send(&self, stream: &str, message: String) -> bool {
        let stream = stream.parse().ok();
        let stream = stream.and_then(|stream: usize| self.open.get(&stream));
        stream.is_some_and(|(stream, _)| stream.send(message).is_ok())
    }

    /// Closes those whose clients are gone. Done before each request is looked at, so that a stream
    /// that was closed before is known to be.
    pub(super) fn sweep(&mut self, now: Duration) {
        let gone = self.open.extract_if(|_, (_, client)| is_gone(client));
        for (stream, _) in gone {
            if let Some(stream) = self.all.get_mut(stream) {
                stream.closed.get_or_insert(now);
            }
        }
    }

    /// Drops every stream as a server does that is restarted.
    pub(super) fn drop_all(&mut self, now: Duration) {
        for (stream, (_, client)) in self.open.drain() {
            drop(client.shutdown(Shutdown::Both));
            if let Some(stream) = self.all.get_mut(stream) {
                stream.closed.get_or_insert(now);
            }
        }
    }

    pub(super) fn all(&self) -> &[Stream] {
        &self.all
    }
}

impl Tap {
    /// Writes messages until the client is gone and a write fails or the stream is removed.
    pub(super) fn run(mut self) -> io::Result<()> {
        let head =
            "HTTP/1.1 200 Rig\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let first = format!(
            "event: endpoint\ndata: /messages?stream={}\n\n",
            self.stream
        );
        self.client.write_all(format!("{head}{first}").as_bytes())?;
        while let Ok(message) = self.messages.recv() {
            let event = format!("data: {message}\n\n");
            self.client.write_all(event.as_bytes())?;
        }
        Ok(())
    }
}

fn is_gone(client: &TcpStream) -> bool {
    match client.peek(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => !is_silence(&error),
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// How long a client is listened for.
const LOOK: Duration = Duration::from_millis(1);
