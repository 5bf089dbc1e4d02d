//! Session ids that say, sealed, what their session is: another replica takes a session over with
//! the id alone, and so does a gateway that was restarted.
//!
//! The seal names the principal and the route, so that an id opens for its owner and its path alone.

use std::time::UNIX_EPOCH;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyway::store::seal::{Context, Key};
use keyway_secret::{Clock as _, Secret, SystemClock};
use keyway_vault::{Namespace, Vault};
use serde::{Deserialize, Serialize};

use super::list_changed::ListChanged;
use super::principal::PrincipalId;
use super::routes::Route;

/// The key of session ids, which all replicas of a gateway share.
#[derive(Debug, Clone)]
pub struct SessionKey(Key);

/// What a session is, as far as another connection to its server needs it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SealedSession {
    /// The client's first request.
    pub(super) initialize: String,
    /// The version that was agreed on, as written.
    pub(super) version: Option<String>,
    pub(super) list_changed: ListChanged,
    /// A digest of the account whose tokens it uses, if it has used any.
    pub(super) account: Option<[u8; 32]>,
    /// After this time, in seconds since 1970, it counts no more.
    ends: u64,
}

impl SealedSession {
    /// A session that begins now.
    pub(super) fn new(
        initialize: String,
        version: Option<String>,
        list_changed: ListChanged,
        account: Option<[u8; 32]>,
    ) -> Self {
        Self {
            initialize,
            version,
            list_changed,
            account,
            ends: now() + LIFETIME_SECONDS,
        }
    }
}

impl SessionKey {
    /// Uses a key that was derived for this.
    #[must_use]
    pub const fn new(key: Key) -> Self {
        Self(key)
    }

    /// Returns the key of the gateways that use a vault, made at the first call; `None` if it cannot
    /// be kept.
    #[must_use]
    pub fn kept_in(vault: &Vault) -> Option<Self> {
        let kept = vault.sealed(Namespace::new("gateway-session").ok()?);
        let read = || {
            let found = kept.get(NAME).ok()??;
            let bytes = <&[u8; 32]>::try_from(found.value.expose().as_slice()).ok()?;
            Some(Self(Key::from_bytes(bytes)))
        };
        if let Some(key) = read() {
            return Some(key);
        }
        kept.put(NAME, Key::random().ok()?.expose()).ok()?;
        // Another gateway may have made one at the same time; the one that is kept counts for both.
        read()
    }

    /// Makes an id; `None` if it would be too long for a header, or without randomness.
    pub(super) fn seal(
        &self,
        session: &SealedSession,
        owner: PrincipalId,
        route: &Route,
    ) -> Option<Secret<String>> {
        let plain = serde_json::to_vec(session).ok()?;
        if plain.len() > MAX_BYTES {
            return None;
        }
        let sealed = self.0.seal(&plain, &place(owner, route)).ok()?;
        Some(Secret::new(URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// Opens an id; `None` if it is not one of ours, another principal's, for another path, or over.
    pub(super) fn open(
        &self,
        id: &str,
        owner: PrincipalId,
        route: &Route,
    ) -> Option<SealedSession> {
        if id.len() > 2 * MAX_BYTES {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(id).ok()?;
        let opened = self.0.open(&sealed, &place(owner, route)).ok()?;
        let session: SealedSession = serde_json::from_slice(opened.expose()).ok()?;
        (now() < session.ends).then_some(session)
    }
}

fn place(owner: PrincipalId, route: &Route) -> Context {
    let context = Context::new("gateway session");
    let context = match &owner {
        PrincipalId::SameUser => context.text("user").bytes(&[]),
        PrincipalId::Token(hash) => context.text("token").bytes(hash.as_bytes()),
        PrincipalId::Person(digest) => context.text("person").bytes(digest),
    };
    match route {
        Route::One(server) => context.text(&server.plugin).text(&server.name),
        Route::All(_) => context.text("").text(""),
    }
}

fn now() -> u64 {
    let now = SystemClock.wall().duration_since(UNIX_EPOCH);
    now.map_or(0, |it| it.as_secs())
}

const NAME: &str = "key";
/// A header of 8 KiB is taken by every server in front of us.
const MAX_BYTES: usize = 4 * 1024;
const LIFETIME_SECONDS: u64 = 24 * 60 * 60;
