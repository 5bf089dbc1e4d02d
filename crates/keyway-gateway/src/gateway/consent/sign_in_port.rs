//! How a client of a person is told where to sign in.

use std::sync::{Arc, Mutex, PoisonError};

use keyway_auth::BoxFuture;
use keyway_auth::ports::DeviceQuestion;
use keyway_code::Code;
use keyway_mcp::aggregate::SignInPort;
use keyway_mcp::states::ServerProblem;
use keyway_people::Person;
use keyway_secret::{Secret, printable};
use url::form_urlencoded;

use super::Consents;
use crate::gateway::person_page::PersonNeed;
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
    /// What the person was asked for last, if it was not to sign in. Held for a copy or a replacement.
    need: Mutex<Option<PersonNeed>>,
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
            need: Mutex::new(None),
        }
    }

    /// Returns a problem that names the page: the caller is told at once, and the person signs in
    /// whenever they want.
    async fn ask(&self) -> ServerProblem {
        let need = self.upstream.person_need(&self.person).await;
        self.set_need(need.clone());
        if let Some(need) = need {
            return ServerProblem::new(Code::SignInRequired, need.words);
        }
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

    fn set_need(&self, need: Option<PersonNeed>) {
        let mut last = self.need.lock().unwrap_or_else(PoisonError::into_inner);
        *last = need;
    }

    fn need(&self) -> Option<PersonNeed> {
        let need = self.need.lock().unwrap_or_else(PoisonError::into_inner);
        need.clone()
    }

    /// Returns the person's own page, which names their issuer if there are several.
    fn own_page(&self, page: &str) -> String {
        if self.consents.people.browser_issuers().len() < 2 {
            return page.to_owned();
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("issuer", self.person.issuer());
        format!("{page}?{}", query.finish())
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
        if let Some(need) = self.need() {
            return Some(self.own_page(&need.page));
        }
        self.link().map(|link| self.consents.address(&link))
    }

    fn request(&self) -> Option<String> {
        self.need().map(|need| need.words)
    }

    fn device_code(&self) -> BoxFuture<'_, DeviceQuestion> {
        Box::pin(std::future::pending())
    }

    fn signed_in_elsewhere(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let signed_in = async {
                match self.upstream.person_sign_in(&self.person).await {
                    Ok(Some(oauth)) => oauth.signed_in_elsewhere().await,
                    _ => std::future::pending().await,
                }
            };
            // In no particular order: either wakes the same client, and both only wait.
            tokio::select! {
                () = signed_in => {}
                () = self.upstream.person_needs_no_more(&self.person) => {}
            }
        })
    }
}
