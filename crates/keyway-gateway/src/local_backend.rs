//! The dashboard's backend in the gateway's own process: does for a person at a browser what the
//! commands do for one at a terminal, by the same library.

mod connection_states;
mod dashboard_actions;
mod dashboard_presenter;
mod redaction;
mod server_records;
mod shared_presenter;
mod views;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use keyway::approval::{Answer, Question};
use keyway::diagnosis::Diagnosis;
use keyway::events::Kind;
use keyway::examination::examine;
use keyway::host::SignInOutcome;
use keyway::load::Loaded;
use keyway::sign_in::Stores;
use keyway::sign_in::{Presenter, PromptPolicy};
use keyway::store::StoreError;
use keyway::variables::KeptVariables;
use keyway::vault::Vault;
use keyway::{Approved, Error, Host, Plan, Plugin};
use keyway_auth::oauth::OAuth;
use keyway_secret::{Clock as _, Secret, SystemClock};
use tokio::time::timeout;

use self::connection_states::ConnectionStates;
use self::dashboard_presenter::DashboardPresenter;
use self::server_records::{Seen, ServerRecords};
use self::shared_presenter::SharedPresenter;
use crate::gateway::Gateway;
use crate::history::History;
use keyway_dashboard::{BUTTON_TIMEOUT, DashboardBackend, ServerId, ServerView, WantedBy};
use keyway_database::ServedSignIns;

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
        // What a plugin asks for under a name is not what another asks for under the same.
        let kept_name = || {
            let plugin = self.plugin(id)?;
            let scope = plugin.host().variable_scope(plugin.loaded())?;
            Ok(scope.kept_name(name))
        };
        let name = kept_name().map_err(|error| self.problem(id, &error))?;
        let vault = self.vault().map_err(|error| self.problem(id, &error))?;
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
        self.store_answer(id, &question, answer)?;
        Ok(true)
    }

    /// Approves all that waits in a plugin; `false` if some of it was not shown, and then nothing.
    fn allow_plugin(
        &self,
        plugin: &str,
        shown: &BTreeSet<String>,
        answer: Answer,
    ) -> Result<bool, Error> {
        let waiting = self.questions_of(plugin)?;
        let is_shown =
            |(_, question): &(ServerId, Question)| shown.contains(&question.digest.to_string());
        if !waiting.iter().all(is_shown) {
            return Ok(false);
        }
        for (id, question) in &waiting {
            self.store_answer(id, question, answer)?;
        }
        Ok(true)
    }

    fn store_answer(
        &self,
        id: &ServerId,
        question: &Question,
        answer: Answer,
    ) -> Result<(), Error> {
        // The person saw this digest, on the dashboard or in another host's own page.
        let Some(agreement) = question.dangerous_answer(answer) else {
            return Ok(());
        };
        self.host.store_approval(&agreement)?;
        let server = Some(id.name.as_str());
        let events = self.host.events().for_plugin(&id.plugin);
        events.emit(Kind::TrustDecided, server, None);
        Ok(())
    }
}

impl ServedSignIns for LocalBackend {
    fn sign_ins(&self, stores: Stores) -> Vec<OAuth> {
        let host = self.host.with_sign_in_stores(stores);
        let mut found = Vec::new();
        for loaded in self.plugins() {
            let plugin = host.plugin(loaded);
            for name in plugin.servers() {
                let ready = plugin.plan(&name).and_then(|plan| plan.approved_before());
                found.extend(ready.ok().and_then(|ready| ready.oauth()));
            }
        }
        found
    }
}

fn not_kept(id: &ServerId, message: String) -> Box<Diagnosis> {
    let mut found = Diagnosis::new(&*id.plugin, &*id.name);
    found.message = message;
    found.hint = Some("give another value".to_owned());
    Box::new(found)
}
