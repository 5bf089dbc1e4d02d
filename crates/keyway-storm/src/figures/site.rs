//! The server that everyone calls while figures are taken: an MCP server with its authorization server,
//! and the issuer of the people.
//!
//! Tokens name their sign-in and their number, so that nothing is looked up: what it costs is the same
//! for one sign-in and for ten thousand. The journal has every refresh token that came.

use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::http::{Answer, Connection, Request};
use crate::issuer::Issuer;

/// The servers, and what they have seen.
pub(crate) struct Site {
    /// Of the MCP server and its authorization server.
    pub(crate) port: u16,
    pub(crate) issuer: Issuer,
    /// Relaxed: a figure.
    pub(crate) calls: AtomicUsize,
    /// Held for one entry; it never waits for a byte.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Sign-ins by the code that was given for them.
    codes: HashMap<String, usize>,
    journal: Vec<Redemption>,
    /// Access tokens with a lower number are refused.
    first_good: usize,
    /// For how long a token request is kept waiting.
    delay: Duration,
}

/// A refresh token came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Redemption {
    pub(crate) at: Instant,
    pub(crate) sign_in: usize,
    /// Which token of the sign-in it was, from 0.
    pub(crate) number: usize,
}

impl Site {
    /// Binds the ports and serves them for as long as the process lives. The audience of people's tokens
    /// is that of a gateway at `public`.
    pub(crate) async fn start(public: &str) -> io::Result<Arc<Self>> {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let issuer = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let name = format!("http://127.0.0.1:{}", issuer.local_addr()?.port());
        let site = Arc::new(Self {
            port: server.local_addr()?.port(),
            issuer: Issuer::new(name, format!("{public}/mcp")),
            calls: AtomicUsize::new(0),
            state: Mutex::default(),
        });
        tokio::spawn(listen(Arc::clone(&site), server, Part::Server));
        tokio::spawn(listen(Arc::clone(&site), issuer, Part::Issuer));
        Ok(site)
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the journal, and forgets it.
    pub(crate) fn take_journal(&self) -> Vec<Redemption> {
        std::mem::take(&mut self.lock().journal)
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().journal.len()
    }

    /// Refuses access tokens with lower numbers from now on.
    pub(crate) fn accept_from(&self, number: usize) {
        self.lock().first_good = number;
    }

    pub(crate) fn delay_tokens(&self, delay: Duration) {
        self.lock().delay = delay;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn refresh(&self, request: &Request) -> Answer {
        let token = request.field("refresh_token").unwrap_or_default();
        let Some((sign_in, number)) = numbers(&token, "rt") else {
            return refusal();
        };
        let delay = {
            let mut state = self.lock();
            state.journal.push(Redemption {
                at: Instant::now(),
                sign_in,
                number,
            });
            state.delay
        };
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        tokens(sign_in, number + 1)
    }

    fn answer(&self, request: &Request) -> Answer {
        let origin = self.origin();
        match (request.method.as_str(), request.path()) {
            ("POST", "/mcp") => self.guarded(request),
            ("POST", "/open/mcp") => self.message(request),
            (_, "/mcp" | "/open/mcp") => Answer::empty(405),
            ("GET", "/.well-known/oauth-protected-resource/mcp") => Answer::json(
                200,
                &json!({
                    "resource": format!("{origin}/mcp"),
                    "authorization_servers": [origin],
                    "scopes_supported": ["tools"],
                    "bearer_methods_supported": ["header"],
                }),
            ),
            ("GET", "/.well-known/oauth-authorization-server") => {
                Answer::json(200, &metadata(&origin))
            }
            ("POST", "/register") => {
                let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
                Answer::json(
                    201,
                    &json!({
                        "client_id": "figures",
                        "redirect_uris": asked["redirect_uris"],
                        "token_endpoint_auth_method": "none",
                        "grant_types": ["authorization_code", "refresh_token"],
                        "response_types": ["code"],
                    }),
                )
            }
            ("GET", "/authorize") => self.authorize(request, &origin),
            ("POST", "/token") => {
                let code = request.field("code").unwrap_or_default();
                let sign_in = self.lock().codes.remove(&code);
                sign_in.map_or_else(refusal, |sign_in| tokens(sign_in, FIRST_NUMBER))
            }
            _ => Answer::empty(404),
        }
    }

    /// Agrees at once: only the sign-in that is copied for all people comes here.
    fn authorize(&self, request: &Request, origin: &str) -> Answer {
        let field = |name| request.field(name).unwrap_or_default();
        let mut state = self.lock();
        let code = format!("code-{}", state.codes.len());
        state.codes.insert(code.clone(), TENANT);
        let (to, asked) = (field("redirect_uri"), field("state"));
        let to = format!("{to}?code={code}&state={asked}&iss={origin}");
        Answer::empty(302).with("location", to)
    }

    fn guarded(&self, request: &Request) -> Answer {
        let found = numbers(&request.bearer, "at");
        if found.is_some_and(|(_, number)| number >= self.lock().first_good) {
            return self.message(request);
        }
        let document = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin());
        let error = match request.bearer.is_empty() {
            true => "",
            false => "error=\"invalid_token\", ",
        };
        let told = format!("Bearer {error}resource_metadata=\"{document}\", scope=\"tools\"");
        Answer::json(401, &json!({ "error": "invalid_token" })).with("www-authenticate", told)
    }

    fn message(&self, request: &Request) -> Answer {
        let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let Some(id) = message.get("id") else {
            return Answer::empty(202);
        };
        let server = json!({ "name": "figures", "version": "1" });
        let result = match message["method"].as_str().unwrap_or_default() {
            "server/discover" => json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28", "2025-11-25"],
                "capabilities": { "tools": {} },
                "_meta": { "io.modelcontextprotocol/serverInfo": server },
            }),
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": server,
            }),
            "tools/list" => json!({ "resultType": "complete", "tools": [{
                "name": "page",
                "description": "Shows a page",
                "inputSchema": { "type": "object", "properties": {} },
            }], "ttlMs": 0, "cacheScope": "private" }),
            "tools/call" => {
                self.calls.fetch_add(1, Ordering::Relaxed);
                json!({
                    "resultType": "complete",
                    "content": [{ "type": "text", "text": PAGE }],
                })
            }
            _ => json!({}),
        };
        Answer::json(
            200,
            &json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        )
    }
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Server,
    Issuer,
}

async fn listen(site: Arc<Site>, listener: TcpListener, part: Part) {
    while let Ok((stream, peer)) = listener.accept().await {
        let (site, connection) = (Arc::clone(&site), Connection::new(stream, peer));
        tokio::spawn(async move {
            // A client that is gone was killed, or has closed its connection.
            let _ended = serve(&site, connection, part).await;
        });
    }
}

async fn serve(site: &Site, mut connection: Connection, part: Part) -> io::Result<()> {
    while let Some(request) = connection.request().await? {
        let is_refresh = request.path() == "/token"
            && request.field("grant_type").as_deref() == Some("refresh_token");
        let answer = match (part, request.path()) {
            (Part::Issuer, "/jwks") => Answer::json(200, &site.issuer.keys()),
            (Part::Issuer, path) if path.starts_with("/.well-known/") => {
                Answer::json(200, &site.issuer.metadata())
            }
            (Part::Issuer, _) => Answer::empty(404),
            (Part::Server, _) if is_refresh => site.refresh(&request).await,
            (Part::Server, _) => site.answer(&request),
        };
        connection.answer(&answer).await?;
    }
    Ok(())
}

/// Writes a token of a sign-in.
pub(crate) fn token(kind: &str, sign_in: usize, number: usize) -> String {
    format!("{kind}.{sign_in}.{number}.{}", "0123456789abcdef".repeat(2))
}

fn numbers(token: &str, kind: &str) -> Option<(usize, usize)> {
    let mut parts = token.split('.');
    let is_kind = parts.next() == Some(kind);
    let (sign_in, number) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    is_kind.then_some((sign_in, number))
}

fn tokens(sign_in: usize, number: usize) -> Answer {
    Answer::json(
        200,
        &json!({
            "access_token": token("at", sign_in, number),
            "refresh_token": token("rt", sign_in, number),
            "token_type": "Bearer",
            "scope": "tools",
            "expires_in": 7200,
        }),
    )
    .with("cache-control", "no-store".to_owned())
}

fn refusal() -> Answer {
    Answer::json(400, &json!({ "error": "invalid_grant" }))
}

fn metadata(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
        "scopes_supported": ["tools"],
    })
}

/// What a page says.
pub(crate) const PAGE: &str = "page of the figures";
/// The sign-in of the tenant, which is the pattern of all others.
const TENANT: usize = 999_999;
/// Of the tokens that a code is redeemed for: they are good in every measurement.
const FIRST_NUMBER: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_sign_in_and_its_number_and_no_other_text_does() {
        assert_eq!(numbers(&token("rt", 17, 3), "rt"), Some((17, 3)));
        for other in ["", "rt.17", "rt.x.3.0", "at.17.3.0"] {
            assert_eq!(numbers(other, "rt"), None, "{other}");
        }
    }
}
