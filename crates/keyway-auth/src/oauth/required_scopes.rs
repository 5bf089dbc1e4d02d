//! The scopes that the server asked for when it last refused, and that could not be asked for then.
//!
//! They are stored, so that a later `login` asks for them as well.

use std::sync::Arc;

use super::engine::OAuthEngine;
use super::record_name::record_name;
use super::scope::Scopes;

impl OAuthEngine {
    /// Returns the scopes that the next sign-in must ask for.
    pub(super) async fn required_scopes(&self) -> Scopes {
        let (records, name) = (Arc::clone(&self.records), record_name(KIND, &self.key));
        let found = self.blocking(move || records.get(&name)).await;
        let text = found.and_then(|bytes| String::from_utf8(bytes.expose().clone()).ok());
        text.map(|text| Scopes::parse(&text)).unwrap_or_default()
    }

    /// Remembers scopes for the next sign-in. If that fails, the sign-in asks for what the server
    /// names then.
    pub(super) async fn remember_required_scopes(&self, scopes: &Scopes) {
        let Some(text) = scopes.to_parameter() else {
            return;
        };
        let (records, name) = (Arc::clone(&self.records), record_name(KIND, &self.key));
        let store = move || drop(records.put(&name, text.as_bytes()));
        self.blocking(store).await;
    }

    /// Forgets them: a sign-in asked for them, or there is no sign-in any more.
    pub(super) async fn forget_required_scopes(&self) {
        let (records, name) = (Arc::clone(&self.records), record_name(KIND, &self.key));
        self.blocking(move || drop(records.delete(&name))).await;
    }
}

const KIND: &str = "required-scopes";
