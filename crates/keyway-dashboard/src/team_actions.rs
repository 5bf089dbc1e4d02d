//! The page of people, and what its forms do.

use std::sync::Arc;

use http::StatusCode;
use keyway_transport::Reply;
use tokio::time::timeout;
use url::form_urlencoded;

use super::actions::field;
use super::browser_session::BrowserSession;
use super::form::Fields;
use super::management::bad;
use super::sessions::Notice;
use super::team::{TeamBackend, TeamView};
use super::{Dashboard, answers, pages};
use crate::timeouts::BUTTON_TIMEOUT;

impl Dashboard {
    /// Adds the page of people.
    #[must_use]
    pub fn with_team(mut self, team: Arc<dyn TeamBackend>) -> Self {
        self.team = Some(team);
        self
    }

    /// Shows the people whose name contains what the query asks for.
    pub(super) async fn show_team(&self, browser: &BrowserSession, query: Option<&str>) -> Reply {
        let Some(team) = &self.team else {
            return pages::not_found(browser);
        };
        let notice = self.sessions.notice(browser.cookie());
        let part = part(query);
        let page = match team.look(&part).await {
            Ok(view) => pages::team(&view, &part, browser, notice.as_ref()),
            Err(error) => {
                let notice = bad(error.to_string(), "look at the database");
                pages::team(&TeamView::default(), &part, browser, Some(&notice))
            }
        };
        answers::page(StatusCode::OK, page)
    }

    /// Signs a person out.
    pub(super) async fn act_for_team(&self, browser: &BrowserSession, fields: &Fields) -> Reply {
        let (Some(team), Some(person)) = (&self.team, field(fields, "person")) else {
            return pages::not_found(browser);
        };
        if field(fields, "do") != Some("sign-out") {
            return pages::not_found(browser);
        }
        let notice = match timeout(BUTTON_TIMEOUT, team.sign_out(person)).await {
            Ok(Ok(words)) => Notice::Good(words),
            Ok(Err(error)) => bad(error.to_string(), "look at the database, and try again"),
            Err(_) => Notice::Good("The sign-out continues; reload this page.".to_owned()),
        };
        self.sessions.tell(browser.cookie(), notice);
        answers::see(&format!("{}/people", browser.base()))
    }
}

/// Returns what names of people have to contain.
fn part(query: Option<&str>) -> String {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let mut found = pairs.filter(|(name, _)| name == "find");
    let found = found.next().map(|(_, part)| part.into_owned());
    let found = found.unwrap_or_default();
    found.chars().take(LONGEST_PART).collect()
}

const LONGEST_PART: usize = 200;
