//! The client's requests, one by one.

use std::sync::Arc;

use keyway_transport::{Envelope, Raw};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::hub::Hub;
use super::list_kind::ListKind;
use super::resources::offers;
use super::result_text::ResultText;
use super::server::{Server, SignInOutcome};
use super::{Naming, invalid};
use crate::eras::names::LOG_LEVELS;
use crate::explain::SourcePlace;
use crate::jsonrpc::METHOD_NOT_FOUND;
use crate::session::RpcError;
use crate::splice::{member, quoted, string, with_member};
use crate::states::{ServerProblem, State};
use crate::version::{LEGACY, NEWEST_LEGACY};

impl Hub {
    /// Returns the result of a request, as JSON.
    pub(super) async fn answer(&self, envelope: &Envelope<'_>) -> Result<ResultText, RpcError> {
        let method = envelope.method.as_deref().unwrap_or_default();
        let params = envelope.params.map_or("{}", Raw::get);
        match method {
            "initialize" => Ok(self.initialize(params).into()),
            "ping" => Ok("{}".into()),
            "tools/list" => Ok(self.list(ListKind::Tools).await.into()),
            "prompts/list" => Ok(self.list(ListKind::Prompts).await.into()),
            "resources/list" => Ok(self.list(ListKind::Resources).await.into()),
            "resources/templates/list" => Ok(self.list(ListKind::Templates).await.into()),
            "tools/call" => self.call(ListKind::Tools, method, params).await,
            "prompts/get" => self.call(ListKind::Prompts, method, params).await,
            "resources/read" => self.read(params).await,
            "resources/subscribe" | "resources/unsubscribe" => self.subscribe(method, params).await,
            "completion/complete" => self.complete(params).await,
            "logging/setLevel" => self.set_level(params).await,
            _ => {
                let message = format!("`{method}` is not supported");
                Err(RpcError::new(METHOD_NOT_FOUND, message))
            }
        }
    }

    /// Answers at once: no server is waited for.
    fn initialize(&self, params: &str) -> String {
        let capabilities = member(params, "capabilities").unwrap_or("{}");
        let capabilities: Map<String, Value> =
            serde_json::from_str(capabilities).unwrap_or_default();
        self.client.initialized(capabilities);
        let asked = string(params, "protocolVersion").unwrap_or_default();
        let known = LEGACY.iter().find(|version| **version == asked);
        let info = &self.settings.info;
        let answer = json!({
            "protocolVersion": known.unwrap_or(&NEWEST_LEGACY),
            "capabilities": {
                "tools": { "listChanged": true },
                "resources": { "subscribe": true, "listChanged": true },
                "prompts": { "listChanged": true },
                "completions": {},
                "logging": {},
            },
            "serverInfo": { "name": info.name, "version": info.version },
            "instructions": self.instructions(),
        });
        answer.to_string()
    }

    fn instructions(&self) -> String {
        if let (Naming::Bare, [server]) = (self.settings.naming, self.servers.as_slice()) {
            let (name, state) = (keyway_secret::printable(&server.name), server.state());
            let login = server.hint("keyway login SERVER");
            // A server with a fixed credential has no sign-in: neither tool nor command would help.
            let (sign_in, login) = match server.sign_in_port() {
                Some(_) => (
                    "a tool `sign_in` signs in to it, or ",
                    format!("{login}; or "),
                ),
                None => ("a tool ", String::new()),
            };
            let doctor = server.hint("keyway doctor SERVER");
            return format!(
                "The MCP server `{name}`, which is not available yet ({state}). Its tools are \
                 listed as soon as it is; until then {sign_in}`status` says what is wrong. In a \
                 terminal: {login}{doctor}.",
            );
        }
        let mut text = String::from(
            "Several MCP servers behind one endpoint. Names of tools and prompts begin with that \
             of their server and `__`. A tool `…__status` says why a server is not available, `…__sign_in` signs in to it. \
             Servers:",
        );
        for (index, server) in self.servers.iter().enumerate() {
            let name = keyway_secret::printable(&server.name);
            let prefix = self.prefixes.of(index);
            text.push_str(&format!("\n- {name} (`{prefix}__…`): {}", server.state()));
        }
        text
    }

    /// Passes a call of a tool or a prompt on under the name that its server knows.
    async fn call(
        &self,
        kind: ListKind,
        method: &str,
        params: &str,
    ) -> Result<ResultText, RpcError> {
        let exposed = string(params, "name").ok_or_else(|| invalid("`name` is missing"))?;
        if let Some(outcome) = self.call_sign_in_tool(kind, &exposed, params).await {
            return outcome;
        }
        if let Some(status) = self.status(kind, &exposed).await {
            return Ok(status.into());
        }
        let (server, name) = match self.resolve(kind, &exposed).await {
            Ok(found) => found,
            Err(unknown) => {
                // A client may know the name from another session.
                let needs_sign_in = self.needs_sign_in(&exposed).ok_or(unknown)?;
                match needs_sign_in.wait_for_sign_in(method, params).await? {
                    SignInOutcome::Pending(result) => return Ok(result.into()),
                    SignInOutcome::SignedIn => self.resolve(kind, &exposed).await?,
                }
            }
        };
        let params = with_member(params, "name", &quoted(&name));
        let params = params.ok_or_else(|| invalid("the parameters are not an object"))?;
        server.forward(method, &params).await
    }

    /// Finds whose a name is; servers that it may belong to are asked if they were not before.
    async fn resolve(
        &self,
        kind: ListKind,
        exposed: &str,
    ) -> Result<(Arc<Server>, String), RpcError> {
        let mut refusal = None;
        if self.owners().get(kind, exposed).is_none() {
            for index in self.prefixes.candidates(exposed) {
                let Some(server) = self.servers.get(index) else {
                    continue;
                };
                match server.fetch(kind).await {
                    Ok(items) => drop(self.learn(index, kind, &items)),
                    Err(problem) => refusal = Some(server.refusal(&problem)),
                }
            }
        }
        let owner = self.owners().get(kind, exposed);
        let found = owner.and_then(|owner| {
            let server = self.servers.get(owner.server)?;
            Some((Arc::clone(server), owner.name))
        });
        let unknown = || {
            let what = match kind {
                ListKind::Prompts => "prompt",
                _ => "tool",
            };
            refusal.unwrap_or_else(|| invalid(&format!("unknown {what} `{exposed}`")))
        };
        found.ok_or_else(unknown)
    }

    /// Returns the server that a name may belong to, and that lists its names only after a sign-in.
    fn needs_sign_in(&self, exposed: &str) -> Option<&Arc<Server>> {
        let candidates = self.prefixes.candidates(exposed);
        let mut servers = candidates.filter_map(|index| self.servers.get(index));
        let is_closed = |state| state == State::NeedsAuth;
        servers.find(|server| is_closed(server.state().state) && server.sign_in_port().is_some())
    }

    /// Signs in to a server; `None` means that the name is not that of a sign-in tool.
    async fn call_sign_in_tool(
        &self,
        kind: ListKind,
        exposed: &str,
        params: &str,
    ) -> Option<Result<ResultText, RpcError>> {
        if kind != ListKind::Tools || self.owners().get(kind, exposed).is_some() {
            return None;
        }
        let mut all = self.servers.iter().enumerate();
        let (_, server) = all.find(|(index, _)| self.sign_in_tool_name(*index) == exposed)?;
        if server.sign_in_port().is_none() {
            server.find_sign_in().await;
        }
        server.sign_in_port()?;
        // A client may still have the tool when the sign-in is over: the person is not asked twice.
        let is_closed = server.is_signing_in() || server.state().state == State::NeedsAuth;
        let is_open = !is_closed && server.session().await.is_ok();
        let outcome = match is_open {
            true => Ok(SignInOutcome::SignedIn),
            false => server.wait_for_sign_in("tools/call", params).await,
        };
        Some(outcome.map(|outcome| match outcome {
            SignInOutcome::Pending(result) => result.into(),
            SignInOutcome::SignedIn => {
                let text = format!("Signed in to `{}`. Its tools are listed now.", server.name);
                let result = json!({ "content": [{ "type": "text", "text": text }] });
                result.to_string().into()
            }
        }))
    }

    /// Explains the state of a server, after having tried to reach it once more.
    ///
    /// `None` means that the name is not that of a status tool, or of a server's own one.
    async fn status(&self, kind: ListKind, exposed: &str) -> Option<String> {
        if kind != ListKind::Tools || self.owners().get(kind, exposed).is_some() {
            return None;
        }
        let mut all = self.servers.iter().enumerate();
        let (index, server) = all.find(|(index, _)| self.status_name(*index) == exposed)?;
        let tried = timeout(self.settings.list_wait, server.fetch(kind)).await;
        let problem = match tried {
            Ok(Ok(items)) => {
                self.learn(index, kind, &items);
                None
            }
            Ok(Err(problem)) => Some(problem),
            Err(_) => Some(ServerProblem::connecting()),
        };
        let is_own = self.owners().get(kind, exposed).is_some();
        (!is_own).then(|| explained(server, problem.as_ref()))
    }

    /// Completes an argument of a prompt or of a resource's template.
    async fn complete(&self, params: &str) -> Result<ResultText, RpcError> {
        let reference = member(params, "ref").unwrap_or_default();
        let (server, params) = match string(reference, "type").as_deref() {
            Some("ref/prompt") => {
                let name = string(reference, "name").unwrap_or_default();
                let (server, name) = self.resolve(ListKind::Prompts, &name).await?;
                let reference = with_member(reference, "name", &quoted(&name));
                let params = reference.and_then(|it| with_member(params, "ref", &it));
                (Some(server), params)
            }
            Some("ref/resource") => {
                let uri = string(reference, "uri").unwrap_or_default();
                (self.owner_of_template(&uri).await, Some(params.to_owned()))
            }
            _ => return Err(invalid("`ref` is neither a prompt nor a resource")),
        };
        match (server, params) {
            (Some(server), Some(params)) if offers(&server, "completions") => {
                server.forward("completion/complete", &params).await
            }
            _ => Ok(r#"{"completion":{"values":[]}}"#.into()),
        }
    }

    async fn owner_of_template(&self, uri: &str) -> Option<Arc<Server>> {
        // An address that was never seen makes the owner table complete.
        let by_uri = self.owner_of(uri).await;
        let template = self.owners().get(ListKind::Templates, uri);
        let by_template = template.and_then(|owner| self.servers.get(owner.server));
        by_template.cloned().or(by_uri)
    }

    /// Remembers the level for servers to come, and tells those that are there.
    async fn set_level(&self, params: &str) -> Result<ResultText, RpcError> {
        let level = string(params, "level").unwrap_or_default();
        if !LOG_LEVELS.contains(&level.as_str()) {
            return Err(invalid("unknown log level"));
        }
        self.client.set_level(quoted(&level));
        let telling = self.servers.iter().filter_map(|server| {
            let session = server.live()?;
            let server = Arc::clone(server);
            Some(tokio::spawn(
                async move { server.send_level(&session).await },
            ))
        });
        for told in telling.collect::<Vec<_>>() {
            let _panicked = told.await;
        }
        Ok("{}".into())
    }
}

/// Writes the result of a status tool.
fn explained(server: &Server, problem: Option<&ServerProblem>) -> String {
    let name = &server.name;
    let state = problem.map_or_else(|| server.state(), |problem| problem.state);
    let hint = problem.and_then(|problem| problem.hint.as_deref());
    let hint = hint.map(|hint| server.hint(hint));
    let text = match problem {
        None => format!("`{name}` is {state}; list the tools again to see what it offers"),
        Some(problem) => {
            let hint = hint.as_deref();
            let hint = hint.map_or(String::new(), |hint| format!("\nhint: {hint}"));
            let (code, message) = (problem.code, &problem.message);
            format!("`{name}` is {state}\nerror[{code}]: {message}{hint}")
        }
    };
    let facts = json!({
        "server": name,
        "state": state.state.as_str(),
        "reason": state.reason.map(|reason| reason.as_str()),
        "code": problem.map(|problem| problem.code.as_str()),
        "message": problem.map(|problem| &problem.message),
        "hint": hint,
        "source": problem.and_then(|problem| problem.source.as_deref()).map(SourcePlace::to_json),
        "fixable_by": problem.map(|problem| problem.code.fixer().as_str()),
    });
    let content = json!([{ "type": "text", "text": text }]);
    json!({ "content": content, "structuredContent": facts }).to_string()
}
