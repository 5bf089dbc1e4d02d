//! The two lines by which both sides find out whether they are alike.

use serde::{Deserialize, Serialize};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::SharedRequest;
use keyway::connect::{ConnectionFingerprint, FingerprintKey};
use keyway_secret::random;

/// What makes one handshake differ from every other, so that no answer can be replayed.
#[derive(Debug)]
pub(super) struct Nonce(String);

impl Nonce {
    pub(super) fn random() -> Option<Self> {
        Some(Self(random::token().ok()?.expose().clone()))
    }
}

/// What a process asks for, and proof of what a connection of its own would depend on.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientHello {
    keyway: u32,
    pub(super) plugin: String,
    pub(super) server: String,
    nonce: String,
    proof: [u8; 32],
}

impl ClientHello {
    pub(super) fn new(wanted: SharedRequest<'_>, nonce: Nonce, key: &FingerprintKey) -> Self {
        let proof = proof(CLIENT_LABEL, &nonce.0, &wanted.fingerprint, key);
        Self {
            keyway: VERSION,
            plugin: wanted.plugin.to_owned(),
            server: wanted.server.to_owned(),
            nonce: nonce.0,
            proof: *proof.as_bytes(),
        }
    }

    /// Says whether its sender would make the same connection as we would.
    pub(super) fn matches(&self, own: &ConnectionFingerprint, key: &FingerprintKey) -> bool {
        self.keyway == VERSION && proof(CLIENT_LABEL, &self.nonce, own, key).matches(&self.proof)
    }

    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let line = read_line(from).await?;
        Ok(serde_json::from_slice(&line)?)
    }

    pub(super) async fn write(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        write_line(to, self).await
    }
}

/// Proof that the listener has the same key and would make the same connection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerHello {
    keyway: u32,
    proof: Option<[u8; 32]>,
}

impl ServerHello {
    pub(super) fn new(
        client_hello: &ClientHello,
        own: &ConnectionFingerprint,
        key: &FingerprintKey,
    ) -> Self {
        let proof = proof(SERVER_LABEL, &client_hello.nonce, own, key);
        Self {
            keyway: VERSION,
            proof: Some(*proof.as_bytes()),
        }
    }

    /// Refuses, without a reason.
    pub(super) async fn refuse(to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let refusal = Self {
            keyway: VERSION,
            proof: None,
        };
        refusal.write(to).await
    }

    pub(super) async fn write(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        write_line(to, self).await
    }

    /// Reads the answer; `None` if it is a refusal.
    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let line = read_line(from).await?;
        let server_hello: Self = serde_json::from_slice(&line)?;
        Ok(Some(server_hello).filter(|it| it.keyway == VERSION && it.proof.is_some()))
    }

    pub(super) fn matches(
        &self,
        client_hello: &ClientHello,
        own: &ConnectionFingerprint,
        key: &FingerprintKey,
    ) -> bool {
        let expected = proof(SERVER_LABEL, &client_hello.nonce, own, key);
        self.proof.is_some_and(|proof| expected.matches(&proof))
    }
}

fn proof(
    side: &str,
    nonce: &str,
    fingerprint: &ConnectionFingerprint,
    key: &FingerprintKey,
) -> ConnectionFingerprint {
    key.hash(side, &[nonce.as_bytes(), fingerprint.as_bytes()])
}

/// Reads a line byte by byte: the next reader gets what follows it.
async fn read_line(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    while line.len() < MAX_LINE_BYTES {
        match from.read_u8().await? {
            b'\n' => return Ok(line),
            byte => line.push(byte),
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

async fn write_line(to: &mut (impl AsyncWrite + Unpin), it: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(it)?;
    line.push(b'\n');
    to.write_all(&line).await?;
    to.flush().await
}

const VERSION: u32 = 1;
const CLIENT_LABEL: &str = "sharing 1 guest";
const SERVER_LABEL: &str = "sharing 1 host";
const MAX_LINE_BYTES: usize = 4096;
