//! Whose a browser is: its person signs in at their own issuer (OpenID Connect Core section 3.1), and
//! the ID token says who that was.
//!
//! ```text
//!   begin ──page of the issuer──▶ the browser ──code──▶ finish: code and verifier ──▶ ID token ──▶ Person
//! ```

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE};
use keyway_auth::PeerDocument;
use keyway_auth::oauth::DocumentError;
use keyway_auth::ports::{Callback, HttpFailure, HttpRequest};
use keyway_secret::random::{self, NoRandomness};
use keyway_secret::{Secret, printable};
use ring::digest::{SHA256, digest};
use thiserror::Error;
use tokio::time::timeout;
use url::{Url, form_urlencoded};

use crate::access_token::{ReadToken, TokenError, TokenKind};
use crate::issuer::address;
use crate::issuer_keys::{IssuerKeys, KeysError};
use crate::person::Person;
use crate::rules::TokenRules;
use crate::timeouts::BROWSER_SIGN_IN_TIMEOUT;
use crate::verifier::{AccessTokenVerifier, check_signature};

/// A page of an issuer for a browser, and what its answer is told by.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BegunBrowserSignIn {
    /// The page.
    pub page: Url,
    /// What the answer has to carry.
    pub state: Secret<String>,
    /// What reading the answer needs.
    pub proof: BrowserProof,
}

/// What reading the answer of an issuer needs; the caller keeps it sealed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BrowserProof {
    /// Which issuer was asked.
    pub issuer: String,
    /// Where its answer arrives.
    pub redirect_uri: String,
    /// The verifier of the request (RFC 7636).
    pub verifier: Secret<String>,
    /// What the ID token has to carry.
    pub nonce: Secret<String>,
}

impl BrowserProof {
    /// Takes up what was written down when an issuer was asked.
    #[must_use]
    pub const fn new(
        issuer: String,
        redirect_uri: String,
        verifier: Secret<String>,
        nonce: Secret<String>,
    ) -> Self {
        Self {
            issuer,
            redirect_uri,
            verifier,
            nonce,
        }
    }
}

impl AccessTokenVerifier {
    /// Says whether a browser can show whose it is at an issuer: it is listed, with a client.
    #[must_use]
    pub fn knows_browsers_of(&self, issuer: &str) -> bool {
        self.browser_client(issuer).is_ok()
    }

    /// Makes a page of a listed issuer on which a person signs in, and which leads back to
    /// `redirect_uri`.
    ///
    /// # Errors
    ///
    /// Returns why there is none.
    ///
    /// Cancel safety: cancel safe; nothing is stored.
    pub async fn begin_browser_sign_in(
        &self,
        issuer: &str,
        redirect_uri: &str,
    ) -> Result<BegunBrowserSignIn, BrowserSignInError> {
        let (issuer, client) = self.browser_client(issuer)?;
        let metadata = metadata(issuer).await?;
        let mut page = endpoint(&metadata, "authorization_endpoint")?;
        let (state, nonce) = (random::token()?, random::token()?);
        let verifier = random::token()?;
        let challenge = digest(&SHA256, verifier.expose().as_bytes());
        page.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", client)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", "openid")
            .append_pair("state", state.expose())
            .append_pair("nonce", nonce.expose())
            .append_pair("code_challenge", &BASE64_URL_SAFE_NO_PAD.encode(challenge))
            .append_pair("code_challenge_method", "S256");
        let proof = BrowserProof {
            issuer: issuer.name().to_owned(),
            redirect_uri: redirect_uri.to_owned(),
            verifier,
            nonce,
        };
        Ok(BegunBrowserSignIn { page, state, proof })
    }

    /// Says who signed in. The caller has compared the state, and uses each answer once.
    ///
    /// Must be called inside a runtime.
    ///
    /// # Errors
    ///
    /// Returns why that is not known.
    ///
    /// Cancel safety: the code may be spent; nothing is stored.
    pub async fn finish_browser_sign_in(
        &self,
        proof: &BrowserProof,
        answer: &Callback,
    ) -> Result<Person, BrowserSignInError> {
        let (issuer, client) = self.browser_client(&proof.issuer)?;
        let metadata = metadata(issuer).await?;
        // RFC 9207 section 2.4: before anything else is looked at.
        let names_itself = metadata.flag("authorization_response_iss_parameter_supported");
        let names_itself = names_itself?.unwrap_or(false);
        let is_right = match &answer.iss {
            Some(iss) => iss == issuer.name(),
            // One of several could have sent the browser on to another, and get that one's code
            // (RFC 9700 section 4.4): then only an answer that names its issuer counts.
            None if self.has_several_browser_clients() => {
                return Err(BrowserSignInError::UnnamedIssuer);
            }
            None => !names_itself,
        };
        if !is_right {
            return Err(BrowserSignInError::OtherIssuer);
        }
        if let Some(code) = &answer.error {
            let code = printable(code);
            return Err(BrowserSignInError::Refused { code });
        }
        let code = answer.code.as_ref().ok_or(BrowserSignInError::NoCode)?;
        let token = endpoint(&metadata, "token_endpoint")?;
        let asking = id_token(issuer, token, [client, code.expose()], proof);
        let asked = timeout(BROWSER_SIGN_IN_TIMEOUT, asking).await;
        let token = asked.unwrap_or(Err(BrowserSignInError::Slow))?;
        self.read_id_token(&token, issuer, client, proof).await
    }

    /// Checks an ID token (OpenID Connect Core section 3.1.3.7).
    async fn read_id_token(
        &self,
        token: &Secret<String>,
        issuer: &Arc<IssuerKeys>,
        client: &str,
        proof: &BrowserProof,
    ) -> Result<Person, BrowserSignInError> {
        let mut rules = TokenRules::new(client);
        rules.algorithms.clone_from(&self.rules.algorithms);
        let read = ReadToken::read(token.expose(), &rules, TokenKind::Identity)?;
        if read.issuer != issuer.name() {
            return Err(BrowserSignInError::OtherIssuer);
        }
        let (person, _) = read.person(&rules, self.clock.wall())?;
        let party = read.text("azp")?;
        if party.is_some_and(|party| party != client) || party.is_none() && !read.has_one_audience()
        {
            return Err(TokenError::WrongAudience.into());
        }
        let nonce = read.text("nonce")?.unwrap_or_default().to_owned();
        if !proof.nonce.is_same_as(&Secret::new(nonce)) {
            return Err(BrowserSignInError::WrongNonce);
        }
        check_signature(&read, issuer).await?;
        Ok(person)
    }

    fn has_several_browser_clients(&self) -> bool {
        let clients = self.issuers.iter();
        let clients = clients.filter(|it| it.issuer().browser_client.is_some());
        clients.count() > 1
    }

    fn browser_client(&self, issuer: &str) -> Result<(&Arc<IssuerKeys>, &str), BrowserSignInError> {
        let found = self.issuers.iter().find(|it| it.name() == issuer);
        let found = found.and_then(|it| Some((it, it.issuer().browser_client.as_deref()?)));
        found.ok_or(BrowserSignInError::NoClient)
    }
}

async fn metadata(issuer: &IssuerKeys) -> Result<Arc<PeerDocument>, BrowserSignInError> {
    let fetched = timeout(BROWSER_SIGN_IN_TIMEOUT, issuer.remembered_metadata()).await;
    let fetched = fetched.unwrap_or(Err(KeysError::Slow));
    fetched.map_err(BrowserSignInError::Issuer)
}

fn endpoint(metadata: &PeerDocument, field: &'static str) -> Result<Url, BrowserSignInError> {
    let none = BrowserSignInError::NoEndpoint { field };
    let text = metadata.text(field)?;
    address(text.ok_or_else(|| none.clone())?).map_err(|_| none)
}

/// Returns the body that redeems a code.
fn form([client, code]: [&str; 2], proof: &BrowserProof) -> Secret<Vec<u8>> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "authorization_code")
        .append_pair("code", code)
        .append_pair("redirect_uri", &proof.redirect_uri)
        .append_pair("client_id", client)
        .append_pair("code_verifier", proof.verifier.expose());
    Secret::new(form.finish().into_bytes())
}

/// Redeems a code, and returns the ID token.
async fn id_token(
    issuer: &IssuerKeys,
    endpoint: Url,
    [client, code]: [&str; 2],
    proof: &BrowserProof,
) -> Result<Secret<String>, BrowserSignInError> {
    let body = form([client, code], proof);
    let mut request = HttpRequest::post(endpoint, body);
    let json = HeaderValue::from_static("application/json");
    request.headers.insert(ACCEPT, json);
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    request.headers.insert(CONTENT_TYPE, form);
    let response = issuer.issuer().http.send(request).await?;
    let document = PeerDocument::parse(response.body.expose());
    let status = response.status;
    let Ok(document) = document else {
        return Err(BrowserSignInError::Status { status });
    };
    if let Ok(Some(code)) = document.text("error") {
        let code = printable(code);
        return Err(BrowserSignInError::Refused { code });
    }
    if status != 200 {
        return Err(BrowserSignInError::Status { status });
    }
    let token = document.secret("id_token")?;
    token.ok_or(BrowserSignInError::NoIdToken)
}

/// Why it is not known whose a browser is. Never holds anything of a token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BrowserSignInError {
    /// The settings name no client for browsers.
    #[error("no client for browsers is set for this issuer")]
    NoClient,
    /// The issuer's metadata cannot be had.
    #[error(transparent)]
    Issuer(#[from] KeysError),
    /// The metadata lacks an address, or has one that may not be used.
    #[error("the issuer's metadata has no `{field}` that can be used")]
    NoEndpoint {
        /// Which.
        field: &'static str,
    },
    /// There are no random bytes.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The answer is of another issuer than the one that was asked.
    #[error("the answer does not come from the issuer that was asked")]
    OtherIssuer,
    /// The answer does not say which of several issuers it is of.
    #[error(
        "the answer does not name its issuer (`iss`), which it has to where several are listed"
    )]
    UnnamedIssuer,
    /// The issuer or the person said no.
    #[error("the issuer answered `{code}`")]
    Refused {
        /// Its word for it.
        code: String,
    },
    /// The answer has no code.
    #[error("the issuer's answer has no code")]
    NoCode,
    /// The token endpoint cannot be reached.
    #[error(transparent)]
    Http(#[from] HttpFailure),
    /// It takes too long.
    #[error("the issuer takes longer than {} seconds", BROWSER_SIGN_IN_TIMEOUT.as_secs())]
    Slow,
    /// The token endpoint fails.
    #[error("the issuer's token endpoint answered {status}")]
    Status {
        /// With this status.
        status: u16,
    },
    /// There is no ID token: the issuer does not speak OpenID Connect.
    #[error("the issuer gave no ID token")]
    NoIdToken,
    /// The ID token breaks a rule.
    #[error("the ID token cannot be used: {0}")]
    IdToken(#[from] TokenError),
    /// The ID token is of another sign-in.
    #[error("the ID token is of another sign-in")]
    WrongNonce,
}

impl From<DocumentError> for BrowserSignInError {
    fn from(error: DocumentError) -> Self {
        Self::Issuer(KeysError::Metadata(error))
    }
}
