//! The clients that were registered earlier, one per issuer.
//!
//! What an issuer did not say itself, but an entry of a plugin in its name, has clients of its own: it
//! must not get the secret of the one that the issuer knows.

use std::sync::Arc;

use keyway_secret::Clock;

use super::blocking::BlockingTasks;
use super::discovery::is_issuers_word;
use super::registration::Registration;
use super::settings::{Endpoints, Settings};
use super::vault_error::vault_error;
use crate::error::OAuthError;
use crate::ports::RecordStore;

/// Stores registrations.
#[derive(Debug, Clone)]
pub(super) struct RegisteredClients {
    records: Arc<dyn RecordStore>,
    clock: Arc<dyn Clock>,
    blocking: BlockingTasks,
    endpoints: Endpoints,
    issuer_exceptions: Vec<(String, String)>,
    /// Where their answers arrive, if not at a listener of this process.
    redirect: Option<String>,
}

impl RegisteredClients {
    pub(super) fn new(
        records: Arc<dyn RecordStore>,
        clock: Arc<dyn Clock>,
        blocking: BlockingTasks,
        settings: &Settings,
    ) -> Self {
        Self {
            records,
            clock,
            blocking,
            endpoints: settings.endpoints.clone(),
            issuer_exceptions: settings.issuer_exceptions.clone(),
            redirect: None,
        }
    }

    /// The clients whose answers arrive at an address of a host's own: others than those of programs
    /// that listen by themselves.
    pub(super) fn at(&self, redirect: &str) -> Self {
        Self {
            redirect: Some(redirect.to_owned()),
            ..self.clone()
        }
    }

    /// Names the record of the client that is used with an issuer here.
    fn name(&self, issuer: &str) -> String {
        let name = self.name_of_issuer(issuer);
        match &self.redirect {
            Some(redirect) => format!("{name} for {redirect}"),
            None => name,
        }
    }

    fn name_of_issuer(&self, issuer: &str) -> String {
        if is_issuers_word(&self.endpoints, &self.issuer_exceptions, issuer) {
            return Registration::name(issuer);
        }
        match &self.endpoints {
            Endpoints::Metadata(at) => Registration::name(&format!("{issuer} by {at}")),
            Endpoints::Fixed { token, .. } => Registration::name(&format!("{issuer} at {token}")),
            Endpoints::Discovered | Endpoints::Issuer(_) => Registration::name(issuer),
        }
    }

    /// Returns the client that was registered with an issuer, unless its secret has expired.
    pub(super) async fn get(&self, issuer: &str) -> Option<Registration> {
        let (records, name) = (Arc::clone(&self.records), self.name(issuer));
        let found = self.blocking.run(move || records.get(&name)).await?;
        let found = Registration::decode(found.expose())?;
        (!found.has_ended(self.clock.wall())).then_some(found)
    }

    pub(super) async fn put(
        &self,
        issuer: &str,
        registration: &Registration,
    ) -> Result<(), OAuthError> {
        let (records, name) = (Arc::clone(&self.records), self.name(issuer));
        let value = registration.encode();
        let put = move || {
            let stored = records.put(&name, value.expose());
            stored.map_err(|error| vault_error(&error))
        };
        self.blocking.run(put).await
    }

    pub(super) async fn delete(&self, issuer: &str) -> Result<(), OAuthError> {
        let (records, name) = (Arc::clone(&self.records), self.name(issuer));
        let delete = move || records.delete(&name).map_err(|error| vault_error(&error));
        self.blocking.run(delete).await
    }

    /// Deletes a client that its issuer does not know any more, unless another is stored by now.
    pub(super) async fn delete_client(&self, issuer: &str, id: &str) -> Result<(), OAuthError> {
        match self.get(issuer).await {
            Some(stored) if stored.is_of(id) => self.delete(issuer).await,
            _ => Ok(()),
        }
    }
}
