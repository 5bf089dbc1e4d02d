//! Who may use the gateway: clients with a token that the vault knows now, people with an access
//! token of a listed issuer, and our own user.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use tokio::time::Instant;

use crate::timeouts::{TOKEN_CACHE_TIME, TOKEN_READ_PAUSE};
use keyway_people::Person;
use keyway_policy::TokenUses;
use keyway_policy::{GatewayToken, TokenHash, TokenReader};
use keyway_secret::{Clock as _, SystemClock};

/// The sender of a request.
#[derive(Debug, Clone)]
pub(super) enum Principal {
    /// A client with a gateway token.
    Token(Arc<GatewayToken>),
    /// A person with an access token, which is not kept.
    Person(Arc<PersonPrincipal>),
    /// A process of our own user, on the socket.
    SameUser,
}

/// A person, as requests are told apart by.
#[derive(Debug)]
pub(super) struct PersonPrincipal {
    pub(super) person: Person,
    is_admin: bool,
    /// The text of the person.
    name: String,
    digest: [u8; 32],
}

impl PersonPrincipal {
    pub(super) fn new(person: Person, is_admin: bool) -> Self {
        Self {
            name: person.to_string(),
            digest: person.digest(),
            person,
            is_admin,
        }
    }
}

/// What tells principals apart: sessions and connections belong to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PrincipalId {
    SameUser,
    Token(TokenHash),
    Person([u8; 32]),
}

impl Principal {
    pub(super) fn opens(&self, plugin: &str, server: &str) -> bool {
        match self {
            Self::Token(token) => token.opens(plugin, server),
            Self::Person(_) | Self::SameUser => true,
        }
    }

    /// Says whether it may see what concerns all servers, now and later.
    pub(super) fn opens_all(&self) -> bool {
        match self {
            Self::Token(token) => token.servers.is_none(),
            Self::Person(person) => person.is_admin,
            Self::SameUser => true,
        }
    }

    /// Returns the account that it is bound to, if it is a service account.
    pub(super) fn account(&self) -> Option<&str> {
        match self {
            Self::Token(token) => token.account(),
            Self::Person(_) | Self::SameUser => None,
        }
    }

    /// Returns the person, if it is one.
    pub(super) fn person(&self) -> Option<&Person> {
        match self {
            Self::Person(person) => Some(&person.person),
            Self::Token(_) | Self::SameUser => None,
        }
    }

    /// Returns the name by which policies know the client; `None` for a process of our own user.
    pub(super) fn client(&self) -> Option<&str> {
        match self {
            Self::Token(token) => Some(&token.name),
            Self::Person(person) => Some(&person.name),
            Self::SameUser => None,
        }
    }

    /// Returns what a person calls it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Token(token) => &token.name,
            Self::Person(person) => &person.name,
            Self::SameUser => "this user",
        }
    }

    /// Returns what tells it apart from others.
    pub(super) fn id(&self) -> PrincipalId {
        match self {
            Self::Token(token) => PrincipalId::Token(token.hash()),
            Self::Person(person) => PrincipalId::Person(person.digest),
            Self::SameUser => PrincipalId::SameUser,
        }
    }
}

/// Returns the bearer token of a request, if it has exactly one.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut shown = headers.get_all(AUTHORIZATION).iter();
    let value = shown.next().filter(|_| shown.next().is_none())?;
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
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

    /// Returns the principal of a gateway token; `None` if it is unknown.
    pub(super) async fn principal(&self, token: &str) -> Option<Principal> {
        let hash = TokenHash::of(token);
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
