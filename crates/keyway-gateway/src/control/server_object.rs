//! A server as the control API describes it: what `keyway status --format json` says, and what is
//! under way.

use keyway::approval::Question;
use keyway::events::rfc3339;
use keyway_code::Code;
use keyway_config::environment::Origin;
use keyway_secret::printable;
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use keyway_dashboard::{Consent, ServerView, Tool};

/// The answer to `GET /v1/servers`.
#[derive(Serialize)]
pub(super) struct ServerList<'a> {
    schema_version: u32,
    servers: Vec<ServerObject<'a>>,
}

impl<'a> ServerList<'a> {
    pub(super) fn of(servers: &'a [ServerView]) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            servers: servers.iter().map(ServerObject::of).collect(),
        }
    }
}

/// One server. Members are always there; what is not known is `null`.
#[derive(Serialize)]
pub(super) struct ServerObject<'a> {
    id: String,
    plugin: &'a str,
    name: &'a str,
    transport: Option<&'static str>,
    method: Option<&'static str>,
    state: &'static str,
    reason: Option<&'static str>,
    since: Option<&'a str>,
    code: Option<&'static str>,
    message: Option<&'a str>,
    hint: Option<&'a str>,
    fixable_by: Option<&'static str>,
    variables: Vec<VariableObject<'a>>,
    account: Option<&'a str>,
    scopes: Option<&'a [String]>,
    expires_at: Option<String>,
    busy: bool,
    consent: Option<ConsentObject<'a>>,
    /// What waits for an approval.
    approval: Option<Value>,
    tools: Vec<ToolObject<'a>>,
    /// What was done, in a sentence for a person.
    note: Option<String>,
}

impl<'a> ServerObject<'a> {
    pub(super) fn of(view: &'a ServerView) -> Self {
        let found = view.last_seen.as_ref().unwrap_or(&view.diagnosis);
        let variables = found.variables.iter().map(|variable| VariableObject {
            name: &variable.name,
            set: variable.is_set,
            from: variable.origin.map(Origin::as_str),
        });
        let kept = found.sign_in.as_ref();
        Self {
            id: found.id(),
            plugin: &view.id.plugin,
            name: &view.id.name,
            transport: found.transport.map(|transport| transport.as_str()),
            method: found.method.map(|method| method.as_str()),
            state: found.state.state.as_str(),
            reason: found.state.reason.map(|reason| reason.as_str()),
            since: found.since.as_deref(),
            code: found.code.map(Code::as_str),
            message: Some(found.message.as_str()).filter(|it| !it.is_empty()),
            hint: found.hint.as_deref(),
            fixable_by: found.fixable_by().map(|fixer| fixer.as_str()),
            variables: variables.collect(),
            account: kept.and_then(|kept| kept.account.as_deref()),
            scopes: kept.map(|kept| kept.scopes.as_slice()),
            expires_at: kept.and_then(|kept| kept.expires_at).map(rfc3339),
            busy: view.is_busy,
            consent: view.consent.as_ref().map(ConsentObject::of),
            approval: found.question.as_ref().map(Question::to_json),
            tools: view.tools.iter().map(ToolObject::of).collect(),
            note: None,
        }
    }

    pub(super) fn with_note(mut self, note: Option<String>) -> Self {
        self.note = note.map(|note| printable(&note));
        self
    }
}

/// A variable of an entry: its name and never its value.
#[derive(Serialize)]
struct VariableObject<'a> {
    name: &'a str,
    set: bool,
    from: Option<&'static str>,
}

/// A sign-in that waits for a person.
#[derive(Serialize)]
struct ConsentObject<'a> {
    page: &'a str,
    issuer: &'a str,
    client: Option<&'a str>,
    scopes: &'a [String],
    new_scopes: &'a [String],
    user_code: Option<&'a str>,
    expires_in: u64,
}

impl<'a> ConsentObject<'a> {
    fn of(consent: &'a Consent) -> Self {
        let left = consent
            .ends_at
            .saturating_duration_since(Instant::now().into_std());
        Self {
            page: consent.page.as_str(),
            issuer: &consent.issuer,
            client: consent.client.as_deref(),
            scopes: &consent.scopes,
            new_scopes: &consent.new_scopes,
            user_code: consent.code.as_deref(),
            expires_in: left.as_secs(),
        }
    }
}

/// A tool that the server listed when it was last examined.
#[derive(Serialize)]
struct ToolObject<'a> {
    name: &'a str,
    title: Option<&'a str>,
    description: Option<&'a str>,
    input_schema: &'a Value,
}

impl<'a> ToolObject<'a> {
    fn of(tool: &'a Tool) -> Self {
        Self {
            name: &tool.name,
            title: tool.title.as_deref(),
            description: tool.description.as_deref(),
            input_schema: &tool.schema,
        }
    }
}

/// The version of the shape of all answers.
pub(super) const SCHEMA_VERSION: u32 = 1;
