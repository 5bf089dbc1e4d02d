//! Refresh tokens that a later sign-in replaced.
//!
//! A new sign-in or step-up revokes nothing: another process may still use the earlier token. But
//! the authorization server keeps the replaced refresh token alive, so it is stored until the
//! person signs out, and revoked then. One whose server cannot be told stays until the next sign-out.

use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::GrantKey;
use serde::{Deserialize, Serialize};

use super::blocking::BlockingTasks;
use super::details::Details;
use super::record_name::record_name;
use super::secret_serde;
use super::sign_in_record::SignInRecord;
use crate::ports::RecordStore;

/// A refresh token that is not in use any more, with what its revocation needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ReplacedToken {
    pub(super) details: Details,
    #[serde(with = "secret_serde")]
    pub(super) refresh: Option<Secret<String>>,
}

/// The replaced refresh tokens of one sign-in.
#[derive(Debug)]
pub(super) struct ReplacedTokens(SignInRecord);

impl ReplacedTokens {
    pub(super) fn new(
        key: &GrantKey,
        records: &Arc<dyn RecordStore>,
        blocking: &BlockingTasks,
    ) -> Self {
        Self(SignInRecord::new(KIND, key, records, blocking))
    }

    /// Returns the tokens, oldest first.
    pub(super) async fn list(&self) -> Vec<ReplacedToken> {
        decode(self.0.get().await)
    }

    /// Adds a refresh token that is not stored as a grant, or not any more. A store that fails here
    /// fails at the sign-in too, which is reported.
    pub(super) async fn add(&self, details: &Details, refresh: Secret<String>) {
        let token = ReplacedToken {
            details: details.clone(),
            refresh: Some(refresh),
        };
        self.0
            .update(move |stored| {
                let mut tokens = decode(stored);
                if tokens.len() >= MAX_TOKENS {
                    tokens.remove(0);
                }
                tokens.push(token);
                encode(&tokens)
            })
            .await;
    }

    /// Keeps these tokens alone: the others were revoked.
    pub(super) async fn set(&self, tokens: Vec<ReplacedToken>) {
        if tokens.is_empty() {
            self.0.delete().await;
        } else {
            self.0.update(move |_| encode(&tokens)).await;
        }
    }
}

/// Names the record with the replaced refresh tokens of a sign-in.
#[must_use]
pub fn replaced_tokens_record(key: &GrantKey) -> String {
    record_name(KIND, key)
}

fn encode(tokens: &[ReplacedToken]) -> Secret<Vec<u8>> {
    Secret::new(serde_json::to_vec(tokens).unwrap_or_default())
}

fn decode(stored: Option<Secret<Vec<u8>>>) -> Vec<ReplacedToken> {
    let tokens = stored.and_then(|bytes| serde_json::from_slice(bytes.expose()).ok());
    tokens.unwrap_or_default()
}

const KIND: &str = "replaced-tokens";
/// Enough for years of step-ups; the oldest are removed first.
const MAX_TOKENS: usize = 100;
