//! How a client of a person is told where to sign in.

use std::sync::{Arc, Mutex, PoisonError};

use keyway_auth::BoxFuture;
use keyway_auth::ports::DeviceQuestion;
use keyway_code::Code;
use keyway_mcp::aggregate::SignInPort;
use keyway_mcp::states::ServerProblem;
use keyway_people::Person;
use keyway_secret::{Secret, printable};

use super::Consents;
use crate::gateway::served_servers::{ServedServer, Upstream};

/// The way of one person into one server: a link that their client shows, at once.
#[derive(Debug)]
pub(in crate::gateway) struct PersonSignIn {
    consents: Arc<Consents>,
    upstream: Arc<dyn Upstream>,
    person: Person,
    plugin: String,
    server: String,
    /// The secret part of the last link. Held for a copy or a replacement.
    link: Mutex<Option<Secret<String>>>,
}

impl PersonSignIn {
    pub(in crate::gateway) fn new(
        consents: &Arc<Consents>,
        served: &ServedServer,
        person: &Person,
    ) -> Self {
        Self {
            consents: Arc::clone(consents),
            upstream: Arc::clone(&served.upstream),
            person: person.clone(),
            plugin: served.plugin.clone(),
            server: served.name.clone(),
            link: Mutex::new(None),
        }
    }

    /// Returns a problem that names the page: the caller is told at once, and the person signs in
    /// whenever they want.
    async fn ask(&self) -> ServerProblem {
        let known = self.link();
        let is_open = match &known {
            Some(link) => self.consents.is_open(link).await,
            None => false,
        };
        if !is_open {
            let server = (&*self.plugin, &*self.server);
            match self.consents.link(&self.person, server).await {
                Ok(link) => {
                    let mut last = self.link.lock().unwrap_or_else(PoisonError::into_inner);
                    *last = Some(link);
                }
                Err(fault) => return fault.problem(),
            }
        }
        let server = printable(&self.server);
        ServerProblem::new(Code::SignInRequired, format!("not signed in to `{server}`"))
    }

    fn link(&self) -> Option<Secret<String>> {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.clone()
    }
}

impl SignInPort for PersonSignIn {
    fn sign_in(&self) -> BoxFuture<'_, Result<(), ServerProblem>> {
        Box::pin(async move { Err(self.ask().await) })
    }

    fn consent_page(&self) -> Option<String> {
        self.link().map(|link| self.consents.address(&link))
    }

    fn device_code(&self) -> BoxFuture<'_, DeviceQuestion> {
        Box::pin(std::future::pending())
    }

    fn signed_in_elsewhere(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match self.upstream.person_sign_in(&self.person).await {
                Ok(Some(oauth)) => oauth.signed_in_elsewhere().await,
                _ => std::future::pending().await,
            }
        })
    }
}
