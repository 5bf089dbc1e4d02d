//! The dashboard on the gateway's port: which requests are accepted, which may change something,
//! and how a page shows untrusted text.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use keyway::approval::Answer as Agreed;
use keyway::diagnosis::{Diagnosis, Offer, Variable};
use keyway::settings::{Settings, ToolRule};
use keyway_auth::BoxFuture;
use keyway_code::{Code, Stage};
use keyway_config::declared::Transport;
use keyway_config::method::Method;
use keyway_config::source::{Pointer, Source, Span};
use keyway_secret::Secret;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use url::Url;

use super::client::Answer;
use super::{Client, HELLO, Running};
use keyway_clients::clients::Homes;
use keyway_clients::survey::Machine;
use keyway_config::environment::Environment;
use keyway_config::names::path_segment;
use keyway_dashboard::activity::Activity;
use keyway_dashboard::administration::Administration;
use keyway_dashboard::{
    ChangeCounter, Changes, Dashboard, DashboardBackend, ProbedServer, ServerId, ServerView, Tool,
};
use keyway_mcp::session::Era;
use keyway_mcp::states::{ServerState, State};
use keyway_policy::Policies;
use keyway_policy::TokenStore;
use keyway_policy::TokenUses;
use keyway_vault::{Folders, KeySources, Vault};

mod management;

/// A process without variables.
struct NoVariables;

impl Environment for NoVariables {
    fn get(&self, _: &str) -> Option<Secret<String>> {
        None
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

const EVIL: &str = "<script>alert('x')</script>\"><img src=x>";

/// Looks after two servers, and notes what it is told to do.
#[derive(Debug)]
struct Noting {
    done: Mutex<Vec<String>>,
    standing: Mutex<ServerState>,
    changed: ChangeCounter,
    /// Another server, which the gateway of these tests serves.
    served: Option<ServerId>,
}

impl Noting {
    fn note(&self, what: String) {
        self.done.lock().unwrap().push(what);
    }
}

impl DashboardBackend for Noting {
    fn mask(&self, _server: &ServerId, text: &str) -> String {
        text.replace("CANARY", "****")
    }

    fn servers(&self) -> BoxFuture<'_, Vec<ServerView>> {
        let standing = *self.standing.lock().unwrap();
        let properties = json!({EVIL: {"type": "string", "description": EVIL}});
        let described = json!({
            "name": EVIL,
            "title": EVIL,
            "description": EVIL,
            "inputSchema": {"type": "object", "properties": properties},
            "annotations": {"readOnlyHint": true, EVIL: EVIL},
        });
        let described = serde_json::value::to_raw_value(&described).unwrap();
        let tool = Tool::read(&described).unwrap();
        let place = Source::new(EVIL, b"{}").locate(Span::new(0, 1), &Pointer::default());
        let view = move |name: &str| {
            let mut found = Diagnosis::new("p", name);
            found.declared_at = Some(place.clone());
            found.fault_at = Some(place.clone());
            found.transport = Some(Transport::Http);
            found.method = Some(Method::OAuth);
            found.state = standing;
            found.variables = vec![Variable::new(EVIL.to_owned(), false)];
            found.stage = Stage::Connect;
            found.code = Some(Code::AuthRejected);
            found.message = EVIL.to_owned();
            found.hint = Some(EVIL.to_owned());
            found.last_lines = vec![EVIL.to_owned()];
            let era = Era::Legacy {
                version: "2025-06-18".to_owned(),
            };
            found.offer = Some(Offer::new(era, EVIL.to_owned(), Vec::new()));
            let mut view = ServerView::new(found);
            view.tools = [tool.clone()].into();
            view
        };
        let served = self.served.clone().map(|id| {
            let mut served = view(&id.name);
            served.id = id;
            served
        });
        Box::pin(async move {
            let mut all = vec![view("s"), view(EVIL)];
            all.extend(served);
            all
        })
    }

    fn opened(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn changes(&self) -> Changes {
        self.changed.subscribe()
    }

    fn check<'a>(&'a self, server: &'a ServerId) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        self.note(format!("check {}", server.name));
        Box::pin(async { Ok(()) })
    }

    fn sign_in<'a>(
        &'a self,
        server: &'a ServerId,
    ) -> BoxFuture<'a, Result<Option<String>, Box<Diagnosis>>> {
        self.note(format!("sign-in {}", server.name));
        Box::pin(async { Ok(None) })
    }

    fn approve_plugin<'a>(
        &'a self,
        plugin: &'a str,
        shown: BTreeSet<String>,
        answer: Agreed,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        let shown: Vec<String> = shown.into_iter().collect();
        self.note(format!("approve {plugin} {} {answer:?}", shown.join(",")));
        Box::pin(async { Ok(()) })
    }

    fn set_variable<'a>(
        &'a self,
        server: &'a ServerId,
        name: &'a str,
        value: Secret<String>,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        let what = format!("set {name} of {} to {}", server.name, value.expose());
        self.note(what);
        Box::pin(async { Ok(()) })
    }

    fn probe<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, ProbedServer> {
        self.note(format!("probe {url}"));
        Box::pin(async {
            let mut found = Diagnosis::new(EVIL, EVIL);
            found.message = EVIL.to_owned();
            ProbedServer::new(found, false)
        })
    }

    fn cancel(&self, server: &ServerId) {
        self.note(format!("cancel {}", server.name));
    }

    fn sign_out<'a>(
        &'a self,
        server: &'a ServerId,
    ) -> BoxFuture<'a, Result<String, Box<Diagnosis>>> {
        self.note(format!("sign-out {}", server.name));
        Box::pin(async { Ok(EVIL.to_owned()) })
    }

    fn approve<'a>(
        &'a self,
        server: &'a ServerId,
        digest: &'a str,
        answer: Agreed,
    ) -> BoxFuture<'a, Result<(), Box<Diagnosis>>> {
        self.note(format!("approve {} {digest} {answer:?}", server.name));
        Box::pin(async { Ok(()) })
    }

    fn root(&self, _: &ServerId) -> Option<std::path::PathBuf> {
        Some("/plugins/p".into())
    }

    fn policies_changed(&self, server: &ServerId) {
        self.note(format!("policies {}", server.name));
    }

    fn call<'a>(
        &'a self,
        server: &'a ServerId,
        _: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Box<Diagnosis>>> {
        self.note(format!("call {} {}", server.name, arguments.len()));
        let result = json!({"content": [{"type": "text", "text": EVIL}]});
        Box::pin(async move { Ok(serde_json::value::to_raw_value(&result).unwrap()) })
    }
}

struct House {
    running: Running,
    dashboard: Arc<Dashboard>,
    backend: Arc<Noting>,
    policies: Arc<Policies>,
    vault: Arc<Vault>,
    /// The person's home, and Keyway's folders in it.
    home: tempfile::TempDir,
}

impl House {
    fn start() -> Self {
        Self::start_with(None)
    }

    fn start_with(served: Option<ServerId>) -> Self {
        let backend = Arc::new(Noting {
            served,
            done: Mutex::default(),
            standing: Mutex::new(ServerState::CONNECTED),
            changed: ChangeCounter::default(),
        });
        let activity = Arc::new(Activity::default());
        let dashboard = Dashboard::new(Arc::clone(&backend) as _, Arc::clone(&activity));
        let policies = Arc::new(Policies::in_memory(&Settings::default()));
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::below(home.path().join("keyway"));
        let vault = Arc::new(Vault::open(&folders, KeySources::default()).unwrap());
        let machine = Machine::new(
            Homes::new(home.path().to_owned(), None, &NoVariables),
            home.path().join("project"),
        );
        let place = (folders.data, "/usr/bin/keyway".to_owned());
        let uses = Arc::new(TokenUses::default());
        let administration = Administration::new(Arc::clone(&vault), uses, place, machine);
        let dashboard = dashboard.with_administration(Arc::new(administration));
        let dashboard = Arc::new(dashboard.with_policies(Arc::clone(&policies)));
        let own = Arc::clone(&dashboard);
        let running = Running::start_with(&[], |gateway| {
            gateway.recording(activity).with_dashboard(own)
        });
        dashboard.listens_at(running.port);
        Self {
            running,
            dashboard,
            backend,
            policies,
            vault,
            home,
        }
    }

    fn done(&self) -> Vec<String> {
        std::mem::take(&mut *self.backend.done.lock().unwrap())
    }

    async fn get(&self, path: &str, pass: &Pass) -> Answer {
        let client = self.running.client().await.with("Cookie", &pass.cookie);
        client.send("GET", &pass.at(path), "").await
    }

    /// Follows a new link; returns what it gives.
    async fn enter(&self) -> Pass {
        let entered = self.follow(self.dashboard.link().unwrap().expose()).await;
        assert_eq!(entered.status, 200, "{entered:?}");
        let cookie = entered.header("set-cookie").unwrap();
        let (_, path) = cookie.split_once("Path=").unwrap();
        Pass {
            cookie: cookie.split(';').next().unwrap().to_owned(),
            base: path.split_once("/;").unwrap().0.to_owned(),
        }
    }

    async fn follow(&self, link: &str) -> Answer {
        let path = link
            .split_once(&format!(":{}", self.running.port))
            .unwrap()
            .1;
        self.running.client().await.send("GET", path, "").await
    }

    async fn mark(&self, pass: &Pass) -> String {
        let page = self.get("/", pass).await.body;
        let (_, rest) = page.split_once("name=\"_mark\" value=\"").expect("a mark");
        rest.split_once('"').unwrap().0.to_owned()
    }

    fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.running.port)
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut client = self.running.client().await;
        for (name, value) in headers {
            client = client.with(name, value);
        }
        client.send("POST", path, body).await
    }
}

/// What a browser has after it was let in.
struct Pass {
    cookie: String,
    base: String,
}

impl Pass {
    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

const PAGES: [&str; 9] = [
    "/",
    "/s/p/s",
    "/tokens",
    "/add",
    "/clients",
    "/clients/codex",
    "/history",
    "/events?page=/none",
    "/nothing",
];

/// B6, C10 and T16b for the dashboard: one combination of host, origin and cookie gets in.
#[tokio::test]
async fn b6_c10_t16_only_the_right_host_origin_and_cookie_see_the_dashboard() {
    let house = House::start();
    let pass = house.enter().await;
    let cookie = pass.cookie.as_str();
    let port = house.running.port;
    let (own, origin) = (format!("127.0.0.1:{port}"), house.origin());
    let other_port = format!("http://127.0.0.1:{}", port ^ 1);
    let name = cookie.split_once('=').unwrap().0;
    let wrong = format!("{name}=wrong");
    let twice = format!("{cookie}; {name}=x");
    let hosts = [own.as_str(), "evil.test", "127.0.0.1:1", "evil.test:80"];
    let origins = ["", origin.as_str(), "http://evil.test", "null", &other_port];
    let cookies = ["", cookie, &wrong, &twice, "x=1"];
    for path in PAGES {
        for host in hosts {
            for from in origins {
                for shown in cookies {
                    let mut client = Client::connect(port).await.host(host);
                    if !from.is_empty() {
                        client = client.with("Origin", from);
                    }
                    let client = client.with("Cookie", shown);
                    let answer = client.send("GET", &pass.at(path), "").await;
                    let may = host == own && (from.is_empty() || from == origin) && shown == cookie;
                    let expected = match (may, path) {
                        (false, _) => 403,
                        (true, "/nothing" | "/events?page=/none") => 404,
                        (true, _) => 200,
                    };
                    assert_eq!(answer.status, expected, "{path} {host} {from} {shown}");
                    if !may {
                        assert!(!answer.body.contains("_mark"), "{path} {host} {from}");
                    }
                }
            }
        }
    }
    for (site, expected) in [
        ("same-origin", 200),
        ("none", 200),
        ("same-site", 403),
        ("cross-site", 403),
    ] {
        let client = house.running.client().await.with("Cookie", cookie);
        let client = client.with("Sec-Fetch-Site", site);
        assert_eq!(
            client.send("GET", &pass.at("/"), "").await.status,
            expected,
            "{site}"
        );
    }
    // The cookie counts only below the path of its session.
    let other = house.enter().await;
    for path in [pass.at("/"), "/".to_owned(), "/dashboard/at//".to_owned()] {
        let client = house.running.client().await.with("Cookie", &other.cookie);
        assert_eq!(client.send("GET", &path, "").await.status, 403, "{path}");
    }
}

#[tokio::test]
async fn c10_the_cookie_opens_no_server_and_a_token_no_dashboard() {
    let house = House::start();
    let pass = house.enter().await;
    let cookie = pass.cookie.as_str();
    let client = house.running.client().await.with("Cookie", cookie);
    assert_eq!(client.post("/mcp/a/one", HELLO).await.status, 403);
    for path in ["/metrics", "/mcp"] {
        let client = house.running.client().await.with("Cookie", cookie);
        assert_eq!(client.send("GET", path, "").await.status, 403, "{path}");
    }
    assert!(house.running.heard().is_empty());
    for path in PAGES.into_iter().chain(["/events?page=/"]) {
        let client = house.running.client().await.token("all");
        let answer = client.send("GET", &pass.at(path), "").await;
        assert_eq!(answer.status, 403, "{path}");
    }
    // A link is only for requests over the socket.
    let client = house.running.client().await.token("all");
    assert_eq!(client.send("POST", "/dashboard/link", "").await.status, 403);
    let mark = house.mark(&pass).await;
    let (origin, body) = (house.origin(), format!("_mark={mark}"));
    let headers = [("Cookie", cookie), ("Origin", &origin)];
    for (path, status) in [("/dashboard/link".to_owned(), 403), (pass.at("/link"), 404)] {
        let answer = house.post(&path, &headers, &body).await;
        assert_eq!(answer.status, status);
        assert!(!answer.body.contains("enter"));
    }
}

#[tokio::test]
async fn c10_a_form_counts_only_from_our_own_page_with_the_mark_of_its_session() {
    let house = House::start();
    let (pass, stranger) = (house.enter().await, house.enter().await);
    let (mark, foreign) = (house.mark(&pass).await, house.mark(&stranger).await);
    let (cookie, other) = (pass.cookie.clone(), stranger.cookie.clone());
    let origin = house.origin();
    let localhost = format!("http://localhost:{}", house.running.port);
    let path = pass.at("/s/p/s/sign-out");
    let path = path.as_str();
    let right = format!("_mark={mark}");
    for (from, shown, body) in [
        (None, Some(&cookie), right.clone()),
        (Some("null"), Some(&cookie), right.clone()),
        (Some("http://evil.test"), Some(&cookie), right.clone()),
        (Some(localhost.as_str()), Some(&cookie), right.clone()),
        (Some("http://127.0.0.1:1"), Some(&cookie), right.clone()),
        (Some(origin.as_str()), None, right.clone()),
        (Some(origin.as_str()), Some(&cookie), String::new()),
        (Some(origin.as_str()), Some(&cookie), "_mark=".to_owned()),
        (
            Some(origin.as_str()),
            Some(&cookie),
            format!("_mark={foreign}"),
        ),
        (
            Some(origin.as_str()),
            Some(&cookie),
            format!("{right}&_mark=x"),
        ),
        (Some(origin.as_str()), Some(&other), right.clone()),
    ] {
        let mut headers = Vec::new();
        headers.extend(from.map(|from| ("Origin", from)));
        headers.extend(shown.map(|shown| ("Cookie", shown.as_str())));
        let answer = house.post(path, &headers, &body).await;
        assert_eq!(answer.status, 403, "{from:?} {body}");
        assert_eq!(house.done(), [""; 0], "{from:?} {body}");
    }
    let headers = [("Cookie", cookie.as_str()), ("Origin", origin.as_str())];
    let answer = house.post(path, &headers, &right).await;
    assert_eq!(answer.status, 303);
    assert_eq!(
        answer.header("location").as_deref(),
        Some(pass.at("/s/p/s").as_str())
    );
    assert_eq!(house.done(), ["sign-out s"]);
    for (answer, done) in [
        ("", None),
        ("&answer=", None),
        ("&answer=no", None),
        ("&answer=perhaps", None),
        ("&answer=yes", Some("approve s abc Yes")),
        ("&answer=confined", Some("approve s abc Confined")),
    ] {
        let body = format!("_mark={mark}&digest=abc{answer}");
        let path = pass.at("/s/p/s/approve");
        assert_eq!(house.post(&path, &headers, &body).await.status, 303);
        assert_eq!(house.done(), Vec::from_iter(done), "{answer:?}");
    }
    // What is not there is not touched, and looking changes nothing.
    let unknown = house
        .post(&pass.at("/s/p/none/check"), &headers, &right)
        .await;
    assert_eq!((unknown.status, house.done().len()), (404, 0));
    assert_eq!(house.get("/s/p/s/sign-out", &pass).await.status, 404);
    assert_eq!(house.done(), [""; 0]);
    let long = format!("{right}&x={}", "y".repeat(1024 * 1024));
    assert_eq!(house.post(path, &headers, &long).await.status, 413);
}

#[tokio::test]
async fn a_link_lets_one_browser_in_once_and_leaves_the_address_bar() {
    let house = House::start();
    let link = house.dashboard.link().unwrap();
    let token = link.expose().rsplit_once('/').unwrap().1.to_owned();
    let entered = house.follow(link.expose()).await;
    assert_eq!(entered.status, 200);
    assert!(!entered.body.contains(&token) && !entered.body.contains("_mark"));
    let cookie = entered.header("set-cookie").unwrap();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/dashboard/at/"] {
        assert!(cookie.contains(word), "{word}");
    }
    assert!(!cookie.contains(&token));
    let path = cookie.split_once("Path=").unwrap().1.split(';').next();
    let on = format!(
        "<meta http-equiv=\"refresh\" content=\"0; url={}\">",
        path.unwrap()
    );
    assert!(entered.body.contains(&on), "{}", entered.body);
    assert_eq!(house.follow(link.expose()).await.status, 403);
    for guess in ["", "x", &token] {
        let path = format!("/dashboard/enter/{guess}");
        let answer = house.running.client().await.send("GET", &path, "").await;
        assert_eq!(answer.status, 403, "{guess}");
        assert!(answer.header("set-cookie").is_none());
    }
}

#[tokio::test]
async fn every_answer_is_closed_to_other_pages_and_to_caches() {
    let house = House::start();
    let pass = house.enter().await;
    let own = PAGES.map(|path| pass.at(path));
    let assets = ["/", "/dashboard/script.js", "/dashboard/icon.svg"].map(str::to_owned);
    for path in own.into_iter().chain(assets) {
        let client = house.running.client().await.with("Cookie", &pass.cookie);
        let answer = client.send("GET", &path, "").await;
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(answer.header(name).as_deref(), Some(value), "{path}");
        }
        assert!(answer.header("access-control-allow-origin").is_none());
        // Without anything inline, no policy has to allow it.
        for inline in [" onclick=", " style=", "<style", "<script>"] {
            assert!(!answer.body.contains(inline), "{path}: {inline}");
        }
    }
}

#[tokio::test]
async fn what_strangers_wrote_is_text_on_every_page_and_in_every_event() {
    let house = House::start();
    let pass = house.enter().await;
    let cookie = pass.cookie.clone();
    let (mark, origin) = (house.mark(&pass).await, house.origin());
    let headers = [("Cookie", cookie.as_str()), ("Origin", origin.as_str())];
    let evil = "%3Cscript%3Ealert%28%27x%27%29%3C%2Fscript%3E%22%3E%3Cimg%20src%3Dx%3E";
    let tool = format!("/s/p/s/tool/{evil}");
    let called = house
        .post(
            &pass.at(&tool),
            &headers,
            &format!("_mark={mark}&a-{evil}=1"),
        )
        .await;
    assert_eq!(called.status, 303, "{called:?}");
    assert_eq!(house.done(), ["call s 1"]);
    house
        .post(
            &pass.at("/s/p/s/sign-out"),
            &headers,
            &format!("_mark={mark}"),
        )
        .await;
    let hello = house.running.client().await.token("all");
    hello
        .post(
            "/mcp/a/one",
            &HELLO.replace("initialize", "<script>alert('x')"),
        )
        .await;
    let server = format!("/s/p/{evil}");
    for path in ["/s/p/s", "/", &server, &tool, "/tokens", "/clients/codex"] {
        let answer = house.get(path, &pass).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.body.contains("&lt;script&gt;"), "{path}");
        for raw in ["<script>alert", "<img src=x", "alert('x')"] {
            assert!(!answer.body.contains(raw), "{path}: {raw}");
        }
    }
    let client = house.running.client().await.with("Cookie", &cookie);
    let mut stream = client.listen(&pass.at("/events?page=/")).await;
    let last = format!("data: .s.p.{}", evil.replace('/', "."));
    let text = stream.read_until(&last).await;
    assert!(
        text.contains("&lt;script&gt;") && !text.contains("<script"),
        "{text}"
    );
}

#[tokio::test]
async fn a_change_reaches_an_open_page_and_leaving_ends_its_stream() {
    let house = House::start();
    let pass = house.enter().await;
    let cookie = pass.cookie.clone();
    let client = house.running.client().await.with("Cookie", &cookie);
    let mut stream = client.listen(&pass.at("/events?page=/s/p/s")).await;
    let first = stream.read_until("data: activity").await;
    assert!(
        first.contains("event: region") && first.contains("Connected"),
        "{first}"
    );
    *house.backend.standing.lock().unwrap() = ServerState::without_reason(State::Failed);
    house.backend.changed.count();
    let then = stream.read_until("event: say").await;
    assert!(then.contains("Failed"), "{then}");
    let (mark, origin) = (house.mark(&pass).await, house.origin());
    let headers = [("Cookie", cookie.as_str()), ("Origin", origin.as_str())];
    let left = house
        .post(&pass.at("/leave"), &headers, &format!("_mark={mark}"))
        .await;
    assert_eq!(left.status, 303);
    assert!(left.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(house.get("/", &pass).await.status, 403);
    house.backend.changed.count();
    stream.read_to_end().await;
}

#[tokio::test]
async fn requests_are_recorded_with_their_client_and_outcome() {
    let house = House::start();
    let session = house.running.session("only-a", "/mcp/a/one").await;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add"}}"#;
    let client = house.running.client().await.token("only-a");
    client
        .with("Mcp-Session-Id", &session)
        .post("/mcp/a/one", call)
        .await;
    let lost = house.running.client().await.token("only-a");
    lost.with("Mcp-Session-Id", "none")
        .post("/mcp/a/one", call)
        .await;
    let pass = house.enter().await;
    let page = house.get("/", &pass).await.body;
    let rows: Vec<&str> = page.split("<tr>").skip(2).collect();
    assert_eq!(rows.len(), 3, "{page}");
    assert!(rows[0].contains("refused (404)") && rows[0].contains("<code>add</code>"));
    assert!(
        rows[1].contains("tools/call") && rows[1].contains("done"),
        "{}",
        rows[1]
    );
    assert!(rows[2].contains("initialize") && rows[2].contains("a:</span>one</td>"));
}

/// Returns the value of a hidden field.
fn hidden<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page
        .split_once(&format!("name=\"{name}\" value=\""))
        .expect(name);
    rest.split_once('"').unwrap().0
}

#[tokio::test]
async fn a_rule_is_set_for_the_tool_that_was_shown_and_by_our_own_form_alone() {
    let house = House::start();
    let pass = house.enter().await;
    let page = format!("/s/p/s/tool/{}", path_segment(EVIL));
    let shown = house.get(&page, &pass).await.body;
    assert!(shown.contains("only reads: <strong>yes"), "{shown}");
    assert!(shown.contains("own claim, which nothing checks"));
    let (mark, digest) = (house.mark(&pass).await, hidden(&shown, "digest").to_owned());
    let origin = house.origin();
    let headers = [
        ("Cookie", pass.cookie.as_str()),
        ("Origin", origin.as_str()),
    ];
    let form = |mark: &str, digest: &str| {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        let fields = [
            ("_mark", mark),
            ("tool", EVIL),
            ("digest", digest),
            ("client", "ci"),
            ("rule", "deny"),
        ];
        form.extend_pairs(fields).finish()
    };
    let path = pass.at("/s/p/s/rule");
    let other = "0".repeat(64);
    for (mark, digest, headers, status) in [
        ("wrong", digest.as_str(), &headers[..], 403),
        (mark.as_str(), digest.as_str(), &headers[..1], 403),
        (mark.as_str(), other.as_str(), &headers[..], 303),
        (mark.as_str(), "", &headers[..], 303),
    ] {
        let answer = house.post(&path, headers, &form(mark, digest)).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(house.policies.rules("p", "s").is_empty());
    }
    let told = house.get(&page, &pass).await.body;
    assert!(told.contains("has changed since it was shown"), "{told}");
    assert_eq!(
        house
            .post(&path, &headers, &form(&mark, &digest))
            .await
            .status,
        303
    );
    assert_eq!(house.done(), ["policies s"]);
    let rules = house.policies.rules("p", "s");
    assert_eq!(rules.len(), 1);
    assert_eq!(
        (
            rules[0].client.as_deref(),
            rules[0].tool.as_str(),
            rules[0].rule
        ),
        (Some("ci"), EVIL, ToolRule::Deny)
    );
    let told = house.get(&page, &pass).await.body;
    assert!(told.contains("The rule was set."), "{told}");
    assert!(
        told.contains("<strong>deny</strong> for <code>ci</code>"),
        "{told}"
    );
    assert!(!told.contains("<script>alert"), "{told}");
}
