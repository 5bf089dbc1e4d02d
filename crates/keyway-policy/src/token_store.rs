//! Where gateway tokens are kept: those of clients, those of hosts, and those of helpers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use keyway_secret::{Secret, random};
use keyway_vault::{Generation, Namespace, Vault, VaultError};
use thiserror::Error;

use crate::gateway_token::{GatewayToken, TokenHash, TokenScope};

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
        let kept = GatewayToken::new(name, servers, &token, now).bound_to(account);
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
        if self.registered(&name)?.is_none_or(|it| it.hash() != hash) {
            self.put(&GatewayToken::new(
                &name,
                Some(vec![scope.clone()]),
                &token,
                now,
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

/// How the tokens of helpers are called.
const HELPER_PREFIX: &str = "headers:";
const HELPER_NAMESPACE: &str = "helper-token";
/// So that scanners of files and logs can find one.
const CLIENT_PREFIX: &str = "kwgt_";
const HOST_PREFIX: &str = "kwhost_";

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

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
}
