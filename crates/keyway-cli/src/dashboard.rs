//! The dashboard's steward: does for a person at a browser what the commands do for one at a
//! terminal, by the same ways.

mod both;
mod masked;
mod screen;
mod slots;
mod views;

use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use keyway::connect::BoxFuture;
use keyway::events::Kind;
use keyway::load::Loaded;
use keyway::sign_in::PromptPolicy;
use keyway::vault::Vault;
use keyway::{Approved, Error, Host, Plan, Plugin};
use keyway_code::Code;
use keyway_gateway::dashboard::{DashboardBackend, ServerId, ServerView, WantedBy};
use keyway_gateway::gateway::Gateway;
use keyway_mcp::states::{Reason, Standing, State, Trouble};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::timeout;

use self::both::Both;
use self::screen::Screen;
use self::slots::Slots;
use crate::commands::{doctor, login, logout};
use crate::connect_args::{ConnectArgs, SignInPolicy, store_approval, with_ledger};
use crate::consent::Terminal;
use crate::context::CommandContext;
use crate::error::CliError;

/// Looks after the servers of a gateway.
#[derive(Debug)]
pub(crate) struct Desk {
    context: CommandContext,
    profile: String,
    plugins: RwLock<Vec<Arc<Loaded>>>,
    /// Asks nobody.
    host: Host,
    slots: Arc<Slots>,
    gateway: OnceLock<Weak<Gateway>>,
    myself: Weak<Self>,
}

impl Desk {
    /// Begins to look after servers, of which it is told later.
    pub(crate) fn new(
        reach: &ConnectArgs,
        context: &CommandContext,
    ) -> Result<Arc<Self>, CliError> {
        let host = reach
            .host(context, SignInPolicy::NEVER)?
            .without_approval_prompt();
        let profile = reach.profile(context)?;
        Ok(Arc::new_cyclic(|myself| Self {
            context: context.clone(),
            profile,
            plugins: RwLock::default(),
            host,
            slots: Arc::default(),
            gateway: OnceLock::new(),
            myself: Weak::clone(myself),
        }))
    }

    /// Returns the host that asks nobody.
    pub(crate) const fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the vault that everything here uses.
    pub(crate) fn vault(&self) -> Result<Arc<Vault>, CliError> {
        let accounts = self.host.accounts().ok_or(Error::NoHome)?;
        Ok(accounts.vault().ok_or(Error::NoHome)?.get()?)
    }

    /// Says whose connections end when something changes, which is told once.
    pub(crate) fn tends(&self, gateway: &Arc<Gateway>) {
        let _first = self.gateway.set(Arc::downgrade(gateway));
    }

    /// Looks after these plugins from now on, or after the same whose approvals, variables or
    /// sign-ins have changed.
    pub(crate) fn serves(&self, plugins: Vec<Arc<Loaded>>) {
        *self.plugins.write().unwrap_or_else(PoisonError::into_inner) = plugins;
        self.slots.tell();
        if let Some(desk) = self.myself.upgrade().filter(|it| it.slots.is_watched()) {
            drop(tokio::spawn(async move { desk.opened().await }));
        }
    }

    /// Returns a host like `host` for one server, whose questions are shown here as well.
    pub(crate) fn witnessing(
        &self,
        host: &Host,
        terminal: Option<Terminal>,
        id: &ServerId,
    ) -> Host {
        let screen = Screen::new(id, &self.slots, WantedBy::Client);
        let host = host.with_presenter(Arc::new(Both::new(terminal, screen)));
        host.with_redaction_values(self.slots.supplied(id))
    }

    fn plugins(&self) -> Vec<Arc<Loaded>> {
        let plugins = self.plugins.read().unwrap_or_else(PoisonError::into_inner);
        plugins.clone()
    }

    fn loaded(&self, id: &ServerId) -> Result<Arc<Loaded>, CliError> {
        let mut plugins = self.plugins().into_iter();
        let found = plugins.find(|loaded| loaded.plugin.name() == id.plugin);
        let unknown = || Error::UnknownServer {
            name: keyway_secret::printable(&id.name),
            near: None,
        };
        Ok(found.ok_or_else(unknown)?)
    }

    /// Makes a server ready to be connected to, if it is approved.
    fn ready(&self, id: &ServerId) -> Result<Approved<Plan>, CliError> {
        Ok(self.plugin(id)?.plan(&id.name)?.approved_before()?)
    }

    /// Returns the plugin of a server, under the host that asks nobody.
    fn plugin(&self, id: &ServerId) -> Result<Plugin, CliError> {
        Ok(self.host_of(id).plugin(self.loaded(id)?))
    }

    /// Lets clients connect anew.
    fn reconnect(&self, id: &ServerId) {
        if let Some(gateway) = self.gateway.get().and_then(Weak::upgrade) {
            gateway.reconnect(&id.plugin, &id.name);
        }
    }

    /// Finds out how a server is, while others go on.
    fn look_at(&self, id: &ServerId) -> Option<tokio::task::JoinHandle<()>> {
        let desk = self.myself.upgrade()?;
        let id = id.clone();
        let turn = self.slots.begin(&id)?;
        Some(tokio::spawn(async move {
            let seen = desk.examined(&id).await;
            desk.slots.note(&id, desk.shown(&id, seen));
            drop(turn);
        }))
    }

    async fn examined(&self, id: &ServerId) -> slots::Seen {
        let plugin = match self.plugin(id) {
            Ok(plugin) => plugin,
            Err(error) => return views::failed(&error.trouble(), id),
        };
        match doctor::diagnose(&plugin, &id.name).await {
            Ok(Some(verdict)) => {
                let mut seen = views::seen(&verdict);
                seen.is_open = seen.fault.is_none() && self.is_open(id).await;
                seen
            }
            Ok(None) => slots::Seen::default(),
            Err(error) => views::failed(&error.trouble(), id),
        }
    }

    /// Says whether a server that answers does so without a sign-in, and wants none.
    async fn is_open(&self, id: &ServerId) -> bool {
        let Ok(ready) = self.ready(id) else {
            return false;
        };
        let Some(oauth) = ready.oauth() else {
            return false;
        };
        let unneeded = async {
            let is_in = oauth.is_signed_in().await;
            // It was connected to just now, and listed something.
            is_in.is_ok_and(|is_in| !is_in) && ready.offers_oauth().await.is_err()
        };
        timeout(SHORT, unneeded).await.unwrap_or_default()
    }

    async fn enter(&self, id: &ServerId) -> Result<login::Outcome, CliError> {
        let ready = self.ready(id)?;
        let screen = Screen::new(id, &self.slots, WantedBy::Person);
        let host = self.host_of(id).with_presenter(Arc::new(screen));
        let ready = ready.on(&host.with_asking(PromptPolicy::WhenNeeded));
        let server = ready.server().to_owned();
        let method = ready.method();
        let oauth = ready.oauth();
        let oauth = oauth.ok_or_else(|| Error::NotOAuth {
            server: server.clone(),
            method,
        })?;
        login::sign_in(&server, &oauth, None).await
    }

    async fn leave(&self, id: &ServerId) -> Result<String, CliError> {
        let plan = self.plugin(id)?.plan_sign_out(&id.name)?;
        let done = plan.sign_out().await?;
        let words = logout::in_words(&done, plan.missing_variables());
        let mut letters = words.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        Ok(first.into_iter().chain(letters).chain(['.']).collect())
    }

    /// Approves an entry; `false` if it is not what was shown.
    fn allow(&self, id: &ServerId, digest: &str) -> Result<bool, CliError> {
        let Some(question) = self.question(id)? else {
            // Somebody else did.
            return Ok(true);
        };
        if question.digest.to_string() != digest {
            return Ok(false);
        }
        with_ledger(&self.profile, |ledger| store_approval(ledger, &question))?;
        let server = Some(id.name.as_str());
        let events = self.context.events.for_plugin(&id.plugin);
        events.emit(Kind::TrustDecided, server, None);
        Ok(true)
    }
}

impl DashboardBackend for Desk {
    fn servers(&self) -> BoxFuture<'_, Vec<ServerView>> {
        let desk = self.myself.upgrade();
        Box::pin(async move {
            // It reads files and the vault.
            let survey = tokio::task::spawn_blocking(move || desk?.survey().ok());
            survey.await.ok().flatten().unwrap_or_default()
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.slots.changes()
    }

    fn opened(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for view in self.servers().await {
                if view.question.is_none() && (!self.slots.knows(&view.id) || is_in_by_now(&view)) {
                    drop(self.look_at(&view.id));
                }
            }
        })
    }

    fn check<'a>(&'a self, server: &'a ServerId) -> BoxFuture<'a, Result<(), Trouble>> {
        Box::pin(async move {
            self.reconnect(server);
            if let Some(looking) = self.look_at(server) {
                // A server that takes longer is shown as being looked at.
                drop(timeout(SHORT, looking).await);
            }
            Ok(())
        })
    }

    fn sign_in<'a>(
        &'a self,
        server: &'a ServerId,
    ) -> BoxFuture<'a, Result<Option<String>, Trouble>> {
        Box::pin(async move {
            let Some(desk) = self.myself.upgrade() else {
                return Ok(None);
            };
            let Some(turn) = self.slots.begin(server) else {
                return Ok(None);
            };
            let id = server.clone();
            let mut changes = self.slots.changes();
            let entering = tokio::spawn(async move {
                let entered = desk.enter(&id).await;
                drop(turn);
                match &entered {
                    Ok(login::Outcome::SignedIn) => {
                        desk.reconnect(&id);
                        drop(desk.look_at(&id));
                    }
                    Ok(login::Outcome::Unneeded) => drop(desk.look_at(&id)),
                    Err(_) if desk.slots.was_given_up(&id) => {}
                    Err(error) => {
                        let trouble = desk.trouble(&id, error);
                        desk.slots.note(&id, views::failed(&trouble, &id));
                    }
                }
                match entered {
                    Ok(login::Outcome::SignedIn) => Ok(None),
                    Ok(login::Outcome::Unneeded) => Ok(Some(format!("It {}", login::UNNEEDED))),
                    Err(error) => Err(desk.trouble(&id, &error)),
                }
            });
            let asked = async {
                while !self.slots.asks(server) {
                    if changes.changed().await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                () = asked => Ok(None),
                () = tokio::time::sleep(LONG) => Ok(None),
                entered = entering => entered.unwrap_or(Ok(None)),
            }
        })
    }

    fn cancel(&self, server: &ServerId) {
        self.slots.cancel(server);
    }

    fn sign_out<'a>(&'a self, server: &'a ServerId) -> BoxFuture<'a, Result<String, Trouble>> {
        Box::pin(async move {
            let left = self.leave(server).await;
            self.reconnect(server);
            drop(self.look_at(server));
            left.map_err(|error| self.trouble(server, &error))
        })
    }

    fn approve<'a>(
        &'a self,
        server: &'a ServerId,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<(), Trouble>> {
        Box::pin(async move {
            let allowed = self.allow(server, digest);
            if !allowed.map_err(|error| error.trouble())? {
                return Err(changed());
            }
            if let Some(looking) = self.look_at(server) {
                drop(timeout(SHORT, looking).await);
            }
            Ok(())
        })
    }

    fn call<'a>(
        &'a self,
        server: &'a ServerId,
        tool: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Trouble>> {
        Box::pin(async move {
            let answer = self.use_tool(server, tool, arguments).await;
            answer.map_err(|error| {
                let trouble = self.trouble(server, &error);
                // What just went wrong is looked into, so that the page of the server explains it.
                drop(self.look_at(server));
                trouble
            })
        })
    }
}

/// Says whether somebody signed in since the server was looked at.
fn is_in_by_now(view: &ServerView) -> bool {
    let kept = view.sign_in.as_ref();
    let is_missed = view
        .fault
        .as_ref()
        .is_some_and(|it| it.code == Code::SignInRequired);
    is_missed && kept.is_some_and(|kept| !kept.sign_in.ended)
}

fn changed() -> Trouble {
    Trouble {
        standing: Standing::new(State::Pending, Reason::PendingTrust),
        code: Code::PendingTrust,
        message: "the entry has changed since it was shown, so that nothing was approved"
            .to_owned(),
        hint: Some("read it again, as it is now".to_owned()),
        is_transient: false,
        wait: None,
    }
}

/// How long a button waits for what it began.
const SHORT: Duration = Duration::from_secs(6);
const LONG: Duration = Duration::from_secs(20);
