//! What the dashboard needs from outside: the servers as they stand, and what can be done to them.
//!
//! The dashboard itself connects to nothing and stores nothing.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use keyway::approval::Answer;
use keyway::diagnosis::Diagnosis;
use keyway::events::Event;
use keyway_auth::BoxFuture;
use keyway_secret::Secret;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use url::Url;

use super::changes::Changes;
use keyway_policy::ToolDigest;

/// Looks after servers.
pub trait DashboardBackend: Send + Sync + Debug {
    /// Returns all servers, plugin by plugin. Nothing is run or sent for it.
    ///
    /// Cancel safety: must be cancel safe; it only reads.
    fn servers(&self) -> BoxFuture<'_, Vec<ServerView>>;

    /// Returns one of them; `None` if it is not served any more.
    ///
    /// Cancel safety: as [`DashboardBackend::servers`].
    fn server<'a>(&'a self, id: &'a ServerId) -> BoxFuture<'a, Option<ServerView>> {
        Box::pin(async move {
            let mut servers = self.servers().await.into_iter();
            servers.find(|view| view.id == *id)
        })
    }

    /// A person opened the dashboard: checks the approved servers that were not checked yet.
    ///
    /// Cancel safety: examinations that were started continue; the remaining servers are not looked
    /// at.
    fn opened(&self) -> BoxFuture<'_, ()>;

    /// Tells of every change of a server.
    fn changes(&self) -> Changes;

    /// Reconnects, which runs a helper again, and finds out what is wrong.
    ///
    /// Cancel safety: the examination continues, and what it finds is shown.
    fn check<'a>(&'a self, server: &'a ServerId) -> BoxFuture<'a, Result<(), Box<Diagnosis>>>;

    /// Begins a sign-in; returns as soon as there is a page to go to, or it has ended, and what
    /// there is to say then.
    ///
    /// Cancel safety: the sign-in continues until it is answered, times out or is
    /// [cancelled](Self::cancel).
    fn sign_in<'a>(
        &'a self,
        server: &'a ServerId,
    ) -> BoxFuture<'a, Result<Option<String>, Box<Diagnosis>>>;

    /// Gives a sign-in up.
    fn cancel(&self, server: &ServerId);

    /// Signs out; returns in one sentence what became of the tokens.
    ///
    /// Cancel safety: the sign-out itself continues. Connections that use it may not be closed by
    /// this call; what watches the vault closes them later.
    fn sign_out<'a>(
        &'a self,
        server: &'a ServerId,
    ) -> BoxFuture<'a, Result<String, Box<Diagnosis>>>;

    /// Approves what was shown, if it is still that, as the person answered.
    ///
    /// Cancel safety: an approval that was stored stays; an examination that was started continues.
    fn approve<'a>(
        &'a self,
        server: &'a ServerId,
        digest: &'a str,
        answer: Answer,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>>;

    /// Approves everything of a plugin that waits for it, as the person answered, if all of that is
    /// among the digests that were `shown`; otherwise nothing.
    ///
    /// Cancel safety: as [`DashboardBackend::approve`].
    fn approve_plugin<'a>(
        &'a self,
        plugin: &'a str,
        shown: BTreeSet<String>,
        answer: Answer,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>>;

    /// Stores a variable that the entry of a server refers to, and looks at the server again.
    ///
    /// Cancel safety: a value that was stored stays; an examination that was started continues.
    fn set_variable<'a>(
        &'a self,
        server: &'a ServerId,
        name: &'a str,
        value: Secret<String>,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>>;

    /// Looks at a server that is not served yet: whether it answers, and what it asks for.
    ///
    /// Cancel safety: the connection is dropped.
    fn probe<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, ProbedServer>;

    /// Returns the folder of a server's plugin.
    fn root(&self, _server: &ServerId) -> Option<PathBuf> {
        None
    }

    /// Masks in a text what is confidential of a server: its tokens, and the values of its variables.
    fn mask(&self, server: &ServerId, text: &str) -> String;

    /// Returns what happened since the gateway started, latest first.
    fn history(&self) -> Vec<Event> {
        Vec::new()
    }

    /// Rules for the tools of a server were changed: connections to it get them.
    fn policies_changed(&self, _server: &ServerId) {}

    /// Calls a tool with arguments that fit its schema.
    ///
    /// Cancel safety: the request is cancelled; the tool may have run.
    fn call<'a>(
        &'a self,
        server: &'a ServerId,
        tool: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Box<Diagnosis>>>;
}

/// Which server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ServerId {
    /// The name of its plugin.
    pub plugin: String,
    /// Its own name.
    pub name: String,
}

impl ServerId {
    /// Names a server of a plugin.
    #[must_use]
    pub fn new(plugin: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            plugin: plugin.into(),
            name: name.into(),
        }
    }
}

/// What a server at an address said.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProbedServer {
    /// What is known of it.
    pub diagnosis: Diagnosis,
    /// Whether there is an authorization server to sign in at.
    pub offers_sign_in: bool,
}

impl ProbedServer {
    /// A server that was examined.
    #[must_use]
    pub const fn new(diagnosis: Diagnosis, offers_sign_in: bool) -> Self {
        Self {
            diagnosis,
            offers_sign_in,
        }
    }
}

/// One server, as the pages show it: its diagnosis, and what only the dashboard knows.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerView {
    /// Which.
    pub id: ServerId,
    /// What is known of it.
    pub diagnosis: Diagnosis,
    /// The same with how the server answered its clients since, for those that do not examine it.
    pub last_seen: Option<Diagnosis>,
    /// Whether it is known to take requests without a sign-in.
    pub is_open: bool,
    /// Whether something is being done about it right now.
    pub is_busy: bool,
    /// For how long the token of its sign-in was good when it was first seen, in seconds.
    pub token_lifetime: Option<i64>,
    /// The page that a person has to go to, while a sign-in is under way.
    pub consent: Option<Consent>,
    /// The tools that it had when it was last examined.
    pub tools: Arc<[Tool]>,
    /// The last lines of its log, oldest first.
    pub log: Vec<String>,
}

impl ServerView {
    /// A server of which nothing is known but its diagnosis.
    #[must_use]
    pub fn new(diagnosis: Diagnosis) -> Self {
        Self {
            id: ServerId::new(&*diagnosis.plugin, &*diagnosis.server),
            diagnosis,
            last_seen: None,
            is_open: false,
            is_busy: false,
            token_lifetime: None,
            consent: None,
            tools: Arc::default(),
            log: Vec::new(),
        }
    }

    /// Returns one of the tools that it had when it was last examined.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns where it is declared, as `FILE:LINE`.
    pub(super) fn place(&self) -> String {
        let place = self.diagnosis.declared_at.as_ref();
        let place = place.map(|at| format!("{}:{}", at.file, at.start.line));
        keyway_secret::printable(&place.unwrap_or_default())
    }

    /// Returns what it offered when it was last examined, in words.
    pub(super) fn offers(&self) -> Option<&str> {
        let offer = self.diagnosis.offer.as_ref();
        offer.map(|offer| offer.summary.as_str())
    }
}

/// What a person is asked at a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consent {
    /// The page.
    pub page: Url,
    /// The host of the issuer, in ASCII.
    pub issuer: String,
    /// The identifier of the client, if it is known.
    pub client: Option<String>,
    /// What is asked for; in words and whether it is new are for the dashboard to say.
    pub scopes: Vec<String>,
    /// What of it was not asked for before.
    pub new_scopes: Vec<String>,
    /// A code to be typed in there.
    pub code: Option<String>,
    /// Until when the answer is waited for.
    pub ends_at: Instant,
    /// What asked for it.
    pub wanted_by: WantedBy,
}

impl Consent {
    /// A page of an issuer.
    #[must_use]
    pub fn new(page: Url, issuer: String, ends_at: Instant, wanted_by: WantedBy) -> Self {
        Self {
            page,
            issuer,
            client: None,
            scopes: Vec::new(),
            new_scopes: Vec::new(),
            code: None,
            ends_at,
            wanted_by,
        }
    }
}

/// What asked for a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WantedBy {
    /// The person, at the dashboard.
    Person,
    /// A client of the gateway, whose call waits for it.
    Client,
}

/// A tool, as far as it can be shown and called.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// What it takes.
    pub schema: Value,
    /// What the server claims of it.
    pub annotations: Value,
    /// What rules know it by; `None` if its description says something twice.
    pub digest: Option<ToolDigest>,
}

impl Tool {
    /// Returns the same tool with every text and value rewritten. Rules still know it by its digest.
    #[must_use]
    pub fn rewritten(
        &self,
        text: impl Fn(&str) -> String,
        value: impl Fn(&Value) -> Value,
    ) -> Self {
        Self {
            name: text(&self.name),
            title: self.title.as_deref().map(&text),
            description: self.description.as_deref().map(&text),
            schema: value(&self.schema),
            annotations: value(&self.annotations),
            digest: self.digest,
        }
    }

    /// Reads a tool as a server describes it; `None` if it has no name.
    #[must_use]
    pub fn read(raw: &RawValue) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Described {
            name: String,
            title: Option<String>,
            description: Option<String>,
            #[serde(rename = "inputSchema", default)]
            schema: Value,
            #[serde(default)]
            annotations: Value,
        }
        let tool: Described = serde_json::from_str(raw.get()).ok()?;
        Some(Self {
            name: tool.name,
            title: tool.title,
            description: tool.description,
            schema: tool.schema,
            annotations: tool.annotations,
            digest: ToolDigest::of(raw),
        })
    }
}
