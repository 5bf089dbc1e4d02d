//! The token endpoint: one request, one answer (RFC 6749 sections 4.1.3, 5 and 6).

use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::HeaderValue;
use keyway_secret::Secret;
use serde::{Deserialize, Serialize};
use url::Url;

use super::client::Client;
use super::dpop::{SCHEME, USE_NONCE};
use super::dpop_binding::DpopBinding;
use super::scope::Scopes;
use super::settings::KeptToken;
use super::wire::{Answer, Form, Wire};
use crate::document::{Document, DocumentError};
use crate::error::{OAuthError, Refusal, RequestTarget, shown};
use crate::ports::Hold;

/// A token endpoint, and the client that asks it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenEndpoint<'a> {
    pub(super) issuer: &'a str,
    pub(super) url: &'a Url,
    pub(super) client: &'a Client,
    /// The key that tokens are bound to, if they are.
    pub(super) dpop: Option<&'a DpopBinding>,
    pub(super) what: RequestTarget,
    pub(super) keep: KeptToken,
    /// After this the request is not sent once more, even where the server asks for it.
    pub(super) repeat_until: Option<Instant>,
}

/// What the token endpoint gave out.
#[derive(Debug, Clone)]
pub(super) struct Issued {
    pub(super) access: Secret<String>,
    pub(super) kind: TokenKind,
    pub(super) lifetime: Option<Duration>,
    pub(super) refresh: Option<Secret<String>>,
    /// What was granted, if that is not what was asked for.
    pub(super) scopes: Option<Scopes>,
    /// Who signed in, if the server says so.
    pub(super) account: Option<String>,
    /// Keeps the process from ending before the tokens are stored.
    pub(super) hold: Option<Hold>,
}

/// How a token is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TokenKind {
    Bearer,
    #[serde(rename = "DPoP")]
    Dpop,
}

impl TokenKind {
    pub(super) const fn scheme(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer",
            Self::Dpop => SCHEME,
        }
    }
}

impl TokenEndpoint<'_> {
    /// Asks for tokens; a refusal is an error that carries it.
    pub(super) async fn ask(
        &self,
        wire: &Wire,
        form: Form,
        now: SystemTime,
    ) -> Result<Issued, OAuthError> {
        let hold = wire.hold();
        let document = self.ask_document(wire, form, now).await?;
        let mut issued = self.read(&document)?;
        issued.hold = Some(hold);
        Ok(issued)
    }

    /// Asks, and returns the answer as it is.
    pub(super) async fn ask_document(
        &self,
        wire: &Wire,
        form: Form,
        now: SystemTime,
    ) -> Result<Document, OAuthError> {
        let mut may_repeat = true;
        loop {
            let mut form = self.client.sign(form.clone(), self.issuer, now).await?;
            if let Some(key) = self.dpop {
                let (name, proof) = key.token_header(self.url, now)?;
                form.headers.insert(name, proof);
            }
            let response = wire.form(self.what, self.url, form).await?;
            let is_new = self
                .dpop
                .is_some_and(|key| key.learn(self.url, &response.headers));
            match wire.answer(self.what, &response)? {
                Answer::Document(document) => return Ok(document),
                // RFC 9449 section 8: the same once more, with what the server wants in it.
                Answer::Refused(refusal)
                    if refusal.code == USE_NONCE
                        && is_new
                        && self.has_time(wire)
                        && std::mem::take(&mut may_repeat) => {}
                Answer::Refused(refusal) => return Err(self.refused(refusal)),
            }
        }
    }

    fn has_time(&self, wire: &Wire) -> bool {
        self.repeat_until
            .is_none_or(|until| wire.monotonic() <= until)
    }

    fn refused(&self, refusal: Refusal) -> OAuthError {
        OAuthError::refused(self.issuer, refusal)
    }

    fn read(&self, document: &Document) -> Result<Issued, OAuthError> {
        let wanted = Wanted::new(self.keep, self.issuer, &self.client.id);
        read(self.what, document, self.dpop.is_some(), wanted)
    }
}

/// Which token of an answer is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'a> {
    Access,
    /// The ID token of this issuer for this client.
    Identity {
        issuer: &'a str,
        client: &'a str,
    },
}

impl<'a> Wanted<'a> {
    pub(super) const fn new(keep: KeptToken, issuer: &'a str, client: &'a str) -> Self {
        match keep {
            KeptToken::Access => Self::Access,
            KeptToken::Identity => Self::Identity { issuer, client },
        }
    }
}

/// Reads an answer that gives tokens out; `is_bound` if they were asked for with a key.
pub(super) fn read(
    what: RequestTarget,
    document: &Document,
    is_bound: bool,
    wanted: Wanted<'_>,
) -> Result<Issued, OAuthError> {
    let read = || -> Result<Issued, DocumentError> {
        let field = match wanted {
            Wanted::Access => "access_token",
            Wanted::Identity { .. } => ID_TOKEN,
        };
        let access = document
            .text(field)?
            .filter(|token| is_sendable(token))
            .ok_or(DocumentError::Missing { field })?;
        let kind = match document.text("token_type").ok().flatten() {
            // Bound to a key that is not ours: of no use (RFC 6749 section 7.1).
            Some(kind) if kind.eq_ignore_ascii_case(SCHEME) && !is_bound => {
                return Err(DocumentError::Unexpected {
                    field: "token_type",
                });
            }
            Some(kind) if kind.eq_ignore_ascii_case(SCHEME) => TokenKind::Dpop,
            // Some providers leave it out, or make up a name; what they mean is this.
            _ => TokenKind::Bearer,
        };
        // What else the answer says must not cost a token that was issued: the server has
        // replaced the old one.
        let text = |field| document.text(field).ok().flatten();
        let refresh = text("refresh_token").filter(|token| !token.is_empty());
        let lifetime = match wanted {
            Wanted::Access => document.seconds("expires_in").ok().flatten(),
            Wanted::Identity { issuer, client } => Some(identity(access, issuer, client)?),
        };
        Ok(Issued {
            access: Secret::new(access.to_owned()),
            kind,
            lifetime: lifetime.filter(|time| !time.is_zero()),
            refresh: refresh.map(|token| Secret::new(token.to_owned())),
            scopes: text("scope").map(Scopes::parse),
            account: text(ID_TOKEN).and_then(account),
            hold: None,
        })
    };
    read().map_err(|error| OAuthError::Document { what, error })
}

/// Says whether a token can stand in a header (RFC 6750 section 2.1, generously).
fn is_sendable(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Reads who signed in out of an identity token. It came from the token endpoint itself, and is
/// only ever shown, so its signature does not matter (OpenID Connect Core section 3.1.3.7).
fn account(id_token: &str) -> Option<String> {
    let claims = claims(id_token)?;
    let names = ["email", "preferred_username", "name", "sub"];
    let text = |name| claims.text(name).ok().flatten().map(shown);
    names.into_iter().find_map(text)
}

/// Checks whose ID token it is, and for whom; returns how long it counts. Who made it is known: it
/// came from the token endpoint itself, over TLS (OpenID Connect Core section 3.1.3.7).
fn identity(id_token: &str, issuer: &str, client: &str) -> Result<Duration, DocumentError> {
    let wrong = DocumentError::Unexpected { field: ID_TOKEN };
    let claims = claims(id_token).ok_or_else(|| wrong.clone())?;
    let is_for = match claims.text("aud") {
        Ok(audience) => audience == Some(client),
        Err(_) => {
            let all = claims.texts("aud").ok().flatten();
            all.is_some_and(|all| all.contains(&client))
        }
    };
    let is_by = claims.text("iss").ok().flatten() == Some(issuer);
    let seconds = |claim| claims.seconds(claim).ok().flatten();
    match (seconds("iat"), seconds("exp")) {
        (Some(from), Some(to)) if is_for && is_by && to > from => Ok(to.saturating_sub(from)),
        _ => Err(wrong),
    }
}

fn claims(id_token: &str) -> Option<Document> {
    let body = id_token.split('.').nth(1)?;
    let claims = Secret::new(BASE64_URL_SAFE_NO_PAD.decode(body).ok()?);
    Document::parse(claims.expose()).ok()
}

/// The member of an answer that holds the ID token.
pub(super) const ID_TOKEN: &str = "id_token";

/// Makes the header that carries a token.
pub(super) fn header(kind: TokenKind, access: &Secret<String>) -> Result<HeaderValue, OAuthError> {
    let text = Secret::new(format!("{} {}", kind.scheme(), access.expose()));
    let mut value = HeaderValue::from_str(text.expose()).map_err(|_| OAuthError::Crypto {
        what: "the token cannot be sent in a header",
    })?;
    value.set_sensitive(true);
    Ok(value)
}
