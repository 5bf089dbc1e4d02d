//! The rules for the tools of a server.

use std::sync::Arc;

use http::StatusCode;
use keyway::diagnosis::Diagnosis;
use keyway::settings::ToolRule;
use keyway_policy::{Policies, RuleView};
use keyway_transport::{Inbound, Reply};
use serde::Deserialize;
use serde_json::{Value, json};

use super::server_object::SCHEMA_VERSION;
use super::{Control, answers};
use keyway_dashboard::ServerView;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetPolicyRequest {
    /// A tool, or a pattern.
    tool: String,
    /// The name of a gateway token; all clients without it.
    client: Option<String>,
    /// None removes the rule.
    rule: Option<String>,
}

impl Control {
    /// Lists the rules of a server.
    pub(super) async fn list_policies(&self, id: &str) -> Reply {
        let (Some(view), Some(policies)) = (self.find(id).await, &self.policies) else {
            return answers::unknown_server();
        };
        let rules = policies.rules(&view.id.plugin, &view.id.name);
        let rules: Vec<Value> = rules.iter().map(object).collect();
        let list = json!({ "schema_version": SCHEMA_VERSION, "policies": rules });
        answers::json(StatusCode::OK, &list)
    }

    /// Sets or removes a rule. A rule keeps clients from tools, so that what may change one is what
    /// may approve an entry.
    pub(super) async fn set_policy(&self, request: &mut Inbound, id: &str) -> Reply {
        if !self.is_from_allowed_host(request).await {
            return answers::host_not_allowed();
        }
        let body = request.body().await.ok();
        let asked = body.and_then(|it| serde_json::from_slice::<SetPolicyRequest>(&it).ok());
        let rule = asked
            .as_ref()
            .map(|it| it.rule.as_deref().map(ToolRule::from_word));
        let (Some(asked), Some(rule @ (None | Some(Some(_))))) = (asked, rule) else {
            return answers::problem(StatusCode::BAD_REQUEST, NO_RULE);
        };
        let (Some(view), Some(policies)) = (self.find(id).await, self.policies.clone()) else {
            return answers::unknown_server();
        };
        let stored = store(policies, &view, (asked, rule.flatten())).await;
        self.backend.policies_changed(&view.id);
        self.done(&view.id, stored.map(|()| None)).await
    }
}

/// Stores a rule, for the tools of the server as they are known.
async fn store(
    policies: Arc<Policies>,
    view: &ServerView,
    (asked, rule): (SetPolicyRequest, Option<ToolRule>),
) -> Result<(), Box<Diagnosis>> {
    let id = view.id.clone();
    let tools = view.tools.iter();
    let known: Vec<_> = tools
        .filter_map(|tool| Some((tool.name.clone(), tool.digest?)))
        .collect();
    // It writes to the vault.
    let stored = tokio::task::spawn_blocking(move || {
        let of = (asked.client.as_deref(), asked.tool.as_str());
        policies.set_rule((&id.plugin, &id.name), of, rule, known)
    });
    let message = match stored.await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the rule was not stored".to_owned(),
    };
    let mut found = Diagnosis::new(&*view.id.plugin, &*view.id.name);
    found.message = message;
    Err(Box::new(found))
}

fn object(rule: &RuleView) -> Value {
    json!({
        "tool": rule.tool,
        "client": rule.client,
        "rule": rule.rule.as_str(),
        "is_in_config": rule.is_in_config,
    })
}

const NO_RULE: &str = "the body must be a JSON object with `tool` and a `rule` that is `allow`, \
    `ask`, `deny` or null";
