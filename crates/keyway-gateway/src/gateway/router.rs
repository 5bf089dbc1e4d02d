//! Which servers are served now, and how a client gets a connection to them.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::binding::{Binding, BoundConnection};
use super::closing_tasks::ClosingTasks;
use super::consent::Consents;
use super::dynamic_connections::DynamicConnections;
use super::principal::Principal;
use super::routes::Route;
use super::served_servers::{ServedServer, Upstream};
use keyway::sign_in::AccountPin;
use keyway_auth::BoxFuture;
use keyway_mcp::aggregate::{AggregateSettings, Naming};
use keyway_mcp::session::ClientInfo;
use keyway_mcp::tool_memory::ToolMemory;
use keyway_policy::{Policies, guarded};
use keyway_transport::{Connection, Frame};
use serde_json::value::RawValue;

/// The served servers, and what connections to them need.
#[derive(Debug)]
pub(super) struct Router {
    /// Replaced as a whole: readers clone the outer `Arc` and hold no lock while they use it.
    servers: RwLock<Arc<[Arc<ServedServer>]>>,
    dynamic: DynamicConnections,
    /// Set once, before the first client comes; without it every tool may be called.
    policies: OnceLock<Arc<Policies>>,
    /// Set once, before the first client comes; without it no person is shown a link.
    consents: OnceLock<Arc<Consents>>,
    info: ClientInfo,
    pub(super) closing: ClosingTasks,
}

impl Router {
    pub(super) fn new(servers: Vec<ServedServer>, info: ClientInfo) -> Self {
        Self {
            servers: RwLock::new(servers.into_iter().map(Arc::new).collect()),
            dynamic: DynamicConnections::default(),
            policies: OnceLock::new(),
            consents: OnceLock::new(),
            info,
            closing: ClosingTasks::default(),
        }
    }

    /// Puts policies in front of the servers.
    pub(super) fn set_policies(&self, policies: Arc<Policies>) {
        let _first = self.policies.set(policies);
    }

    /// Lets people sign in to servers in their browsers.
    pub(super) fn set_consents(&self, consents: Arc<Consents>) {
        let _first = self.consents.set(consents);
    }

    /// Returns the policies, if there are any.
    pub(super) fn policies(&self) -> Option<&Arc<Policies>> {
        self.policies.get()
    }

    /// Puts the policy for a client in front of a connection to a server, if there is one; returns
    /// also what may remember the tools that the client is listed then.
    pub(super) fn guard(
        &self,
        principal: &Principal,
        server: &ServedServer,
        connection: Connection,
    ) -> (Connection, Option<Arc<dyn ToolMemory>>) {
        let policies = self.policies.get();
        let access = policies.and_then(|policies| {
            policies.access(principal.client(), (&server.plugin, &server.name))
        });
        match access {
            // Not all that the server has, which other clients may see.
            Some(access) => (guarded(connection, access), None),
            // What one person is listed is not for another.
            None if principal.person().is_some() => (connection, None),
            None => {
                let memory = UpstreamTools(Arc::clone(&server.upstream));
                (connection, Some(Arc::new(memory)))
            }
        }
    }

    pub(super) fn servers(&self) -> Arc<[Arc<ServedServer>]> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&servers)
    }

    /// Replaces the served servers by what `how` makes of them; `how` runs under the write lock.
    pub(super) fn change(
        &self,
        how: impl FnOnce(&[Arc<ServedServer>]) -> Arc<[Arc<ServedServer>]>,
    ) {
        let mut current = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        *current = how(&current);
    }

    /// Passes the servers as they are now to the dynamic connections.
    pub(super) fn adapt(&self) {
        let rules = (self.policies.get(), self.consents.get());
        self.dynamic.adapt(|| self.servers(), rules);
    }

    /// Opens a connection for a client: to the server itself if it can be used as it is, else to an
    /// aggregate that says what is missing. A session is pinned to `account`.
    pub(super) async fn connect(
        &self,
        principal: &Principal,
        route: &Route,
        account: Option<&AccountPin>,
    ) -> BoundConnection {
        if let Some(server) = route.only()
            && let Some(connection) = open(server, principal, account).await
        {
            let binding = Some(Binding::new(server, principal, route));
            let (connection, tool_memory) = self.guard(principal, server, connection);
            return BoundConnection {
                connection,
                binding,
                members: None,
                tool_memory,
                is_dormant: false,
            };
        }
        self.connect_dynamic(principal, route, account)
    }

    /// Returns a connection that answers `initialize` as the program of the route did before; `None`
    /// if the server is not a program, or has not answered this client yet.
    pub(super) fn connect_dormant(
        &self,
        principal: &Principal,
        route: &Route,
        initialize: &Frame,
    ) -> Option<BoundConnection> {
        let server = startable_later(principal, route)?;
        let answers = &server.initialize_answers;
        Some(BoundConnection {
            connection: answers.connect(principal.client(), initialize)?,
            binding: Some(Binding::new(server, principal, route)),
            members: None,
            tool_memory: None,
            is_dormant: true,
        })
    }

    /// Opens a connection whose members follow the served servers.
    pub(super) fn connect_dynamic(
        &self,
        principal: &Principal,
        route: &Route,
        account: Option<&AccountPin>,
    ) -> BoundConnection {
        let mut settings = AggregateSettings::new(ClientInfo::clone(&self.info));
        if route.only().is_some() {
            settings.naming = Naming::Bare;
        }
        let owner = (principal, route, account);
        let rules = (self.policies.get(), self.consents.get());
        let connected = self
            .dynamic
            .connect(|| self.servers(), owner, settings, rules);
        let (connection, members) = connected;
        BoundConnection {
            connection,
            binding: None,
            members: Some(members),
            tool_memory: None,
            is_dormant: false,
        }
    }
}

/// Returns the server of a route if it is a program that may start when it is used.
pub(super) fn startable_later<'a>(
    principal: &Principal,
    route: &'a Route,
) -> Option<&'a Arc<ServedServer>> {
    let server = route.only()?;
    // A service account is looked for when its client comes.
    let may_wait = server.upstream.may_start_later() && principal.account().is_none();
    may_wait.then_some(server)
}

/// Remembers tools where the aggregate that stands in for a server finds them.
#[derive(Debug)]
struct UpstreamTools(Arc<dyn Upstream>);

impl ToolMemory for UpstreamTools {
    fn recall(&self) -> BoxFuture<'_, Option<Vec<Box<RawValue>>>> {
        Box::pin(async move { self.0.tool_memory()?.recall().await })
    }

    fn remember(&self, tools: &[Box<RawValue>]) {
        if let Some(memory) = self.0.tool_memory() {
            memory.remember(tools);
        }
    }
}

/// Connects to the server itself, as a client of this machine does, as a service account or for a
/// person.
async fn open(
    server: &ServedServer,
    principal: &Principal,
    account: Option<&AccountPin>,
) -> Option<Connection> {
    if let Some(person) = principal.person() {
        if !server.upstream.is_open_for(person).await {
            return None;
        }
        let opened = server.upstream.connect_person(person, account).await;
        return opened.ok().map(|opened| opened.connection);
    }
    match principal.account() {
        Some(service) => {
            let opened = server.upstream.connect_service(service, account).await;
            opened.ok().map(|opened| opened.connection)
        }
        None => server.upstream.open(account).await,
    }
}
