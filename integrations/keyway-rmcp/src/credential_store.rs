//! The SDK's credential store in Keyway's vault: encrypted, and renewed by one process at a time.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use keyway_vault::{Folders, Namespace, Vault};
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};

/// Keeps what the SDK's own OAuth obtains for one server in a vault of Keyway's.
///
/// Sign-ins of the SDK and of Keyway are separate: neither sees the other's. Of all processes that
/// share the vault, one at a time renews, and those that waited load what it saved.
#[derive(Debug, Clone)]
pub struct VaultCredentialStore {
    vault: Arc<Vault>,
    /// Which server: its URL, or any other name that all processes use.
    server: String,
    lock: PathBuf,
}

impl VaultCredentialStore {
    /// Uses an opened vault; `folders` are those that it was opened in.
    #[must_use]
    pub fn new(vault: Arc<Vault>, folders: &Folders, server: impl Into<String>) -> Self {
        let server = server.into();
        // One file for all servers: renewing takes a second, and a name of a file is no place for a URL.
        let lock = folders.runtime.join("rmcp-refresh.lock");
        Self {
            vault,
            server,
            lock,
        }
    }

    /// Does something that blocks, away from the runtime.
    async fn blocking<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Self) -> Result<T, Box<dyn std::error::Error + Send + Sync>> + Send + 'static,
    ) -> Result<T, AuthError> {
        let own = self.clone();
        let done = tokio::task::spawn_blocking(move || act(&own)).await;
        let failed = |error: String| AuthError::CredentialStoreError(error);
        let done = done.map_err(|error| failed(error.to_string()))?;
        done.map_err(|error| failed(error.to_string()))
    }
}

#[async_trait]
impl CredentialStore for VaultCredentialStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.blocking(|own| {
            let rows = own.vault.sealed(Namespace::new(NAMESPACE)?);
            let Some(record) = rows.get(&own.server)? else {
                return Ok(None);
            };
            Ok(Some(serde_json::from_slice(record.value.expose())?))
        })
        .await
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.blocking(move |own| {
            let bytes = serde_json::to_vec(&credentials)?;
            let rows = own.vault.sealed(Namespace::new(NAMESPACE)?);
            Ok(rows.put(&own.server, &bytes).map(drop)?)
        })
        .await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.blocking(|own| {
            let rows = own.vault.sealed(Namespace::new(NAMESPACE)?);
            Ok(rows.delete(&own.server).map(drop)?)
        })
        .await
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        self.blocking(|own| {
            let mut options = OpenOptions::new();
            let file: File = options
                .create(true)
                .append(true)
                .mode(0o600)
                .open(&own.lock)?;
            // Ends with the process that holds it, whatever becomes of that.
            file.lock()?;
            Ok(Some(CredentialRefreshGuard::new(file)))
        })
        .await
    }
}

const NAMESPACE: &str = "rmcp";

#[cfg(test)]
mod tests {
    use keyway_vault::KeySources;
    use serde_json::{Value, json};

    use super::*;

    fn store(home: &std::path::Path) -> VaultCredentialStore {
        let folders = Folders::below(home.join("keyway"));
        let vault = Vault::open(&folders, KeySources::default()).expect("a vault");
        VaultCredentialStore::new(Arc::new(vault), &folders, "https://mcp.example.com/mcp")
    }

    fn credentials(access: &str) -> StoredCredentials {
        let token = json!({ "access_token": access, "token_type": "bearer",
            "refresh_token": "canary-refresh", "expires_in": 60 });
        let stored = json!({ "client_id": "c", "token_response": token });
        serde_json::from_value(stored).expect("credentials")
    }

    async fn access(store: &VaultCredentialStore) -> Option<Value> {
        let stored = store.load().await.expect("a vault that can be read")?;
        let stored = serde_json::to_value(stored).expect("credentials");
        Some(stored["token_response"]["access_token"].clone())
    }

    #[tokio::test]
    async fn what_one_store_saves_another_loads_and_no_file_holds_it() {
        let home = tempfile::tempdir().expect("a folder");
        let (one, other) = (store(home.path()), store(home.path()));
        assert_eq!(access(&one).await, None);
        one.save(credentials("canary-access")).await.expect("saved");
        assert_eq!(access(&other).await, Some(json!("canary-access")));
        let mut folders = vec![home.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.is_file() {
                    let bytes = std::fs::read(&path).expect("a file");
                    let is_in = bytes.windows(7).any(|window| window == b"canary-");
                    assert!(!is_in, "{}", path.display());
                }
            }
        }
        other.clear().await.expect("cleared");
        assert_eq!(access(&one).await, None);
    }

    #[tokio::test]
    async fn whoever_waits_for_the_guard_loads_what_its_holder_saved() {
        let home = tempfile::tempdir().expect("a folder");
        let (one, other) = (store(home.path()), store(home.path()));
        one.save(credentials("old")).await.expect("saved");
        let guard = one.acquire_refresh_guard().await.expect("a lock");
        let waiting = tokio::spawn(async move {
            let _guard = other.acquire_refresh_guard().await.expect("a lock");
            access(&other).await
        });
        // It cannot get further than the lock, however often it is polled.
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        one.save(credentials("new")).await.expect("saved");
        drop(guard);
        assert_eq!(waiting.await.expect("no panic"), Some(json!("new")));
    }
}
