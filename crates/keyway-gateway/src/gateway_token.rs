//! What a client has to show: a capability, kept as a hash, with the servers that it opens; and what
//! a host has to show before it may approve entries, kept in the same way.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};
use keyway_config::names::{of_server_id, path_segment, server_id};
use keyway_secret::{Secret, random, shell_word};
use keyway_vault::{Generation, Namespace, Vault, VaultError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A gateway token as it is stored. A reader of the record cannot use it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayToken {
    /// How the person calls the client that has it.
    pub name: String,
    /// What it opens; everything if there is no list.
    pub servers: Option<Vec<TokenScope>>,
    hash: TokenHash,
    /// Seconds since 1970; earlier versions did not record it.
    created: Option<u64>,
    /// The account that it is bound to, if it is for a job without a person.
    account: Option<String>,
}

/// The record of a token.
#[derive(Serialize, Deserialize)]
struct StoredToken {
    name: String,
    servers: Option<Vec<StoredScope>>,
    hash: TokenHash,
    #[serde(default)]
    created: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredScope {
    plugin: String,
    server: Option<String>,
}

impl GatewayToken {
    fn new(
        name: &str,
        servers: Option<Vec<TokenScope>>,
        (token, now): (&Secret<String>, SystemTime),
    ) -> Self {
        Self {
            name: name.to_owned(),
            servers,
            hash: TokenHash::of(token.expose()),
            created: now.duration_since(UNIX_EPOCH).ok().map(|it| it.as_secs()),
            account: None,
        }
    }

    /// Says whether it opens a server.
    #[must_use]
    pub fn opens(&self, plugin: &str, server: &str) -> bool {
        let scopes = self.servers.as_deref();
        scopes.is_none_or(|scopes| scopes.iter().any(|scope| scope.covers(plugin, server)))
    }

    /// Returns when it was made, if that was recorded.
    #[must_use]
    pub fn created_at(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_secs(self.created?))
    }

    /// Returns the record, which does not hold the token; `None` is for what cannot happen.
    fn to_record(&self) -> Option<Vec<u8>> {
        let scope = |TokenScope { plugin, server }: &TokenScope| StoredScope {
            plugin: plugin.clone(),
            server: server.clone(),
        };
        let servers = self.servers.as_ref();
        let stored = StoredToken {
            name: self.name.clone(),
            servers: servers.map(|all| all.iter().map(scope).collect()),
            hash: self.hash,
            created: self.created,
            account: self.account.clone(),
        };
        serde_json::to_vec(&stored).ok()
    }

    /// Reads a record; `None` if it is not one.
    fn from_record(record: &[u8]) -> Option<Self> {
        let StoredToken {
            name,
            servers,
            hash,
            created,
            account,
        } = serde_json::from_slice(record).ok()?;
        let scope = |StoredScope { plugin, server }| TokenScope { plugin, server };
        Some(Self {
            name,
            servers: servers.map(|all| all.into_iter().map(scope).collect()),
            hash,
            created,
            account,
        })
    }

    /// Returns the account whose sign-in it uses, if it is a service account: no person is asked.
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        self.account.as_deref()
    }

    /// Returns what the gateway tells apart its holders by.
    #[must_use]
    pub(crate) const fn hash(&self) -> TokenHash {
        self.hash
    }

    #[cfg(test)]
    pub(crate) fn for_test(token: &str, servers: Option<&[&str]>) -> Self {
        let scope = |text: &&str| TokenScope::read(text).unwrap();
        Self {
            name: "test".to_owned(),
            servers: servers.map(|all| all.iter().map(scope).collect()),
            hash: TokenHash::of(token),
            created: None,
            account: None,
        }
    }
}

/// One server of a plugin, or all of them. A name alone is never enough: any plugin may use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenScope {
    plugin: String,
    server: Option<String>,
}

impl TokenScope {
    /// Names one server.
    #[must_use]
    pub fn server(plugin: &str, server: &str) -> Self {
        Self {
            plugin: plugin.to_owned(),
            server: Some(server.to_owned()),
        }
    }

    /// Reads `PLUGIN:SERVER`, or `PLUGIN:*` for all of a plugin.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (plugin, server) = of_server_id(text)?;
        if plugin.is_empty() || server.is_empty() {
            return None;
        }
        Some(Self {
            plugin: plugin.into_owned(),
            server: (server != "*").then(|| server.to_owned()),
        })
    }

    /// Returns the plugin and the server, if it is one server.
    #[must_use]
    pub fn only_server(&self) -> Option<(&str, &str)> {
        Some((&self.plugin, self.server.as_deref()?))
    }

    fn covers(&self, plugin: &str, server: &str) -> bool {
        let same_server = self.server.as_deref().is_none_or(|own| own == server);
        self.plugin == plugin && same_server
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.server.as_deref().unwrap_or("*");
        f.write_str(&server_id(&self.plugin, server))
    }
}

/// The hash of a gateway token. It has 256 random bits, so that it needs no salt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    /// Hashes what a client showed.
    pub(crate) fn of(token: &str) -> Self {
        let mut hasher = Blake2b::<U32>::new();
        hasher.update(b"keyway capability 1\0");
        hasher.update(token.as_bytes());
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for TokenHash {
    type Err = NotAHash;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<Self, NotAHash> {
        crate::hex::bytes(text).map(Self).ok_or(NotAHash)
    }
}

/// A text that is not the hash of a token.
#[derive(Debug)]
pub(crate) struct NotAHash;

/// Says whether a token may have a name: it can be told apart in a table, and typed.
#[must_use]
pub fn is_token_name(name: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace();
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain)
}

/// Says how a client shows the token: at the server's own path if it opens only one, else at that of
/// all servers together.
#[must_use]
pub fn token_usage(name: &str, scopes: Option<&[TokenScope]>) -> String {
    let only = match scopes {
        Some([only]) => Some(only.to_string()),
        _ => None,
    };
    let path = only.as_deref().and_then(|only| only.split_once(':'));
    let path = path
        .filter(|(_, server)| *server != "*")
        .map(|(plugin, server)| {
            let (plugin, server) = (path_segment(plugin), path_segment(server));
            format!("/{plugin}/{server}")
        });
    let (name, path) = (shell_word(name), path.unwrap_or_default());
    format!(
        "The token is shown only this once. A client sends it as a header, for example:\n  \
         claude mcp add --transport http {name} http://127.0.0.1:5399/mcp{path} \
         --header \"Authorization: Bearer TOKEN\"\n\
         `keyway serve` prints its address, if it is another one.\n"
    )
}

/// Reads all gateway tokens; may block.
pub type TokenReader = Arc<dyn Fn() -> Result<Vec<GatewayToken>, VaultError> + Send + Sync>;

/// The gateway tokens in one vault.
#[derive(Debug)]
pub struct TokenStore<'a> {
    vault: &'a Vault,
    namespace: Namespace,
    prefix: &'static str,
}

impl<'a> TokenStore<'a> {
    /// Opens the register.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be used.
    pub fn new(vault: &'a Vault) -> Result<Self, VaultError> {
        Ok(Self {
            vault,
            namespace: Namespace::new("capability")?,
            prefix: CLIENT_PREFIX,
        })
    }

    /// Opens the register of hosts that may approve entries. Their tokens open no server, and those
    /// of clients approve nothing.
    ///
    /// # Errors
    ///
    /// As [`TokenStore::new`].
    pub fn of_hosts(vault: &'a Vault) -> Result<Self, VaultError> {
        Ok(Self {
            vault,
            namespace: Namespace::new("embedding-host")?,
            prefix: HOST_PREFIX,
        })
    }

    /// Issues a gateway token; the returned text is shown once and stored nowhere.
    ///
    /// # Errors
    ///
    /// Returns [`IssueError::NameTaken`] if there is one of that name.
    pub fn issue(
        &self,
        name: &str,
        servers: Option<Vec<TokenScope>>,
        now: SystemTime,
    ) -> Result<Secret<String>, IssueError> {
        self.issue_bound(name, servers, None, now)
    }

    /// Issues a gateway token for a job without a person: it opens one server, with the sign-in of
    /// one account, and with no other. The returned text is shown once and stored nowhere.
    ///
    /// # Errors
    ///
    /// As [`TokenStore::issue`].
    pub fn issue_service(
        &self,
        name: &str,
        (plugin, server): (&str, &str),
        account: &str,
        now: SystemTime,
    ) -> Result<Secret<String>, IssueError> {
        let servers = Some(vec![TokenScope::server(plugin, server)]);
        self.issue_bound(name, servers, Some(account), now)
    }

    fn issue_bound(
        &self,
        name: &str,
        servers: Option<Vec<TokenScope>>,
        account: Option<&str>,
        now: SystemTime,
    ) -> Result<Secret<String>, IssueError> {
        if self.registered(name)?.is_some() {
            let name = name.to_owned();
            return Err(IssueError::NameTaken { name });
        }
        let token = self.random()?;
        let mut kept = GatewayToken::new(name, servers, (&token, now));
        kept.account = account.map(str::to_owned);
        self.put(&kept)?;
        Ok(token)
    }

    fn random(&self) -> Result<Secret<String>, IssueError> {
        let token = random::token().map_err(|_| IssueError::NoRandomness)?;
        Ok(Secret::new(format!("{}{}", self.prefix, token.expose())))
    }

    fn put(&self, kept: &GatewayToken) -> Result<(), IssueError> {
        let bytes = kept.to_record().ok_or(IssueError::NoRandomness)?;
        self.vault
            .sealed(self.namespace.clone())
            .put(&kept.name, &bytes)?;
        Ok(())
    }

    /// Returns the token with which clients of the person's own reach one server, by their helper.
    ///
    /// A helper is run again and again, so that this token is kept, sealed like the rest of the
    /// vault. It is made at the first call. `None` if the person revoked it: a helper must not undo
    /// that by itself; `renew` does, on the person's word.
    ///
    /// # Errors
    ///
    /// Returns [`IssueError::Vault`] if the vault cannot be used.
    pub fn for_helper(
        &self,
        scope: &TokenScope,
        renew: bool,
        now: SystemTime,
    ) -> Result<Option<Secret<String>>, IssueError> {
        let name = format!("{HELPER_PREFIX}{scope}");
        let kept = self.vault.sealed(Namespace::new(HELPER_NAMESPACE)?);
        if renew || kept.get(&name)?.is_none() {
            let made = self.random()?;
            kept.put(&name, made.expose().as_bytes())?;
        }
        // Another process may have made one at the same time; the one that is kept counts for both.
        let Some(record) = kept.get(&name)?.filter(|it| !it.value.expose().is_empty()) else {
            return Ok(None);
        };
        let token = String::from_utf8(record.value.expose().clone());
        let token = Secret::new(token.map_err(|_| IssueError::NoRandomness)?);
        let hash = TokenHash::of(token.expose());
        if self.registered(&name)?.is_none_or(|it| it.hash != hash) {
            self.put(&GatewayToken::new(
                &name,
                Some(vec![scope.clone()]),
                (&token, now),
            ))?;
        }
        Ok(Some(token))
    }

    fn registered(&self, name: &str) -> Result<Option<GatewayToken>, VaultError> {
        let row = self.vault.sealed(self.namespace.clone()).get(name)?;
        Ok(row.and_then(|row| GatewayToken::from_record(row.value.expose())))
    }

    /// Returns all of them.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be read, or was tampered with.
    pub fn list(&self) -> Result<Vec<GatewayToken>, VaultError> {
        let rows = self.vault.sealed(self.namespace.clone()).read_all()?;
        let tokens = rows
            .iter()
            .filter_map(|(_, it)| GatewayToken::from_record(it.value.expose()));
        Ok(tokens.collect())
    }

    /// Makes a reader of all of them, which goes through them only after a change.
    ///
    /// # Errors
    ///
    /// As [`TokenStore::new`].
    pub fn reader(vault: Arc<Vault>) -> Result<TokenReader, VaultError> {
        let namespace = TokenStore::new(&vault)?.namespace;
        // Held while the list is read, so that callers that come together read it once. Locked on
        // threads that may wait for the disk.
        let seen: Mutex<Option<(Option<Generation>, Vec<GatewayToken>)>> = Mutex::new(None);
        Ok(Arc::new(move || {
            // Before the list: a change in between is found at the next call.
            let revision = vault.sealed(namespace.clone()).revision()?;
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((of, tokens)) = &*seen
                && *of == revision
            {
                return Ok(tokens.clone());
            }
            let tokens = TokenStore::new(&vault)?.list()?;
            *seen = Some((revision, tokens.clone()));
            Ok(tokens)
        }))
    }

    /// Makes a reader of the hosts that may approve entries. They are read each time: approving is
    /// rare, and a host that was revoked a moment ago must not.
    ///
    /// # Errors
    ///
    /// As [`TokenStore::new`].
    pub fn host_reader(vault: Arc<Vault>) -> Result<TokenReader, VaultError> {
        TokenStore::of_hosts(&vault)?;
        Ok(Arc::new(move || TokenStore::of_hosts(&vault)?.list()))
    }

    /// Revokes a token; says whether there was one.
    ///
    /// # Errors
    ///
    /// Returns a [`VaultError`] if the vault cannot be written.
    pub fn revoke(&self, name: &str) -> Result<bool, VaultError> {
        let rows = self.vault.sealed(self.namespace.clone());
        let existed = rows.get(name)?.is_some();
        if name.starts_with(HELPER_PREFIX) {
            // Before the row: a helper that runs in between must not register it again.
            let kept = self.vault.sealed(Namespace::new(HELPER_NAMESPACE)?);
            kept.put(name, &[])?;
        }
        if existed {
            rows.delete(name)?;
        }
        Ok(existed)
    }
}

/// Why no gateway token was issued.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IssueError {
    /// There is one of that name.
    #[error("a token named `{name}` already exists")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The operating system gave no random bytes.
    #[error("cannot get random bytes from the operating system")]
    NoRandomness,
    /// The vault cannot be used.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

const LONGEST_NAME: usize = 64;
/// How the tokens of helpers are called.
const HELPER_PREFIX: &str = "headers:";
const HELPER_NAMESPACE: &str = "helper-token";
/// So that scanners of files and logs can find one.
const CLIENT_PREFIX: &str = "kwgt_";
const HOST_PREFIX: &str = "kwhost_";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c10_a_scope_opens_its_plugin_and_no_other() {
        let limited = GatewayToken::for_test("t", Some(&["a:s", "b:*"]));
        for (plugin, server, expected) in [
            ("a", "s", true),
            ("a", "t", false),
            ("b", "s", true),
            ("b", "t", true),
            ("c", "s", false),
            ("", "s", false),
        ] {
            assert_eq!(limited.opens(plugin, server), expected, "{plugin}:{server}");
        }
        // A name that holds the colon is another plugin's, also after the text was read again.
        let scope = TokenScope::server("a:b", "c").to_string();
        let limited = GatewayToken::for_test("t", Some(&[&scope]));
        assert!(limited.opens("a:b", "c") && !limited.opens("a", "b:c"));
        assert!(GatewayToken::for_test("t", None).opens("c", "s"));
        assert!(!GatewayToken::for_test("t", Some(&[])).opens("c", "s"));
    }

    #[test]
    fn a_name_without_a_plugin_is_not_a_scope() {
        for text in ["s", "", ":", ":s", "a:"] {
            assert_eq!(TokenScope::read(text), None, "{text}");
        }
        for text in ["a:s", "a:*", "a:b:c"] {
            assert_eq!(TokenScope::read(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn reader_sees_what_other_processes_issue_and_revoke() {
        let home = tempfile::tempdir().unwrap();
        let folders = keyway_vault::Folders::below(home.path().join("k"));
        let open = || Vault::open(&folders, keyway_vault::KeySources::default()).unwrap();
        let reader = TokenStore::reader(Arc::new(open())).unwrap();
        let names = || -> Vec<String> {
            let tokens = reader().unwrap().into_iter();
            tokens.map(|token| token.name).collect()
        };
        assert!(names().is_empty());
        let other = open();
        let store = TokenStore::new(&other).unwrap();
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for name in ["a", "b"] {
            store.issue(name, None, now).unwrap();
        }
        assert_eq!(names(), ["a", "b"]);
        assert_eq!(reader().unwrap()[0].created_at(), Some(now));
        assert!(store.revoke("a").unwrap());
        assert_eq!(names(), ["b"]);
        assert_eq!(names(), ["b"]);
    }

    /// The gateway looks every second: a thousand tokens must not be opened each time.
    #[test]
    fn reader_opens_the_tokens_after_a_change_alone() {
        let home = tempfile::tempdir().unwrap();
        let folders = keyway_vault::Folders::below(home.path().join("k"));
        let open = || Arc::new(Vault::open(&folders, keyway_vault::KeySources::default()).unwrap());
        let (vault, other) = (open(), open());
        let issue = |name: &str| {
            let store = TokenStore::new(&other).unwrap();
            store.issue(name, None, SystemTime::UNIX_EPOCH).unwrap();
        };
        issue("first");
        let reader = TokenStore::reader(Arc::clone(&vault)).unwrap();
        let reads = || vault.statistics().reads;
        assert_eq!(reader().unwrap().len(), 1);
        // One to look at the revision.
        let before = reads();
        for _ in 0..20 {
            assert_eq!(reader().unwrap().len(), 1);
        }
        assert_eq!(reads() - before, 20);
        issue("second");
        let before = reads();
        assert_eq!(reader().unwrap().len(), 2);
        assert!(reads() - before > 1, "opened again");
    }

    #[test]
    fn helper_gets_one_token_for_one_server_until_the_person_revokes_it() {
        let home = tempfile::tempdir().unwrap();
        let folders = keyway_vault::Folders::below(home.path().join("k"));
        let vault = Vault::open(&folders, keyway_vault::KeySources::default()).unwrap();
        let store = TokenStore::new(&vault).unwrap();
        let scope = TokenScope::server("own", "docs");
        let ask = |renew| store.for_helper(&scope, renew, UNIX_EPOCH).unwrap();
        let first = ask(false).unwrap();
        assert!(first.is_same_as(&ask(false).unwrap()));
        let listed = store.list().unwrap();
        assert_eq!(listed.len(), 1);
        assert!(listed[0].opens("own", "docs") && !listed[0].opens("own", "other"));
        assert!(store.revoke("headers:own:docs").unwrap());
        assert!(ask(false).is_none());
        assert!(ask(false).is_none(), "asking again undoes a revocation");
        let renewed = ask(true).unwrap();
        assert!(!renewed.is_same_as(&first));
        assert!(renewed.is_same_as(&ask(false).unwrap()));
    }

    #[test]
    fn hosts_and_clients_have_registers_of_their_own() {
        let home = tempfile::tempdir().unwrap();
        let folders = keyway_vault::Folders::below(home.path().join("k"));
        let vault = Vault::open(&folders, keyway_vault::KeySources::default()).unwrap();
        let (clients, hosts) = (TokenStore::new(&vault), TokenStore::of_hosts(&vault));
        let (clients, hosts) = (clients.unwrap(), hosts.unwrap());
        let token = hosts.issue("editor", None, UNIX_EPOCH).unwrap();
        assert!(token.expose().starts_with("kwhost_"));
        assert!(clients.list().unwrap().is_empty());
        let reader = TokenStore::host_reader(Arc::new(vault)).unwrap();
        assert_eq!(reader().unwrap()[0].hash(), TokenHash::of(token.expose()));
    }

    #[test]
    fn a_service_account_opens_one_server_with_one_account() {
        let home = tempfile::tempdir().unwrap();
        let folders = keyway_vault::Folders::below(home.path().join("k"));
        let vault = Vault::open(&folders, keyway_vault::KeySources::default()).unwrap();
        let store = TokenStore::new(&vault).unwrap();
        let issue = || store.issue_service("ci", ("p", "s"), "bot", UNIX_EPOCH);
        issue().unwrap();
        assert!(matches!(issue(), Err(IssueError::NameTaken { .. })));
        let token = store.list().unwrap().remove(0);
        assert_eq!(token.account(), Some("bot"));
        assert!(token.opens("p", "s") && !token.opens("p", "t") && !token.opens("q", "s"));
        store.issue("person", None, UNIX_EPOCH).unwrap();
        assert_eq!(store.list().unwrap()[1].account(), None);
    }

    #[test]
    fn token_of_a_version_that_recorded_no_date_is_read() {
        let record = GatewayToken::for_test("t", Some(&["p:*"]))
            .to_record()
            .unwrap();
        let mut kept: serde_json::Value = serde_json::from_slice(&record).unwrap();
        kept.as_object_mut().unwrap().remove("created").unwrap();
        let read = GatewayToken::from_record(kept.to_string().as_bytes()).unwrap();
        assert_eq!(read, GatewayToken::for_test("t", Some(&["p:*"])));
    }

    #[test]
    fn what_is_kept_does_not_hold_the_token() {
        let kept = GatewayToken::for_test("CANARY", None);
        let record = String::from_utf8(kept.to_record().unwrap()).unwrap();
        let text = format!("{kept:?} {record}");
        assert!(!text.contains("CANARY"), "{text}");
        assert_ne!(TokenHash::of("CANARY"), TokenHash::of("CANARX"));
    }

    #[test]
    fn a_hash_is_read_as_it_is_written_and_nothing_else_is() {
        let hash = TokenHash::of("t");
        let text = hash.to_string();
        assert_eq!(text.parse::<TokenHash>().unwrap(), hash);
        for other in [
            "",
            &text[2..],
            &text[1..],
            &format!("{text}0"),
            &"+1".repeat(32),
        ] {
            assert!(other.parse::<TokenHash>().is_err(), "{other}");
        }
    }
}
