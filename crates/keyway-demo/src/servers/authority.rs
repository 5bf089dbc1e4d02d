//! The authorization server of `docs`: metadata, registration, consent, tokens, revocation.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::LOCATION;
use http::{Method, StatusCode};
use keyway_secret::Secret;
use keyway_transport::Reply;
use serde::Deserialize;
use serde_json::json;
use url::{Host, Url};

use super::http::{Request, empty, json, with};
use super::tokens::{Asked, Client, Rotation, Tokens};
use super::{MCP, Manners, page};
use crate::journal::{Event, Journal};

/// An authorization server for one resource, in the same origin.
#[derive(Debug)]
pub(super) struct Authority {
    origin: String,
    life: Duration,
    journal: Journal,
    /// Held for one request of the protocol, so that a code or a refresh token is used once; never
    /// across an await.
    tokens: Mutex<Tokens>,
}

impl Authority {
    /// Makes one; `authority` is host and port.
    pub(super) fn new(authority: &str, manners: &Manners, journal: &Journal) -> Arc<Self> {
        Arc::new(Self {
            origin: format!("http://{authority}"),
            life: manners.token_life,
            journal: journal.clone(),
            tokens: Mutex::new(Tokens::by(Arc::clone(&manners.clock))),
        })
    }

    /// Says whether an access token is valid.
    pub(super) fn accepts(&self, token: &Secret<String>) -> bool {
        self.tokens().accepts(token.expose())
    }

    /// Returns what a request without a good token is answered (RFC 9728 §5.1).
    pub(super) fn challenge(&self, had_token: bool) -> String {
        let error = if had_token {
            r#"error="invalid_token", "#
        } else {
            ""
        };
        let (origin, path) = (&self.origin, RESOURCE_METADATA);
        format!(r#"Bearer {error}resource_metadata="{origin}{path}{MCP}", scope="{SCOPE}""#)
    }

    /// Answers all but the resource's own addresses.
    pub(super) fn answer(&self, request: &Request) -> Reply {
        match (&request.method, request.path.as_str()) {
            (&Method::GET, path) if path.strip_prefix(RESOURCE_METADATA) == Some(MCP) => {
                self.resource_metadata()
            }
            (&Method::GET, "/.well-known/oauth-authorization-server") => self.metadata(),
            (&Method::POST, "/register") => self.register(&request.body),
            (&Method::GET, "/authorize") => self.authorize(request),
            (&Method::POST, page::CONSENT) => self.consent(request),
            (&Method::POST, "/token") => self.token(request),
            (&Method::POST, "/revoke") => self.revoke(request),
            _ => empty(StatusCode::NOT_FOUND),
        }
    }

    fn tokens(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resource(&self) -> String {
        format!("{}{MCP}", self.origin)
    }

    /// RFC 9728 §2
    fn resource_metadata(&self) -> Reply {
        let metadata = json!({
            "resource": self.resource(),
            "resource_name": "Keyway demo: docs",
            "authorization_servers": [self.origin],
            "scopes_supported": [SCOPE],
            "bearer_methods_supported": ["header"],
        });
        json(StatusCode::OK, &metadata)
    }

    /// RFC 8414 §2, RFC 9207 §3
    fn metadata(&self) -> Reply {
        let origin = &self.origin;
        let metadata = json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "revocation_endpoint": format!("{origin}/revoke"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": true,
            "scopes_supported": [SCOPE],
        });
        json(StatusCode::OK, &metadata)
    }

    /// RFC 7591 §3; only clients on this machine.
    fn register(&self, body: &str) -> Reply {
        #[derive(Deserialize)]
        struct Registration {
            redirect_uris: Vec<String>,
            client_name: Option<String>,
        }
        let Ok(asked) = serde_json::from_str::<Registration>(body) else {
            return refusal("invalid_client_metadata");
        };
        let is_usable =
            !asked.redirect_uris.is_empty() && asked.redirect_uris.iter().all(|uri| is_local(uri));
        if !is_usable {
            return refusal("invalid_redirect_uri");
        }
        let name = asked.client_name.unwrap_or_else(|| "a client".to_owned());
        let client = Client {
            name,
            redirect_uris: asked.redirect_uris.clone(),
        };
        let Some(id) = self.tokens().register(client) else {
            return empty(StatusCode::SERVICE_UNAVAILABLE);
        };
        self.journal.note(DOCS, Event::Registered);
        let registered = json!({
            "client_id": id,
            "redirect_uris": asked.redirect_uris,
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
        });
        json(StatusCode::CREATED, &registered)
    }

    /// Shows the consent page. A wrong request gets an error page and no redirect (RFC 6749
    /// §4.1.2.1).
    fn authorize(&self, request: &Request) -> Reply {
        let parameter = |name| request.parameter(name);
        let (client, redirect_uri) = (parameter("client_id"), parameter("redirect_uri"));
        let (challenge, state) = (parameter("code_challenge"), parameter("state"));
        let is_sound = parameter("response_type") == "code"
            && parameter("code_challenge_method") == "S256"
            && challenge.len() == CHALLENGE_LENGTH
            && parameter("resource") == self.resource();
        let mut tokens = self.tokens();
        let known = tokens.client(&client).cloned();
        let Some(known) = known.filter(|known| known.redirect_uris.contains(&redirect_uri)) else {
            return page::problem("This client is not registered here.");
        };
        if !is_sound {
            return page::problem("The client asked in a way that is not allowed.");
        }
        let asked = Asked {
            client,
            redirect_uri,
            challenge,
            state,
        };
        match tokens.ask(asked) {
            Some(name) => page::consent(&known.name, &self.resource(), &name),
            None => empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    /// Sends the person back to the client with a code.
    fn consent(&self, request: &Request) -> Reply {
        let Some((asked, code)) = self.tokens().agree(&request.field("question")) else {
            return page::problem("This question was answered already, or never asked.");
        };
        let Ok(mut to) = Url::parse(&asked.redirect_uri) else {
            return page::problem("The client cannot be led back to.");
        };
        to.query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("state", &asked.state)
            .append_pair("iss", &self.origin);
        self.journal.note(DOCS, Event::Consented);
        with(empty(StatusCode::SEE_OTHER), LOCATION, to.as_str())
    }

    fn token(&self, request: &Request) -> Reply {
        let field = |name| request.field(name);
        // RFC 8707 §2.2
        if field("resource") != self.resource() {
            return refusal("invalid_target");
        }
        let client = field("client_id");
        let (issued, event) = match field("grant_type").as_str() {
            "authorization_code" => {
                let from = (client.as_str(), &*field("redirect_uri"));
                let (code, verifier) = (field("code"), field("code_verifier"));
                let issued = self.tokens().exchange(&code, &verifier, from, self.life);
                (issued, Event::SignedIn)
            }
            "refresh_token" => {
                let token = field("refresh_token");
                match self.tokens().rotate(&token, &client, self.life) {
                    Rotation::Issued(issued) => (Some(issued), Event::Refreshed),
                    Rotation::Reused => (None, Event::Reused),
                    Rotation::Unknown => (None, Event::Refused),
                }
            }
            _ => return refusal("unsupported_grant_type"),
        };
        let Some(issued) = issued else {
            if event == Event::Reused {
                self.journal.note(DOCS, event);
            }
            return refusal("invalid_grant");
        };
        self.journal.note(DOCS, event);
        let tokens = json!({
            "access_token": issued.access,
            "refresh_token": issued.refresh,
            "token_type": "Bearer",
            "expires_in": self.life.as_secs(),
            "scope": SCOPE,
        });
        json(StatusCode::OK, &tokens)
    }

    /// RFC 7009 §2.2: what is unknown is answered like what was revoked.
    fn revoke(&self, request: &Request) -> Reply {
        if self.tokens().revoke(&request.field("token")) {
            self.journal.note(DOCS, Event::Revoked);
        }
        empty(StatusCode::OK)
    }
}

fn refusal(code: &str) -> Reply {
    json(StatusCode::BAD_REQUEST, &json!({ "error": code }))
}

/// Says whether an address is plain HTTP on this machine.
fn is_local(uri: &str) -> bool {
    let Ok(url) = Url::parse(uri) else {
        return false;
    };
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address == Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && is_loopback && url.fragment().is_none()
}

/// What the demo's only sign-in gives access to.
const SCOPE: &str = "tools";
const DOCS: &str = "docs";
const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";

/// A SHA-256 in base64 without padding.
const CHALLENGE_LENGTH: usize = 43;
