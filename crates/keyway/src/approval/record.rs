//! One approval, as a type and as the bytes that a store keeps.

use serde::{Deserialize, Serialize};

use super::{Digest, Question};

/// What a person approved of one entry. A store keeps it as [bytes](Self::to_bytes).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Approval {
    /// The name of the plugin.
    pub plugin: String,
    /// The name of the entry.
    pub server: String,
    /// Where the plugin was.
    pub source: String,
    /// What was approved.
    digest: String,
    /// More variables that its helper or process may have.
    pub grants: Vec<String>,
}

impl Approval {
    /// Approves what is asked, without further variables.
    #[must_use]
    pub fn of(question: &Question) -> Self {
        Self {
            plugin: question.plugin.clone(),
            server: question.server.clone(),
            source: question.source.to_string_lossy().into_owned(),
            digest: question.digest.to_string(),
            grants: Vec::new(),
        }
    }

    /// The same with further variables that the helper or process may have.
    #[must_use]
    pub fn with_grants(mut self, grants: Vec<String>) -> Self {
        self.grants = grants;
        self
    }

    /// Says whether the approval covers what is asked now.
    #[must_use]
    pub fn covers(&self, digest: &Digest) -> bool {
        self.digest == digest.to_string()
    }

    /// Returns the bytes that a store keeps. Who can change them can approve anything: they belong
    /// where no plugin can write.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self {
            plugin,
            server,
            source,
            digest,
            grants,
        } = self.clone();
        let stored = Stored {
            plugin,
            server,
            source,
            digest,
            grants,
        };
        serde_json::to_vec(&stored).unwrap_or_default()
    }

    /// Reads what [`Self::to_bytes`] wrote; `None` for anything else.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let stored: Stored = serde_json::from_slice(bytes).ok()?;
        let Stored {
            plugin,
            server,
            source,
            digest,
            grants,
        } = stored;
        Some(Self {
            plugin,
            server,
            source,
            digest,
            grants,
        })
    }
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Stored {
    plugin: String,
    server: String,
    source: String,
    digest: String,
    #[serde(default)]
    grants: Vec<String>,
}
