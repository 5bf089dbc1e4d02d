//! The servers that people sign in to: for each profile an MCP server with an authorization server, and
//! the issuer that lets people in at the gateway; and what holds the wrapping key.

use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::families::{Delivery, Families, Issued, Profile};
use crate::http::{self, Answer, Connection, Request};
use crate::issuer::{Issuer, subject};
use crate::kill_trigger::{KillTrigger, Point};
use crate::seed::Seed;
use crate::timeouts::{STALL, STALL_POLL};
use crate::transit::Transit;

/// All that the servers share.
pub(crate) struct World {
    started: Instant,
    /// Held for one operation each; it never waits for a byte.
    state: Mutex<State>,
    pub(crate) kill_trigger: KillTrigger,
    /// Relaxed: figures, which nothing else depends on.
    pub(crate) refreshes: AtomicUsize,
    pub(crate) issuer: Issuer,
    pub(crate) transit: Arc<Transit>,
    /// The ports of the servers, in the order of [`Profile::ALL`].
    pub(crate) ports: Vec<u16>,
    /// The port of the holder of the wrapping key.
    pub(crate) transit_port: u16,
    /// When a request to these servers took long although nothing held it up. Held for one entry each.
    stalls: Mutex<Vec<(Duration, Duration)>>,
}

/// What listens at a port.
#[derive(Clone, Copy, Debug)]
enum Role {
    Site(Profile),
    Issuer,
    Transit,
}

struct State {
    families: Families,
    /// What codes are redeemed for.
    codes: HashMap<String, Issued>,
    codes_issued: usize,
    seed: Seed,
    /// Answers are lost only while the storm lasts.
    loses_answers: bool,
    terms: Terms,
}

/// For how long access tokens are good, and how often answers are lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Of the first token of a person who signs in.
    pub(crate) first: Duration,
    /// Of later ones, at least.
    pub(crate) lifetime: Duration,
    /// So many seconds more, at random.
    pub(crate) spread: u64,
    /// One of so many answers of a server that loses answers does not arrive.
    pub(crate) loses_one_of: usize,
}

impl Terms {
    /// Those of the storm.
    pub(crate) const STORM: Self = Self {
        first: Duration::from_secs(60),
        lifetime: Duration::from_secs(20),
        spread: 41,
        loses_one_of: 40,
    };
}

/// The number of no person: of the sign-ins that are copied for all people.
pub(crate) const TEMPLATE: usize = usize::MAX;
/// The parameter by which a browser says whose it is, where that has a meaning.
pub(crate) const PERSON: &str = "person";

impl World {
    /// Binds the servers' ports and serves them for as long as the process lives.
    pub(crate) async fn start(
        public: &str,
        kill_trigger: KillTrigger,
        seed: Seed,
    ) -> io::Result<Arc<Self>> {
        let sites = Profile::ALL.map(Role::Site);
        let mut listeners = Vec::new();
        let mut ports = Vec::new();
        for role in sites.into_iter().chain([Role::Issuer, Role::Transit]) {
            // Reached from the hosts as well that the storm makes.
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
            ports.push(listener.local_addr()?.port());
            listeners.push((listener, role));
        }
        let transit_port = ports.pop().unwrap_or_default();
        let issuer_port = ports.pop().unwrap_or_default();
        let name = format!("http://127.0.0.1:{issuer_port}");
        let world = Arc::new(Self {
            started: Instant::now(),
            state: Mutex::new(State {
                families: Families::default(),
                codes: HashMap::new(),
                codes_issued: 0,
                seed,
                loses_answers: false,
                terms: Terms::STORM,
            }),
            kill_trigger,
            refreshes: AtomicUsize::new(0),
            issuer: Issuer::new(name, format!("{public}/mcp")),
            transit: Arc::new(Transit::new()),
            ports,
            transit_port,
            stalls: Mutex::default(),
        });
        for (listener, role) in listeners {
            tokio::spawn(serve(Arc::clone(&world), listener, role));
        }
        tokio::spawn(watch(Arc::clone(&world), issuer_port));
        Ok(world)
    }

    /// Returns when this process was late itself: what it read then may have been sent before.
    pub(crate) fn stalls(&self) -> Vec<(Duration, Duration)> {
        let stalls = self.stalls.lock();
        stalls.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the time of the journal.
    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn families<T>(&self, work: impl FnOnce(&mut Families) -> T) -> T {
        work(&mut self.lock().families)
    }

    pub(crate) fn lose_answers(&self, lose: bool) {
        self.lock().loses_answers = lose;
    }

    pub(crate) fn set_terms(&self, terms: Terms) {
        self.lock().terms = terms;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Redeems, and says whether the answer is to be lost.
    fn redeem(&self, refresh: &str) -> Option<(usize, Result<Issued, usize>, bool)> {
        let mut state = self.lock();
        let State {
            families,
            seed,
            loses_answers,
            terms,
            ..
        } = &mut *state;
        let lifetime = terms.lifetime + Duration::from_secs(seed.next() % terms.spread);
        let (family, outcome) = families.redeem(refresh, self.now(), lifetime)?;
        self.refreshes.fetch_add(1, Ordering::Relaxed);
        let profile = families.0.get(family)?.profile;
        let is_lost =
            profile.loses_answers() && *loses_answers && seed.below(terms.loses_one_of) == 0;
        Some((family, outcome, is_lost))
    }
}

/// Asks our own issuer again and again, and notes when that takes long.
async fn watch(world: Arc<World>, port: u16) {
    loop {
        let from = world.now();
        // However it ends, it took as long as it took.
        let _answered = http::first_byte(port, "GET /jwks HTTP/1.1\r\n\r\n").await;
        let until = world.now();
        if until.saturating_sub(from) > STALL {
            let stalls = world.stalls.lock();
            let mut stalls = stalls.unwrap_or_else(PoisonError::into_inner);
            stalls.push((from, until));
        }
        tokio::time::sleep(STALL_POLL).await;
    }
}

async fn serve(world: Arc<World>, listener: TcpListener, role: Role) {
    let port = listener.local_addr().map_or(0, |address| address.port());
    while let Ok((stream, peer)) = listener.accept().await {
        let (world, connection) = (Arc::clone(&world), Connection::new(stream, peer));
        let journal = Arc::clone(&world);
        tokio::spawn(async move {
            // A replica that is gone is the storm's own doing.
            let _ended = match role {
                Role::Site(profile) => {
                    Site {
                        world,
                        profile,
                        port,
                    }
                    .serve(connection)
                    .await
                }
                Role::Issuer => serve_issuer(&world, connection).await,
                Role::Transit => serve_transit(&world, connection, port).await,
            };
            journal.kill_trigger.ended((peer, port));
        });
    }
}

async fn serve_transit(world: &World, mut connection: Connection, port: u16) -> io::Result<()> {
    while let Some(request) = connection.request().await? {
        let process = world.kill_trigger.process((connection.peer, port)).await;
        match world.transit.answer(&request, process, world.now()) {
            Some(answer) => connection.answer(&answer).await?,
            // Held open without a word for as long as the other end waits.
            None => drop(connection.request().await?),
        }
    }
    Ok(())
}

async fn serve_issuer(world: &World, mut connection: Connection) -> io::Result<()> {
    while let Some(request) = connection.request().await? {
        let answer = match request.path() {
            "/jwks" => Answer::json(200, &world.issuer.keys()),
            path if path.starts_with("/.well-known/") => {
                Answer::json(200, &world.issuer.metadata())
            }
            _ => Answer::empty(404),
        };
        connection.answer(&answer).await?;
    }
    Ok(())
}

/// One MCP server with its authorization server.
struct Site {
    world: Arc<World>,
    profile: Profile,
    port: u16,
}

impl Site {
    async fn serve(&self, mut connection: Connection) -> io::Result<()> {
        loop {
            let ends = (connection.peer, self.port);
            if connection.is_token_request().await? {
                self.world
                    .kill_trigger
                    .pass(Point::BeforeRead, self.world.now(), ends);
            }
            let Some(request) = connection.request().await? else {
                return Ok(());
            };
            if request.path() == "/token"
                && request.field("grant_type").as_deref() == Some("refresh_token")
            {
                if !self.refresh(&request, &mut connection).await? {
                    return Ok(());
                }
                continue;
            }
            let answer = self.answer(&request);
            connection.answer(&answer).await?;
        }
    }

    /// Answers a refresh token; `false` if the connection is closed in place of an answer.
    async fn refresh(&self, request: &Request, connection: &mut Connection) -> io::Result<bool> {
        let ends = (connection.peer, self.port);
        let pass = |point| self.world.kill_trigger.pass(point, self.world.now(), ends);
        pass(Point::AfterRead);
        let token = request.field("refresh_token").unwrap_or_default();
        let Some((family, outcome, is_lost)) = self.world.redeem(&token) else {
            connection.answer(&refusal()).await?;
            return Ok(true);
        };
        pass(Point::AfterRotation);
        let (answer, redemption) = match outcome {
            Ok(issued) => (tokens(&issued), issued.redemption),
            Err(refused) => (refusal(), refused),
        };
        // Looked up before the answer: a replica that has it may be gone.
        let sender = self.world.kill_trigger.sender(ends).await;
        self.world
            .families(|all| all.sent_by((family, redemption), sender));
        let deliver = |delivery| {
            let now = self.world.now();
            self.world
                .families(|all| all.deliver((family, redemption), delivery, now));
        };
        if answer.status == 200 {
            tokio::time::sleep(self.profile.delay()).await;
        }
        if is_lost {
            deliver(Delivery::Lost);
            return Ok(false);
        }
        let written = connection.answer(&answer).await;
        deliver(if written.is_ok() {
            Delivery::Written
        } else {
            Delivery::Unread
        });
        written?;
        pass(Point::AfterAnswer);
        Ok(true)
    }

    fn answer(&self, request: &Request) -> Answer {
        let origin = format!("http://127.0.0.1:{}", self.port);
        match (request.method.as_str(), request.path()) {
            ("POST", "/mcp") => self.page(request, &origin),
            (_, "/mcp") => Answer::empty(405),
            ("GET", "/.well-known/oauth-protected-resource/mcp") => Answer::json(
                200,
                &json!({
                    "resource": format!("{origin}/mcp"),
                    "authorization_servers": [origin],
                    "scopes_supported": ["tools"],
                    "bearer_methods_supported": ["header"],
                }),
            ),
            ("GET", "/.well-known/oauth-authorization-server") => Answer::json(
                200,
                &json!({
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
                }),
            ),
            ("POST", "/register") => {
                let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
                Answer::json(
                    201,
                    &json!({
                        "client_id": "storm",
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
                let issued = self.world.lock().codes.remove(&code);
                issued.map_or_else(refusal, |issued| tokens(&issued))
            }
            _ => Answer::empty(404),
        }
    }

    /// Agrees at once. A browser whose person is known here says who that is; without one, it is a
    /// sign-in that is copied for all people.
    fn authorize(&self, request: &Request, origin: &str) -> Answer {
        let field = |name| request.field(name).unwrap_or_default();
        let person = field(PERSON).parse().ok();
        let now = self.world.now();
        let mut state = self.world.lock();
        let code = format!("code-{}", state.codes_issued);
        state.codes_issued += 1;
        let (lifetime, ends) = match person {
            Some(_) => (state.terms.first, now + state.terms.first),
            None => (Terms::STORM.first, Duration::ZERO),
        };
        let person = person.unwrap_or(TEMPLATE);
        let (access, refresh) = state.families.begin(self.profile, person, ends);
        let issued = Issued {
            access,
            refresh,
            lifetime,
            redemption: 0,
        };
        state.codes.insert(code.clone(), issued);
        let to = format!(
            "{}?code={code}&state={}&iss={origin}",
            field("redirect_uri"),
            field("state")
        );
        Answer::empty(302).with("location", to)
    }

    /// Answers a client with a token by the page of the person that the token is of.
    fn page(&self, request: &Request, origin: &str) -> Answer {
        let now = self.world.now();
        let token = &request.bearer;
        let person = self
            .world
            .families(|all| all.person(self.profile, token, now));
        let Some(person) = person else {
            let document = format!("{origin}/.well-known/oauth-protected-resource/mcp");
            let error = if token.is_empty() {
                ""
            } else {
                "error=\"invalid_token\", "
            };
            let told = format!("Bearer {error}resource_metadata=\"{document}\", scope=\"tools\"");
            return Answer::json(401, &json!({ "error": "invalid_token" }))
                .with("www-authenticate", told);
        };
        let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let Some(id) = message.get("id") else {
            return Answer::empty(202);
        };
        let server = json!({ "name": "storm", "version": "1" });
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
                "description": "Shows the page of the person who asks",
                "inputSchema": { "type": "object" },
            }], "ttlMs": 0, "cacheScope": "private" }),
            "tools/call" => json!({
                "resultType": "complete",
                "content": [{ "type": "text", "text": page(person, self.profile) }],
            }),
            _ => json!({}),
        };
        Answer::json(
            200,
            &json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        )
    }
}

/// What the page of a person at a server says.
pub(crate) fn page(person: usize, profile: Profile) -> String {
    format!("page of {} at {};", subject(person), profile.name())
}

fn tokens(issued: &Issued) -> Answer {
    Answer::json(
        200,
        &json!({
            "access_token": issued.access,
            "refresh_token": issued.refresh,
            "token_type": "Bearer",
            "scope": "tools",
            "expires_in": issued.lifetime.as_secs(),
        }),
    )
    .with("cache-control", "no-store".to_owned())
}

fn refusal() -> Answer {
    Answer::json(400, &json!({ "error": "invalid_grant" }))
}
