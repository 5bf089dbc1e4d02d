//! Asks a gateway that runs how its servers are, over its private socket.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use keyway_code::{Code, ServerState};
use serde::Deserialize;

use crate::sharing::is_own_socket;
use crate::timeouts::STATUS_TIMEOUT;

/// A server as a gateway that runs knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayServer {
    /// `PLUGIN:SERVER`.
    pub id: String,
    /// How it is.
    pub state: ServerState,
    /// What is wrong, if anything is.
    pub code: Option<Code>,
    /// Since when, as RFC 3339 writes it.
    pub since: Option<String>,
}

/// Returns the servers that a gateway at this socket has connected to, or tried to; none where none
/// listens, or it belongs to another user. Blocks, for a second at most.
#[must_use]
pub fn servers(socket: &Path) -> Vec<GatewayServer> {
    let listed = ask(socket).and_then(|text| serde_json::from_str::<Listed>(&text).ok());
    let servers = listed.map(|listed| listed.servers).unwrap_or_default();
    servers.into_iter().filter_map(Row::read).collect()
}

#[derive(Deserialize)]
struct Listed {
    servers: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    state: String,
    code: Option<String>,
    since: Option<String>,
}

impl Row {
    fn read(self) -> Option<GatewayServer> {
        let Self {
            id,
            state,
            code,
            since,
        } = self;
        let code = code.and_then(|text| Code::ALL.iter().copied().find(|it| it.as_str() == text));
        let state = match (state.as_str(), code) {
            ("connected", _) => ServerState::CONNECTED,
            ("needs-auth" | "failed", Some(code)) => code.state(),
            _ => return None,
        };
        Some(GatewayServer {
            id,
            state,
            code,
            since,
        })
    }
}

/// Returns the body of the answer. One request on a connection of its own: the answer ends with it.
fn ask(socket: &Path) -> Option<String> {
    if !is_own_socket(socket) {
        return None;
    }
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(STATUS_TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(STATUS_TIMEOUT)).ok()?;
    stream.write_all(REQUEST).ok()?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
}

const REQUEST: &[u8] = b"GET /v1/servers HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
const MAX_ANSWER: u64 = 8 * 1024 * 1024;
