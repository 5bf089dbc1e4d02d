//! Signing people in to servers, in their own browsers, at the public address.
//!
//! ```text
//!   call without a sign-in ──▶ link /oauth/start/ID, for the person who called
//!     │ opened in a browser, which gets a cookie
//!     ▼
//!   page of the person's own issuer ──code──▶ /oauth/callback ── another person, or another browser ──▶ error
//!     │ the same person: the link is spent
//!     ▼
//!   consent page of the server ──code──▶ /oauth/callback/… ── another browser, late, again ──▶ error
//!     │
//!     ▼
//!   the sign-in is stored under the person
//! ```
//!
//! A link alone is worth nothing: what is stored is stored for the person who signed in to their
//! issuer in the same browser, and that has to be the person whose call made the link. All that lies
//! between two steps is in the store, sealed, so that every replica can take the next one; each is
//! used once.

mod browser;
mod flows;
mod own_page;
mod sign_in_port;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use http::{Method, StatusCode};
use keyway::settings::Limit;
use keyway::store::OneTimeStore;
use keyway_auth::oauth::OAuth;
use keyway_auth::ports::Callback;
use keyway_mcp::states::ServerProblem;
use keyway_people::{BrowserProof, Person};
use keyway_secret::{Secret, random};
use keyway_transport::{Inbound, Reply};
use tokio::time::Instant;
use url::form_urlencoded;

use self::browser::Browser;
use self::flows::{Flows, Leg, Link, Step};
pub(super) use self::sign_in_port::PersonSignIn;
use super::limits::{Message, Meters, Rate};
use super::served_servers::ServedServer;
use crate::people::People;
use crate::timeouts::LIMIT_BURST;
use keyway_dashboard::consent_pages::{self as pages, Fault};

/// Signs people in to servers.
#[derive(Debug)]
pub(super) struct Consents {
    people: Arc<People>,
    flows: Flows,
    /// Set once, before the first client comes: people have variables of their own.
    has_own_pages: OnceLock<()>,
    /// How fast browsers begin that have shown nothing. Held for a comparison.
    begun: Mutex<Rate>,
    /// How fast the links of each person are opened, by the person's digest.
    opened: Meters<[u8; 32]>,
}

impl Consents {
    /// Sign-ins under way lie in `store`, which all replicas share.
    pub(super) fn new(people: Arc<People>, store: Arc<dyn OneTimeStore>) -> Self {
        let flows = Flows::new(store);
        Self {
            people,
            flows,
            has_own_pages: OnceLock::new(),
            begun: Mutex::default(),
            opened: Meters::new(Limit::NONE.calls_per_second(OPENED_PER_SECOND)),
        }
    }

    /// Shows people pages of their own.
    pub(super) fn show_own_pages(&self) {
        let _first = self.has_own_pages.set(());
    }

    /// Counts a browser that begins without having shown anything; says whether it may.
    fn may_begin(&self) -> bool {
        let now = Instant::now();
        let takes = LIMIT_BURST / BEGUN_PER_SECOND;
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let may = begun.look(takes, now).is_ok();
        if may {
            begun.add(takes, now);
        }
        may
    }

    /// Says whether a path is one of a browser that signs in.
    pub(super) fn is_own(path: &str) -> bool {
        path.starts_with("/oauth/")
    }

    /// Says whether a person's browser can show whose it is.
    pub(super) fn can_ask(&self, person: &Person) -> bool {
        self.people.knows_browsers_of(person.issuer())
    }

    /// Makes a link for one person to one server; returns its secret part.
    async fn link(
        &self,
        person: &Person,
        (plugin, server): (&str, &str),
    ) -> Result<Secret<String>, Fault> {
        let id = random::token().map_err(|_| Fault::NoRandomness)?;
        let link = Link {
            issuer: person.issuer().to_owned(),
            subject: person.subject().to_owned(),
            plugin: plugin.to_owned(),
            server: server.to_owned(),
        };
        self.flows.put(&id, &link).await?;
        Ok(id)
    }

    /// Returns the address of a link.
    fn address(&self, id: &Secret<String>) -> String {
        format!("{}{START}{}", self.people.origin(), id.expose())
    }

    /// Says whether a link can still be opened.
    async fn is_open(&self, id: &Secret<String>) -> bool {
        self.flows.look::<Link>(id).await.is_ok()
    }

    /// Answers a browser.
    ///
    /// Cancel safety: a code that was sent to a server is redeemed in a task of its own.
    pub(super) async fn answer(&self, request: Inbound, servers: &[Arc<ServedServer>]) -> Reply {
        if own_page::is_own(request.uri.path()) && self.has_own_pages.get().is_some() {
            let answered = self.own_page(request, servers).await;
            return answered.unwrap_or_else(|fault| fault.page());
        }
        let request = &request;
        if request.method != Method::GET {
            return pages::wrong_method();
        }
        let path = request.uri.path();
        let answered = if let Some(id) = path.strip_prefix(START) {
            self.start(request, id).await
        } else if path == CALLBACK || path.starts_with(BELOW_CALLBACK) {
            self.callback(request, servers).await
        } else {
            return pages::plain(StatusCode::NOT_FOUND, "not found\n");
        };
        answered.unwrap_or_else(|fault| fault.page())
    }

    /// Sends a browser to the issuer of the person whose link it opened. The link stays good: a mail
    /// program may have opened it first.
    async fn start(&self, request: &Inbound, id: &str) -> Result<Reply, Fault> {
        let id = Secret::new(id.to_owned());
        let link: Link = self.flows.look(&id).await?;
        let person = Person::new(&link.issuer, &link.subject).map_err(|_| Fault::Unknown)?;
        // Each browser that begins leaves a row in the store.
        let opened = self.opened.admit(person.digest(), OPENED);
        opened.map_err(|_| Fault::TooMany)?;
        let browser = Browser::of(&request.headers, self.people.origin());
        let browser = browser.map_or_else(Browser::new, Ok);
        let browser = browser.map_err(|_| Fault::NoRandomness)?;
        self.ask_who(&link.issuer, &browser, Some(id)).await
    }

    /// Sends a browser to an issuer, where its person shows who they are; for a link, or for the
    /// person's own page.
    async fn ask_who(
        &self,
        issuer: &str,
        browser: &Browser,
        link: Option<Secret<String>>,
    ) -> Result<Reply, Fault> {
        let begun = self
            .people
            .begin_browser_sign_in(issuer, &self.redirect_uri())
            .await
            .map_err(Fault::Identity)?;
        let BrowserProof {
            issuer,
            redirect_uri,
            verifier,
            nonce,
            ..
        } = begun.proof;
        let step = match link {
            Some(link) => Step::Identity {
                link,
                issuer,
                verifier,
                nonce,
            },
            None => Step::OwnPage {
                issuer,
                verifier,
                nonce,
            },
        };
        let leg = Leg {
            browser: browser.digest(),
            redirect_uri,
            step,
        };
        self.flows.put(&begun.state, &leg).await?;
        let reply = pages::redirect(&begun.page);
        Ok(browser.remembered_by(reply, self.people.origin()))
    }

    /// Takes the answer of a page that a browser was sent to.
    async fn callback(
        &self,
        request: &Inbound,
        servers: &[Arc<ServedServer>],
    ) -> Result<Reply, Fault> {
        let (state, answer) = read_answer(request.uri.query().unwrap_or_default())?;
        let leg: Leg = self.flows.look(&state).await?;
        let browser = Browser::of(&request.headers, self.people.origin());
        let is_same = browser.is_some_and(|browser| browser.digest() == leg.browser);
        // Left where it is: another browser must not be able to spend it.
        if !is_same {
            return Err(Fault::OtherBrowser);
        }
        let address = format!("{}{}", self.people.origin(), request.uri.path());
        if address != leg.redirect_uri {
            return Err(Fault::Unknown);
        }
        let leg = self.flows.take(&state, &leg).await?;
        match leg.step {
            Step::Identity {
                link,
                issuer,
                verifier,
                nonce,
            } => {
                let proof = BrowserProof::new(issuer, leg.redirect_uri, verifier, nonce);
                let signed_in = self.people.finish_browser_sign_in(&proof, &answer).await;
                let person = signed_in.map_err(Fault::Identity)?;
                self.identified(&link, (&person, leg.browser), servers)
                    .await
            }
            Step::OwnPage {
                issuer,
                verifier,
                nonce,
            } => {
                let proof = BrowserProof::new(issuer, leg.redirect_uri, verifier, nonce);
                let signed_in = self.people.finish_browser_sign_in(&proof, &answer).await;
                let person = signed_in.map_err(Fault::Identity)?;
                self.begin_own_page(&person, leg.browser).await
            }
            Step::Consent { link, resume } => {
                let oauth = sign_in_of(&link, servers).await?;
                let resume = Secret::new(resume.expose().clone().into_bytes());
                let finished = oauth.finish_sign_in(resume, answer).await;
                let failed = |error| Fault::SignIn(Box::new(ServerProblem::from(&error)));
                finished.map_err(failed)?;
                Ok(pages::signed_in(&link.server))
            }
        }
    }

    /// Sends a browser whose person is known to the server's consent page, if the link is theirs.
    async fn identified(
        &self,
        id: &Secret<String>,
        (person, browser): (&Person, String),
        servers: &[Arc<ServedServer>],
    ) -> Result<Reply, Fault> {
        let link: Link = self.flows.look(id).await?;
        if person.issuer() != link.issuer || person.subject() != link.subject {
            return Err(Fault::OtherPerson(person.to_string()));
        }
        let oauth = sign_in_of(&link, servers).await?;
        let redirect = self.redirect_uri().parse().map_err(|_| Fault::NoServer)?;
        let begun = oauth.begin_sign_in(redirect).await;
        let failed = |error| Fault::SignIn(Box::new(ServerProblem::from(&error)));
        let begun = begun.map_err(failed)?;
        // Here, so that a server that is away does not spend it.
        let link = self.flows.take(id, &link).await?;
        let resume = String::from_utf8(begun.resume.expose().clone());
        let leg = Leg {
            browser,
            redirect_uri: begun.redirect_uri,
            step: Step::Consent {
                link,
                resume: Secret::new(resume.unwrap_or_default()),
            },
        };
        self.flows.put(&begun.state, &leg).await?;
        Ok(pages::redirect(&begun.page))
    }

    fn redirect_uri(&self) -> String {
        format!("{}{CALLBACK}", self.people.origin())
    }
}

/// Returns the sign-in that a link is for.
async fn sign_in_of(link: &Link, servers: &[Arc<ServedServer>]) -> Result<OAuth, Fault> {
    let mut servers = servers.iter();
    let server = servers.find(|it| it.plugin == link.plugin && it.name == link.server);
    let server = server.ok_or(Fault::NoServer)?;
    let person = Person::new(&link.issuer, &link.subject).map_err(|_| Fault::Unknown)?;
    let found = server.upstream.person_sign_in(&person).await;
    let found = found.map_err(|problem| Fault::SignIn(Box::new(problem)))?;
    found.ok_or(Fault::NoServer)
}

/// Reads what a page sent a browser back with: each parameter once (RFC 6749 section 3.1).
fn read_answer(query: &str) -> Result<(Secret<String>, Callback), Fault> {
    if query.len() > MAX_QUERY {
        return Err(Fault::Unknown);
    }
    let mut found: [(&str, Option<String>); 5] = [
        ("state", None),
        ("code", None),
        ("iss", None),
        ("error", None),
        ("error_description", None),
    ];
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let known = found.iter_mut().find(|(known, _)| *known == name);
        let Some((_, place)) = known else { continue };
        if place.replace(value.into_owned()).is_some() {
            return Err(Fault::Unknown);
        }
    }
    let [state, code, iss, error, error_description] = found.map(|(_, value)| value);
    let mut callback = Callback::default();
    callback.code = code.map(Secret::new);
    callback.iss = iss;
    callback.error = error;
    callback.error_description = error_description;
    let state = state.map(Secret::new).ok_or(Fault::Unknown)?;
    Ok((state, callback))
}

const START: &str = "/oauth/start/";
const CALLBACK: &str = "/oauth/callback";
const BELOW_CALLBACK: &str = "/oauth/callback/";
/// More than the people of a team begin; twelve thousand rows at most, in ten minutes.
const BEGUN_PER_SECOND: u32 = 10;
/// More than a mail program and the person, at the same moment.
const OPENED_PER_SECOND: u32 = 5;
const OPENED: Message = Message {
    bytes: 0,
    is_request: false,
    is_call: true,
};
/// Longer than any code that is known of.
const MAX_QUERY: usize = 16 * 1024;
