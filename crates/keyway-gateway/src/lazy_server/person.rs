//! What a person reaches while the gateway keeps its sign-ins in one vault: servers with a sign-in of
//! their own, and those that get nothing of the gateway's.

use keyway::sign_in::AccountPin;
use keyway::{Approved, Plan};
use keyway_code::Code;
use keyway_config::resolve::SpecEndpoint;
use keyway_mcp::aggregate::Opened;
use keyway_mcp::states::ServerProblem;
use keyway_people::Person;
use keyway_secret::printable;

use super::{LazyServer, pinned};

impl LazyServer {
    /// Connects for a person: with a sign-in of their own, or to a server that gets nothing of the
    /// gateway's, unless the settings share it.
    pub(super) async fn open_for(
        &self,
        person: &Person,
        pin: Option<&AccountPin>,
    ) -> Result<Opened, ServerProblem> {
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
        let account = person.account();
        let host = approved.host().with_service_account(&account);
        let own = pinned(approved.on(&host), pin);
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
        let site = self.plugin().declaration_site(&self.server);
        let login = site.word(&format!("keyway login SERVER --account {account}"));
        let hint = format!("an admin signs you in on the gateway's machine: {login}");
        Err(ServerProblem::new(Code::SignInRequired, message).with_hint(hint))
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
