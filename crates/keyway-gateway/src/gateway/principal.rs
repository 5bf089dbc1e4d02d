//! Who may use the gateway: clients with a token that the vault knows now, and our own user.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use keyway_transport::Peer;
use tokio::time::Instant;

use crate::timeouts::{TOKEN_CACHE_TIME, TOKEN_READ_PAUSE};
use keyway_policy::TokenUses;
use keyway_policy::{GatewayToken, TokenHash, TokenReader};
use keyway_secret::{Clock as _, SystemClock};

/// The sender of a request.
#[derive(Debug, Clone)]
pub(super) enum Principal {
    /// A client with a gateway token.
    Token(Arc<GatewayToken>),
    /// A process of our own user, on the socket.
    SameUser,
}

impl Principal {
    pub(super) fn opens(&self, plugin: &str, server: &str) -> bool {
        match self {
            Self::Token(token) => token.opens(plugin, server),
            Self::SameUser => true,
        }
    }

    /// Says whether it opens every server, now and later.
    pub(super) fn opens_all(&self) -> bool {
        match self {
            Self::Token(token) => token.servers.is_none(),
            Self::SameUser => true,
        }
    }

    /// Returns the account that it is bound to, if it is a service account.
    pub(super) fn account(&self) -> Option<&str> {
        match self {
            Self::Token(token) => token.account(),
            Self::SameUser => None,
        }
    }

    /// Returns the name by which policies know the client; `None` for a process of our own user.
    pub(super) fn client(&self) -> Option<&str> {
        match self {
            Self::Token(token) => Some(&token.name),
            Self::SameUser => None,
        }
    }

    /// Returns what a person calls it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Token(token) => &token.name,
            Self::SameUser => "this user",
        }
    }

    /// Returns what tells it apart from others.
    pub(super) fn id(&self) -> Option<TokenHash> {
        match self {
            Self::Token(token) => Some(token.hash()),
            Self::SameUser => None,
        }
    }
}

/// The gateway tokens that are valid.
pub(super) struct TokenTable {
    read: TokenReader,
    pub(super) uses: Arc<TokenUses>,
    /// Held for one look or one replacement, never across an await.
    table: RwLock<Table>,
    /// Held while the tokens are read, so that one read serves all requests that wait. A request
    /// that is dropped meanwhile releases it; the read ends on its thread, and the next one reads
    /// again. Taken before `table`.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Table {
    known: HashMap<TokenHash, Arc<GatewayToken>>,
    read_at: Option<Instant>,
}

impl fmt::Debug for TokenTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenTable")
    }
}

impl TokenTable {
    pub(super) fn new(read: TokenReader) -> Self {
        Self {
            read,
            uses: Arc::default(),
            table: RwLock::default(),
            reading: tokio::sync::Mutex::new(()),
        }
    }

    /// Returns the principal of a request; `None` if it is unknown.
    pub(super) async fn principal(&self, peer: Peer, headers: &HeaderMap) -> Option<Principal> {
        if peer == Peer::SameUser {
            return Some(Principal::SameUser);
        }
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        let value = shown.next().filter(|_| shown.next().is_none())?;
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let hash = TokenHash::of(token.trim());
        let found = self.find(hash).await?;
        self.uses.note(&found, SystemClock.wall());
        Some(Principal::Token(found))
    }

    /// Says whether a gateway token is still valid, by what was last read.
    pub(super) fn has(&self, hash: TokenHash) -> bool {
        self.table().known.contains_key(&hash)
    }

    async fn find(&self, hash: TokenHash) -> Option<Arc<GatewayToken>> {
        let (found, age) = {
            let table = self.table();
            let age = table.read_at.map(|at| at.elapsed());
            (table.known.get(&hash).cloned(), age)
        };
        // One that is not known may be new; guessing must not keep the vault busy.
        let fresh = if found.is_some() {
            TOKEN_CACHE_TIME
        } else {
            TOKEN_READ_PAUSE
        };
        if age.is_some_and(|age| age < fresh) {
            return found;
        }
        self.refresh().await;
        self.table().known.get(&hash).cloned()
    }

    /// Reads the gateway tokens again. If that fails, no token is accepted.
    pub(super) async fn refresh(&self) {
        let begun = Instant::now();
        let _turn = self.reading.lock().await;
        if self.table().read_at.is_some_and(|at| at > begun) {
            return;
        }
        let read = Arc::clone(&self.read);
        let all = tokio::task::spawn_blocking(move || read()).await;
        let all = all.ok().and_then(Result::ok).unwrap_or_default();
        let known = all.into_iter().map(|it| (it.hash(), Arc::new(it)));
        let table = Table {
            known: known.collect(),
            read_at: Some(Instant::now()),
        };
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = table;
    }

    fn table(&self) -> std::sync::RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }
}
