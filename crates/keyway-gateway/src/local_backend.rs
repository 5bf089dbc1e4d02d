//! The dashboard's backend in the gateway's own process: does for a person at a browser what the
//! commands do for one at a terminal, by the same library.

mod connection_states;
mod dashboard_presenter;
mod redaction;
mod server_records;
mod shared_presenter;
mod views;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use keyway::approval::Answer;
use keyway::connect::BoxFuture;
use keyway::diagnosis::Diagnosis;
use keyway::events::{Event, Kind};
use keyway::examination::examine;
use keyway::host::SignInOutcome;
use keyway::load::Loaded;
use keyway::sign_in::{Presenter, PromptPolicy};
use keyway::store::StoreError;
use keyway::variables::KeptVariables;
use keyway::vault::Vault;
use keyway::{Approved, Error, Host, Plan, Plugin};
use keyway_code::Code;
use keyway_config::declared::Transport;
use keyway_secret::{Clock as _, Secret, SystemClock};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::timeout;
use url::Url;

use self::connection_states::ConnectionStates;
use self::dashboard_presenter::DashboardPresenter;
use self::server_records::{Seen, ServerRecords};
use self::shared_presenter::SharedPresenter;
use crate::dashboard::{Changes, DashboardBackend, ProbedServer, ServerId, ServerView, WantedBy};
use crate::gateway::Gateway;
use crate::history::History;
use crate::timeouts::{BUTTON_TIMEOUT, SIGN_IN_PAGE_TIMEOUT};

/// Looks after the servers of a gateway in the same process.
///
/// Of each server, one thing at a time is done:
///
/// ```text
/// idle ──check, sign-in──▶ busy ──examined──▶ idle
///                           └──consent shown──▶ answered, cancelled or timed out ──▶ busy
/// ```
#[derive(Debug)]
pub struct LocalBackend {
    /// Replaced as a whole; held only to read or replace the list.
    plugins: RwLock<Vec<Arc<Loaded>>>,
    /// Never prompts.
    host: Host,
    records: Arc<ServerRecords>,
    connections: Arc<ConnectionStates>,
    history: Arc<History>,
    gateway: OnceLock<Weak<Gateway>>,
    myself: Weak<Self>,
}

impl LocalBackend {
    /// Makes a backend that serves no plugin yet; `host` is used without its approval prompt.
    #[must_use]
    pub fn new(host: &Host) -> Arc<Self> {
        let host = host.without_approval_prompt();
        Arc::new_cyclic(|myself| Self {
            plugins: RwLock::default(),
            host,
            records: Arc::default(),
            connections: Arc::default(),
            history: Arc::default(),
            gateway: OnceLock::new(),
            myself: Weak::clone(myself),
        })
    }

    /// Returns the host that never prompts.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the vault that everything here uses.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoHome`] where nothing is stored, or why the vault does not open.
    pub fn vault(&self) -> Result<Arc<Vault>, Error> {
        let accounts = self.host.accounts().ok_or(Error::NoHome)?;
        let vault = accounts.vault().ok_or(Error::NoHome)?.get();
        Ok(vault.map_err(StoreError::from)?)
    }

    /// Closes connections of this gateway when something changes, and takes notice of how its
    /// servers answer; set once. Has to be called inside a Tokio runtime.
    pub fn set_gateway(&self, gateway: &Arc<Gateway>) {
        if self.gateway.set(Arc::downgrade(gateway)).is_ok() {
            let following = Arc::clone(&self.connections).follow(self.host.events().subscribe());
            drop(tokio::spawn(following));
            let (history, records) = (Arc::clone(&self.history), Arc::clone(&self.records));
            let events = self.host.events().subscribe();
            drop(tokio::spawn(history.follow(events, move || records.tell())));
        }
    }

    /// Serves these plugins from now on, or the same after approvals, variables or sign-ins have
    /// changed. Has to be called inside a Tokio runtime.
    pub fn set_plugins(&self, plugins: Vec<Arc<Loaded>>) {
        *self.plugins.write().unwrap_or_else(PoisonError::into_inner) = plugins;
        self.records.tell();
        if let Some(backend) = self.myself.upgrade().filter(|it| it.records.is_watched()) {
            drop(tokio::spawn(async move { backend.opened().await }));
        }
    }

    /// Returns a host like `host` for one server, whose questions are shown here as well.
    #[must_use]
    pub fn showing_questions(
        &self,
        host: &Host,
        terminal: Option<Arc<dyn Presenter>>,
        id: &ServerId,
    ) -> Host {
        let screen = DashboardPresenter::new(id, &self.records, WantedBy::Client);
        let host = host.with_presenter(Arc::new(SharedPresenter::new(terminal, screen)));
        host.with_redaction_values(self.records.redaction_values(id))
    }

    fn plugins(&self) -> Vec<Arc<Loaded>> {
        let plugins = self.plugins.read().unwrap_or_else(PoisonError::into_inner);
        plugins.clone()
    }

    fn loaded(&self, id: &ServerId) -> Result<Arc<Loaded>, Error> {
        let mut plugins = self.plugins().into_iter();
        let found = plugins.find(|loaded| loaded.plugin.name() == id.plugin);
        let unknown = || Error::UnknownServer {
            name: keyway_secret::printable(&id.name),
            near: None,
        };
        found.ok_or_else(unknown)
    }

    /// Returns a server that was approved before.
    fn ready(&self, id: &ServerId) -> Result<Approved<Plan>, Error> {
        self.plugin(id)?.plan(&id.name)?.approved_before()
    }

    /// Returns the plugin of a server, under the host that never prompts.
    fn plugin(&self, id: &ServerId) -> Result<Plugin, Error> {
        Ok(self.host_of(id).plugin(self.loaded(id)?))
    }

    /// Lets clients connect again.
    fn reconnect(&self, id: &ServerId) {
        if let Some(gateway) = self.gateway.get().and_then(Weak::upgrade) {
            gateway.reconnect(&id.plugin, &id.name);
        }
    }

    /// Checks a server in a task of its own.
    fn look_at(&self, id: &ServerId) -> Option<tokio::task::JoinHandle<()>> {
        let backend = self.myself.upgrade()?;
        let id = id.clone();
        let turn = self.records.begin(&id)?;
        Some(tokio::spawn(async move {
            let seen = backend.examined(&id).await;
            backend.records.note(&id, backend.shown(&id, seen));
            drop(turn);
        }))
    }

    async fn examined(&self, id: &ServerId) -> Seen {
        let plugin = match self.plugin(id) {
            Ok(plugin) => plugin,
            Err(error) => return Seen::from(*self.problem(id, &error)),
        };
        match examine(&plugin, &id.name).await {
            Ok(Some(found)) => {
                let is_open = found.code.is_none() && self.is_open(id).await;
                Seen {
                    is_open,
                    ..Seen::from(found)
                }
            }
            Ok(None) => Seen::from(Diagnosis::new(&*id.plugin, &*id.name)),
            Err(error) => Seen::from(*self.problem(id, &error)),
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
        timeout(BUTTON_TIMEOUT, unneeded).await.unwrap_or_default()
    }

    async fn sign_in_now(&self, id: &ServerId) -> Result<SignInOutcome, Error> {
        let ready = self.ready(id)?;
        let screen = DashboardPresenter::new(id, &self.records, WantedBy::Person);
        let host = self.host_of(id).with_presenter(Arc::new(screen));
        let ready = ready.on(&host.with_asking(PromptPolicy::WhenNeeded));
        ready.sign_in(None).await
    }

    async fn sign_out_now(&self, id: &ServerId) -> Result<String, Error> {
        let plan = self.plugin(id)?.plan_sign_out(&id.name)?;
        let done = plan.sign_out().await?;
        let words = plan.summary(&done);
        let mut letters = words.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        Ok(first.into_iter().chain(letters).chain(['.']).collect())
    }

    /// Stores the value of a variable that the entry of a server refers to; no other name is taken.
    async fn keep_variable(
        &self,
        id: &ServerId,
        name: &str,
        value: Secret<String>,
    ) -> Result<(), Box<Diagnosis>> {
        let servers = self.servers().await;
        let view = servers.iter().find(|view| view.id == *id);
        let is_its = |view: &ServerView| view.diagnosis.variables.iter().any(|it| it.name == name);
        if !view.is_some_and(is_its) {
            return Err(not_kept(
                id,
                "the entry does not refer to that variable".to_owned(),
            ));
        }
        let vault = self.vault().map_err(|error| self.problem(id, &error))?;
        let name = name.to_owned();
        // It writes to the disk.
        let kept = tokio::task::spawn_blocking(move || {
            KeptVariables::new(&vault)?.set(&name, &value, SystemClock.wall())
        });
        match kept.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(not_kept(id, error.to_string())),
            Err(_) => Err(not_kept(id, "it was not stored".to_owned())),
        }
    }

    /// Approves an entry; `false` if it is not what was shown.
    fn allow(&self, id: &ServerId, digest: &str, answer: Answer) -> Result<bool, Error> {
        let Some(question) = self.question(id)? else {
            // Approved elsewhere meanwhile.
            return Ok(true);
        };
        if question.digest.to_string() != digest {
            return Ok(false);
        }
        let Some(agreed) = question.answered(answer) else {
            return Ok(true);
        };
        self.host.store_approval(&agreed)?;
        let server = Some(id.name.as_str());
        let events = self.host.events().for_plugin(&id.plugin);
        events.emit(Kind::TrustDecided, server, None);
        Ok(true)
    }
}

impl DashboardBackend for LocalBackend {
    fn servers(&self) -> BoxFuture<'_, Vec<ServerView>> {
        let backend = self.myself.upgrade();
        Box::pin(async move {
            // It reads files and the vault.
            let survey = tokio::task::spawn_blocking(move || backend?.survey().ok());
            let found = survey.await.ok().flatten().unwrap_or_default();
            let mut views = Vec::with_capacity(found.len());
            for (mut view, confinement) in found {
                if let Some(confinement) = confinement {
                    let protection = self.host.protection(&confinement).await;
                    view.diagnosis.protection = protection.as_ref().map(|it| it.words.clone());
                    let question = view.diagnosis.question.take();
                    view.diagnosis.question = question.map(|it| it.protected_by(protection));
                }
                views.push(view);
            }
            views
        })
    }

    fn changes(&self) -> Changes {
        self.records.changes()
    }

    fn opened(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for view in self.servers().await {
                // A program is started when a person or a client asks for it, not by a look.
                let is_program = view.diagnosis.transport == Some(Transport::Stdio);
                if view.diagnosis.question.is_none()
                    && !is_program
                    && (!self.records.knows(&view.id) || is_in_by_now(&view))
                {
                    drop(self.look_at(&view.id));
                }
            }
        })
    }

    fn check<'a>(&'a self, server: &'a ServerId) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        Box::pin(async move {
            self.reconnect(server);
            if let Some(looking) = self.look_at(server) {
                // A server that takes longer is shown as being looked at.
                drop(timeout(BUTTON_TIMEOUT, looking).await);
            }
            Ok(())
        })
    }

    fn sign_in<'a>(
        &'a self,
        server: &'a ServerId,
    ) -> BoxFuture<'a, Result<Option<String>, Box<Diagnosis>>> {
        Box::pin(async move {
            let Some(backend) = self.myself.upgrade() else {
                return Ok(None);
            };
            let Some(turn) = self.records.begin(server) else {
                return Ok(None);
            };
            let id = server.clone();
            let mut changes = self.records.changes();
            let entering = tokio::spawn(async move {
                let entered = backend.sign_in_now(&id).await;
                drop(turn);
                match &entered {
                    Ok(SignInOutcome::SignedIn) => {
                        backend.reconnect(&id);
                        drop(backend.look_at(&id));
                    }
                    Ok(SignInOutcome::Unneeded) => drop(backend.look_at(&id)),
                    Err(_) if backend.records.was_given_up(&id) => {}
                    Err(error) => {
                        let problem = backend.problem(&id, error);
                        backend.records.note(&id, Seen::from(*problem));
                    }
                    Ok(_) => {}
                }
                match entered {
                    Ok(SignInOutcome::SignedIn) => Ok(None),
                    Ok(SignInOutcome::Unneeded) => Ok(Some(format!("It {UNNEEDED}"))),
                    Ok(_) => Ok(None),
                    Err(error) => Err(backend.problem(&id, &error)),
                }
            });
            let asked = async {
                while !self.records.asks(server) {
                    if !changes.changed().await {
                        return;
                    }
                }
            };
            // The task continues whichever comes first: a person who has the page needs no answer
            // here.
            tokio::select! {
                () = asked => Ok(None),
                () = tokio::time::sleep(SIGN_IN_PAGE_TIMEOUT) => Ok(None),
                entered = entering => entered.unwrap_or(Ok(None)),
            }
        })
    }

    fn cancel(&self, server: &ServerId) {
        self.records.cancel(server);
    }

    fn sign_out<'a>(
        &'a self,
        server: &'a ServerId,
    ) -> BoxFuture<'a, Result<String, Box<Diagnosis>>> {
        Box::pin(async move {
            let left = self.sign_out_now(server).await;
            self.reconnect(server);
            drop(self.look_at(server));
            left.map_err(|error| self.problem(server, &error))
        })
    }

    fn approve<'a>(
        &'a self,
        server: &'a ServerId,
        digest: &'a str,
        answer: Answer,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        Box::pin(async move {
            let allowed = self.allow(server, digest, answer);
            if !allowed.map_err(|error| self.problem(server, &error))? {
                return Err(changed(server));
            }
            if let Some(looking) = self.look_at(server) {
                drop(timeout(BUTTON_TIMEOUT, looking).await);
            }
            Ok(())
        })
    }

    fn set_variable<'a>(
        &'a self,
        server: &'a ServerId,
        name: &'a str,
        value: Secret<String>,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        Box::pin(async move {
            self.keep_variable(server, name, value).await?;
            self.reconnect(server);
            if let Some(looking) = self.look_at(server) {
                drop(timeout(BUTTON_TIMEOUT, looking).await);
            }
            Ok(())
        })
    }

    fn probe<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, ProbedServer> {
        Box::pin(async move {
            // An address that the person typed runs nothing and sends nothing of theirs.
            let plugin = self.host.at(url);
            let name = plugin.servers().into_iter().next().unwrap_or_default();
            let found = match examine(&plugin, &name).await {
                Ok(found) => found.unwrap_or_else(|| Diagnosis::new("", &*name)),
                Err(error) => *self.problem(&ServerId::new("", &*name), &error),
            };
            let is_asked = found.code == Some(Code::SignInRequired);
            let offers_sign_in = is_asked && offers_sign_in(&plugin, &name).await;
            ProbedServer::new(found, offers_sign_in)
        })
    }

    fn root(&self, server: &ServerId) -> Option<PathBuf> {
        Some(self.plugin(server).ok()?.root().to_owned())
    }

    fn history(&self) -> Vec<Event> {
        self.history.latest()
    }

    fn policies_changed(&self, server: &ServerId) {
        if let Some(gateway) = self.gateway.get().and_then(Weak::upgrade) {
            gateway.apply_policies(&server.plugin, &server.name);
        }
    }

    fn call<'a>(
        &'a self,
        server: &'a ServerId,
        tool: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Box<Diagnosis>>> {
        Box::pin(async move {
            let answer = self.use_tool(server, tool, arguments).await;
            answer.map_err(|error| {
                let problem = self.problem(server, &error);
                // What just went wrong is looked into, so that the page of the server explains it.
                drop(self.look_at(server));
                problem
            })
        })
    }
}

/// Says whether there is a sign-in by now that was missing when the server was examined.
fn is_in_by_now(view: &ServerView) -> bool {
    let is_missed = view.diagnosis.code == Some(Code::SignInRequired);
    let sign_in = view.diagnosis.sign_in.as_ref();
    is_missed && sign_in.is_some_and(|sign_in| !sign_in.ended)
}

/// Says whether there is an authorization server for a server that refuses requests without a token.
async fn offers_sign_in(plugin: &Plugin, name: &str) -> bool {
    let Ok(ready) = plugin.plan(name).and_then(|plan| plan.approved_before()) else {
        return false;
    };
    let offered = timeout(BUTTON_TIMEOUT, ready.offers_oauth()).await;
    offered.is_ok_and(|offered| offered.is_ok())
}

fn not_kept(id: &ServerId, message: String) -> Box<Diagnosis> {
    let mut found = Diagnosis::new(&*id.plugin, &*id.name);
    found.message = message;
    found.hint = Some("give another value".to_owned());
    Box::new(found)
}

fn changed(id: &ServerId) -> Box<Diagnosis> {
    let code = Code::PendingTrust;
    let mut found = Diagnosis::new(&*id.plugin, &*id.name);
    found.state = code.state();
    found.code = Some(code);
    found.message = "the entry has changed since it was shown, so nothing was approved".into();
    found.hint = Some("read it again, as it is now".to_owned());
    Box::new(found)
}

/// Shown for a server that takes requests without a credential.
const UNNEEDED: &str = "needs no sign-in: it answers without a credential and offers no sign-in.";
