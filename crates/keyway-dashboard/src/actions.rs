//! What a person does: every change is a form that our own page sent, and ends on a page.

use std::sync::Arc;
use std::time::Instant;

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use keyway::approval::Answer;
use keyway_secret::Secret;
use keyway_transport::{Inbound, Reply};
use url::form_urlencoded;

use super::backend::ServerId;
use super::browser_session::{BrowserSession, is_own_form};
use super::form::{Fields, MARK, arguments};
use super::paths::{self, Action, DashboardRoute};
use super::result::{Called, LastCall};
use super::sessions::Notice;
use super::{Dashboard, answers, pages, words};
use crate::activity::{Outcome, RequestSummary};
use keyway_mcp::schema::Schema;

impl Dashboard {
    /// Does what a form asks for.
    pub(super) async fn act(
        &self,
        browser: &BrowserSession,
        place: DashboardRoute,
        mut request: Inbound,
    ) -> Reply {
        if !is_own_form(&request.headers) {
            return self.refused();
        }
        if !is_short(&request.headers) {
            return answers::plain(StatusCode::PAYLOAD_TOO_LARGE, "the form is too large\n");
        }
        let Ok(body) = request.body().await else {
            return answers::plain(StatusCode::BAD_REQUEST, "the form could not be read\n");
        };
        let pairs = form_urlencoded::parse(&body);
        let mut fields: Fields = pairs
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        if !has_mark(&mut fields, browser) {
            return self.refused();
        }
        match place {
            DashboardRoute::Leave => self.leave(browser, request.peer),
            DashboardRoute::Answer => self.answer_question(browser, &fields),
            DashboardRoute::Act(id, action @ (Action::Rule | Action::LookAt)) => {
                self.set_policy(browser, &id, action, &fields).await
            }
            DashboardRoute::Act(id, Action::SetVariable) => {
                self.set_variable(browser, &id, fields).await
            }
            DashboardRoute::Plugin(name) => self.approve_plugin(browser, &name, &fields).await,
            DashboardRoute::Act(id, action) => self.change(browser, &id, action, &fields).await,
            place @ (DashboardRoute::Tokens | DashboardRoute::Add | DashboardRoute::Client(_)) => {
                self.manage(browser, &place, fields).await
            }
            DashboardRoute::People => self.act_for_team(browser, &fields).await,
            DashboardRoute::Tool(id, tool) => self.call(browser, &id, &tool, fields).await,
            _ => pages::not_found(browser),
        }
    }

    async fn change(
        &self,
        browser: &BrowserSession,
        id: &ServerId,
        action: Action,
        fields: &Fields,
    ) -> Reply {
        if self.backend.server(id).await.is_none() {
            return pages::not_found(browser);
        }
        let done = match action {
            Action::Check => self.backend.check(id).await.map(|()| None),
            Action::SignIn => self.backend.sign_in(id).await,
            Action::Cancel => {
                self.backend.cancel(id);
                Ok(Some("The sign-in was cancelled.".to_owned()))
            }
            Action::SignOut => self.backend.sign_out(id).await.map(Some),
            Action::Approve => {
                let digest = field(fields, "digest").unwrap_or_default();
                // A form without an answer is a no.
                match Answer::from_text(field(fields, "answer").unwrap_or_default()) {
                    Answer::No => Ok(Some(words::NOT_APPROVED.to_owned())),
                    answer => {
                        let approved = self.backend.approve(id, digest, answer).await;
                        approved.map(|()| Some(words::approved(answer).to_owned()))
                    }
                }
            }
            Action::Record => {
                let (backend, server) = (Arc::clone(&self.backend), id.clone());
                let mask = Arc::new(move |text: &str| backend.mask(&server, text));
                let messages = self.activity.messages();
                messages.record(id.clone(), mask, Instant::now());
                Ok(Some("Messages of this server are recorded.".to_owned()))
            }
            Action::Forget => {
                self.activity.messages().stop();
                Ok(Some(
                    "Nothing is recorded, and what was is gone.".to_owned(),
                ))
            }
            // They are told apart before.
            Action::Rule | Action::LookAt | Action::SetVariable => {
                return pages::not_found(browser);
            }
        };
        match done {
            Ok(None) => {}
            Ok(Some(words)) => self.sessions.tell(browser.cookie(), Notice::Good(words)),
            Err(trouble) => {
                let notice = Notice::Bad(trouble);
                self.sessions.tell(browser.cookie(), notice);
            }
        }
        answers::see(&paths::server(browser.base(), id))
    }

    /// Answers for all servers of a plugin that were shown.
    async fn approve_plugin(
        &self,
        browser: &BrowserSession,
        plugin: &str,
        fields: &Fields,
    ) -> Reply {
        let answer = Answer::from_text(field(fields, "answer").unwrap_or_default());
        if answer == Answer::No {
            let words = words::NOT_APPROVED.to_owned();
            self.sessions.tell(browser.cookie(), Notice::Good(words));
            return answers::see(&format!("{}/", browser.base()));
        }
        let shown = fields.iter().filter(|(name, _)| name == "digest");
        let shown = shown.map(|(_, digest)| digest.clone()).collect();
        let (notice, page) = match self.backend.approve_plugin(plugin, shown, answer).await {
            Ok(()) => {
                let words = words::approved(answer).to_owned();
                (Notice::Good(words), format!("{}/", browser.base()))
            }
            Err(trouble) => (Notice::Bad(trouble), paths::plugin(browser.base(), plugin)),
        };
        self.sessions.tell(browser.cookie(), notice);
        answers::see(&page)
    }

    async fn call(
        &self,
        browser: &BrowserSession,
        id: &ServerId,
        name: &str,
        fields: Fields,
    ) -> Reply {
        let view = self.backend.server(id).await;
        let Some(tool) = view.as_ref().and_then(|view| view.tool(name)) else {
            return pages::not_found(browser);
        };
        let schema = Schema::new(&tool.schema);
        let mut call = LastCall {
            server: id.clone(),
            tool: name.to_owned(),
            outcome: Called::Misfit(Vec::new()),
            fields,
        };
        match arguments(schema, &call.fields) {
            Err(problems) => call.outcome = Called::Misfit(problems),
            Ok(arguments) => {
                let ticket = self.activity.begin(RequestSummary {
                    server: Some((id.plugin.clone(), id.name.clone())),
                    by: "dashboard".to_owned(),
                    person: None,
                    method: "tools/call".to_owned(),
                    tool: Some(name.to_owned()),
                    parent: None,
                });
                let answered = self.backend.call(id, name, arguments).await;
                call.outcome = match answered {
                    Ok(raw) => Called::read(&raw),
                    Err(trouble) => Called::Failed(trouble),
                };
                ticket.end(match &call.outcome {
                    Called::Answered(result) if result.is_error => Outcome::ToolFailed,
                    Called::Answered(_) => Outcome::Done,
                    _ => Outcome::Error(0),
                });
            }
        }
        self.sessions.remember_tools(browser.cookie(), call);
        answers::see(&format!("{}#result", paths::tool(browser.base(), id, name)))
    }
}

/// Takes the mark out of a form; says whether it was there once and is that of the session.
fn has_mark(fields: &mut Fields, browser: &BrowserSession) -> bool {
    let mut marks = fields.extract_if(.., |(name, _)| name == MARK);
    let mark = marks.next().map(|(_, value)| Secret::new(value));
    let is_only = marks.next().is_none();
    drop(marks);
    is_only && mark.is_some_and(|mark| mark.is_same_as(&browser.session.csrf))
}

pub(super) fn field<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(own, _)| own == name);
    found.map(|(_, value)| value.as_str())
}

/// A browser always says how long a form is.
fn is_short(headers: &HeaderMap) -> bool {
    let told = headers.get(CONTENT_LENGTH);
    let told = told.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    told.is_some_and(|length| length <= MOST_BYTES)
}

/// The largest form.
const MOST_BYTES: usize = 1024 * 1024;
