//! The scopes that the server asked for when it last refused, and that could not be asked for then.
//!
//! They are stored, so that a later `login` asks for them as well.

use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::GrantKey;

use super::blocking::BlockingTasks;
use super::record_name::record_name;
use super::scope::Scopes;
use super::sign_in_record::SignInRecord;
use crate::ports::RecordStore;

/// The scopes that the next sign-in must ask for.
#[derive(Debug)]
pub(super) struct RequiredScopes(SignInRecord);

impl RequiredScopes {
    pub(super) fn new(
        key: &GrantKey,
        records: &Arc<dyn RecordStore>,
        blocking: &BlockingTasks,
    ) -> Self {
        Self(SignInRecord::new(KIND, key, records, blocking))
    }

    pub(super) async fn get(&self) -> Scopes {
        decode(self.0.get().await)
    }

    /// Stores scopes for the next sign-in. If that fails, the sign-in asks for what the server
    /// names then.
    pub(super) async fn set(&self, scopes: &Scopes) {
        if let Some(text) = scopes.to_parameter() {
            self.0.update(move |_| Secret::new(text.into_bytes())).await;
        }
    }

    /// Forgets them: a sign-in asked for them, or there is no sign-in any more.
    pub(super) async fn clear(&self) {
        self.0.delete().await;
    }
}

/// Returns the scopes that the server asked for when it last refused, and that the next sign-in asks
/// for as well; `records` are those of the sign-in.
#[must_use]
pub fn required_scopes(records: &dyn RecordStore, key: &GrantKey) -> Vec<String> {
    let found = records.get(&record_name(KIND, key));
    decode(found).as_slice().to_vec()
}

fn decode(stored: Option<Secret<Vec<u8>>>) -> Scopes {
    let text = stored.and_then(|bytes| String::from_utf8(bytes.expose().clone()).ok());
    text.map(|text| Scopes::parse(&text)).unwrap_or_default()
}

const KIND: &str = "required-scopes";
