//! People who sign in to a server in their browsers, at several replicas.

use keyway::Host;
use keyway::store::{OneTimeStore, StoreError};
use keyway::vault::{Folders, KeySources};
use keyway_testkit::Folder;
use keyway_testkit::rig::{Consent, Rig, Settings};
use serde_json::json;
use url::Url;

use super::people::{Idp, PUBLIC, people};
use super::*;
use crate::lazy_server::{LazyServer, LazyServerOptions};

/// A store of replicas, whose clock can be moved on.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    values: Mutex<HashMap<String, (Vec<u8>, Duration)>>,
    now: Mutex<Duration>,
}

impl Shelf {
    /// Returns for how long from now each row is there.
    pub(super) fn lifetimes(&self) -> Vec<Duration> {
        let now = *self.now.lock().unwrap();
        let values = self.values.lock().unwrap();
        values
            .values()
            .map(|(_, until)| until.saturating_sub(now))
            .collect()
    }

    fn pass(&self, time: Duration) {
        *self.now.lock().unwrap() += time;
    }
}

impl OneTimeStore for Shelf {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        let now = *self.now.lock().unwrap();
        let values = self.values.lock().unwrap();
        let found = values.get(name).filter(|(_, until)| now < *until);
        Ok(found.map(|(value, _)| Secret::new(value.clone())))
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        let until = *self.now.lock().unwrap() + lifetime;
        let mut values = self.values.lock().unwrap();
        values.insert(name.to_owned(), (value.to_vec(), until));
        Ok(())
    }

    fn take(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        let found = OneTimeStore::get(self, name)?;
        Ok(found.filter(|_| self.values.lock().unwrap().remove(name).is_some()))
    }
}

/// A team: its issuer, a server with an authorization server, and gateways that share a store.
struct Team {
    idp: Arc<Idp>,
    rig: Rig,
    shelf: Arc<Shelf>,
    folder: Folder,
}

/// One gateway of it.
pub(super) struct Replica(pub(super) u16);

/// A browser with its one cookie.
#[derive(Default)]
pub(super) struct Browser(pub(super) Mutex<Option<String>>);

impl Team {
    fn new() -> Self {
        let rig = Rig::start(Settings::default());
        let entry = json!({"mcpServers": {"s": {"type": "http", "url": rig.mcp()}}});
        Self {
            idp: Arc::new(Idp::new()),
            rig,
            shelf: Arc::default(),
            folder: Folder::new().file("p/.mcp.json", entry.to_string()),
        }
    }

    fn replica(&self) -> Replica {
        let folders = Folders::below(self.folder.at("home"));
        let builder = Host::builder().vault(folders, KeySources::default());
        let host = builder.build().unwrap().dangerous_approve_all();
        let plugin = host.load(self.folder.at("p")).unwrap();
        let server = LazyServer::new(plugin, "s".to_owned(), LazyServerOptions::default());
        let (p, s) = ("p".to_owned(), "s".to_owned());
        let servers = vec![ServedServer::new(p, s, [0; 32], Arc::new(server))];
        let reader: TokenReader = Arc::new(|| Ok(Vec::new()));
        let gateway = Gateway::new(servers, reader, ClientInfo::new("keyway", "0"));
        let store = Arc::clone(&self.shelf) as Arc<dyn OneTimeStore>;
        let gateway = gateway.with_people_and_consent(people(&self.idp), store);
        let listener = Listener::loopback("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = listener.port().unwrap();
        drop(tokio::spawn(async move {
            serve(vec![listener], Arc::new(gateway), std::future::pending()).await;
        }));
        Replica(port)
    }

    /// Returns what the authorization server of the server sends a browser back with.
    async fn consent(&self, page: &str) -> String {
        let page: Url = page.parse().unwrap();
        assert_eq!(page.origin().ascii_serialization(), self.rig.origin());
        let client = Client::connect(page.port().unwrap()).await;
        let path = format!("{}?{}", page.path(), page.query().unwrap());
        client
            .send("GET", &path, "")
            .await
            .header("location")
            .unwrap()
    }

    /// Opens a link in a browser as far as the server's consent page, and agrees there; returns where
    /// the browser is sent back.
    async fn agree(&self, replica: &Replica, browser: &Browser, link: &str, who: &str) -> String {
        let page = browser.follow(replica, link).await;
        let back = self.idp.sign_in(&page, who);
        let page = browser.follow(replica, &back).await;
        self.consent(&page).await
    }

    /// Says that no code was redeemed, and so nothing stored.
    fn has_no_sign_in(&self) -> bool {
        self.rig.families().is_empty() && self.rig.seen("/token").is_empty()
    }
}

impl Browser {
    /// Goes to an address of the gateway.
    pub(super) async fn get(&self, replica: &Replica, address: &str) -> client::Answer {
        let path = address.strip_prefix(PUBLIC).unwrap();
        let mut client = Client::connect(replica.0).await.host("gateway.example");
        let cookie = self.0.lock().unwrap().clone();
        if let Some(cookie) = cookie {
            client = client.with("Cookie", &cookie);
        }
        let answer = client.send("GET", path, "").await;
        if let Some(set) = answer.header("set-cookie") {
            assert!(set.starts_with("__Host-keyway-browser="), "{set}");
            let cookie = set.split(';').next().unwrap().to_owned();
            *self.0.lock().unwrap() = Some(cookie);
        }
        answer
    }

    /// The same, where the gateway sends it to another page.
    pub(super) async fn follow(&self, replica: &Replica, address: &str) -> String {
        let answer = self.get(replica, address).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        answer.header("location").unwrap()
    }

    /// The same, where the gateway shows a page; returns its title.
    pub(super) async fn title(&self, replica: &Replica, address: &str) -> (u16, String) {
        let answer = self.get(replica, address).await;
        assert_eq!(answer.header("cache-control").unwrap(), "no-store");
        assert_eq!(answer.header("x-frame-options").unwrap(), "DENY");
        let (_, rest) = answer.body.split_once("<h1>").unwrap();
        let (title, _) = rest.split_once("</h1>").unwrap();
        (answer.status, title.to_owned())
    }
}

impl Replica {
    async fn session(&self, token: &str) -> String {
        let client = Client::connect(self.0).await.host("gateway.example");
        let answer = client.token(token).post("/mcp/p/s", HELLO).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.header("mcp-session-id").unwrap()
    }

    async fn ask(&self, token: &str, session: &str, message: &str) -> String {
        let client = Client::connect(self.0).await.host("gateway.example");
        let client = client.token(token).with("Mcp-Session-Id", session);
        let answer = client.post("/mcp/p/s", message).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    /// Calls a tool, and returns the link that the answer holds.
    async fn link(&self, token: &str) -> String {
        let session = self.session(token).await;
        link_in(&self.ask(token, &session, CALL).await)
    }
}

fn link_in(text: &str) -> String {
    let begin = text.find(&format!("{PUBLIC}/oauth/start/"));
    let rest = &text[begin.unwrap_or_else(|| panic!("{text}"))..];
    let is_end = |it: char| !(it.is_ascii_alphanumeric() || "-_:/.".contains(it));
    rest[..rest.find(is_end).unwrap()].to_owned()
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#;
const MODERN_CALL: &str = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}}}"#;

#[tokio::test]
async fn a_person_signs_in_in_their_browser_at_whichever_replica() {
    let team = Team::new();
    let (one, two, three) = (team.replica(), team.replica(), team.replica());
    let ada = team.idp.token("ada", json!({}));
    let session = one.session(&ada).await;
    // Lists work at once, and say how to sign in.
    let tools = one.ask(&ada, &session, LIST).await;
    assert!(tools.contains("sign_in"), "{tools}");
    let told = one.ask(&ada, &session, CALL).await;
    let link = link_in(&told);
    assert!(told.contains("Sign in to `s` on this page"), "{told}");
    // The same link as long as it is good.
    assert_eq!(link_in(&one.ask(&ada, &session, CALL).await), link);

    let stream = Client::connect(one.0).await.host("gateway.example");
    let stream = stream.token(&ada).with("Mcp-Session-Id", &session);
    let mut stream = stream.listen("/mcp/p/s").await;
    let browser = Browser::default();
    let page = browser.follow(&two, &link).await;
    let back = team.idp.sign_in(&page, "ada");
    let page = browser.follow(&three, &back).await;
    let back = team.consent(&page).await;
    let (status, title) = browser.title(&one, &back).await;
    assert_eq!((status, &*title), (200, "You are signed in"));

    // The client that waited is told, and works, and so does one elsewhere; no other person has anything.
    stream.read_until("notifications/tools/list_changed").await;
    let answer = one.ask(&ada, &session, CALL).await;
    assert!(
        answer.contains("hi") && !answer.contains("/oauth/"),
        "{answer}"
    );
    let elsewhere = two.session(&ada).await;
    let tools = two.ask(&ada, &elsewhere, LIST).await;
    assert!(
        tools.contains("echo") && !tools.contains("sign_in"),
        "{tools}"
    );
    let amy = team.idp.token("amy", json!({}));
    assert_ne!(two.link(&amy).await, link);
    assert_eq!(team.rig.families().len(), 1);
}

/// The beginner wants the other's grant, or the other wants to get in: neither gets anything.
#[tokio::test]
async fn a_link_in_the_hands_of_another_person_is_worth_nothing() {
    let team = Team::new();
    let replica = team.replica();
    let eve = team.idp.token("eve", json!({}));
    let link = replica.link(&eve).await;
    let ada = Browser::default();
    let page = ada.follow(&replica, &link).await;
    let back = team.idp.sign_in(&page, "ada");
    let answer = ada.get(&replica, &back).await;
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(
        answer.body.contains("This link is for another person"),
        "{answer:?}"
    );
    assert!(
        !answer.body.contains("eve"),
        "whose it is, is not said: {answer:?}"
    );
    assert!(team.rig.seen("/authorize").is_empty() && team.has_no_sign_in());

    // The server's own consent page, handed over after the first half.
    let own = Browser::default();
    let page = own.follow(&replica, &link).await;
    let back = team.idp.sign_in(&page, "eve");
    let page = own.follow(&replica, &back).await;
    let back = team.consent(&page).await;
    for browser in [&ada, &Browser::default()] {
        let (status, title) = browser.title(&replica, &back).await;
        let expected = "This sign-in was begun in another browser";
        assert_eq!((status, &*title), (403, expected));
    }
    assert!(team.has_no_sign_in());
    // Where it was begun it still counts.
    let (status, _) = own.title(&replica, &back).await;
    assert_eq!(status, 200);
    assert_eq!(team.rig.families().len(), 1);
}

#[tokio::test]
async fn each_answer_counts_once_and_a_link_leads_to_one_sign_in() {
    let team = Team::new();
    let (one, two) = (team.replica(), team.replica());
    let ada = team.idp.token("ada", json!({}));
    let link = one.link(&ada).await;
    let browser = Browser::default();
    let page = browser.follow(&one, &link).await;
    let identity = team.idp.sign_in(&page, "ada");
    let page = browser.follow(&one, &identity).await;
    let consent = team.consent(&page).await;
    let used = (410, "This link was used already".to_owned());
    assert_eq!(browser.title(&two, &identity).await, used);
    assert_eq!(browser.title(&two, &link).await, used);
    assert_eq!(browser.title(&one, &consent).await.0, 200);
    for replica in [&one, &two] {
        assert_eq!(browser.title(replica, &consent).await, used);
    }
    assert_eq!(team.rig.seen("/token").len(), 1);
}

/// The holder of a link fills no store with it, and keeps no other person from signing in.
#[tokio::test]
async fn a_link_that_is_opened_all_the_time_leaves_few_rows() {
    let team = Team::new();
    let replica = team.replica();
    let link = replica.link(&team.idp.token("eve", json!({}))).await;
    let of_ada = replica.link(&team.idp.token("ada", json!({}))).await;
    let rows = team.shelf.lifetimes().len();
    let (browser, mut begun) = (Browser::default(), 0);
    for _ in 0..100 {
        match browser.get(&replica, &link).await.status {
            303 => begun += 1,
            status => assert_eq!(status, 503),
        }
    }
    assert!(begun < 100, "nothing was refused");
    // A leg and its note.
    assert_eq!(team.shelf.lifetimes().len(), rows + 2 * begun);
    browser.follow(&replica, &of_ada).await;
}

/// Both at once, at two replicas: the store decides.
#[tokio::test]
async fn of_two_answers_at_once_one_is_redeemed() {
    let team = Team::new();
    let (one, two) = (team.replica(), team.replica());
    let link = one.link(&team.idp.token("ada", json!({}))).await;
    let browser = Browser::default();
    let back = team.agree(&one, &browser, &link, "ada").await;
    let (first, second) = tokio::join!(browser.title(&one, &back), browser.title(&two, &back));
    let mut both = [first.0, second.0];
    both.sort_unstable();
    assert_eq!(both, [200, 410]);
    assert_eq!(team.rig.seen("/token").len(), 1);
}

#[tokio::test]
async fn what_is_forged_or_late_gets_its_own_page_and_stores_nothing() {
    let team = Team::new();
    let replica = team.replica();
    let ada = team.idp.token("ada", json!({}));
    let browser = Browser::default();
    let unknown = (400, "This sign-in is not known".to_owned());
    let state = "A".repeat(43);
    for address in [
        format!("{PUBLIC}/oauth/start/{state}"),
        format!("{PUBLIC}/oauth/start/../../etc/passwd"),
        format!("{PUBLIC}/oauth/start/"),
        format!("{PUBLIC}/oauth/callback"),
        format!("{PUBLIC}/oauth/callback?code=a"),
        format!("{PUBLIC}/oauth/callback?code=a&state={state}"),
        format!("{PUBLIC}/oauth/callback/0000?code=a&state={state}"),
        format!("{PUBLIC}/oauth/callback?code={}", "a".repeat(20_000)),
    ] {
        assert_eq!(
            browser.title(&replica, &address).await,
            unknown,
            "{address}"
        );
    }
    let late = (410, "This link came too late".to_owned());
    let (before, after) = (Duration::from_secs(599), Duration::from_secs(2));
    let link = replica.link(&ada).await;
    team.shelf.pass(before);
    let page = browser.follow(&replica, &link).await;
    team.shelf.pass(after);
    assert_eq!(browser.title(&replica, &link).await, late);
    let back = team.idp.sign_in(&page, "ada");
    assert_eq!(browser.title(&replica, &back).await, late, "its link is");
    let link = replica.link(&ada).await;
    let back = team.agree(&replica, &browser, &link, "ada").await;
    team.shelf.pass(before + after);
    assert_eq!(browser.title(&replica, &back).await, late);
    // Twice the same parameter, and the address of another issuer.
    let link = replica.link(&ada).await;
    let back = team.agree(&replica, &browser, &link, "ada").await;
    let twice = format!("{back}&code=other");
    assert_eq!(browser.title(&replica, &twice).await, unknown);
    let (address, query) = back.split_once('?').unwrap();
    let (parent, _) = address.rsplit_once('/').unwrap();
    let elsewhere = format!("{parent}?{query}");
    assert_eq!(browser.title(&replica, &elsewhere).await, unknown);
    assert!(team.has_no_sign_in());
    assert_eq!(browser.title(&replica, &back).await.0, 200);
}

#[tokio::test]
async fn a_person_who_says_no_at_the_server_is_told_so() {
    let team = Team::new();
    team.rig.set(|settings| settings.consent = Consent::Denies);
    let replica = team.replica();
    let link = replica.link(&team.idp.token("ada", json!({}))).await;
    let browser = Browser::default();
    let back = team.agree(&replica, &browser, &link, "ada").await;
    let answer = browser.get(&replica, &back).await;
    assert_eq!(answer.status, 502, "{answer:?}");
    assert!(answer.body.contains("access_denied"), "{answer:?}");
    assert!(team.has_no_sign_in());
}

#[tokio::test]
async fn a_sign_in_that_the_server_revoked_is_asked_for_again() {
    let team = Team::new();
    let replica = team.replica();
    let ada = team.idp.token("ada", json!({}));
    let browser = Browser::default();
    let link = replica.link(&ada).await;
    let back = team.agree(&replica, &browser, &link, "ada").await;
    assert_eq!(browser.title(&replica, &back).await.0, 200);
    let session = replica.session(&ada).await;
    let answer = replica.ask(&ada, &session, CALL).await;
    assert!(answer.contains("hi"), "{answer}");
    let client = team.rig.seen("/token")[0].field("client_id").unwrap();
    let port = team.rig.origin().parse::<Url>().unwrap().port().unwrap();
    for token in team.rig.secrets() {
        let form = format!("token={token}&client_id={client}");
        let revoking = Client::connect(port).await;
        let revoking = revoking.with("Content-Type", "application/x-www-form-urlencoded");
        revoking.send("POST", "/revoke", &form).await;
    }
    let answer = replica.ask(&ada, &session, CALL).await;
    assert!(answer.contains("\"error\""), "{answer}");
    let again = replica.link(&ada).await;
    let back = team.agree(&replica, &browser, &again, "ada").await;
    assert_eq!(browser.title(&replica, &back).await.0, 200);
    assert_eq!(team.rig.families().len(), 2);
}

#[tokio::test]
async fn a_client_of_2026_07_28_is_asked_to_open_the_page() {
    let team = Team::new();
    let replica = team.replica();
    let ada = team.idp.token("ada", json!({}));
    let client = Client::connect(replica.0).await.host("gateway.example");
    let client = client.token(&ada);
    let client = client.with("MCP-Protocol-Version", "2026-07-28");
    let client = client
        .with("Mcp-Method", "tools/call")
        .with("Mcp-Name", "echo");
    let answer = client.post("/mcp/p/s", MODERN_CALL).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    link_in(&answer.body);
    let asked: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let text = asked["result"].to_string();
    assert!(text.contains("elicitation/create"), "{text}");
    assert!(text.contains(r#""mode":"url""#), "{text}");
}

#[tokio::test]
async fn only_browsers_that_navigate_are_answered() {
    let team = Team::new();
    let replica = team.replica();
    let link = replica.link(&team.idp.token("ada", json!({}))).await;
    let path = link.strip_prefix(PUBLIC).unwrap();
    let client = async || Client::connect(replica.0).await.host("gateway.example");
    let posted = client().await.send("POST", path, "").await;
    assert_eq!(posted.status, 405);
    let framed = client().await.with("Origin", "https://evil.example");
    assert_eq!(framed.send("GET", path, "").await.status, 403);
    let other = Client::connect(replica.0).await.host("evil.example");
    assert_eq!(other.send("GET", path, "").await.status, 403);
    assert_eq!(
        client().await.send("GET", "/oauth/other", "").await.status,
        404
    );
}
