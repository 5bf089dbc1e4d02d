//! What only a person can do: look at a consent page and agree.

use std::fmt::Debug;
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::GrantKey;
use thiserror::Error;
use url::Url;

use crate::future::BoxFuture;

/// Asks a person.
pub trait Interaction: Send + Sync + Debug {
    /// Makes ready to receive the answer, before the address of the consent page is made.
    ///
    /// # Errors
    ///
    /// Returns [`InteractionError::PortBusy`] if a fixed port is taken.
    ///
    /// Cancel safety: must be cancel safe; a port that was opened is closed.
    fn prepare(
        &self,
        redirect: Redirect,
    ) -> BoxFuture<'_, Result<Box<dyn Consent>, InteractionError>>;

    /// Shows a code to be typed elsewhere (RFC 8628), for as long as what it returns is kept; returns
    /// at once.
    ///
    /// Cancel safety: a code that is shown already must no longer be shown.
    fn show_code(
        &self,
        question: DeviceQuestion,
    ) -> BoxFuture<'_, Result<Box<dyn ShownCode>, InteractionError>>;

    /// Asks whether to go to a page that is neither the issuer's nor that of the host which gets
    /// what the person agrees to there; by default, and where no person can be asked, `false`.
    ///
    /// Cancel safety: must be cancel safe; the question is no longer shown.
    fn confirm_page(&self, page: ForeignPage) -> BoxFuture<'_, bool> {
        drop(page);
        Box::pin(std::future::ready(false))
    }

    /// Says whether a person can be asked right now.
    fn is_available(&self) -> bool {
        true
    }

    /// Waits until no other process asks the person for the same sign-in; the caller keeps the
    /// result until the answer is stored. A caller that had to wait finds the other's answer in the
    /// store, or in the turn.
    ///
    /// Cancel safety: must be cancel safe; a turn that was obtained is given back.
    fn turn(&self, _key: &GrantKey) -> BoxFuture<'_, Option<Box<dyn Turn>>> {
        Box::pin(std::future::ready(None))
    }
}

/// The right to ask a person; given back when it is dropped.
pub trait Turn: Send + Sync + Debug {
    /// Returns how the question ended that this process waited for, if without a sign-in.
    fn declined(&self) -> Option<Declined>;

    /// Tells waiting processes how the question ended, so that none of them asks it again.
    fn decline(&self, how: Declined);
}

/// How a question ends without a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a person says no, or nothing")]
pub enum Declined {
    /// The person said no.
    Refused,
    /// The person did not answer in time.
    NoAnswer,
}

/// One question, ready to be asked.
pub trait Consent: Send + Debug {
    /// Returns where the answer will be received, exactly as it has to be sent.
    fn redirect_uri(&self) -> &str;

    /// Opens the page and waits for the answer that carries the right `state`.
    ///
    /// Answers with another or no `state` are turned away and change nothing.
    ///
    /// # Errors
    ///
    /// Returns why there is no answer.
    ///
    /// Cancel safety: the page is no longer waited for, and its port is closed; a code that arrives
    /// later is lost.
    fn ask(
        self: Box<Self>,
        question: ConsentQuestion,
    ) -> BoxFuture<'static, Result<Callback, InteractionError>>;
}

/// A code that a person sees.
pub trait ShownCode: Send + Sync + Debug {
    /// Waits until the person gives up; forever, where they cannot.
    ///
    /// Cancel safety: must be cancel safe; it is dropped when the code was entered.
    fn given_up(&self) -> BoxFuture<'_, InteractionError>;
}

/// Where an answer is to be received.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redirect {
    /// A port of the loopback interface; any free one if absent.
    pub port: Option<u16>,
    /// A whole loopback address that was registered beforehand; `http://localhost:{port}/callback`
    /// if absent.
    pub uri: Option<Url>,
}

/// What a person is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConsentQuestion {
    /// The consent page. Checked: `https`, or `http` on this machine; no user name.
    pub url: Url,
    /// What the answer has to carry.
    pub state: Secret<String>,
    /// The MCP server, by its name.
    pub server: String,
    /// The host of the issuer, in ASCII.
    pub issuer: String,
    /// The identifier of the client.
    pub client: String,
    /// What is asked for, all of it.
    pub scopes: Vec<String>,
    /// What of it was not asked for before.
    pub new_scopes: Vec<String>,
    /// How long the answer may take.
    pub patience: Duration,
}

impl ConsentQuestion {
    /// Makes a question for the page and its state alone: no server, no client, no scopes, no time.
    #[must_use]
    pub const fn new(url: Url, state: Secret<String>) -> Self {
        Self {
            url,
            state,
            server: String::new(),
            issuer: String::new(),
            client: String::new(),
            scopes: Vec::new(),
            new_scopes: Vec::new(),
            patience: Duration::ZERO,
        }
    }
}

/// A page of another host than those that a sign-in is about: what a mix-up looks like when the
/// authorization server does not name itself in its answer (RFC 9207).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForeignPage {
    /// The MCP server, by its name.
    pub server: String,
    /// The host of the page, in ASCII.
    pub page: String,
    /// The host of the issuer, in ASCII.
    pub issuer: String,
    /// The host that gets what the person agrees to, in ASCII.
    pub redeemer: String,
}

impl ForeignPage {
    pub(crate) const fn new(
        server: String,
        page: String,
        issuer: String,
        redeemer: String,
    ) -> Self {
        Self {
            server,
            page,
            issuer,
            redeemer,
        }
    }
}

/// A code to be typed on another device.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeviceQuestion {
    /// The page on which to type it.
    pub page: Url,
    /// The page with the code filled in.
    pub complete: Option<Url>,
    /// The code.
    pub code: String,
    /// The MCP server, by its name.
    pub server: String,
    /// The host of the issuer, in ASCII.
    pub issuer: String,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// How long the code is good.
    pub patience: Duration,
}

impl DeviceQuestion {
    /// Makes a question for the page and the code alone: no server, no scopes, no time.
    #[must_use]
    pub const fn new(page: Url, code: String) -> Self {
        Self {
            page,
            complete: None,
            code,
            server: String::new(),
            issuer: String::new(),
            scopes: Vec::new(),
            patience: Duration::ZERO,
        }
    }
}

/// What came back with the right `state`.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Callback {
    /// The authorization code.
    pub code: Option<Secret<String>>,
    /// The issuer's own name (RFC 9207).
    pub iss: Option<String>,
    /// Why there is no code.
    pub error: Option<String>,
    /// The same in words.
    pub error_description: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InteractionError {
    /// No person can be asked here.
    #[error("signing in needs a browser or a terminal, and neither is available")]
    Unavailable,
    /// The fixed port is taken.
    #[error("port {port}, which the redirect address needs, is in use")]
    PortBusy {
        /// Which.
        port: u16,
    },
    /// No listener could be made.
    #[error("cannot listen for the callback: {why}")]
    Listener {
        /// In a few words.
        why: String,
    },
    /// The person gave up.
    #[error("the sign-in was cancelled")]
    Cancelled,
    /// The time is over.
    #[error("the consent page was not answered within {seconds} seconds")]
    Timeout {
        /// The limit.
        seconds: u64,
    },
}
