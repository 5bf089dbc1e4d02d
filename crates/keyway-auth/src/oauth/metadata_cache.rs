//! OAuth metadata documents, from the cache or fetched now.
//!
//! The cache holds the text as the server sent it. A cached document goes through the same checks
//! as a fetched one, belongs to one sign-in, and is not used after it expires.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::GrantKey;
use serde::{Deserialize, Serialize};
use url::Url;

use super::blocking::BlockingTasks;
use super::record_name::record_name;
use super::secret_serde;
use super::wire::{Fetched, Wire};
use crate::document::Document;
use crate::error::{OAuthError, RequestTarget};
use crate::jose::assertion::unix;
use crate::ports::DocumentCache;
use crate::timeouts::METADATA_MAX_LIFETIME;

/// Whether documents come from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CachePolicy {
    /// Cached documents are used; missing ones are fetched and cached.
    UseCached,
    /// All documents are fetched, and cached.
    Bypass,
    /// All documents are fetched, and none is cached.
    NoStore,
}

/// The metadata documents of one sign-in.
#[derive(Debug)]
pub(super) struct MetadataCache {
    key: GrantKey,
    documents: Arc<dyn DocumentCache>,
    wire: Wire,
    blocking: BlockingTasks,
}

impl MetadataCache {
    pub(super) const fn new(
        key: GrantKey,
        documents: Arc<dyn DocumentCache>,
        wire: Wire,
        blocking: BlockingTasks,
    ) -> Self {
        Self {
            key,
            documents,
            wire,
            blocking,
        }
    }

    /// Returns a reader that gets the documents as `policy` says.
    pub(super) const fn reader(&self, policy: CachePolicy) -> MetadataReader<'_> {
        MetadataReader {
            cache: self,
            policy,
            used_cache: AtomicBool::new(false),
        }
    }

    /// Removes what is cached: something that it led to was not there, or the sign-in ends.
    pub(super) async fn clear(&self) {
        let documents = Arc::clone(&self.documents);
        let names = [
            RequestTarget::ResourceMetadata,
            RequestTarget::ServerMetadata,
        ];
        let names = names.map(|what| name(what, &self.key));
        let clear = move || {
            for name in names.into_iter().flatten() {
                drop(documents.delete(&name));
            }
        };
        self.blocking.run(clear).await;
    }
}

/// Reads the documents for one purpose.
#[derive(Debug)]
pub(super) struct MetadataReader<'a> {
    cache: &'a MetadataCache,
    policy: CachePolicy,
    /// Relaxed: read by the task that set it.
    used_cache: AtomicBool,
}

impl MetadataReader<'_> {
    /// Says whether anything that was read is older than this reader.
    pub(super) fn has_used_cache(&self) -> bool {
        self.used_cache.load(Ordering::Relaxed)
    }

    /// Returns what the first document says that is there, as `read` understands and checks it.
    pub(super) async fn first<T>(
        &self,
        what: RequestTarget,
        candidates: Vec<Url>,
        read: impl Fn(&Document) -> Result<T, OAuthError>,
    ) -> Result<Option<T>, OAuthError> {
        if self.policy == CachePolicy::UseCached
            && let Some(document) = self.cached(what, &candidates).await
            && let Ok(found) = read(&document)
        {
            self.used_cache.store(true, Ordering::Relaxed);
            return Ok(Some(found));
        }
        let Some(fetched) = self.fetch(what, &candidates).await? else {
            return Ok(None);
        };
        let found = read(&fetched.document)?;
        if self.policy != CachePolicy::NoStore {
            self.store(what, candidates, &fetched).await;
        }
        Ok(Some(found))
    }

    /// Fetches the first document that is there.
    async fn fetch(
        &self,
        what: RequestTarget,
        candidates: &[Url],
    ) -> Result<Option<Fetched>, OAuthError> {
        let mut unreadable = None;
        for candidate in candidates {
            match self.cache.wire.document(what, candidate.clone()).await {
                Ok(Some(fetched)) => return Ok(Some(fetched)),
                Ok(None) => {}
                // Some servers answer every address with a page for people.
                Err(error @ OAuthError::Document { .. }) => unreadable = Some(error),
                Err(error) => return Err(error),
            }
        }
        match unreadable {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }

    /// Returns what an earlier look at the same addresses gave, if its time is not over.
    async fn cached(&self, what: RequestTarget, candidates: &[Url]) -> Option<Document> {
        let cache = self.cache;
        let (documents, name) = (Arc::clone(&cache.documents), name(what, &cache.key)?);
        let bytes = cache.blocking.run(move || documents.get(&name)).await?;
        let kept: CachedDocument = serde_json::from_slice(bytes.expose()).ok()?;
        let left = kept.until.checked_sub(unix(self.cache.wire.now()))?;
        // Too much time left means that the clock went back since.
        let is_in_time = left > 0 && left <= METADATA_MAX_LIFETIME.as_secs();
        let text = kept.text.filter(|_| is_in_time && kept.at == candidates)?;
        Document::parse(text.expose().as_bytes()).ok()
    }

    /// Keeps a document for as long as its server says. Where that fails, it is fetched again.
    async fn store(&self, what: RequestTarget, candidates: Vec<Url>, fetched: &Fetched) {
        let lifetime = fetched.lifetime;
        let text = String::from_utf8(fetched.body.expose().clone());
        let (Some(name), Ok(text)) = (name(what, &self.cache.key), text) else {
            return;
        };
        let documents = Arc::clone(&self.cache.documents);
        if lifetime < Duration::from_secs(1) || text.len() > LARGEST {
            // An older one may be there, and does not count any more.
            let forgetting = move || drop(documents.delete(&name));
            self.cache.blocking.run(forgetting).await;
            return;
        }
        let kept = CachedDocument {
            at: candidates,
            text: Some(Secret::new(text)),
            until: unix(self.cache.wire.now()).saturating_add(lifetime.as_secs()),
        };
        let value = Secret::new(serde_json::to_vec(&kept).unwrap_or_default());
        let keeping = move || drop(documents.put(&name, value.expose(), lifetime));
        self.cache.blocking.run(keeping).await;
    }
}

/// A document as it is kept.
#[derive(Serialize, Deserialize)]
struct CachedDocument {
    /// Where it was looked for.
    at: Vec<Url>,
    #[serde(with = "secret_serde")]
    text: Option<Secret<String>>,
    /// When its time is over, in seconds since 1970.
    until: u64,
}

/// Names a document by its kind and its sign-in. Not by its address: what one server may reach,
/// another may not.
fn name(what: RequestTarget, key: &GrantKey) -> Option<String> {
    let kind = match what {
        RequestTarget::ResourceMetadata => "resource",
        RequestTarget::ServerMetadata => "server",
        _ => return None,
    };
    Some(record_name(kind, key))
}

/// What is longer is fetched each time.
const LARGEST: usize = 64 * 1024;
