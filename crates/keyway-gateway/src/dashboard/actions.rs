//! What a person does: every change is a form that our own page sent, and ends on a page.

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use keyway_secret::Secret;
use keyway_transport::{Inbound, Reply};
use url::form_urlencoded;

use super::entry::{Visitor, is_own_form};
use super::form::arguments;
use super::paths::{self, Action, Place};
use super::result::{Called, LastCall};
use super::sessions::Notice;
use super::steward::ServerId;
use super::{Dashboard, answers, pages};
use crate::activity::{Asked, Outcome};
use crate::schema::Schema;

/// The fields of a form, in their order.
pub(super) type Fields = Vec<(String, String)>;

impl Dashboard {
    /// Does what a form asks for.
    pub(super) async fn act(&self, visitor: &Visitor, place: Place, mut request: Inbound) -> Reply {
        if !is_own_form(&request.headers) {
            return self.refused();
        }
        if !is_short(&request.headers) {
            return answers::plain(StatusCode::PAYLOAD_TOO_LARGE, "the form is too large\n");
        }
        let Ok(body) = request.body().await else {
            return answers::plain(StatusCode::BAD_REQUEST, "the form was not read\n");
        };
        let pairs = form_urlencoded::parse(&body);
        let mut fields: Fields = pairs
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        if !has_mark(&mut fields, visitor) {
            return self.refused();
        }
        match place {
            Place::Leave => self.leave(visitor, request.peer),
            Place::Act(id, action) => self.change(visitor, &id, action, &fields).await,
            Place::Tool(id, tool) => self.call(visitor, &id, &tool, fields).await,
            _ => pages::not_found(visitor),
        }
    }

    async fn change(
        &self,
        visitor: &Visitor,
        id: &ServerId,
        action: Action,
        fields: &Fields,
    ) -> Reply {
        let servers = self.steward.servers().await;
        if !servers.iter().any(|view| view.id == *id) {
            return pages::not_found(visitor);
        }
        let done = match action {
            Action::Check => self.steward.check(id).await.map(|()| None),
            Action::SignIn => self.steward.sign_in(id).await,
            Action::Cancel => {
                self.steward.cancel(id);
                Ok(Some("The sign-in was given up.".to_owned()))
            }
            Action::SignOut => self.steward.sign_out(id).await.map(Some),
            Action::Approve => {
                let digest = field(fields, "digest").unwrap_or_default();
                let approved = self.steward.approve(id, digest).await;
                approved.map(|()| Some("Approved, as it is now; a change asks again.".to_owned()))
            }
        };
        match done {
            Ok(None) => {}
            Ok(Some(words)) => self.sessions.tell(visitor.cookie(), Notice::Good(words)),
            Err(trouble) => {
                let notice = Notice::Bad(Box::new(trouble));
                self.sessions.tell(visitor.cookie(), notice);
            }
        }
        answers::see(&paths::server(visitor.base(), id))
    }

    async fn call(&self, visitor: &Visitor, id: &ServerId, name: &str, fields: Fields) -> Reply {
        let servers = self.steward.servers().await;
        let mut tools = servers.iter().filter(|view| view.id == *id);
        let tool = tools.find_map(|view| view.tools.iter().find(|tool| tool.name == name));
        let Some(tool) = tool else {
            return pages::not_found(visitor);
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
                let ticket = self.activity.begin(Asked {
                    server: Some((id.plugin.clone(), id.name.clone())),
                    by: "dashboard".to_owned(),
                    method: "tools/call".to_owned(),
                    tool: Some(name.to_owned()),
                    parent: None,
                });
                let answered = self.steward.call(id, name, arguments).await;
                call.outcome = match answered {
                    Ok(raw) => Called::read(&raw),
                    Err(trouble) => Called::Failed(Box::new(trouble)),
                };
                ticket.end(match &call.outcome {
                    Called::Answered(result) if result.is_error => Outcome::ToolFailed,
                    Called::Answered(_) => Outcome::Done,
                    _ => Outcome::Error(0),
                });
            }
        }
        self.sessions.remember(visitor.cookie(), call);
        answers::see(&format!("{}#result", paths::tool(visitor.base(), id, name)))
    }
}

/// Takes the mark out of a form; says whether it was there once and is that of the session.
fn has_mark(fields: &mut Fields, visitor: &Visitor) -> bool {
    let mut marks = fields.extract_if(.., |(name, _)| name == MARK);
    let mark = marks.next().map(|(_, value)| Secret::new(value));
    let is_only = marks.next().is_none();
    drop(marks);
    is_only && mark.is_some_and(|mark| mark.is_same_as(&visitor.session.csrf))
}

fn field<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(own, _)| own == name);
    found.map(|(_, value)| value.as_str())
}

/// A browser always says how long a form is.
fn is_short(headers: &HeaderMap) -> bool {
    let told = headers.get(CONTENT_LENGTH);
    let told = told.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    told.is_some_and(|length| length <= MOST_BYTES)
}

/// The field that holds the mark of a session.
pub(super) const MARK: &str = "_mark";
/// The largest form.
const MOST_BYTES: usize = 1024 * 1024;
