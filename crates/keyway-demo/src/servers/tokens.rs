//! What the authorization server remembers. Of tokens and codes only fingerprints.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyway_secret::Clock as _;
use ring::digest::{SHA256, digest};

use crate::clock::DemoClock;
use crate::credentials::{fingerprint, random_hex, secret};
use crate::timeouts::CODE_LIFETIME;

/// Everything that was registered, asked and issued.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    clock: Arc<DemoClock>,
    clients: HashMap<String, Client>,
    questions: HashMap<String, Asked>,
    codes: HashMap<String, (Asked, Instant)>,
    access: HashMap<String, Access>,
    refresh: HashMap<String, Refresh>,
    /// Whether each family of refresh tokens still lives; one sign-in begins one family.
    families: Vec<bool>,
}

/// A client that registered itself.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) name: String,
    pub(super) redirect_uris: Vec<String>,
}

/// What a client asks a person for.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) client: String,
    pub(super) redirect_uri: String,
    pub(super) challenge: String,
    pub(super) state: String,
}

/// A pair of tokens, on its way out.
#[derive(Debug)]
pub(super) struct Issued {
    pub(super) access: String,
    pub(super) refresh: String,
}

#[derive(Debug)]
struct Access {
    family: usize,
    ends: Instant,
}

#[derive(Debug)]
struct Refresh {
    family: usize,
    client: String,
    is_used: bool,
}

/// What became of a refresh token.
#[derive(Debug)]
pub(super) enum Rotation {
    /// There is a new pair.
    Issued(Issued),
    /// It came a second time, so another client has it too: the whole family is revoked.
    Reused,
    /// It is unknown.
    Unknown,
}

impl Tokens {
    /// Tokens and codes expire by `clock`.
    pub(super) fn by(clock: Arc<DemoClock>) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// Takes a client in; `None` if there are too many.
    pub(super) fn register(&mut self, client: Client) -> Option<String> {
        let id = random_hex().filter(|_| self.clients.len() < MOST)?;
        self.clients.insert(id.clone(), client);
        Some(id)
    }

    /// Returns a client.
    pub(super) fn client(&self, id: &str) -> Option<&Client> {
        self.clients.get(id)
    }

    /// Keeps a request until a person agrees; returns the name to agree under.
    pub(super) fn ask(&mut self, asked: Asked) -> Option<String> {
        if self.questions.len() >= MOST {
            self.questions.clear();
        }
        let name = random_hex()?;
        self.questions.insert(fingerprint(&name), asked);
        Some(name)
    }

    /// Turns an agreement into a code; a question is answered once.
    pub(super) fn agree(&mut self, name: &str) -> Option<(Asked, String)> {
        let asked = self.questions.remove(&fingerprint(name))?;
        let code = secret()?;
        let ends = self.clock.monotonic() + CODE_LIFETIME;
        self.codes.insert(fingerprint(&code), (asked.clone(), ends));
        Some((asked, code))
    }

    /// Turns a code into tokens; whatever comes with it, a code is taken once (RFC 6749 §4.1.2).
    pub(super) fn exchange(
        &mut self,
        code: &str,
        verifier: &str,
        (client, redirect_uri): (&str, &str),
        life: Duration,
    ) -> Option<Issued> {
        let (asked, ends) = self.codes.remove(&fingerprint(code))?;
        // RFC 7636 §4.6
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let is_sound = self.clock.monotonic() < ends
            && asked.client == client
            && asked.redirect_uri == redirect_uri
            && asked.challenge == challenge;
        if !is_sound {
            return None;
        }
        self.families.push(true);
        self.issue(self.families.len() - 1, client, life)
    }

    /// Turns a refresh token into a new pair (RFC 9700 §4.14.2).
    pub(super) fn rotate(&mut self, token: &str, client: &str, life: Duration) -> Rotation {
        let Some(known) = self.refresh.get_mut(&fingerprint(token)) else {
            return Rotation::Unknown;
        };
        let family = known.family;
        if known.client != client || !self.families.get(family).is_some_and(|lives| *lives) {
            return Rotation::Unknown;
        }
        if std::mem::replace(&mut known.is_used, true) {
            self.end(family);
            return Rotation::Reused;
        }
        match self.issue(family, client, life) {
            Some(issued) => Rotation::Issued(issued),
            None => Rotation::Unknown,
        }
    }

    /// Says whether an access token is valid.
    pub(super) fn accepts(&self, token: &str) -> bool {
        self.access.get(&fingerprint(token)).is_some_and(|known| {
            let lives = self.families.get(known.family);
            self.clock.monotonic() < known.ends && lives.is_some_and(|lives| *lives)
        })
    }

    /// Ends the family of a token (RFC 7009); says whether there was one.
    pub(super) fn revoke(&mut self, token: &str) -> bool {
        let print = fingerprint(token);
        let by_refresh = self.refresh.get(&print).map(|known| known.family);
        let by_access = || self.access.get(&print).map(|known| known.family);
        let family = by_refresh.or_else(by_access);
        family.is_some_and(|family| self.end(family))
    }

    fn end(&mut self, family: usize) -> bool {
        let lives = self.families.get_mut(family);
        lives.is_some_and(|lives| std::mem::replace(lives, false))
    }

    fn issue(&mut self, family: usize, client: &str, life: Duration) -> Option<Issued> {
        let now = self.clock.monotonic();
        self.access.retain(|_, known| now < known.ends);
        let (access, refresh) = (secret()?, secret()?);
        let ends = now + life;
        self.access
            .insert(fingerprint(&access), Access { family, ends });
        let known = Refresh {
            family,
            client: client.to_owned(),
            is_used: false,
        };
        self.refresh.insert(fingerprint(&refresh), known);
        Some(Issued { access, refresh })
    }
}

/// Clients and questions that are kept.
const MOST: usize = 1000;

#[cfg(test)]
mod tests;
