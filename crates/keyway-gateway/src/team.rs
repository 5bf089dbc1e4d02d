//! A gateway for the people of a team: what belongs to each of them, and what to all together.
//!
//! ```text
//! tenant   variables, approvals of the admins ──┐
//! person   variables, own approvals, sign-ins ──┴──▶ a host for this person ──plan──▶ Approved<Plan>
//! ```
//!
//! Variables come from the person, then from the tenant, and from nothing else: neither the environment
//! of the gateway nor a file. An entry is used if the admins approved it as the tenant's values fill it
//! in; where a person's own values lead it elsewhere, that person has to agree as well.

mod connections;
mod plan;
mod programs;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use keyway::approval::SharedApprovals;
use keyway::settings::PublicAddress;
use keyway::sign_in::PromptPolicy;
use keyway::store::{ChangeFeed, StoreError, ValueStore};
use keyway::{Approved, Error, Host, Plan};
use keyway_database::{Database, TeamStores, VaultStores};
use keyway_mcp::states::ServerProblem;
use keyway_people::Person;
use keyway_secret::hex;
use keyway_transport::SHUTDOWN_TIMEOUT;
use keyway_vault::Vault;

use crate::gateway::{Gateway, OWN_PAGE, SessionKey};
use crate::local_backend::LocalBackend;
use crate::people::{IssuerError, People};

pub(crate) use self::connections::{ConnectionState, PeopleConnections};
pub(crate) use self::plan::{Need, Obstacle, problem_for_person};
use self::programs::{ProgramLimits, ProgramPlace};

/// What belongs to the people of a team. Cheap to clone.
#[derive(Clone)]
pub struct Team(Arc<Inner>);

struct Inner {
    stores: Box<dyn TeamStores>,
    profile: String,
    home: Option<PathBuf>,
    programs: ProgramLimits,
    /// The page on which people set variables, if their browsers can show whose they are.
    page: Option<String>,
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Team");
        shown
            .field("stores", &self.0.stores)
            .finish_non_exhaustive()
    }
}

impl Team {
    /// Makes the team of a host whose settings let people in; `None` for any other. `home` is the home
    /// folder below which plugins are known by their place.
    #[must_use]
    pub fn of(host: &Host, stores: Box<dyn TeamStores>, home: Option<PathBuf>) -> Option<Self> {
        let settings = &host.settings().gateway;
        let people = settings.people.as_ref()?;
        let public = settings.public.as_ref()?;
        let has_browsers = !people.browser_clients.is_empty();
        let profile = host.accounts().map_or("default", |it| it.profile());
        Some(Self(Arc::new(Inner {
            stores,
            profile: profile.to_owned(),
            home,
            programs: ProgramLimits::new(people),
            page: has_browsers.then(|| format!("{}{OWN_PAGE}", public.origin)),
        })))
    }

    /// Returns the host of what all people share: variables of the tenant alone, and in a database its
    /// approvals.
    ///
    /// # Errors
    ///
    /// Returns why the stores cannot be used.
    pub fn tenant_host(&self, host: &Host) -> Result<Host, StoreError> {
        let host = host.with_variables_of([self.0.stores.variables(None)?]);
        Ok(match self.0.stores.approvals(None)? {
            Some(values) => host.with_approval_store(Arc::new(self.approvals(values))),
            None => host,
        })
    }

    /// Returns the host of one person: their own sign-ins, variables and approvals, no person to ask, and
    /// a folder of their own for programs.
    fn host(&self, tenant: &Host, person: &Person) -> Result<Host, StoreError> {
        let stores = &self.0.stores;
        let host = match stores.sign_ins(person)? {
            Some(sign_ins) => tenant
                .with_sign_in_stores(sign_ins)
                .with_interaction(None)
                .with_asking(PromptPolicy::Never),
            None => tenant.with_service_account(&person.account()),
        };
        let variables = [stores.variables(Some(person))?, stores.variables(None)?];
        let host = host.with_variables_of(variables).without_approval_prompt();
        let host = host.with_own_data(&hex::write(&person.digest()));
        Ok(match stores.approvals(Some(person))? {
            Some(values) => host.with_own_approvals(Arc::new(self.approvals(values))),
            None => host,
        })
    }

    fn approvals(&self, values: Arc<dyn ValueStore>) -> SharedApprovals {
        SharedApprovals::new(values, &self.0.profile, self.0.home.clone())
    }

    /// Returns what tells of changes to the variables and approvals of a person, or of the tenant; none
    /// where files show them.
    pub(crate) fn change_feeds(&self, person: Option<&Person>) -> Vec<Box<dyn ChangeFeed>> {
        let stores = &self.0.stores;
        let variables = stores.variables(person).ok();
        let approvals = stores.approvals(person).ok().flatten();
        let both = variables.into_iter().chain(approvals);
        both.filter_map(|values| values.change_feed()).collect()
    }

    /// Returns what tells of changes to what a connection of a person depends on: beside variables and
    /// approvals the sign-in, where the entry takes one and no file shows it.
    pub(crate) fn connection_feeds(
        &self,
        person: &Person,
        own: &Approved<Plan>,
    ) -> Vec<Box<dyn ChangeFeed>> {
        let mut feeds = self.change_feeds(Some(person));
        let accounts = own.host().accounts().filter(|_| own.oauth().is_some());
        // A store that cannot be heard is asked when something of it is needed.
        feeds.extend(accounts.and_then(|accounts| accounts.change_feed().ok().flatten()));
        feeds
    }

    /// Returns the variables of a person.
    pub(crate) fn variables(&self, person: &Person) -> Result<Arc<dyn ValueStore>, StoreError> {
        self.0.stores.variables(Some(person))
    }

    /// Takes a place for a program of a person; at their limit a session of theirs may give way.
    ///
    /// Cancel safety: cancel safe; a session may have ended.
    pub(crate) async fn place(&self, person: &Person) -> Result<ProgramPlace, ServerProblem> {
        self.0.programs.take(person).await
    }

    /// Says whether the sign-ins of people are not in the stores of the host.
    pub(crate) fn keeps_sign_ins_apart(&self) -> bool {
        self.0.stores.keeps_sign_ins_apart()
    }

    /// Returns the page on which a person sets variables, if their browser can show whose it is.
    pub(crate) fn page(&self) -> Option<&str> {
        self.0.page.as_deref()
    }
}

/// Lets the people of the settings in, who sign in to servers and set variables in their own browsers
/// where the host keeps what lies between two steps of that.
///
/// # Errors
///
/// Returns which rule the name of an issuer breaks.
pub fn with_people(
    gateway: Gateway,
    host: &Host,
    team: Option<&Team>,
) -> Result<Gateway, IssuerError> {
    if let Some(team) = team {
        team.0.programs.make_room_by(gateway.room_maker());
    }
    let people = People::of(&host.settings().gateway, host.http())?.map(Arc::new);
    let store = host.accounts().map(|accounts| accounts.one_time_store());
    Ok(match (people, store) {
        (Some(people), Some(store)) => {
            let gateway = gateway.with_people_and_consent(people, store);
            match team {
                Some(_) => gateway.with_own_pages(),
                None => gateway,
            }
        }
        (Some(people), None) => gateway.with_people(people),
        (None, _) => gateway,
    })
}

/// Returns the key of session ids: of the database, if gateways share one, and otherwise of the vault;
/// `None` if it cannot be kept there.
///
/// # Errors
///
/// Returns why the database gives none now.
pub fn session_key(
    vault: &Vault,
    database: Option<&Database>,
) -> Result<Option<SessionKey>, StoreError> {
    match database {
        Some(database) => database.session_key().map(|key| Some(SessionKey::new(key))),
        None => Ok(SessionKey::kept_in(vault)),
    }
}

/// Returns where people reach the gateway; without people no client could come from elsewhere.
#[must_use]
pub fn public_address(host: &Host) -> Option<&PublicAddress> {
    let settings = &host.settings().gateway;
    let public = settings.public.as_ref();
    public.filter(|_| settings.people.is_some())
}

/// Says to a person who ends the gateway what it still waits for; `None` for nothing.
#[must_use]
pub fn calls_under_way(number: usize) -> Option<String> {
    let calls = match number {
        0 => return None,
        1 => "a call is".to_owned(),
        more => format!("{more} calls are"),
    };
    let seconds = SHUTDOWN_TIMEOUT.as_secs();
    let wait = format!("waiting up to {seconds} seconds; press Ctrl-C to stop now");
    Some(format!("{calls} in flight: {wait}\n"))
}

/// Returns the host that looks for variables and approvals where gateways share them: in the database,
/// if there is one. What the environment sets counts before, as without a database.
///
/// # Errors
///
/// Returns why the database cannot be used.
pub fn on_database(
    host: &Host,
    database: &Database,
    home: Option<PathBuf>,
) -> Result<Host, StoreError> {
    let approvals = shared_approvals(host, database, home)?;
    let host = host.with_variables_kept_in(database.tenant_variables()?);
    Ok(host.with_approval_store(Arc::new(approvals)))
}

/// Returns the approvals of the profile of a host in a database.
///
/// # Errors
///
/// Returns why the database cannot be used.
pub fn shared_approvals(
    host: &Host,
    database: &Database,
    home: Option<PathBuf>,
) -> Result<SharedApprovals, StoreError> {
    let profile = host.accounts().map_or("default", |it| it.profile());
    Ok(SharedApprovals::new(
        database.tenant_approvals()?,
        profile,
        home,
    ))
}

/// Returns the host that serves the people of the settings, and what belongs to them: in the database,
/// or in the vault. Without people it is the given one.
///
/// # Errors
///
/// Returns why the vault or the database cannot be used.
pub fn of_settings(
    host: Host,
    database: Option<&Database>,
    home: Option<PathBuf>,
) -> Result<(Host, Option<Team>), Error> {
    if host.settings().gateway.people.is_none() {
        return Ok((host, None));
    }
    let stores: Box<dyn TeamStores> = match database {
        Some(database) => Box::new(database.clone()),
        None => Box::new(VaultStores::new(LocalBackend::new(&host).vault()?)),
    };
    let Some(team) = Team::of(&host, stores, home) else {
        return Ok((host, None));
    };
    Ok((team.tenant_host(&host)?, Some(team)))
}
