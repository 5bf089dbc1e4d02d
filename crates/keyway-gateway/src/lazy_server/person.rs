//! What a person reaches: servers with a sign-in of their own, and those that get nothing of the
//! gateway's.

use std::fmt;
use std::sync::Arc;

use keyway::sign_in::{AccountPin, PromptPolicy, Stores};
use keyway::store::StoreError;
use keyway::{Approved, Error, Plan};
use keyway_code::Code;
use keyway_config::resolve::SpecEndpoint;
use keyway_mcp::aggregate::Opened;
use keyway_mcp::states::ServerProblem;
use keyway_people::Person;
use keyway_secret::printable;

use super::{LazyServer, pinned};

/// Makes the stores of one person.
#[derive(Clone)]
pub struct PersonStores(Arc<MakeStores>);

type MakeStores = dyn Fn(&Person) -> Result<Stores, StoreError> + Send + Sync;

impl PersonStores {
    /// Makes them by a function, which must not block.
    pub fn new(
        make: impl Fn(&Person) -> Result<Stores, StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }
}

impl fmt::Debug for PersonStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PersonStores")
    }
}

impl LazyServer {
    /// Returns the server as one person reaches it: with their own sign-in alone, and without a person
    /// to ask.
    pub(super) async fn own(&self, person: &Person) -> Result<Approved<Plan>, ServerProblem> {
        let approved = self.approved().await.map_err(|error| error.problem())?;
        let people = &approved.host().settings().gateway.people;
        let id = format!("{}:{}", self.plugin().name(), self.server);
        let is_shared = people
            .as_ref()
            .is_some_and(|people| people.shared_servers.contains(&id));
        if !is_shared && gets_values(&approved) {
            let message = format!(
                "`{}` uses credentials or a program of this gateway, which are not shared",
                printable(&self.server)
            );
            let hint = format!(
                "an admin can add `{}` to `shared_servers` in `[gateway.people]`",
                printable(&id)
            );
            return Err(ServerProblem::new(Code::Forbidden, message).with_hint(hint));
        }
        let host = approved.host();
        let host = match &self.options.person_stores {
            Some(PersonStores(make)) => {
                let stores = make(person).map_err(|error| Error::from(error).problem())?;
                let host = host.with_sign_in_stores(stores).with_interaction(None);
                host.with_asking(PromptPolicy::Never)
            }
            None => host.with_service_account(&person.account()),
        };
        Ok(approved.on(&host))
    }

    /// Connects for a person: with a sign-in of their own, or to a server that gets nothing of the
    /// gateway's, unless the settings share it.
    pub(super) async fn open_for(
        &self,
        person: &Person,
        pin: Option<&AccountPin>,
    ) -> Result<Opened, ServerProblem> {
        let own = pinned(self.own(person).await?, pin);
        let Some(oauth) = own.oauth() else {
            return self.open_as(pin).await;
        };
        // Tried without a sign-in as well: only the server knows whether it wants one.
        let problem = match own.open().await {
            Ok(connected) => return Ok(Opened::new(connected.connection, connected.offer)),
            Err(error) => error.problem(),
        };
        if problem.code != Code::SignInRequired || oauth.is_signed_in().await.unwrap_or_default() {
            return Err(problem);
        }
        let server = printable(&self.server);
        let message = format!("`{server}` has no sign-in of yours");
        Err(ServerProblem::new(Code::SignInRequired, message).with_hint(self.admin_hint(person)))
    }

    /// Says what an admin can do for a person whose browser cannot show whose it is.
    fn admin_hint(&self, person: &Person) -> String {
        if self.options.person_stores.is_some() {
            let hint = "an admin lets you sign in in your browser: `browser_clients` in `[gateway.people]`";
            return hint.to_owned();
        }
        let site = self.plugin().declaration_site(&self.server);
        let login = format!("keyway login SERVER --account {}", person.account());
        let login = site.word(&login);
        format!("an admin signs you in on the gateway's machine: {login}")
    }
}

/// Says whether a server is a program, or gets something of the gateway's: headers, what a helper
/// prints, or variables in its address.
fn gets_values(approved: &Approved<Plan>) -> bool {
    match &approved.spec().endpoint {
        SpecEndpoint::NotConfigured => false,
        SpecEndpoint::Remote(remote) => {
            let is_literal = remote.template.is_literal();
            !is_literal || !remote.headers.is_empty() || remote.helper.is_some()
        }
        _ => true,
    }
}
