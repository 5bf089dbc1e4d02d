//! What using a server would mean: resolved in memory, not yet approved.

use std::sync::Arc;

use keyway_code::Code;
use keyway_config::declared::{DeclaredServer, Transport};
use keyway_config::environment::Scope;
use keyway_config::method::Method;
use keyway_config::resolve::{
    ResolveError, ResolveErrors, ResolveNote, ServerSpec, SpecEndpoint, resolve,
};
use keyway_config::source::Location;
use keyway_config::usage;

use super::Host;
use super::approved::Approved;
use super::error::Error;
use super::variable_scope::VariableScope;
use crate::approval::{Answer, Question};
use crate::events::{Events, Kind, Topic};
use crate::load::Loaded;
use crate::settings::Confinement;

/// What using one server would mean. Cheap to clone.
///
/// ```text
/// Plan ──approve──▶ Approved<Plan>    in the ledger, or the person said yes
///   ├─────────────▶ Unresolved        a variable is missing: no person is asked
///   └─────────────▶ NotApproved       not in the ledger, and no person said yes
/// ```
///
/// A plan cannot connect:
///
/// ```compile_fail
/// # async fn f(host: keyway::Host) -> Result<(), keyway::Error> {
/// let plan = host.load("a-plugin")?.plan("docs")?;
/// plan.connect().await?;
/// # Ok(())
/// # }
/// ```
///
/// Only the ledger, the person or a function with `dangerous` in its name can make an [`Approved`]
/// plan:
///
/// ```compile_fail
/// # fn f(plan: keyway::Plan) {
/// let approved = keyway::Approved { plan };
/// # }
/// ```
///
/// Nor does the ledger take a plan's question without an answer to it:
///
/// ```compile_fail
/// # async fn f(host: keyway::Host) -> Result<(), Box<dyn std::error::Error>> {
/// let plan = host.load("a-plugin")?.plan("docs")?;
/// if let (Some(ledger), Some(question)) = (host.approval_store(), plan.question()) {
///     ledger.approve(question)?;
/// }
/// plan.approve().await?.connect().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    host: Host,
    inner: Arc<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    plugin: String,
    server: String,
    declared_at: Location,
    question: Option<Question>,
    resolved: Result<ServerSpec, ResolveErrors>,
    scope: VariableScope,
    /// The env file that the entry names, as it is written.
    env_file: Option<String>,
    confinement: Confinement,
    transport: Transport,
    method: Method,
    /// What the entry comes to, in one line of names.
    summary: String,
}

impl Plan {
    pub(super) fn new(
        host: &Host,
        loaded: &Arc<Loaded>,
        server: &DeclaredServer,
    ) -> Result<Self, Error> {
        let scope = host.variable_scope_of(loaded, server)?;
        let plugin = loaded.plugin.name();
        let question = host.question(loaded, server, &scope);
        // With what the grants led to when the question was put together.
        let agreed = question.as_ref().and_then(Question::confinement);
        let resolved = resolve(server, &scope.scope());
        let summary = summary(server, &resolved, &server.scope(&scope.scope()));
        let inner = Inner {
            server: server.name.clone(),
            declared_at: server.declared_at(),
            confinement: agreed.map_or_else(|| host.confinement(loaded, server), Clone::clone),
            question,
            transport: server.transport,
            method: Method::declared(server),
            summary,
            env_file: server
                .env_file
                .as_ref()
                .map(|file| file.template.as_str().to_owned()),
            resolved,
            plugin,
            scope,
        };
        Ok(Self {
            host: host.clone(),
            inner: Arc::new(inner),
        })
    }

    /// Returns the name of the plugin.
    #[must_use]
    pub fn plugin(&self) -> &str {
        &self.inner.plugin
    }

    /// Returns the name of the server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.inner.server
    }

    /// Returns how frames would travel.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.inner.transport
    }

    /// Returns how the server would be authenticated to.
    #[must_use]
    pub fn method(&self) -> Method {
        self.inner.method
    }

    /// Returns what a person has to approve; `None` if the entry runs and gets nothing.
    #[must_use]
    pub fn question(&self) -> Option<&Question> {
        self.inner.question.as_ref()
    }

    /// Returns every field that cannot be filled in.
    #[must_use]
    pub fn problems(&self) -> &[ResolveError] {
        match &self.inner.resolved {
            Ok(_) => &[],
            Err(errors) => errors,
        }
    }

    /// Returns what is worth knowing although it stops nothing, such as a value that ends with
    /// a blank.
    #[must_use]
    pub fn notes(&self) -> &[ResolveNote] {
        match &self.inner.resolved {
            Ok(spec) => &spec.notes,
            Err(_) => &[],
        }
    }

    /// Returns the variables that the entry was resolved against.
    #[must_use]
    pub fn variables(&self) -> &VariableScope {
        &self.inner.scope
    }

    /// Returns the host.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The same plan under a host that differs in some respect.
    #[must_use]
    pub fn on(&self, host: &Host) -> Self {
        Self {
            host: host.clone(),
            inner: Arc::clone(&self.inner),
        }
    }

    /// Says whether the plan is approved as it is now, or needs no approval. A ledger that cannot be
    /// read approves nothing.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        match self.question() {
            None => true,
            Some(question) => matches!(self.granted(question), Ok(Some(_))),
        }
    }

    /// Gets the plan approved: by the ledger if it was approved before as it is now, otherwise by
    /// the answer of the host's [`ApprovalPrompt`](super::ApprovalPrompt), which the ledger keeps.
    ///
    /// Cancel safety: an answer that was given but not yet recorded is lost, and the person is asked
    /// again.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unresolved`] with every field that stands in the way, and
    /// [`Error::NotApproved`] if no person says yes.
    pub async fn approve(&self) -> Result<Approved<Self>, Error> {
        if let Some(approved) = self.find_approval()? {
            return Ok(approved);
        }
        let Some(question) = self.question() else {
            return self.approved(Vec::new());
        };
        let events = self.events();
        let server = Some(self.server());
        events.emit(Kind::TrustRequested, server, None);
        let refused = |error: Error| {
            events.emit(Kind::TrustDecided, server, Some(Code::PendingTrust));
            Err(error)
        };
        let store = self.host.approvals.store.as_deref().ok_or(Error::NoHome)?;
        let question = question.clone().compared_with(store);
        let (question, answer) = match &self.host.approvals.prompt {
            Some(prompt) => {
                let question = self.host.with_protection(question).await;
                let answer = prompt.ask(&question).await;
                (question, answer)
            }
            None => (question, Answer::No),
        };
        // The answer is that of the host's port, to this very question.
        let Some(agreement) = question.dangerous_answer(answer) else {
            return refused(Error::not_approved(question, &self.inner.declared_at));
        };
        store.approve(&agreement)?;
        events.emit(Kind::TrustDecided, server, None);
        let agreed = agreement.question();
        let grants = self.granted(agreed)?;
        self.under(agreed).approved(grants.unwrap_or_default())
    }

    /// The same without asking a person: what is not in the ledger is refused.
    ///
    /// Blocks while the ledger is read.
    ///
    /// # Errors
    ///
    /// As [`Self::approve`].
    pub fn approved_before(&self) -> Result<Approved<Self>, Error> {
        if let Some(approved) = self.find_approval()? {
            return Ok(approved);
        }
        let events = self.events();
        let server = Some(self.server());
        events.emit(Kind::TrustRequested, server, None);
        events.emit(Kind::TrustDecided, server, Some(Code::PendingTrust));
        let store = self.host.approvals.store.as_deref().ok_or(Error::NoHome)?;
        // Without a question there would have been an approval.
        let question = self.question().ok_or(Error::NoHome)?.clone();
        let question = question.compared_with(store);
        Err(Error::not_approved(question, &self.inner.declared_at))
    }

    /// Returns the approved plan if nothing has to be asked: the entry runs and gets nothing, or it
    /// is in the ledger as it is now. Emits no event if it is not.
    ///
    /// Blocks while the ledger is read.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Store`] if the ledger cannot be read, and [`Error::Unresolved`].
    pub fn find_approval(&self) -> Result<Option<Approved<Self>>, Error> {
        let found = self.look_for_approval();
        if !matches!(found, Ok(Some(_))) {
            self.host.end_launcher_ahead();
        }
        found
    }

    fn look_for_approval(&self) -> Result<Option<Approved<Self>>, Error> {
        // An approval would not help an entry that cannot be filled in, and every command has to say
        // the same of it: `status` and `doctor` look at the variables first as well.
        self.resolved()?;
        let Some(question) = self.question() else {
            return self.approved(Vec::new()).map(Some);
        };
        let approvals = &self.host.approvals;
        if approvals.dangerous_all || approvals.for_this_run.covers(&question.digest) {
            return self.dangerous_approve_unasked().map(Some);
        }
        match self.granted(question)? {
            Some(grants) => self.approved(grants).map(Some),
            None => Ok(None),
        }
    }

    /// Approves the plan without asking a person: whatever the entry runs, runs, and whatever it
    /// names is sent. Only for an entry that the person has approved in some other way.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unresolved`].
    pub fn dangerous_approve_unasked(&self) -> Result<Approved<Self>, Error> {
        let granted = self.question().and_then(|it| self.granted(it).ok()?);
        self.approved(granted.unwrap_or_default())
    }

    /// The same plan with the confinement that was agreed to.
    fn under(&self, agreed: &Question) -> Self {
        let Some(confinement) = agreed.confinement() else {
            return self.clone();
        };
        let inner = Inner {
            question: Some(agreed.clone()),
            confinement: confinement.clone(),
            ..Inner::clone(&self.inner)
        };
        Self {
            host: self.host.clone(),
            inner: Arc::new(inner),
        }
    }

    fn events(&self) -> Events {
        self.host.events.for_plugin(self.plugin())
    }

    /// Returns the variables granted to an entry that was approved as it is now.
    fn granted(&self, question: &Question) -> Result<Option<Vec<String>>, Error> {
        let store = self.host.approvals.store.as_ref().ok_or(Error::NoHome)?;
        let approval = store.find(&question.source, &question.server)?;
        let covering = approval.filter(|approval| approval.covers(&question.digest));
        let outdated = covering.as_ref().filter(|it| it.is_outdated_for(question));
        if let Some(again) = outdated.and_then(|approval| approval.renewed(question)) {
            // The same files at another time: what is stored spares the next look from reading them.
            // A store that cannot be written spares nothing.
            let _unspared = store.approve(&again);
        }
        Ok(covering.map(|approval| approval.grants))
    }

    /// Returns the entry with its variables filled in, or every field that stands in the way.
    fn resolved(&self) -> Result<&ServerSpec, Error> {
        let errors = match &self.inner.resolved {
            Ok(spec) => return Ok(spec),
            Err(errors) => errors.clone(),
        };
        let server = self.server();
        let code = Code::UnresolvedVariable;
        self.events()
            .emit(Kind::ConfigSkipped, Some(server), Some(code));
        // What is missing may be in a vault that could not be read.
        if let Some(error) = self.inner.scope.take_store_error() {
            return Err(error.into());
        }
        Err(Error::Unresolved {
            server: server.to_owned(),
            errors,
        })
    }

    /// Fills in the entry for one that is approved.
    fn approved(&self, grants: Vec<String>) -> Result<Approved<Self>, Error> {
        let (events, server) = (self.events(), self.server());
        let mut spec = self.resolved()?.clone();
        let scope = self.inner.scope.scope();
        let scope = scope.with_env_file(self.inner.env_file.as_deref());
        for name in &grants {
            spec.grant(name, &scope);
        }
        if matches!(spec.endpoint, SpecEndpoint::NotConfigured) {
            events.emit(Kind::ConfigSkipped, Some(server), Some(Code::NotConfigured));
        }
        events.note(Topic::Config, Some(server), || self.inner.summary.clone());
        Ok(Approved::new(
            self.clone(),
            spec,
            grants,
            self.inner.confinement.clone(),
        ))
    }
}

/// Says how a server is reached and authenticated to, and which variables feed it: names only.
fn summary(
    server: &DeclaredServer,
    resolved: &Result<ServerSpec, ResolveErrors>,
    scope: &Scope<'_>,
) -> String {
    let Ok(spec) = resolved else {
        return String::new();
    };
    let names = usage::names(server).into_iter();
    let variables: Vec<String> = names
        .map(|name| {
            let state = if scope.is_set(name) { "set" } else { "not set" };
            format!("{name} is {state}")
        })
        .collect();
    let variables = if variables.is_empty() {
        "no variables".to_owned()
    } else {
        variables.join(", ")
    };
    let (transport, method) = (spec.transport.as_str(), spec.method.as_str());
    format!("transport {transport}, method {method}; {variables}")
}
