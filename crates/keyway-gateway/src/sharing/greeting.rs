//! The two lines by which both sides find out whether they are alike.

use std::io;

use keyway_auth::oauth::random_token;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::Wanted;
use keyway::connect::{Likeness, LikenessKey};

/// What makes one greeting differ from every other, so that no answer serves twice.
#[derive(Debug)]
pub(super) struct Nonce(String);

impl Nonce {
    pub(super) fn random() -> Option<Self> {
        Some(Self(random_token().ok()?.expose().clone()))
    }
}

/// Who comes, and proof of what a connection of its own would depend on.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hello {
    keyway: u32,
    pub(super) plugin: String,
    pub(super) server: String,
    nonce: String,
    proof: [u8; 32],
}

impl Hello {
    pub(super) fn new(wanted: Wanted<'_>, nonce: Nonce, key: &LikenessKey) -> Self {
        let proof = proof(GUEST, &nonce.0, &wanted.likeness, key);
        Self {
            keyway: VERSION,
            plugin: wanted.plugin.to_owned(),
            server: wanted.server.to_owned(),
            nonce: nonce.0,
            proof: *proof.as_bytes(),
        }
    }

    /// Says whether it comes from who would make the connection that we would make.
    pub(super) fn is_alike(&self, own: &Likeness, key: &LikenessKey) -> bool {
        self.keyway == VERSION && proof(GUEST, &self.nonce, own, key).is(&self.proof)
    }

    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let line = read_line(from).await?;
        Ok(serde_json::from_slice(&line)?)
    }

    pub(super) async fn write(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        write_line(to, self).await
    }
}

/// Proof that who listens has the same key and would make the same connection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Welcome {
    keyway: u32,
    proof: Option<[u8; 32]>,
}

impl Welcome {
    pub(super) fn new(hello: &Hello, own: &Likeness, key: &LikenessKey) -> Self {
        let proof = proof(HOST, &hello.nonce, own, key);
        Self {
            keyway: VERSION,
            proof: Some(*proof.as_bytes()),
        }
    }

    /// Says no, and not why.
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
        let welcome: Self = serde_json::from_slice(&line)?;
        Ok(Some(welcome).filter(|it| it.keyway == VERSION && it.proof.is_some()))
    }

    pub(super) fn is_from_alike(&self, hello: &Hello, own: &Likeness, key: &LikenessKey) -> bool {
        let expected = proof(HOST, &hello.nonce, own, key);
        self.proof.is_some_and(|proof| expected.is(&proof))
    }
}

fn proof(side: &str, nonce: &str, likeness: &Likeness, key: &LikenessKey) -> Likeness {
    key.hash(side, &[nonce.as_bytes(), likeness.as_bytes()])
}

/// Reads a line byte by byte: what follows it is for somebody else.
async fn read_line(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    while line.len() < LONGEST {
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
const GUEST: &str = "sharing 1 guest";
const HOST: &str = "sharing 1 host";
const LONGEST: usize = 4096;
