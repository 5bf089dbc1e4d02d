//! What a person reaches: servers as their own sign-ins, variables and approvals let them, and no
//! other's.

use std::time::Instant;

use keyway::sign_in::AccountPin;
use keyway::{Approved, Plan};
use keyway_code::Code;
use keyway_config::resolve::SpecEndpoint;
use keyway_config::usage;
use keyway_mcp::aggregate::Opened;
use keyway_mcp::states::ServerProblem;
use keyway_people::{Person, PersonAction};
use keyway_secret::{Secret, SystemClock, printable};
use tokio::task::spawn_blocking;
use tokio::time::interval;

use keyway::variables::KeptVariables;
use keyway_secret::Clock as _;

use super::{LazyServer, pinned};
use crate::gateway::{PersonEntry, PersonNeed};
use crate::team::{ConnectionState, Need, Obstacle, Team, problem_for_person};
use crate::timeouts::LOOK_INTERVAL;

impl LazyServer {
    /// Returns the server as one person reaches it: with what is theirs or everybody's alone, and without
    /// a person to ask.
    pub(super) async fn own(&self, person: &Person) -> Result<Approved<Plan>, Obstacle> {
        let Some(team) = &self.options.team else {
            return self.without_team(person).await;
        };
        if let Some(known) = self.people.plan(person) {
            return Ok(known);
        }
        if self.ports.get().is_none() {
            // How people sign in is told by the plan of the tenant. One that does not resolve without
            // their variables leads to their page.
            self.approved().await.ok();
        }
        let begun = Instant::now();
        let (team, plugin) = (team.clone(), self.plugin().clone());
        let (server, of) = (self.server.clone(), person.clone());
        let planning = spawn_blocking(move || team.plan(&plugin, &server, &of));
        let planned = planning.await.unwrap_or_else(|_| Err(stopped().into()))?;
        self.people.keep(person, (begun, &planned));
        Ok(planned)
    }

    /// Where nothing is kept for people but sign-ins by account: servers that get nothing else.
    async fn without_team(&self, person: &Person) -> Result<Approved<Plan>, Obstacle> {
        let approved = self.approved().await?;
        if gets_values(&approved) {
            let message = format!(
                "`{}` uses credentials or a program of this gateway, which are not for people",
                printable(&self.server)
            );
            return Err(ServerProblem::new(Code::Forbidden, message).into());
        }
        let host = approved.host().with_service_account(&person.account());
        Ok(approved.on(&host))
    }

    /// Connects for a person.
    pub(super) async fn open_for(
        &self,
        person: &Person,
        pin: Option<&AccountPin>,
    ) -> Result<Opened, ServerProblem> {
        let own = self.own(person).await.map_err(|it| it.problem)?;
        let own = pinned(own, pin);
        let place = self.options.team.as_ref().filter(|_| runs_program(&own));
        let place = match place {
            Some(team) => Some(team.place(person).await?),
            None => None,
        };
        // Before the connection is made: a sign-out meanwhile is heard.
        let team = self.options.team.as_ref();
        let feeds = team.map(|team| team.connection_feeds(person, &own));
        let watched = match feeds.zip(self.person_fingerprint(&own)) {
            Some((feeds, fingerprint)) => {
                let of = own.clone();
                let looked = spawn_blocking(move || is_signed_in(&of)).await;
                let is_signed_in = looked.ok().flatten();
                let state = ConnectionState {
                    fingerprint,
                    is_signed_in,
                };
                Some((feeds, state))
            }
            None => None,
        };
        // Tried without a sign-in as well: only the server knows whether it wants one.
        let problem = match own.open().await {
            Ok(connected) => {
                let connection = match watched {
                    Some((feeds, state)) => {
                        let held = (connected.connection, place);
                        self.people.hold((person, feeds), state, held)
                    }
                    None => connected.connection,
                };
                let opened = Opened::new(connection, connected.offer);
                return Ok(opened.within(own.start_limit()));
            }
            Err(error) => problem_for_person(&error),
        };
        let Some(oauth) = own.oauth() else {
            return Err(problem);
        };
        if problem.code != Code::SignInRequired || oauth.is_signed_in().await.unwrap_or_default() {
            return Err(problem);
        }
        let server = printable(&self.server);
        let message = format!("`{server}` has no sign-in of yours");
        Err(ServerProblem::new(Code::SignInRequired, message).with_hint(self.admin_hint(person)))
    }

    /// Returns what a connection for a person depends on; `None` where that is not watched.
    fn person_fingerprint(&self, own: &Approved<Plan>) -> Option<[u8; 32]> {
        let key = self.options.watch.as_ref()?;
        let facts = self.options.process_facts.iter();
        let facts: Vec<&[u8]> = facts.map(|it| it.expose().as_slice()).collect();
        Some(*own.fingerprint(&facts, key).as_bytes())
    }

    /// Says whether a program of this server may run for a person now.
    pub(super) fn has_program_of(&self, person: &Person) -> bool {
        self.people.has_program_of(person)
    }

    /// Ends connections of people of which something has changed. Blocks while they are planned again.
    pub(crate) fn look_at_people(&self, is_due: bool) {
        let Some(team) = &self.options.team else {
            return;
        };
        let plan = |person: &Person| {
            let own = team.plan(self.plugin(), &self.server, person).ok()?;
            Some(ConnectionState {
                fingerprint: self.person_fingerprint(&own)?,
                is_signed_in: is_signed_in(&own),
            })
        };
        self.people.look(is_due, plan);
    }

    /// Says whether an entry may need something of a person beside a sign-in.
    pub(super) fn has_variables(&self) -> bool {
        let entry = || self.plugin().entry(Some(&self.server)).ok();
        let names = || entry().map(|(_, entry)| usage::names(entry).len());
        self.options.team.is_some() && names().unwrap_or_default() > 0
    }

    /// Returns what a person has to do on a page of their own.
    pub(super) async fn need_of(&self, person: &Person) -> Option<PersonNeed> {
        let obstacle = self.own(person).await.err();
        let page = self.options.team.as_ref()?.page()?.to_owned();
        if let Some(Obstacle {
            problem,
            need: Some(need),
        }) = obstacle
        {
            let then = match need {
                Need::Variables => "Set them on this page, then call again",
                Need::Approval => "Look at it on this page and agree, then call again",
            };
            let words = format!("{}. {then}", problem.message);
            return Some(PersonNeed { words, page });
        }
        // A server that takes no sign-in and refuses what the person has set.
        let own = self.own(person).await.ok()?;
        (own.oauth().is_none() && self.has_variables()).then(|| PersonNeed {
            words: format!(
                "`{}` refuses your credential. Set it again on this page, then call again",
                printable(&self.server)
            ),
            page,
        })
    }

    /// Waits until a person has set what was missing.
    pub(super) async fn needs_no_more(&self, person: &Person) {
        let Some(team) = &self.options.team else {
            return std::future::pending().await;
        };
        let mut feeds = team.change_feeds(Some(person));
        feeds.extend(team.change_feeds(None));
        let had_need = self.need_of(person).await.is_some();
        let mut beat = interval(LOOK_INTERVAL);
        loop {
            beat.tick().await;
            let mut told = feeds.is_empty();
            for feed in &mut feeds {
                told |= feed.changed().unwrap_or(true);
            }
            if told && had_need && self.own(person).await.is_ok() {
                return;
            }
        }
    }

    /// Describes what the entry needs of a person.
    pub(super) async fn entry_for(&self, person: &Person) -> Option<PersonEntry> {
        if !self.has_variables() {
            return None;
        }
        let (plugin, server) = (self.plugin().clone(), self.server.clone());
        let (team, person) = (self.options.team.clone()?, person.clone());
        let entry = spawn_blocking(move || team.entry(&plugin, &server, &person));
        entry.await.ok()?.ok()
    }

    /// Does what a person asks for on their page.
    pub(super) async fn do_for(
        &self,
        person: &Person,
        action: PersonAction,
    ) -> Result<bool, ServerProblem> {
        let Some(team) = self.options.team.clone() else {
            return Ok(false);
        };
        let (plugin, server) = (self.plugin().clone(), self.server.clone());
        let person = person.clone();
        let acting = spawn_blocking(move || act(&team, (&plugin, &server, &person), action));
        acting.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Says what an admin can do for a person whose browser cannot show whose it is.
    fn admin_hint(&self, person: &Person) -> String {
        let team = self.options.team.as_ref();
        if team.is_some_and(Team::keeps_sign_ins_apart) {
            let hint = "an admin lets you sign in in your browser: `browser_clients` in `[gateway.people]`";
            return hint.to_owned();
        }
        let site = self.plugin().declaration_site(&self.server).without_path();
        let login = format!("keyway login SERVER --account {}", person.account());
        let login = site.word(&login);
        format!("an admin signs you in on the gateway's machine: {login}")
    }
}

fn act(
    team: &Team,
    (plugin, server, person): (&keyway::Plugin, &str, &Person),
    action: PersonAction,
) -> Result<bool, ServerProblem> {
    let failed = |error: keyway::Error| error.problem();
    // Only what the entry names is stored, under the name that it has for this plugin.
    let stored_name = |name: &str| {
        let entry = team.entry(plugin, server, person).map_err(failed)?;
        let mut variables = entry.variables.into_iter();
        let found = variables.find(|it| it.name == name);
        Ok::<_, ServerProblem>(found.map(|it| it.stored_name))
    };
    let variables = || team.variables(person).map_err(|error| failed(error.into()));
    match action {
        PersonAction::Set { name, value } => {
            let Some(stored_name) = stored_name(&name)? else {
                return Ok(false);
            };
            let value: Secret<String> = value;
            let set =
                KeptVariables::of(&variables()?).set(&stored_name, &value, SystemClock.wall());
            set.map(|()| true)
                .map_err(|error| ServerProblem::new(Code::UnresolvedVariable, error.to_string()))
        }
        PersonAction::Unset { name } => {
            let Some(stored_name) = stored_name(&name)? else {
                return Ok(false);
            };
            let unset = KeptVariables::of(&variables()?).unset(&stored_name);
            unset.map_err(|error| failed(error.into()))
        }
        PersonAction::Agree { digest } => team
            .agree(plugin, server, (person, &digest))
            .map_err(failed),
        _ => Ok(false),
    }
}

/// Says whether there is a sign-in; `None` if the store does not say. Blocks. Asked alike before a
/// connection is made and later: what one way finds, and another does not, would look like a sign-out.
fn is_signed_in(own: &Approved<Plan>) -> Option<bool> {
    match own.oauth() {
        Some(_) => own.stored_sign_in().ok().map(|found| found.is_some()),
        None => Some(false),
    }
}

fn stopped() -> ServerProblem {
    keyway::Error::Cancelled.problem()
}

fn runs_program(own: &Approved<Plan>) -> bool {
    match &own.spec().endpoint {
        SpecEndpoint::Local(_) => true,
        SpecEndpoint::Remote(remote) => remote.helper.is_some(),
        _ => false,
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
