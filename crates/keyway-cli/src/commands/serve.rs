//! `keyway serve`: the gateway for every client on this machine.

mod opener;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use keyway::events::Events;
use keyway::host::record_places;
use keyway::settings::PublicAddress;
use keyway::vault::Vault;
use keyway::{Host, Plugin};
use keyway_code::Exit;
use keyway_dashboard::Dashboard;
use keyway_dashboard::administration::Administration;
use keyway_database::Database;
use keyway_gateway::admin_port;
use keyway_gateway::control::Control;
use keyway_gateway::gateway::{
    Gateway, ListenError, Listener, ServedServer, expect_many_connections, serve,
};
use keyway_gateway::local_backend::LocalBackend;
use keyway_gateway::public_listener;
use keyway_gateway::recording::Recording;
use keyway_gateway::served_plugins::{ServedPlugins, ServingContext};
use keyway_gateway::team::Team;
use keyway_gateway::{SHUTDOWN_TIMEOUT, address, database_watch, shared_gateway, sharing, team};
use keyway_policy::{Policies, TokenStore, TokenUses};
use keyway_secret::printable;
use tokio::io::AsyncReadExt as _;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use self::opener::Opener;
use super::client_files::{machine, this_program};
use crate::arguments::connect::{
    ConnectArgs, SignInPolicy, no_server, open_database, tell_skipped,
};
use crate::arguments::own_plugin;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::service_manager;
use crate::settings;
use crate::timeouts::{CLOSE_TIMEOUT, DRAIN_TIME, LAST_ANSWERS_TIMEOUT};
use crate::traces;
use crate::vault::folders;

/// Serve plugins over HTTP to the clients on this machine
///
/// Listens on the loopback interface and on private Unix sockets only, unless `config.toml` protects
/// an address for people on other machines.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway serve
  keyway serve ~/plugins/one ~/plugins/two
  keyway serve --listen 127.0.0.1:0
  keyway serve --vault postgres://keyway@db.example/keyway")]
pub(crate) struct Serve {
    /// Plugin folders or files [default: `--config`]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5399")]
    listen: SocketAddr,
    /// Address of the dashboard, metrics and health, apart from clients [default: config.toml]
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<SocketAddr>,
    /// Unix socket for processes of the same user, which need no token [default: `gateway.sock` in
    /// the runtime folder]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Keep sign-ins in this PostgreSQL database, which other gateways may share [default:
    /// config.toml, else the vault of this machine]
    #[arg(long, value_name = "ADDRESS")]
    vault: Option<String>,
    /// End when standard input does
    #[arg(long, hide = true)]
    while_input: bool,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Runs the command until it is told to stop.
pub(crate) fn run(arguments: &Serve, context: &CommandContext) -> Result<Exit, CliError> {
    expect_many_connections();
    let context = &with_events(context);
    super::block_on_to_its_end(async {
        let database = open_database(context, arguments.vault.as_deref())?;
        let (host, team) = arguments.host(context, database.as_ref())?;
        let backend = LocalBackend::new(&host);
        let vault = backend.vault()?;
        let serving = arguments.serving_context(context, team.clone())?;
        let plugins = arguments.load(backend.host(), context)?;
        let mut plugins = ServedPlugins::new(plugins, &backend, serving)?;
        plugins.serve_when_there(own_plugin::folder()?);
        backend.set_plugins(plugins.loaded());
        let servers = plugins.servers();
        let routes: Vec<String> = servers.iter().map(ServedServer::path).collect();
        let reader = TokenStore::reader(Arc::clone(&vault))?;
        let (activity, recording) = traces::begin(backend.host(), database.as_ref())?;
        let activity = Arc::new(activity);
        let settings = backend.host().settings();
        let policies = Arc::new(Policies::new(settings, Arc::clone(&vault))?);
        let uses = Arc::new(TokenUses::read(&folders()?.data));
        let dashboard = Dashboard::new(Arc::clone(&backend) as _, Arc::clone(&activity))
            .with_policies(Arc::clone(&policies));
        let dashboard = database_watch::with_team(dashboard, database.as_ref(), &backend);
        let dashboard = Arc::new(with_administration(dashboard, &vault, &uses)?);
        let gateway = Gateway::new(servers, reader, backend.host().client().clone())
            .with_policies(Arc::clone(&policies))
            .with_token_uses(uses)
            .recording(Arc::clone(&activity))
            .with_dashboard(Arc::clone(&dashboard))
            .with_control(control(&backend, &vault, policies)?);
        let admin = admin_port::listen(arguments.admin, &settings.gateway)?;
        let key = team::session_key(&vault, database.as_ref())?;
        let gateway = gateway
            .with_session_key(key)
            .with_admin_port(admin.is_some());
        let gateway = for_team(gateway, backend.host(), team.as_ref())?;
        let gateway = Arc::new(database_watch::watching(gateway, database, &backend));
        backend.set_gateway(&gateway);
        let listeners = arguments.listeners(backend.host(), context)?;
        let sharing = arguments.share(&gateway, &vault)?;
        let port = arguments.port(&listeners);
        dashboard.listens_at(port);
        // Until the end: it says meanwhile that the gateway ends.
        let _admin = admin.map(|admin| admin.serve(&gateway, &dashboard));
        record_port(context, port)?;
        let opener = Opener::of(&listeners)?;
        dashboard.opened_by(opener.reopening());
        context.print(&format!("http://127.0.0.1:{port}/mcp\n"), Exit::Done)?;
        if context.verbosity != Verbosity::Quiet {
            let public = team::public_address(backend.host());
            tell(context, &routes, (port, public));
            invite(context, &dashboard, &opener);
        }
        service_manager::tell(service_manager::State::Ready);
        let stopping = Notify::new();
        let stop = async {
            // In no particular order: each begins the shutdown, and neither is needed afterwards.
            tokio::select! {
                _ = keyway_terminal::ended() => {}
                () = end_of_input(), if arguments.while_input => {}
            }
            service_manager::tell(service_manager::State::Stopping);
            drain(&gateway, backend.host()).await;
            gateway.stop_streams();
            if let Some(sharing) = sharing {
                sharing.abort();
            }
            tell_of_calls(context, activity.under_way());
            stopping.notify_one();
        };
        let stop_by_force = stop_by_force(&stopping, &gateway);
        let serving = serve(listeners, Arc::clone(&gateway) as _, stop);
        // Not biased: the first two end in good order, whichever is ready first, and the last two
        // never end by themselves. Dropping `serving` closes the listeners and all connections.
        tokio::select! {
            () = serving => {}
            () = stop_by_force => {}
            () = gateway.run_maintenance() => {}
            () = plugins.follow(Arc::clone(&gateway)) => {}
        }
        close_unless_hurried(&gateway, recording, context).await;
        Ok(Exit::Done)
    })
}

/// Goes on taking calls for a while where a balancer is in front, which learns only from `/readyz` that
/// this gateway ends.
async fn drain(gateway: &Gateway, host: &Host) {
    gateway.drain();
    if team::public_address(host).is_none() {
        return;
    }
    // In no particular order: a second signal hurries.
    tokio::select! {
        _ = keyway_terminal::ended() => {}
        () = sleep(DRAIN_TIME) => {}
    }
}

/// Closes what is open. The first signal began this end; one after it hurries, and children are killed.
async fn close_unless_hurried(gateway: &Gateway, recording: Recording, context: &CommandContext) {
    // In no particular order: whichever is first ends the wait.
    tokio::select! {
        () = close(gateway, recording, context) => {}
        _ = keyway_terminal::ended() => {}
    }
}

/// Ends calls that are still under way a while after the shutdown has begun.
async fn stop_by_force(stopping: &Notify, gateway: &Gateway) {
    stopping.notified().await;
    // A second signal ends the wait for calls under way, as the time-out does.
    tokio::select! {
        _ = keyway_terminal::ended() => {}
        () = sleep(SHUTDOWN_TIMEOUT) => {}
    }
    // Waiting clients get an error instead of an answer.
    drop(timeout(CLOSE_TIMEOUT, gateway.close()).await);
    sleep(LAST_ANSWERS_TIMEOUT).await;
}

/// Returns a context whose events can be read over the control API, if nothing else reads them.
fn with_events(context: &CommandContext) -> CommandContext {
    let mut context = context.clone();
    if !context.events.is_on() {
        context.events = Events::new(Vec::new());
    }
    context
}

/// Notes the port for programs that write clients' files.
fn record_port(context: &CommandContext, port: u16) -> Result<(), CliError> {
    if let Err(error) = address::record(&folders()?.data, port) {
        let note = format!("note: cannot record the gateway's port: {error}\n");
        context.print_aside(&note);
    }
    Ok(())
}

/// Adds the pages for tokens, servers and clients; they need a home and this program.
fn with_administration(
    dashboard: Dashboard,
    vault: &Arc<Vault>,
    uses: &Arc<TokenUses>,
) -> Result<Dashboard, CliError> {
    let (Ok(program), Ok(machine)) = (this_program(), machine()) else {
        return Ok(dashboard);
    };
    let place = (folders()?.data, program);
    let (vault, uses) = (Arc::clone(vault), Arc::clone(uses));
    let administration = Administration::new(vault, uses, place, machine);
    Ok(dashboard.with_administration(Arc::new(administration)))
}

/// Lets the people of the settings in, and limits how much clients may ask.
fn for_team(gateway: Gateway, host: &Host, team: Option<&Team>) -> Result<Gateway, CliError> {
    let gateway = gateway.with_limits(host.settings().gateway.limits);
    Ok(team::with_people(gateway, host, team)?)
}

/// Makes the control API of this gateway.
fn control(
    backend: &Arc<LocalBackend>,
    vault: &Arc<Vault>,
    policies: Arc<Policies>,
) -> Result<Arc<Control>, CliError> {
    let hosts = TokenStore::host_reader(Arc::clone(vault))?;
    let events = backend.host().events().clone();
    let control = Control::new(Arc::clone(backend) as _, events, hosts);
    Ok(Arc::new(control.with_policies(policies)))
}

impl Serve {
    fn host(
        &self,
        context: &CommandContext,
        database: Option<&Database>,
    ) -> Result<(Host, Option<Team>), CliError> {
        let host = self
            .reach
            .host_with(context, SignInPolicy::NEVER, database)?;
        Ok(team::of_settings(
            host,
            database,
            ProcessEnvironment::home(),
        )?)
    }

    /// Reads the plugins, each with the path by which it is read again.
    fn load(
        &self,
        host: &Host,
        context: &CommandContext,
    ) -> Result<Vec<(PathBuf, Plugin)>, CliError> {
        let mut plugins = Vec::new();
        if self.paths.is_empty() {
            let plugin = self.reach.load(host, None)?;
            let found = || plugin.root().to_owned();
            let path = self.reach.config.clone().unwrap_or_else(found);
            plugins.push((path, plugin));
        }
        for path in &self.paths {
            plugins.push((path.clone(), self.reach.load(host, Some(path))?));
        }
        if plugins
            .iter()
            .all(|(_, plugin)| plugin.servers().is_empty())
        {
            let all = plugins.iter().map(|(_, plugin)| plugin.loaded().as_ref());
            return Err(no_server(all));
        }
        require_names_apart(&plugins)?;
        for (_, plugin) in &plugins {
            tell_skipped(context, plugin.loaded());
        }
        Ok(plugins)
    }

    /// Returns what the served plugins need of this process.
    fn serving_context(
        &self,
        context: &CommandContext,
        team: Option<Team>,
    ) -> Result<ServingContext, CliError> {
        // What the terminal depends on is read here, where a broken setting is an error.
        self.reach.terminal(context, SignInPolicy::NEVER)?;
        let mut serving_context = ServingContext::new(folders()?);
        let (reach, asking) = (self.reach.clone(), context.clone());
        serving_context.terminal = Arc::new(move || {
            let terminal = reach.terminal(&asking, SignInPolicy::NEVER);
            Some(Arc::new(terminal.ok().flatten()?) as _)
        });
        let noting = context.clone();
        serving_context.print_note = Arc::new(move |what| {
            if noting.verbosity != Verbosity::Quiet {
                noting.print_aside(&format!("note: {what}\n"));
            }
        });
        serving_context.process_facts = settings::around().into();
        serving_context.team = team;
        Ok(serving_context)
    }

    /// Lets `keyway run` of the same user use our connections.
    fn share(
        &self,
        gateway: &Arc<Gateway>,
        vault: &Vault,
    ) -> Result<Option<AbortHandle>, CliError> {
        let (Some(socket), Some(key)) = (
            Some(shared_gateway::socket(&folders()?.runtime)),
            sharing::make_key(vault)?,
        ) else {
            return Ok(None);
        };
        let listener = match Listener::unix(&socket) {
            Ok(listener) => listener,
            // Another gateway shares its own.
            Err(ListenError::Taken { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let sharing = sharing::share(listener, Arc::clone(gateway), key);
        Ok(Some(tokio::spawn(sharing).abort_handle()))
    }

    /// Returns the port for clients of this machine.
    fn port(&self, listeners: &[Listener]) -> u16 {
        let port = listeners.iter().find_map(Listener::port);
        port.unwrap_or_else(|| self.listen.port())
    }

    /// Listens where it was told: on this machine, or for others as well if the settings protect
    /// that.
    fn addresses(&self, public: Option<&PublicAddress>) -> Result<Vec<Listener>, CliError> {
        let Some(public) = public.filter(|_| !self.listen.ip().is_loopback()) else {
            return Ok(vec![Listener::loopback(self.listen)?]);
        };
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Ok(vec![
            public_listener::listen(self.listen, public)?,
            Listener::loopback(local)?,
        ])
    }

    fn listeners(&self, host: &Host, context: &CommandContext) -> Result<Vec<Listener>, CliError> {
        let inherited = service_manager::inherited()?;
        if !inherited.is_empty() {
            return Ok(inherited);
        }
        let mut listeners = self.addresses(team::public_address(host))?;
        let own = folders()?;
        let usual = own.runtime.join("gateway.sock");
        let path = self.socket.as_ref().unwrap_or(&usual);
        let socket = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        // Processes of ours with other variables hide this from what they start.
        if let Err(error) = record_places(&[own.data, own.config, own.runtime, socket]) {
            let note = format!("note: cannot record this gateway's folders: {error}\n");
            context.print_aside(&note);
        }
        match Listener::unix(path) {
            Ok(listener) => listeners.push(listener),
            Err(ListenError::Taken { .. }) if self.socket.is_none() => {
                context.print_aside(
                    "note: socket already in use by another gateway; continuing without it\n",
                );
            }
            Err(error) => return Err(error.into()),
        }
        Ok(listeners)
    }
}

/// Refuses plugins of one name, which no token could tell apart.
fn require_names_apart(plugins: &[(PathBuf, Plugin)]) -> Result<(), CliError> {
    let mut named: HashMap<String, &(PathBuf, Plugin)> = HashMap::new();
    for plugin in plugins {
        let name = plugin.1.name();
        let Some(other) = named.insert(name.clone(), plugin) else {
            continue;
        };
        let folder = |it: &Plugin| std::fs::canonicalize(it.root()).ok();
        let path = plugin.0.clone();
        if folder(&other.1).is_some_and(|other| Some(other) == folder(&plugin.1)) {
            return Err(CliError::DuplicatePlugin { path });
        }
        return Err(CliError::PluginNameCollision {
            name,
            one: other.0.clone(),
            other: path,
        });
    }
    Ok(())
}

fn tell(
    context: &CommandContext,
    routes: &[String],
    (port, public): (u16, Option<&PublicAddress>),
) {
    let mut text = String::new();
    for route in routes {
        text.push_str(&format!("  http://127.0.0.1:{port}{}\n", printable(route)));
    }
    text.push_str("Clients need a gateway token: keyway token new --name NAME\n");
    if let Some(public) = public {
        text.push_str(&format!("People sign in at: {}\n", public.resource()));
    }
    context.print_aside(&text);
}

/// Prints the way to the dashboard. A journal keeps what it gets, so that it gets no link.
fn invite(context: &CommandContext, dashboard: &Dashboard, opener: &Opener) {
    let link = dashboard
        .link()
        .filter(|_| !ProcessEnvironment::has_journal());
    let command = opener.command();
    let mut text = String::new();
    if let Some(link) = &link {
        let about = "Dashboard (the link works once, within five minutes):";
        text.push_str(&format!("{about}\n  {}\n", link.expose()));
    }
    if let Some(command) = command {
        let what = link.map_or("Dashboard", |_| "New link");
        text.push_str(&format!("{what}: {command}\n"));
    }
    context.print_aside(&text);
}

/// Says what is still waited for.
fn tell_of_calls(context: &CommandContext, under_way: usize) {
    if context.verbosity != Verbosity::Quiet
        && let Some(note) = team::calls_under_way(under_way)
    {
        context.print_aside(&note);
    }
}

/// Closes connections and ends children in good order, but only within the time limit.
async fn close(gateway: &Gateway, recording: Recording, context: &CommandContext) {
    drop(timeout(CLOSE_TIMEOUT, gateway.close()).await);
    if let Some(warning) = recording.end().await {
        context.print_aside(&warning);
    }
}

/// Waits until the process that started us is gone.
async fn end_of_input() {
    let mut piece = [0; 64];
    let mut input = tokio::io::stdin();
    while matches!(input.read(&mut piece).await, Ok(1..)) {}
}
