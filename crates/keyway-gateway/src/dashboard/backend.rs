//! What the dashboard needs from outside: the servers as they stand, and what can be done to them.
//!
//! Whoever implements this goes the ways of the command line; the dashboard itself connects to
//! nothing and keeps nothing.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use keyway_auth::BoxFuture;
use keyway_code::Code;
use keyway_config::declared::Transport;
use keyway_config::method::Method;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::watch;
use url::Url;

use keyway::approval::Question;
use keyway::sign_in::SignIn;
use keyway_mcp::states::{Standing, Trouble};

/// Looks after servers.
pub trait DashboardBackend: Send + Sync + Debug {
    /// Returns all servers, plugin by plugin. Nothing is run or sent for it.
    fn servers(&self) -> BoxFuture<'_, Vec<ServerView>>;

    /// A person looks: finds out how the servers are that nobody has looked at yet, as far as they
    /// are approved.
    fn opened(&self) -> BoxFuture<'_, ()>;

    /// Tells of every change of a server.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Connects anew, which runs a helper again, and finds out what is wrong.
    fn check<'a>(&'a self, server: &'a ServerId) -> BoxFuture<'a, Result<(), Trouble>>;

    /// Begins a sign-in; returns as soon as there is a page to go to, or it has ended, and what
    /// there is to say then.
    fn sign_in<'a>(
        &'a self,
        server: &'a ServerId,
    ) -> BoxFuture<'a, Result<Option<String>, Trouble>>;

    /// Gives a sign-in up.
    fn cancel(&self, server: &ServerId);

    /// Signs out; returns in one sentence what became of the tokens.
    fn sign_out<'a>(&'a self, server: &'a ServerId) -> BoxFuture<'a, Result<String, Trouble>>;

    /// Approves what was shown, if it is still that.
    fn approve<'a>(
        &'a self,
        server: &'a ServerId,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<(), Trouble>>;

    /// Calls a tool with arguments that fit its schema.
    fn call<'a>(
        &'a self,
        server: &'a ServerId,
        tool: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Trouble>>;
}

/// Which server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerId {
    /// The name of its plugin.
    pub plugin: String,
    /// Its own name.
    pub name: String,
}

/// One server as it stands.
#[derive(Debug, Clone)]
pub struct ServerView {
    /// Which.
    pub id: ServerId,
    /// Where it is declared, as `FILE:LINE`.
    pub place: String,
    /// How frames travel, if that is known.
    pub transport: Option<Transport>,
    /// How it is authenticated to, if that is known.
    pub method: Option<Method>,
    /// Whether it is known to take everybody, so that nobody has to sign in.
    pub is_open: bool,
    /// Its state.
    pub standing: Standing,
    /// Whether something is being done about it right now.
    pub is_busy: bool,
    /// The sign-in that is kept.
    pub sign_in: Option<Kept>,
    /// The variables that it needs; never their values.
    pub variables: Vec<Variable>,
    /// What has to be approved, as long as it is not.
    pub question: Option<Question>,
    /// The page that a person has to go to, while a sign-in is under way.
    pub consent: Option<Consent>,
    /// What is wrong, since it was last looked at.
    pub fault: Option<Fault>,
    /// What it offered when it was last looked at, in words.
    pub offers: Option<String>,
    /// The tools that it had then.
    pub tools: Arc<[Tool]>,
}

/// A sign-in with how long its token was good when it was new, as far as anybody saw.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The sign-in.
    pub sign_in: SignIn,
    /// In seconds.
    pub lifetime: Option<i64>,
}

/// A variable of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Whether it has a value.
    pub is_set: bool,
    /// Whether the entry does without it.
    pub has_default: bool,
}

/// What a person is asked at a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The page.
    pub page: Url,
    /// The host of the issuer, in ASCII.
    pub issuer: String,
    /// As whom we ask, if that is told.
    pub client: Option<String>,
    /// What is asked for; in words and whether it is new are for the dashboard to say.
    pub scopes: Vec<String>,
    /// What of it was not asked for before.
    pub new_scopes: Vec<String>,
    /// A code to be typed in there.
    pub code: Option<String>,
    /// Until when the answer is waited for.
    pub ends_at: Instant,
    /// Who wants it.
    pub wanted_by: WantedBy,
}

/// Who wants a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WantedBy {
    /// The person, at the dashboard.
    Person,
    /// A client of the gateway, whose call waits for it.
    Client,
}

/// What is wrong with a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// How far it got.
    pub stage: String,
    /// The code used in every format.
    pub code: Code,
    /// What happened.
    pub message: String,
    /// Why.
    pub why: String,
    /// What to do next.
    pub hint: String,
    /// Where in a file, as `FILE:LINE:COLUMN`.
    pub place: Option<String>,
    /// What a program said before it ended, redacted.
    pub lines: Vec<String>,
}

/// A tool, as far as it can be shown and called.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// What it takes.
    pub schema: Value,
}

impl Tool {
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
        }
        let tool: Described = serde_json::from_str(raw.get()).ok()?;
        Some(Self {
            name: tool.name,
            title: tool.title,
            description: tool.description,
            schema: tool.schema,
        })
    }
}
