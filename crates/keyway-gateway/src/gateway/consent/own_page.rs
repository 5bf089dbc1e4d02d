//! The page on which a person sets variables of their own, and agrees to where these lead.
//!
//! ```text
//!   /oauth/variables ──▶ page of the person's issuer ──code──▶ /oauth/callback
//!                                                                    │ who they are
//!                                                                    ▼
//!   /oauth/variables/ID: what is set and what is not, never a value; forms, each sent once
//! ```
//!
//! The page is the person's who showed at their issuer who they are, in the browser in which they did:
//! its address is worth nothing in another. A form counts if it comes from this page, in that browser,
//! for the first time.

use std::sync::Arc;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, Method};
use keyway_people::{Person, PersonForm};
use keyway_secret::{Secret, printable, random};
use keyway_transport::{Inbound, Reply};
use url::form_urlencoded;

use super::Consents;
use super::browser::Browser;
use super::flows::{Form, OwnPage};
use crate::gateway::person_page::{OWN_PAGE, PersonEntry, PersonVariable, SetBy};
use crate::gateway::served_servers::ServedServer;
use keyway_dashboard::consent_pages::{self as pages, Fault, escaped};

/// Says whether a path is that of such a page.
pub(super) fn is_own(path: &str) -> bool {
    path.strip_prefix(OWN_PAGE)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Consents {
    /// Answers a browser at such a page.
    pub(super) async fn own_page(
        &self,
        request: Inbound,
        servers: &[Arc<ServedServer>],
    ) -> Result<Reply, Fault> {
        let rest = request
            .uri
            .path()
            .strip_prefix(OWN_PAGE)
            .unwrap_or_default();
        let id = Secret::new(rest.trim_start_matches('/').to_owned());
        match request.method {
            Method::GET if id.expose().is_empty() => self.find_out_who(&request).await,
            Method::GET => self.show(&request, &id, servers).await,
            Method::POST => self.take_form(request, &id, servers).await,
            _ => Ok(pages::wrong_method()),
        }
    }

    /// Sends a browser to the issuer of its person. It is not known whose it is: so many may come in a
    /// second, and each leaves a row for ten minutes.
    async fn find_out_who(&self, request: &Inbound) -> Result<Reply, Fault> {
        if !self.may_begin() {
            return Err(Fault::TooMany);
        }
        let issuers = self.people.browser_issuers();
        let query = request.uri.query().unwrap_or_default();
        let mut asked = form_urlencoded::parse(query.as_bytes());
        let asked = asked.find_map(|(name, value)| (name == "issuer").then_some(value));
        let issuer = match (asked, &*issuers) {
            (Some(asked), issuers) => issuers.iter().find(|it| **it == asked),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        let issuer = issuer.ok_or(Fault::Unknown)?;
        let browser = Browser::of(&request.headers, self.people.origin());
        let browser = browser.map_or_else(Browser::new, Ok);
        let browser = browser.map_err(|_| Fault::NoRandomness)?;
        self.ask_who(issuer, &browser, None).await
    }

    /// Opens the page of a person who showed who they are.
    pub(super) async fn begin_own_page(
        &self,
        person: &Person,
        browser: String,
    ) -> Result<Reply, Fault> {
        let id = random::token().map_err(|_| Fault::NoRandomness)?;
        let page = OwnPage {
            issuer: person.issuer().to_owned(),
            subject: person.subject().to_owned(),
            browser,
        };
        self.flows.put(&id, &page).await?;
        self.to_page(&id)
    }

    fn to_page(&self, id: &Secret<String>) -> Result<Reply, Fault> {
        let address = format!("{}{OWN_PAGE}/{}", self.people.origin(), id.expose());
        let address = address.parse().map_err(|_| Fault::Unknown)?;
        Ok(pages::redirect(&address))
    }

    /// Returns whose page it is, if this is their browser.
    async fn owner(&self, headers: &HeaderMap, id: &Secret<String>) -> Result<Person, Fault> {
        let page: OwnPage = self.flows.look(id).await?;
        let browser = Browser::of(headers, self.people.origin());
        if browser.is_none_or(|browser| browser.digest() != page.browser) {
            return Err(Fault::OtherBrowser);
        }
        Person::new(&page.issuer, &page.subject).map_err(|_| Fault::Unknown)
    }

    async fn show(
        &self,
        request: &Inbound,
        id: &Secret<String>,
        servers: &[Arc<ServedServer>],
    ) -> Result<Reply, Fault> {
        let person = self.owner(&request.headers, id).await?;
        let form = random::token().map_err(|_| Fault::NoRandomness)?;
        let page = id.clone();
        self.flows.put(&form, &Form { page }).await?;
        let mut body = format!(
            "<p>You are {}. Values that you set here are used for you alone, before those that are set \
             for all, and are never shown.</p>\n",
            escaped(&printable(&person.to_string()))
        );
        let mut is_empty = true;
        for server in servers {
            let Some(entry) = server.upstream.person_entry(&person).await else {
                continue;
            };
            if entry.variables.is_empty() {
                continue;
            }
            is_empty = false;
            body.push_str(&entry_html(server, &entry, &form));
        }
        if is_empty {
            body.push_str("<p>No server here needs a variable.</p>\n");
        }
        Ok(pages::with_forms("Your variables", &body))
    }

    /// Does what a form says, once.
    async fn take_form(
        &self,
        mut request: Inbound,
        id: &Secret<String>,
        servers: &[Arc<ServedServer>],
    ) -> Result<Reply, Fault> {
        let person = self.owner(&request.headers, id).await?;
        if !is_from_own_page(&request.headers, self.people.origin()) {
            return Err(Fault::NotAsShown);
        }
        let body = request.body().await.map_err(|_| Fault::NotAsShown)?;
        let sent = PersonForm::read(&body).ok_or(Fault::NotAsShown)?;
        let of_form = |fault| match fault {
            Fault::Used => Fault::FormUsed,
            Fault::Unknown | Fault::Late => Fault::NotAsShown,
            other => other,
        };
        // Left where it is unless it is of this page: another page cannot use it up.
        let form: Form = self.flows.look(&sent.form).await.map_err(of_form)?;
        if form.page.expose() != id.expose() {
            return Err(Fault::NotAsShown);
        }
        let _taken = self.flows.take(&sent.form, &form).await.map_err(of_form)?;
        let mut servers = servers.iter();
        let server = servers.find(|it| it.plugin == sent.plugin && it.name == sent.server);
        let server = server.ok_or(Fault::NoServer)?;
        match server.upstream.act_for(&person, sent.action).await {
            Ok(true) => self.to_page(id),
            Ok(false) => Err(Fault::NotAsShown),
            Err(problem) => Err(Fault::NotDone(Box::new(problem))),
        }
    }
}

/// Says whether a form may be from our own page, as every browser tells of one that is sent by `POST`,
/// and is no longer than one can be.
fn is_from_own_page(headers: &HeaderMap, origin: &str) -> bool {
    let text = |name| headers.get(name).and_then(|it| it.to_str().ok());
    let length = text(CONTENT_LENGTH).and_then(|it| it.parse::<usize>().ok());
    text(ORIGIN).is_some_and(|it| it.eq_ignore_ascii_case(origin))
        && text(CONTENT_TYPE).is_some_and(|it| it.starts_with("application/x-www-form-urlencoded"))
        && length.is_some_and(|length| length <= MAX_FORM)
}

fn entry_html(server: &ServedServer, entry: &PersonEntry, form: &Secret<String>) -> String {
    let name = escaped(&printable(&format!("{}:{}", server.plugin, server.name)));
    let mut text = format!("<h2>{name}</h2>\n");
    if let Some(question) = &entry.question {
        text.push_str("<p>Your own variables lead this server elsewhere than your admins approved:</p>\n<ul>\n");
        for fact in &question.facts {
            let line = format!("{}: {}", fact.kind.label(), fact.text());
            text.push_str(&format!("<li>{}</li>\n", escaped(&printable(&line))));
        }
        let digest = question.digest.to_string();
        let fields = [("action", "agree"), ("digest", digest.as_str())];
        text.push_str("</ul>\n");
        text.push_str(&form_html((server, form), &fields, "", "Agree"));
    }
    for variable in &entry.variables {
        text.push_str(&variable_html(server, variable, form));
    }
    text
}

fn variable_html(
    server: &ServedServer,
    variable: &PersonVariable,
    form: &Secret<String>,
) -> String {
    let state = match variable.set_by {
        SetBy::Person => "set by you",
        SetBy::Tenant => "set for all",
        SetBy::Default => "not set; the server's own default counts",
        SetBy::NotSet => "not set",
    };
    let fields = escaped(&printable(&variable.fields.join(", ")));
    let name = variable.name.as_str();
    let mut text = format!(
        "<h3><code>{}</code></h3>\n<p>{state}; used in: {fields}</p>\n",
        escaped(&printable(name))
    );
    let input = format!(
        "<label>Your value <input type=\"password\" name=\"value\" required autocomplete=\"off\" \
         aria-label=\"Your value of {}\"></label> ",
        escaped(&printable(name))
    );
    let set = [("action", "set"), ("name", name)];
    text.push_str(&form_html((server, form), &set, &input, "Set"));
    if variable.set_by == SetBy::Person {
        let unset = [("action", "unset"), ("name", name)];
        text.push_str(&form_html((server, form), &unset, "", "Remove"));
    }
    text
}

fn form_html(
    (server, form): (&ServedServer, &Secret<String>),
    fields: &[(&str, &str)],
    input: &str,
    button: &str,
) -> String {
    let own = [
        ("form", form.expose().as_str()),
        ("plugin", &server.plugin),
        ("server", &server.name),
    ];
    let mut text = "<form method=\"post\">".to_owned();
    for (name, value) in own.iter().chain(fields) {
        let value = escaped(value);
        text.push_str(&format!(
            "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">"
        ));
    }
    text.push_str(&format!("{input}<button>{button}</button></form>\n"));
    text
}

/// A value has 64 KiB at most, and each byte of it takes three.
const MAX_FORM: usize = 256 * 1024;
