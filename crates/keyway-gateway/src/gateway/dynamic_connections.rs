//! Aggregate connections whose members follow the served servers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyway_auth::BoxFuture;
use keyway_transport::Connection;

use super::consent::{Consents, PersonSignIn};
use super::principal::Principal;
use super::routes::Route;
use super::served_servers::{ServedServer, Upstream};
use keyway::sign_in::AccountPin;
use keyway_mcp::aggregate::{
    AggregateMembers, AggregateSettings, Connector, Member, Opened, SignInPort,
    aggregate_with_members,
};
use keyway_mcp::declaration_site::DeclarationSite;
use keyway_mcp::explain::Explainer;
use keyway_mcp::states::ServerProblem;
use keyway_mcp::tool_memory::ToolMemory;
use keyway_people::Person;
use keyway_policy::{GuardedConnector, Policies};

/// The aggregate connections that are open, so that a change of servers reaches all of them.
///
/// The lock is held while a connection is made or all are adapted; neither waits. The lock of the
/// served servers and those of an aggregate are taken under it, never the other way round.
#[derive(Debug, Default)]
pub(super) struct DynamicConnections(Mutex<Vec<DynamicConnection>>);

#[derive(Debug)]
struct DynamicConnection {
    members: AggregateMembers,
    principal: Principal,
    route: Route,
    account: Option<AccountPin>,
    /// The connectors of servers that are reached with one account: of the only one, if the client
    /// has just one, and of all for a person.
    pinned: Vec<Arc<PinnedUpstream>>,
    /// The connectors of servers that have a policy for the client.
    guards: Vec<Arc<GuardedConnector>>,
}

/// What limits clients, and how people sign in.
type Rules<'a> = (Option<&'a Arc<Policies>>, Option<&'a Arc<Consents>>);

/// A server reached with the account that one session or one token is bound to, or for a person.
#[derive(Debug)]
struct PinnedUpstream {
    upstream: Arc<dyn Upstream>,
    account: Option<AccountPin>,
    /// The account of a token for a job without a person.
    service: Option<String>,
    person: Option<Person>,
    /// How the person signs in, if they can.
    sign_in: Option<PersonSignIn>,
}

impl Connector for PinnedUpstream {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        if let Some(person) = &self.person {
            return self.upstream.connect_person(person, self.account.as_ref());
        }
        match (&self.service, &self.account) {
            (Some(service), account) => self.upstream.connect_service(service, account.as_ref()),
            (None, Some(account)) => self.upstream.connect_as(account),
            (None, None) => self.upstream.connect(),
        }
    }

    fn connect_timeout(&self) -> Duration {
        self.upstream.connect_timeout()
    }

    fn find_sign_in(&self) -> BoxFuture<'_, ()> {
        self.upstream.find_sign_in()
    }

    fn sign_in_port(&self) -> Option<&dyn SignInPort> {
        // A job cannot sign in, and must not make a person do so. A person of another machine signs in
        // in their own browser, and never in that of this machine's person.
        let port = self.upstream.sign_in_port();
        if self.person.is_some() {
            let may_help = port.is_some() || self.upstream.may_need_people();
            let own = self.sign_in.as_ref().filter(|_| may_help)?;
            return Some(own as &dyn SignInPort);
        }
        port.filter(|_| self.service.is_none())
    }

    fn explainer(&self) -> Option<Explainer> {
        let explainer = self.upstream.explainer()?;
        if self.person.is_none() {
            return Some(explainer);
        }
        // Places and commands of this machine are for its admins.
        Some(Arc::new(move |error| {
            let mut explained = explainer(error);
            explained.hint = ServerProblem::from(error).hint;
            explained.source = None;
            explained
        }))
    }

    fn tool_memory(&self) -> Option<&dyn ToolMemory> {
        // What one person is listed is not for another.
        let memory = self.upstream.tool_memory();
        memory.filter(|_| self.person.is_none())
    }

    fn declaration_site(&self) -> Option<DeclarationSite> {
        let site = self.upstream.declaration_site()?;
        Some(match self.person {
            Some(_) => site.without_path(),
            None => site,
        })
    }
}

impl DynamicConnections {
    /// Makes a connection to all servers of a route together; `servers` is called under the lock.
    pub(super) fn connect(
        &self,
        servers: impl FnOnce() -> Arc<[Arc<ServedServer>]>,
        (principal, route, account): (&Principal, &Route, Option<&AccountPin>),
        settings: AggregateSettings,
        (policies, consents): Rules<'_>,
    ) -> (Connection, AggregateMembers) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Servers are read under the lock: a change in between would reach this connection neither
        // here nor by `adapt`.
        let servers = servers();
        let mut members = members(&servers, principal, route);
        let pinned = pinned(&mut members, &servers, (principal, account, consents), &[]);
        let guards = guard(&mut members, principal, policies, &[]);
        let (connection, members) = aggregate_with_members(members, settings);
        all.retain(|it| !it.members.is_over());
        all.push(DynamicConnection {
            members: members.clone(),
            principal: principal.clone(),
            route: route.clone(),
            account: account.cloned(),
            pinned,
            guards,
        });
        (connection, members)
    }

    /// Replaces the members of every open connection by the servers as they are now; `servers` is
    /// called under the lock, so that of two changes at once the later one stays.
    pub(super) fn adapt(
        &self,
        servers: impl FnOnce() -> Arc<[Arc<ServedServer>]>,
        (policies, consents): Rules<'_>,
    ) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let servers = &servers();
        all.retain(|it| !it.members.is_over());
        for it in all.iter_mut() {
            let mut members = members(servers, &it.principal, &it.route);
            let owner = (&it.principal, it.account.as_ref(), consents);
            it.pinned = pinned(&mut members, servers, owner, &it.pinned);
            it.guards = guard(&mut members, &it.principal, policies, &it.guards);
            it.members.replace(members);
        }
    }
}

/// Pins the only member to one account, or all members to a person. Those of `before` are reused if
/// they still lead to the same upstream, so that the member keeps its connection. A client of several
/// servers is not pinned otherwise; a service account always has one.
fn pinned(
    members: &mut [Member],
    servers: &[Arc<ServedServer>],
    (principal, account, consents): (&Principal, Option<&AccountPin>, Option<&Arc<Consents>>),
    before: &[Arc<PinnedUpstream>],
) -> Vec<Arc<PinnedUpstream>> {
    let (service, person) = (principal.account(), principal.person());
    let is_one = members.len() == 1 && (account.is_some() || service.is_some());
    if !is_one && person.is_none() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for member in members {
        let id = member.server_id.as_ref();
        let is_it =
            |it: &&Arc<ServedServer>| id.is_some_and(|id| it.plugin == id.0 && it.name == id.1);
        let Some(server) = servers.iter().find(is_it) else {
            continue;
        };
        let upstream = &server.upstream;
        let mut known = before.iter();
        let known = known.find(|pinned| Arc::ptr_eq(&pinned.upstream, upstream));
        let pinned = known.cloned().unwrap_or_else(|| {
            Arc::new(PinnedUpstream {
                upstream: Arc::clone(upstream),
                account: account.cloned(),
                service: service.map(str::to_owned),
                person: person.cloned(),
                sign_in: consents.and_then(|consents| sign_in(consents, server, person?)),
            })
        });
        member.connector = Arc::clone(&pinned) as Arc<dyn Connector>;
        all.push(pinned);
    }
    all
}

/// Returns how a person signs in to a server, if their browser can show whose it is.
fn sign_in(
    consents: &Arc<Consents>,
    server: &ServedServer,
    person: &Person,
) -> Option<PersonSignIn> {
    let can_ask = consents.can_ask(person);
    can_ask.then(|| PersonSignIn::new(consents, server, person))
}

/// Puts policies in front of the members that have one for the client. Those of `before` are reused
/// if they still lead to the same server, so that the member keeps its connection.
fn guard(
    members: &mut [Member],
    principal: &Principal,
    policies: Option<&Arc<Policies>>,
    before: &[Arc<GuardedConnector>],
) -> Vec<Arc<GuardedConnector>> {
    let mut guards = Vec::new();
    for member in members {
        let Some((policies, id)) = policies.zip(member.server_id.as_ref()) else {
            continue;
        };
        let client = principal.client();
        if policies.access(client, (&id.0, &id.1)).is_none() {
            continue;
        }
        let known = before.iter().find(|it| it.is_for(&member.connector));
        let guard = known.cloned().unwrap_or_else(|| {
            let inner = Arc::clone(&member.connector);
            Arc::new(GuardedConnector::new(inner, policies, client, id.clone()))
        });
        member.connector = Arc::clone(&guard) as Arc<dyn Connector>;
        guards.push(guard);
    }
    guards
}

/// Returns the servers that a client reaches by a route.
fn members(servers: &[Arc<ServedServer>], principal: &Principal, route: &Route) -> Vec<Member> {
    let is_reached = |server: &&Arc<ServedServer>| match route {
        Route::One(one) => one.has_same_name_as(server),
        Route::All(_) => principal.opens(&server.plugin, &server.name),
    };
    let bound = servers.iter().filter(is_reached);
    let member = |server: &Arc<ServedServer>| {
        let connector = Arc::clone(&server.upstream) as Arc<dyn Connector>;
        let mut member = Member::new(display_name(servers, server), connector);
        member.server_id = Some((server.plugin.clone(), server.name.clone()));
        member
    };
    bound.map(member).collect()
}

/// Returns the name of a server among many: with its plugin if another has the same name.
fn display_name(servers: &[Arc<ServedServer>], server: &ServedServer) -> String {
    let same = |other: &&Arc<ServedServer>| other.name == server.name;
    if servers.iter().filter(same).count() > 1 {
        format!("{}_{}", server.plugin, server.name)
    } else {
        server.name.clone()
    }
}

#[cfg(test)]
mod tests {
    use keyway_mcp::session::ClientInfo;

    use super::*;

    #[tokio::test]
    async fn servers_are_read_under_the_lock_so_that_no_change_is_lost() {
        let all = DynamicConnections::default();
        let servers = || {
            assert!(all.0.try_lock().is_err(), "a change could come in between");
            Arc::from([])
        };
        let settings = AggregateSettings::new(ClientInfo::new("keyway", "0"));
        let owner = (&Principal::SameUser, &Route::All(Vec::new()), None);
        let _connection = all.connect(servers, owner, settings, (None, None));
        all.adapt(servers, (None, None));
    }
}
