//! What a person decides about tools: rules, looks at changed tools, and answers to calls that wait.

use keyway::diagnosis::Diagnosis;
use keyway::settings::ToolRule;
use keyway_transport::Reply;

use super::actions::field;
use super::backend::ServerId;
use super::browser_session::BrowserSession;
use super::form::Fields;
use super::paths::{self, Action};
use super::sessions::Notice;
use super::{Dashboard, answers, pages};
use keyway_policy::ToolDigest;

impl Dashboard {
    /// Sets a rule for a tool, or notes that the person has looked at it.
    pub(super) async fn set_policy(
        &self,
        browser: &BrowserSession,
        id: &ServerId,
        action: Action,
        fields: &Fields,
    ) -> Reply {
        let view = self.backend.server(id).await;
        let name = field(fields, "tool").unwrap_or_default();
        let tool = view.as_ref().and_then(|view| view.tool(name));
        let (Some(policies), Some(view), Some(tool)) = (&self.policies, &view, tool) else {
            return pages::not_found(browser);
        };
        let shown = field(fields, "digest").and_then(ToolDigest::read);
        let Some(digest) = tool.digest.filter(|digest| Some(*digest) == shown) else {
            let what = "the tool has changed since it was shown, so nothing was set";
            return self.policy_done(browser, (id, name), Err(what.to_owned()));
        };
        let policies = std::sync::Arc::clone(policies);
        let (server, tool) = (id.clone(), name.to_owned());
        let done = match action {
            Action::LookAt => {
                // It writes to the vault.
                let stored = tokio::task::spawn_blocking(move || {
                    policies.look_at((&server.plugin, &server.name), &tool, digest)
                });
                stored
                    .await
                    .ok()
                    .map(|stored| (stored, "Clients may call it as their rules say."))
            }
            _ => {
                let client = field(fields, "client").map(str::trim);
                let client = client.filter(|it| !it.is_empty()).map(str::to_owned);
                let rule = ToolRule::from_word(field(fields, "rule").unwrap_or_default());
                let known: Vec<_> = view
                    .tools
                    .iter()
                    .filter_map(|tool| Some((tool.name.clone(), tool.digest?)))
                    .collect();
                let stored = tokio::task::spawn_blocking(move || {
                    let of = (client.as_deref(), tool.as_str());
                    policies.set_rule((&server.plugin, &server.name), of, rule, known)
                });
                stored
                    .await
                    .ok()
                    .map(|stored| (stored, "The rule was set."))
            }
        };
        self.backend.policies_changed(id);
        let told = match done {
            Some((Ok(()), words)) => Ok(words.to_owned()),
            Some((Err(error), _)) => Err(format!(
                "it applies until the gateway stops, but could not be stored: {error}"
            )),
            None => Err("it was not set".to_owned()),
        };
        self.policy_done(browser, (id, name), told)
    }

    fn policy_done(
        &self,
        browser: &BrowserSession,
        (id, tool): (&ServerId, &str),
        told: Result<String, String>,
    ) -> Reply {
        let notice = match told {
            Ok(words) => Notice::Good(words),
            Err(message) => {
                let mut found = Diagnosis::new(&*id.plugin, &*id.name);
                found.message = message;
                found.hint = Some("read it again, as it is now".to_owned());
                Notice::Bad(Box::new(found))
            }
        };
        self.sessions.tell(browser.cookie(), notice);
        answers::see(&paths::tool(browser.base(), id, tool))
    }

    /// Answers a call that waits.
    pub(super) fn answer_question(&self, browser: &BrowserSession, fields: &Fields) -> Reply {
        let question = field(fields, "question").and_then(|it| it.parse().ok());
        let is_allowed = field(fields, "answer") == Some("yes");
        let answered = self
            .policies
            .as_ref()
            .zip(question)
            .is_some_and(|(policies, question)| policies.answer(question, is_allowed));
        let words = match (answered, is_allowed) {
            (true, true) => "The call was allowed.",
            (true, false) => "The call was refused.",
            (false, _) => "The call is no longer waiting.",
        };
        self.sessions
            .tell(browser.cookie(), Notice::Good(words.to_owned()));
        answers::see(&format!("{}/", browser.base()))
    }
}
