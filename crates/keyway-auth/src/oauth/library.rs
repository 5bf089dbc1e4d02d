//! Where discovery documents come from: kept from an earlier time, or fetched now.
//!
//! What is kept is the text as it was sent. It goes through the same checks as one that has just
//! arrived, belongs to one sign-in, and is not used past its time.

mod lifetime;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_secret::Secret;
use keyway_store::GrantKey;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use url::Url;

use super::core::Core;
use super::document::Document;
use super::error::{OAuthError, What};
use super::jose::assertion::unix;
use super::sealed;
use super::wire::Fetched;

pub(super) use self::lifetime::{LONGEST, lifetime};

/// Which documents are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Those that are kept; what is missing is fetched and kept.
    Kept,
    /// All are fetched, and kept.
    Anew,
    /// All are fetched, and none is kept.
    Glance,
}

/// Reads the documents for one purpose.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    core: &'a Core,
    trust: Trust,
    used_kept: AtomicBool,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(core: &'a Core, trust: Trust) -> Self {
        Self {
            core,
            trust,
            used_kept: AtomicBool::new(false),
        }
    }

    /// Says whether anything that was read is older than this reader.
    pub(super) fn has_used_kept(&self) -> bool {
        self.used_kept.load(Ordering::Relaxed)
    }

    /// Returns what the first document says that is there, as `read` understands and checks it.
    pub(super) async fn first<T>(
        &self,
        what: What,
        candidates: Vec<Url>,
        read: impl Fn(&Document) -> Result<T, OAuthError>,
    ) -> Result<Option<T>, OAuthError> {
        if self.trust == Trust::Kept
            && let Some(document) = self.kept(what, &candidates).await
            && let Ok(found) = read(&document)
        {
            self.used_kept.store(true, Ordering::Relaxed);
            return Ok(Some(found));
        }
        let Some(fetched) = self.fetch(what, &candidates).await? else {
            return Ok(None);
        };
        let found = read(&fetched.document)?;
        if self.trust != Trust::Glance {
            self.keep(what, candidates, &fetched).await;
        }
        Ok(Some(found))
    }

    /// Fetches the first document that is there.
    async fn fetch(&self, what: What, candidates: &[Url]) -> Result<Option<Fetched>, OAuthError> {
        let mut unreadable = None;
        for candidate in candidates {
            match self.core.wire.document(what, candidate.clone()).await {
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
    async fn kept(&self, what: What, candidates: &[Url]) -> Option<Document> {
        let (documents, name) = (
            Arc::clone(&self.core.documents),
            name(what, &self.core.key)?,
        );
        let bytes = self.core.blocking(move || documents.get(&name)).await?;
        let kept: Kept = serde_json::from_slice(bytes.expose()).ok()?;
        let left = kept.until.checked_sub(unix(self.core.clock.wall()))?;
        // Too much time left means that the clock went back since.
        let is_in_time = left > 0 && left <= LONGEST.as_secs();
        let text = kept.text.filter(|_| is_in_time && kept.at == candidates)?;
        Document::parse(text.expose().as_bytes()).ok()
    }

    /// Keeps a document for as long as its server says. Where that fails, it is fetched again.
    async fn keep(&self, what: What, candidates: Vec<Url>, fetched: &Fetched) {
        let lifetime = fetched.lifetime;
        let text = String::from_utf8(fetched.body.expose().clone());
        let (Some(name), Ok(text)) = (name(what, &self.core.key), text) else {
            return;
        };
        let documents = Arc::clone(&self.core.documents);
        if lifetime < Duration::from_secs(1) || text.len() > LARGEST {
            // An older one may be there, and does not count any more.
            let forgetting = move || drop(documents.delete(&name));
            self.core.blocking(forgetting).await;
            return;
        }
        let kept = Kept {
            at: candidates,
            text: Some(Secret::new(text)),
            until: unix(self.core.clock.wall()).saturating_add(lifetime.as_secs()),
        };
        let value = Secret::new(serde_json::to_vec(&kept).unwrap_or_default());
        let keeping = move || drop(documents.put(&name, value.expose(), lifetime));
        self.core.blocking(keeping).await;
    }
}

impl Core {
    /// Throws away what is kept: something that it led to was not there, or the sign-in ends.
    pub(super) async fn forget_documents(&self) {
        let documents = Arc::clone(&self.documents);
        let names = [What::ResourceMetadata, What::ServerMetadata];
        let names = names.map(|what| name(what, &self.key));
        let forgetting = move || {
            for name in names.into_iter().flatten() {
                drop(documents.delete(&name));
            }
        };
        self.blocking(forgetting).await;
    }
}

/// A document as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Where it was looked for.
    at: Vec<Url>,
    #[serde(with = "sealed")]
    text: Option<Secret<String>>,
    /// When its time is over, in seconds since 1970.
    until: u64,
}

/// Names a document by its kind and its sign-in, and gives neither address nor account away.
///
/// Not by its address: what one server may reach, another may not.
fn name(what: What, key: &GrantKey) -> Option<String> {
    let kind = match what {
        What::ResourceMetadata => "resource",
        What::ServerMetadata => "server",
        _ => return None,
    };
    let mut hash = Context::new(&SHA256);
    let parts = [
        key.profile(),
        key.plugin_name(),
        key.server_name(),
        key.resource_uri(),
        key.account_name(),
    ];
    for part in parts {
        hash.update(&part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let hash = BASE64_URL_SAFE_NO_PAD.encode(hash.finish());
    Some(format!("{kind} {hash}"))
}

/// What is longer is fetched each time.
const LARGEST: usize = 64 * 1024;
