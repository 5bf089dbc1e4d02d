//! A server that is planned, approved and connected when a client first needs it.

mod cached;
mod person;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use keyway::connect::{BoxFuture, Connection, ConnectionFingerprint, FingerprintKey};
use keyway::diagnosis::explainer;
use keyway::events::Topic;
use keyway::remembered_tools::RememberedTools;
use keyway::sign_in::{AccountPin, OAuth, SignInGate};
use keyway::{Approved, Error, Host, Plan, Plugin};
use keyway_code::Code;
use keyway_config::resolve::SpecEndpoint;
use keyway_mcp::aggregate::{Connector, Opened, SignInPort};
use keyway_mcp::declaration_site::DeclarationSite;
use keyway_mcp::explain::Explainer;
use keyway_mcp::idle::end_when_idle;
use keyway_mcp::session::{OfferedEras, SessionError};
use keyway_mcp::states::ServerProblem;
use keyway_mcp::timeouts::CONNECT_TIMEOUT;
use keyway_mcp::tool_memory::ToolMemory;
use keyway_people::{Person, PersonAction};
use keyway_secret::{Secret, printable, shell_word};
use keyway_transport::TransportError;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use self::cached::Cached;
use crate::gateway::{PersonEntry, PersonNeed, Upstream};
use crate::shared_gateway::SharedGateway;
use crate::sharing;
use crate::team::{PeopleConnections, Team};
use crate::timeouts::PACKAGE_QUEUE_TIMEOUT;

/// A server that is planned and approved when it is connected to, so that an approval given
/// meanwhile counts.
///
/// ```text
/// named ──plan, approve──▶ approved ──connect──▶ connection
///   ▲                         │ a second later, or at a change where that is watched
///   └─────────────────────────┘
/// ```
pub struct LazyServer {
    /// Made at the first use: a file may declare a thousand servers.
    hosts: LazyLock<ServerHosts, Box<dyn FnOnce() -> ServerHosts + Send>>,
    server: String,
    options: LazyServerOptions,
    /// What is known of it once it was approved.
    ports: OnceLock<ServerPorts>,
    /// Words errors with what the entry says, once it could be filled in.
    explainer: std::sync::Mutex<Option<Explainer>>,
    /// Held while a plan is made, so that clients that come together share one.
    approved: Mutex<Cached<Approved<Plan>>>,
    /// Whether connections are programs that end when they are idle; known after the first.
    /// `Relaxed`: it guards no other data, and a session that misses it only starts its program.
    is_idle_program: AtomicBool,
    /// What its first use depended on, where it is watched.
    first_use: OnceLock<Fingerprinted>,
    /// The people who use it, and their connections.
    people: PeopleConnections,
    /// For programs that are started again; empty where they are not.
    this: Weak<Self>,
}

/// How to sign in to a server, and what it listed last.
struct ServerPorts {
    gate: Option<SignInGate>,
    tools: Option<RememberedTools>,
}

impl ServerPorts {
    fn of(approved: &Approved<Plan>) -> Self {
        Self {
            gate: approved.sign_in_gate(),
            tools: approved.remembered_tools(),
        }
    }
}

/// The plugin of a server, under the hosts that connect to it.
pub(crate) struct ServerHosts {
    /// Under a host that asks no person to sign in.
    pub(crate) plugin: Plugin,
    /// Lets a client talk to the server itself.
    pub(crate) direct: Option<Host>,
}

/// What a plan came to, to be compared with a later one.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprinted {
    /// What a session begun with that plan must not outlive.
    pub(crate) fingerprint: [u8; 32],
    /// The files that decided about it, beside those of the plugin.
    pub(crate) files: Vec<PathBuf>,
}

/// What a [`LazyServer`] can be told beyond its name.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct LazyServerOptions {
    /// Lets a client talk to the server itself, by a host that may ask for a sign-in.
    pub direct: Option<Host>,
    /// Is set when a connection was made with a sign-in, for the task that has to notice its end.
    pub presence: Presence,
    /// What else decides about connections, for processes that want to share them.
    pub process_facts: Arc<[Secret<Vec<u8>>]>,
    /// Takes connections from a gateway where they are the same.
    pub shared: Option<SharedGateway>,
    /// Set where everything that the server depends on is watched from its first use on, and the
    /// server is replaced at a change: the key of the fingerprints that are compared for that.
    pub watch: Option<FingerprintKey>,
    /// After how long without a request its program ends, if it is one; `None` for never.
    pub idle_timeout: Option<Duration>,
    /// What belongs to each person; without it they have sign-ins by account, and nothing else.
    pub team: Option<Team>,
}

/// Whether a connection was made with a sign-in.
pub type Presence = Arc<AtomicBool>;

impl fmt::Debug for LazyServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyServer")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl LazyServer {
    /// Names a server; nothing is read yet.
    #[must_use]
    pub fn new(plugin: Plugin, server: String, mut options: LazyServerOptions) -> Self {
        let direct = options.direct.take();
        let hosts = || ServerHosts { plugin, direct };
        Self::made_by(server, options, Box::new(hosts), Weak::new())
    }

    /// Names a server whose hosts are made when it is first used.
    pub(crate) fn with_hosts(
        server: String,
        options: LazyServerOptions,
        make: impl FnOnce() -> ServerHosts + Send + 'static,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self::made_by(server, options, Box::new(make), Weak::clone(this)))
    }

    fn made_by(
        server: String,
        options: LazyServerOptions,
        make: Box<dyn FnOnce() -> ServerHosts + Send>,
        this: Weak<Self>,
    ) -> Self {
        let cached = if options.watch.is_some() {
            Cached::watched()
        } else {
            Cached::unwatched()
        };
        Self {
            hosts: LazyLock::new(make),
            server,
            options,
            ports: OnceLock::new(),
            explainer: std::sync::Mutex::default(),
            approved: Mutex::new(cached),
            is_idle_program: AtomicBool::new(false),
            first_use: OnceLock::new(),
            people: PeopleConnections::default(),
            this,
        }
    }

    fn plugin(&self) -> &Plugin {
        &self.hosts.plugin
    }

    /// Returns what the first use of this server depended on; `None` if no client has used it yet.
    pub(crate) fn first_use(&self) -> Option<&Fingerprinted> {
        self.first_use.get()
    }

    /// Plans the server although no client asks, in the place of one that was in use. Returns the
    /// plan if it is approved. Blocks while files and the vault are read, and emits no events.
    pub(crate) fn plan_in_place(&self) -> Option<Approved<Plan>> {
        let quiet = self.plugin().host().without_events();
        let quiet = quiet.plugin(Arc::clone(self.plugin().loaded()));
        let plan = quiet.plan(&self.server);
        let found = plan.and_then(|plan| plan.approved_before());
        let found = found.map(|it| it.on(self.plugin().host()));
        self.note_first_use(found.as_ref());
        let approved = found.ok()?;
        // The next client may use it, unless events would tell of how it came about.
        let is_told = matches!(approved.spec().endpoint, SpecEndpoint::NotConfigured)
            || self.plugin().host().events().wants(Topic::Config);
        // No other client has this server yet; if a client was faster, its own plan counts.
        if let Ok(mut cached) = self.approved.try_lock()
            && !is_told
        {
            cached.put(&Arc::new(approved.clone()), Instant::now());
        }
        Some(approved)
    }

    /// Notes what the first plan came to, where that is compared with later ones.
    fn note_first_use(&self, found: Result<&Approved<Plan>, &Error>) {
        let Some(key) = &self.options.watch else {
            return;
        };
        self.first_use.get_or_init(|| match found {
            Ok(approved) => Fingerprinted {
                fingerprint: *self.fingerprint_of(approved, key).as_bytes(),
                files: approved.files(),
            },
            Err(error) => {
                let text = match self.plugin().entry(Some(&self.server)) {
                    Ok((document, entry)) => document.source.slice(entry.span),
                    Err(_) => "",
                };
                // What people use may be whole with values of their own: it is the same as long as
                // the plugin's part of it is, and is approved.
                let shared = self.shared_question();
                let (content, files) = match &shared {
                    Some((digest, files)) => (digest.as_bytes(), files.clone()),
                    None => (&[][..], Vec::new()),
                };
                let words = [text.as_bytes(), error.code().as_str().as_bytes(), content];
                Fingerprinted {
                    fingerprint: *key.hash("closed", &words).as_bytes(),
                    files,
                }
            }
        });
    }

    /// Returns in words what of an entry counts for people if it cannot be filled in without theirs:
    /// what would be approved, and whether it is; and the files of that.
    fn shared_question(&self) -> Option<(String, Vec<PathBuf>)> {
        self.options.team.as_ref()?;
        let plan = self.plugin().plan(&self.server).ok()?;
        let question = plan.question()?;
        let words = format!("{} {}", question.digest, plan.is_approved());
        let files = question.files.paths().map(Path::to_owned);
        Some((words, files.collect()))
    }

    fn fingerprint_of(
        &self,
        approved: &Approved<Plan>,
        key: &FingerprintKey,
    ) -> ConnectionFingerprint {
        let facts = self.options.process_facts.iter();
        let facts: Vec<&[u8]> = facts.map(|it| it.expose().as_slice()).collect();
        match &self.hosts.direct {
            Some(direct) => approved.on(direct).fingerprint(&facts, key),
            None => approved.fingerprint(&facts, key),
        }
    }

    /// Drops values that no client has asked for lately; called from time to time by the watching
    /// task.
    pub fn drop_unused(&self) {
        // A lock that is held is about to use them.
        if let Ok(mut cached) = self.approved.try_lock() {
            // What words errors holds the same values.
            if cached.forget(Instant::now()) {
                *self.lock_explainer() = None;
            }
        }
    }

    /// Held for a moment only, inside or outside of the lock of the plan.
    fn lock_explainer(&self) -> MutexGuard<'_, Option<Explainer>> {
        self.explainer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Is called before a connection is made, so that no end of a sign-in is missed.
    async fn note_presence(&self, server: &Approved<Plan>) {
        if let Some(oauth) = server.oauth()
            && oauth.is_signed_in().await.unwrap_or(false)
        {
            // `Relaxed`: the flag guards no other data. If the sign-in ends between the read and
            // this store, the next look finds the flag set and no sign-in, and closes the
            // connection.
            self.options.presence.store(true, Ordering::Relaxed);
        }
    }

    /// Plans and approves on a thread that may block: files are read and the vault is opened, which
    /// may take a second, and one thread serves every client. A client that comes right afterwards
    /// gets the same plan; where changes are watched, every client does.
    async fn approved(&self) -> Result<Approved<Plan>, Error> {
        // Held over the await on purpose: a second client waits for the first one's plan.
        let mut cached = self.approved.lock().await;
        let at = Instant::now();
        let (known, has_ports) = (cached.get(at), self.ports.get().is_some());
        if let Some(known) = known.as_ref().filter(|_| has_ports) {
            return Ok(Approved::clone(known));
        }
        let planned = self.plan_and_approve(known).await;
        self.note_first_use(planned.as_ref());
        let approved = planned?;
        cached.put(&Arc::new(approved.clone()), at);
        let site = self.plugin().declaration_site(&self.server);
        let explainer = explainer(approved.spec().clone(), site);
        *self.lock_explainer() = Some(explainer);
        Ok(approved)
    }

    /// Gets the plan approved if it is not `known` already, and finds out how to sign in.
    async fn plan_and_approve(
        &self,
        known: Option<Arc<Approved<Plan>>>,
    ) -> Result<Approved<Plan>, Error> {
        let (plugin, server) = (self.plugin().clone(), self.server.clone());
        let has_ports = self.ports.get().is_some();
        let planning = spawn_blocking(move || {
            let found = match known {
                Some(known) => Ok(Approved::clone(&known)),
                None => {
                    let plan = plugin.plan(&server)?;
                    match plan.find_approval()? {
                        Some(approved) => Ok(approved),
                        None => Err(plan),
                    }
                }
            };
            let ports = match &found {
                Ok(approved) if !has_ports => Some(ServerPorts::of(approved)),
                _ => None,
            };
            Ok::<_, Error>((found, ports))
        });
        let (found, ports) = planning.await.unwrap_or(Err(Error::Cancelled))?;
        let approved = match found {
            Ok(approved) => approved,
            Err(plan) => plan.approve().await?,
        };
        if !has_ports {
            let ports = ports.unwrap_or_else(|| ServerPorts::of(&approved));
            self.ports.get_or_init(|| ports);
        }
        Ok(approved)
    }

    /// Words that a service account cannot be used, and who can change that.
    fn no_service_sign_in(&self, account: &str, what: &str) -> ServerProblem {
        let (server, account) = (printable(&self.server), printable(account));
        let site = self.plugin().declaration_site(&self.server);
        let login = format!("keyway login SERVER --account {}", shell_word(&account));
        let message =
            format!("`{server}` {what} as `{account}`, the account that this token is bound to");
        ServerProblem::new(Code::SignInRequired, message).with_hint(site.word(&login))
    }

    async fn open_as(&self, pin: Option<&AccountPin>) -> Result<Opened, ServerProblem> {
        let approved = self.approved().await.map_err(|error| error.problem())?;
        let approved = pinned(approved, pin);
        if let Some(shared) = &self.options.shared
            && approved.is_open().await
            && let Some(stream) = shared.connect(&approved).await
            && let Ok(connection) = sharing::into_connection(stream)
        {
            // The gateway finds out which version the server speaks.
            return Ok(Opened::new(connection, OfferedEras::Legacy));
        }
        self.note_presence(&approved).await;
        let connected = approved.open().await.map_err(|error| error.problem())?;
        let connection = self.ending_when_idle(&approved, connected.connection);
        let opened = Opened::new(connection, connected.offer);
        Ok(opened.within(approved.start_limit()))
    }

    /// Lets a program end while its client asks for nothing, where that is wanted.
    fn ending_when_idle(&self, approved: &Approved<Plan>, connection: Connection) -> Connection {
        let is_program = matches!(approved.spec().endpoint, SpecEndpoint::Local(_));
        let timeout = self.options.idle_timeout.filter(|_| is_program);
        let Some(timeout) = timeout else {
            return connection;
        };
        self.is_idle_program.store(true, Ordering::Relaxed);
        let this = Weak::clone(&self.this);
        let reopen = move || -> BoxFuture<'static, Result<Connection, TransportError>> {
            let this = Weak::clone(&this);
            Box::pin(async move {
                let server = this.upgrade().ok_or(TransportError::Closed)?;
                // Planned again, if that was long ago: values are not held for a program that has
                // ended, and what is approved may be something else by now.
                let approved = server.approved().await.map_err(transport_error)?;
                let opened = approved.open().await.map_err(transport_error)?;
                Ok(opened.connection)
            })
        };
        let limit = approved.start_limit();
        end_when_idle(connection, timeout, limit, Box::new(reopen))
    }
}

/// Returns what a client is told of a program that cannot be started again.
fn transport_error(error: Error) -> TransportError {
    match error {
        Error::Talk {
            error: SessionError::Transport(error),
            ..
        } => error,
        // The entry is another, or is not approved any more, which ends the session as well.
        _ => TransportError::Closed,
    }
}

/// The same for connections of a session that keeps to one account.
fn pinned(approved: Approved<Plan>, pin: Option<&AccountPin>) -> Approved<Plan> {
    match pin {
        Some(pin) => approved.on(&approved.host().with_account_pin(pin)),
        None => approved,
    }
}

impl Connector for LazyServer {
    fn connect(&self) -> BoxFuture<'_, Result<Opened, ServerProblem>> {
        Box::pin(self.open_as(None))
    }

    fn connect_timeout(&self) -> Duration {
        match self.plugin().runs_package(&self.server) {
            true => PACKAGE_QUEUE_TIMEOUT,
            false => CONNECT_TIMEOUT,
        }
    }

    fn find_sign_in(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            drop(self.approved().await);
        })
    }

    fn sign_in_port(&self) -> Option<&dyn SignInPort> {
        let gate = self.ports.get()?.gate.as_ref()?;
        Some(gate as &dyn SignInPort)
    }

    fn tool_memory(&self) -> Option<&dyn ToolMemory> {
        let tools = self.ports.get()?.tools.as_ref()?;
        Some(tools as &dyn ToolMemory)
    }

    fn explainer(&self) -> Option<Explainer> {
        self.lock_explainer().clone()
    }

    fn declaration_site(&self) -> Option<DeclarationSite> {
        Some(self.plugin().declaration_site(&self.server))
    }
}

impl Upstream for LazyServer {
    fn open<'a>(&'a self, account: Option<&'a AccountPin>) -> BoxFuture<'a, Option<Connection>> {
        Box::pin(async move {
            let direct = self.hosts.direct.as_ref()?;
            let approved = self.approved().await.ok()?.on(direct);
            let approved = pinned(approved, account);
            if !approved.is_open().await {
                return None;
            }
            self.note_presence(&approved).await;
            let opened = approved.open().await.ok()?;
            Some(self.ending_when_idle(&approved, opened.connection))
        })
    }

    fn may_start_later(&self) -> bool {
        self.is_idle_program.load(Ordering::Relaxed)
    }

    fn connect_as<'a>(
        &'a self,
        account: &'a AccountPin,
    ) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        Box::pin(self.open_as(Some(account)))
    }

    fn connect_service<'a>(
        &'a self,
        account: &'a str,
        pin: Option<&'a AccountPin>,
    ) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        Box::pin(async move {
            let approved = self.approved().await.map_err(|error| error.problem())?;
            let host = approved.host().with_service_account(account);
            let approved = pinned(approved.on(&host), pin);
            let Some(oauth) = approved.oauth() else {
                return Err(self.no_service_sign_in(account, "takes no sign-in"));
            };
            if !oauth.is_signed_in().await.unwrap_or_default() {
                return Err(self.no_service_sign_in(account, "has no sign-in"));
            }
            let connected = approved.open().await.map_err(|error| error.problem())?;
            Ok(Opened::new(connected.connection, connected.offer))
        })
    }

    fn connect_person<'a>(
        &'a self,
        person: &'a Person,
        pin: Option<&'a AccountPin>,
    ) -> BoxFuture<'a, Result<Opened, ServerProblem>> {
        Box::pin(self.open_for(person, pin))
    }

    fn is_open_for<'a>(&'a self, person: &'a Person) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Ok(own) = self.own(person).await else {
                return false;
            };
            let stored = own.clone();
            let stored = spawn_blocking(move || stored.stored_sign_in()).await;
            // What only another sign-in helps is asked for by a connection that can.
            let is_enough = match &stored {
                Ok(Ok(Some(sign_in))) => !sign_in.ended && sign_in.required_scopes.is_empty(),
                _ => true,
            };
            is_enough && own.is_open().await
        })
    }

    fn person_sign_in<'a>(
        &'a self,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Option<OAuth>, ServerProblem>> {
        Box::pin(async move {
            let own = self.own(person).await.map_err(|it| it.problem)?;
            Ok(own.oauth())
        })
    }

    fn may_need_people(&self) -> bool {
        self.has_variables()
    }

    fn person_need<'a>(&'a self, person: &'a Person) -> BoxFuture<'a, Option<PersonNeed>> {
        Box::pin(self.need_of(person))
    }

    fn person_needs_no_more<'a>(&'a self, person: &'a Person) -> BoxFuture<'a, ()> {
        Box::pin(self.needs_no_more(person))
    }

    fn person_entry<'a>(&'a self, person: &'a Person) -> BoxFuture<'a, Option<PersonEntry>> {
        Box::pin(self.entry_for(person))
    }

    fn act_for<'a>(
        &'a self,
        person: &'a Person,
        action: PersonAction,
    ) -> BoxFuture<'a, Result<bool, ServerProblem>> {
        Box::pin(self.do_for(person, action))
    }

    fn runs_program_of(&self, person: &Person) -> bool {
        self.has_program_of(person)
    }

    fn fingerprint(&self, key: &FingerprintKey) -> Option<ConnectionFingerprint> {
        self.hosts.direct.as_ref()?;
        let plan = self.plugin().plan(&self.server).ok()?;
        let approved = plan.approved_before().ok()?;
        Some(self.fingerprint_of(&approved, key))
    }
}
