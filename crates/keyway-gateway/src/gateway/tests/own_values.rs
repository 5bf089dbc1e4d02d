//! Variables and approvals of each person, served by what reads plugins, stores and settings for real.

use keyway::Host;
use keyway::approval::{Answer, Question};
use keyway::config::environment::Variables;
use keyway::settings::{Around, Settings};
use keyway::store::OneTimeStore;
use keyway::variables::KeptVariables;
use keyway::vault::{Folders, KeySources, Vault};
use keyway_database::{TeamStores, VaultStores};
use keyway_testkit::{Folder, Request, Upstream as Destination, mcp};
use serde_json::{Value, json};

use super::consent::{Browser, Replica, Shelf};
use super::people::{Idp, PUBLIC, people};
use super::*;
use crate::local_backend::LocalBackend;
use crate::served_plugins::{ServedPlugins, ServingContext};
use crate::team;

/// A team, whose gateway serves one plugin of this machine.
pub(super) struct House {
    pub(super) idp: Arc<Idp>,
    /// Where the plugin's servers are, and where its author would never lead anybody.
    pub(super) service: Destination,
    elsewhere: Destination,
    pub(super) folder: Folder,
    pub(super) host: Host,
    vault: Arc<Vault>,
    pub(super) replica: Replica,
    shelf: Arc<Shelf>,
}

/// Makes stores for the people of a team that has a folder and a vault.
pub(super) type MadeStores = fn(&Folder, VaultStores) -> Box<dyn TeamStores>;

/// Says by which key it was called.
fn answer(request: &Request) -> keyway_testkit::Answer {
    if request.path == "/signed" && request.header("authorization").is_none() {
        return keyway_testkit::Answer::empty(401);
    }
    mcp(request, |method, _| {
        let key = request.header("x-key").unwrap_or("none");
        match method {
            "tools/list" => {
                let tool = json!({"name": "whoami", "inputSchema": {"type": "object"}});
                Some(json!({ "tools": [tool] }))
            }
            "tools/call" => {
                let text = format!("called with {key}");
                Some(json!({"content": [{"type": "text", "text": text}]}))
            }
            _ => None,
        }
    })
}

fn entries(service: &Destination, header: &str) -> Value {
    let key = json!({ header: "${API_KEY}" });
    json!({"mcpServers": {
        "keyed": {"type": "http", "url": service.url("/mcp"), "headers": key},
        "moved": {"type": "http", "url": "${BASE_URL}/mcp", "headers": {"X-Key": "${API_KEY}"}},
        "signed": {"type": "http", "url": service.url("/signed")},
        "program": {"command": "./run.sh", "env": {"KEY": "${API_KEY}"}},
    }})
}

impl House {
    fn new() -> Self {
        Self::keeping(None)
    }

    /// The same, whose people's stores are not all in the vault.
    pub(super) fn keeping(stores: Option<MadeStores>) -> Self {
        let (service, elsewhere) = (Destination::start(answer), Destination::start(answer));
        let folder = Folder::new()
            .file("p/.mcp.json", entries(&service, "X-Key").to_string())
            .file("p/run.sh", "#!/bin/sh\n");
        let text = format!(
            "[gateway]\npublic_url = \"{PUBLIC}\"\ntrusted_proxies = [\"10.0.0.1\"]\n\
             [gateway.people]\nissuers = [\"https://idp.example\"]\n\
             browser_clients = {{ \"https://idp.example\" = \"keyway-gateway\" }}\n"
        );
        let settings = Settings::parse("config.toml", text.as_bytes(), Around::default()).settings;
        let folders = Folders::below(folder.at("home"));
        let environment = Variables::from_pairs([("API_KEY", CANARY), ("BASE_URL", CANARY)]);
        let host = Host::builder()
            .vault(folders.clone(), KeySources::default())
            .settings(settings)
            .environment(environment)
            .child_environment(vec![("API_KEY".into(), CANARY.into())])
            .build()
            .unwrap();
        let (host, team) = match stores {
            None => team::of_settings(host, None, None).unwrap(),
            Some(stores) => {
                let vault = LocalBackend::new(&host).vault().unwrap();
                let stores = stores(&folder, VaultStores::new(vault));
                let team = team::Team::of(&host, stores, None).unwrap();
                (team.tenant_host(&host).unwrap(), Some(team))
            }
        };
        let idp = Arc::new(Idp::new());
        let backend = LocalBackend::new(&host);
        let vault = backend.vault().unwrap();
        let plugin = host.load(folder.at("p")).unwrap();
        let mut context = ServingContext::new(folders);
        context.team = team;
        let plugins = vec![(folder.at("p"), plugin)];
        let mut plugins = ServedPlugins::new(plugins, &backend, context).unwrap();
        let reader: TokenReader = Arc::new(|| Ok(Vec::new()));
        let gateway = Gateway::new(plugins.servers(), reader, ClientInfo::new("keyway", "0"));
        let shelf = Arc::<Shelf>::default();
        let store: Arc<dyn OneTimeStore> = Arc::clone(&shelf) as _;
        let gateway = gateway.with_people_and_consent(people(&idp), store);
        let gateway = Arc::new(gateway.with_own_pages());
        let listener = Listener::loopback("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = listener.port().unwrap();
        drop(tokio::spawn(plugins.follow(Arc::clone(&gateway))));
        let maintained = Arc::clone(&gateway);
        drop(tokio::spawn(
            async move { maintained.run_maintenance().await },
        ));
        drop(tokio::spawn(async move {
            serve(vec![listener], gateway, std::future::pending()).await;
        }));
        Self {
            idp,
            service,
            elsewhere,
            folder,
            host,
            vault,
            replica: Replica(port),
            shelf,
        }
    }

    /// An admin approves an entry as it is now.
    fn approve(&self, server: &str) {
        let question = self.question(server);
        self.host.dangerous_store_approval(&question).unwrap();
    }

    /// The same for a program, confined and for people.
    fn approve_for_people(&self, server: &str) {
        let question = self.question(server);
        let agreed = question.dangerous_answer(Answer::Confined).unwrap();
        self.host.store_approval(&agreed.for_people()).unwrap();
    }

    fn question(&self, server: &str) -> Question {
        let plugin = self.host.load(self.folder.at("p")).unwrap();
        plugin.question(server).unwrap().unwrap()
    }

    /// An admin sets a variable for all.
    fn set_for_all(&self, name: &str, value: &str) {
        let kept = KeptVariables::new(&self.vault).unwrap();
        let value = Secret::new(value.to_owned());
        kept.set(name, &value, UNIX_EPOCH).unwrap();
    }

    /// Calls the tool of a server in a new session of a person.
    async fn call(&self, person: &str, server: &str) -> String {
        let token = self.idp.token(person, json!({}));
        let path = format!("/mcp/p/{server}");
        let client = async || {
            let client = Client::connect(self.replica.0).await;
            client.host("gateway.example").token(&token)
        };
        let begun = client().await.post(&path, HELLO).await;
        assert_eq!(begun.status, 200, "{begun:?}");
        let session = begun.header("mcp-session-id").unwrap();
        let client = client().await.with("Mcp-Session-Id", &session);
        let answer = client.post(&path, CALL).await;
        assert!(!answer.body.contains(CANARY), "{answer:?}");
        answer.body
    }

    /// Calls until the answer holds some text: stores are looked at once a second.
    async fn call_until(&self, person: &str, server: &str, expected: &str) {
        let started = std::time::Instant::now();
        loop {
            let found = self.call(person, server).await;
            if found.contains(expected) {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{expected}: {found}");
        }
    }

    /// Opens the own page of a person in a browser; returns its address.
    async fn open_page(&self, browser: &Browser, person: &str) -> String {
        let page = format!("{PUBLIC}/oauth/variables");
        let issuer = browser.follow(&self.replica, &page).await;
        let back = self.idp.sign_in(&issuer, person);
        let page = browser.follow(&self.replica, &back).await;
        assert!(
            page.starts_with(&format!("{PUBLIC}/oauth/variables/")),
            "{page}"
        );
        page
    }

    async fn show(&self, browser: &Browser, page: &str) -> String {
        let answer = browser.get(&self.replica, page).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(!answer.body.contains(CANARY), "{answer:?}");
        answer.body
    }

    /// Sends a form of a page.
    async fn send(&self, browser: &Browser, page: &str, fields: &[(&str, &str)]) -> u16 {
        self.send_from(PUBLIC, browser, page, fields).await
    }

    async fn send_from(
        &self,
        origin: &str,
        browser: &Browser,
        page: &str,
        fields: &[(&str, &str)],
    ) -> u16 {
        let path = page.strip_prefix(PUBLIC).unwrap();
        let client = Client::connect(self.replica.0)
            .await
            .host("gateway.example");
        let client = client.with("Content-Type", "application/x-www-form-urlencoded");
        let client = client.with("Origin", origin);
        let cookie = browser.0.lock().unwrap().clone().unwrap_or_default();
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        let body = form.finish();
        client
            .with("Cookie", &cookie)
            .send("POST", path, &body)
            .await
            .status
    }

    /// Sets a variable of a person on their page.
    async fn set(&self, browser: &Browser, page: &str, [server, name, value]: [&str; 3]) {
        let form = form_of(&self.show(browser, page).await);
        let fields = with(
            &form,
            server,
            &[("action", "set"), ("name", name), ("value", value)],
        );
        assert_eq!(self.send(browser, page, &fields).await, 303);
    }
}

/// Returns the secret of the forms of a page.
fn form_of(page: &str) -> String {
    let mark = "name=\"form\" value=\"";
    let at = page.find(mark).unwrap_or_else(|| panic!("{page}"));
    page[at + mark.len()..]
        .split('"')
        .next()
        .unwrap()
        .to_owned()
}

fn with<'a>(
    form: &'a str,
    server: &'a str,
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let mut fields = vec![("form", form), ("plugin", "p"), ("server", server)];
    fields.extend_from_slice(more);
    fields
}

/// Everything that was sent to a server.
fn sent(upstream: &Destination) -> String {
    format!("{:?}", upstream.seen())
}

const CANARY: &str = "canary-of-the-gateways-environment";
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"whoami","arguments":{}}}"#;
const MODERN: &str = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"whoami","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}}}"#;

#[tokio::test]
async fn a_variable_comes_from_the_person_then_the_tenant_and_never_from_the_gateway() {
    let house = House::new();
    house.approve("keyed");
    let told = house.call("ada", "keyed").await;
    let page = format!("{PUBLIC}/oauth/variables");
    for part in ["API_KEY", "X-Key", &page] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(house.service.seen().is_empty(), "nothing is sent");

    let browser = Browser::default();
    let page = house.open_page(&browser, "ada").await;
    let shown = house.show(&browser, &page).await;
    assert!(
        shown.contains("API_KEY") && shown.contains("not set"),
        "{shown}"
    );
    house
        .set(&browser, &page, ["keyed", "API_KEY", "key-of-ada"])
        .await;
    let shown = house.show(&browser, &page).await;
    assert!(shown.contains("set by you"), "{shown}");
    assert!(
        !shown.contains("key-of-ada"),
        "a value is never shown: {shown}"
    );
    house
        .call_until("ada", "keyed", "called with key-of-ada")
        .await;
    // It is not another person's.
    let told = house.call("amy", "keyed").await;
    assert!(
        told.contains("API_KEY") && !told.contains("called with"),
        "{told}"
    );

    house.set_for_all("API_KEY", "key-for-all");
    house
        .call_until("amy", "keyed", "called with key-for-all")
        .await;
    house
        .call_until("ada", "keyed", "called with key-of-ada")
        .await;
    let form = form_of(&house.show(&browser, &page).await);
    let fields = with(&form, "keyed", &[("action", "unset"), ("name", "API_KEY")]);
    assert_eq!(house.send(&browser, &page, &fields).await, 303);
    house
        .call_until("ada", "keyed", "called with key-for-all")
        .await;
    let shown = house.show(&browser, &page).await;
    assert!(shown.contains("set for all"), "{shown}");
    assert!(!sent(&house.service).contains(CANARY));
}

#[tokio::test]
async fn a_client_of_2026_07_28_is_asked_to_open_the_page_of_variables() {
    let house = House::new();
    house.approve("keyed");
    let ada = house.idp.token("ada", json!({}));
    let client = Client::connect(house.replica.0)
        .await
        .host("gateway.example");
    let client = client
        .token(&ada)
        .with("MCP-Protocol-Version", "2026-07-28");
    let client = client
        .with("Mcp-Method", "tools/call")
        .with("Mcp-Name", "whoami");
    let answer = client.post("/mcp/p/keyed", MODERN).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let asked: Value = serde_json::from_str(&answer.body).unwrap();
    let text = asked["result"].to_string();
    for part in [r#""mode":"url""#, "/oauth/variables", "API_KEY"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn a_page_is_its_persons_in_their_browser_and_each_form_counts_once() {
    let house = House::new();
    house.approve("keyed");
    let ada = Browser::default();
    let page = house.open_page(&ada, "ada").await;
    let form = form_of(&house.show(&ada, &page).await);
    let set = [("action", "set"), ("name", "API_KEY"), ("value", "planted")];
    // The address in another browser, with what another person's page shows.
    let eve = Browser::default();
    let own = house.open_page(&eve, "eve").await;
    let other = "This sign-in was begun in another browser".to_owned();
    assert_eq!(eve.title(&house.replica, &page).await, (403, other));
    assert_eq!(
        house.send(&eve, &page, &with(&form, "keyed", &set)).await,
        403
    );
    let foreign = form_of(&house.show(&eve, &own).await);
    // A page of another site makes the right browser send a form.
    let fields = with(&form, "keyed", &set);
    let sent = house.send_from("https://evil.example", &ada, &page, &fields);
    assert_eq!(sent.await, 403);
    let unknown = "A".repeat(43);
    for (fields, status) in [
        (with(&foreign, "keyed", &set), 409),
        (with(&unknown, "keyed", &set), 409),
        (with("", "keyed", &set), 409),
        (vec![("plugin", "p")], 409),
        (with(&form, "absent", &set), 404),
    ] {
        assert_eq!(house.send(&ada, &page, &fields).await, status, "{fields:?}");
    }
    // That spent it, and what the entry does not name is not stored.
    assert_eq!(
        house.send(&ada, &page, &with(&form, "keyed", &set)).await,
        410
    );
    for (name, value, status) in [
        ("PATH", "/evil", 409),
        ("API_KEY", "", 400),
        ("API_KEY", "a\0b", 400),
    ] {
        let form = form_of(&house.show(&ada, &page).await);
        let fields = [("action", "set"), ("name", name), ("value", value)];
        let fields = with(&form, "keyed", &fields);
        assert_eq!(house.send(&ada, &page, &fields).await, status, "{name}");
    }
    let told = house.call("ada", "keyed").await;
    assert!(told.contains("/oauth/variables"), "{told}");
    assert!(
        house.service.seen().is_empty(),
        "nothing was stored, so nothing is sent"
    );
}

#[tokio::test]
async fn a_value_that_leads_elsewhere_is_used_only_once_its_person_agrees_and_with_their_own_alone()
{
    let house = House::new();
    house.set_for_all("API_KEY", "key-for-all");
    house.set_for_all("BASE_URL", house.service.url("").trim_end_matches('/'));
    house.approve("moved");
    house
        .call_until("ada", "moved", "called with key-for-all")
        .await;
    let browser = Browser::default();
    let page = house.open_page(&browser, "ada").await;
    let there = house.elsewhere.url("");
    let there = there.trim_end_matches('/');
    house
        .set(&browser, &page, ["moved", "BASE_URL", there])
        .await;
    // What is set for all goes where admins let it go, and nowhere else.
    house.call_until("ada", "moved", "API_KEY").await;
    let told = house.call("ada", "moved").await;
    let why = "your own `BASE_URL` decides where they go";
    assert!(told.contains(why), "{told}");
    let shown = house.show(&browser, &page).await;
    let (_, moved) = shown.split_once("p:moved").unwrap();
    let moved = moved.split("<h2>").next().unwrap();
    assert!(!moved.contains("set for all;"), "{moved}");
    house
        .set(&browser, &page, ["moved", "API_KEY", "key-of-ada"])
        .await;
    house
        .call_until("ada", "moved", "elsewhere than your admins approved")
        .await;
    assert!(house.elsewhere.seen().is_empty(), "nothing is sent there");
    let shown = house.show(&browser, &page).await;
    assert!(shown.contains("Agree") && shown.contains(there), "{shown}");
    let mark = "name=\"digest\" value=\"";
    let digest = shown[shown.find(mark).unwrap() + mark.len()..]
        .split('"')
        .next();
    let digest = digest.unwrap().to_owned();
    let form = form_of(&shown);
    let wrong = "00".repeat(32);
    let fields = with(&form, "moved", &[("action", "agree"), ("digest", &wrong)]);
    assert_eq!(house.send(&browser, &page, &fields).await, 409);
    assert!(house.elsewhere.seen().is_empty());
    let form = form_of(&house.show(&browser, &page).await);
    let fields = with(&form, "moved", &[("action", "agree"), ("digest", &digest)]);
    assert_eq!(house.send(&browser, &page, &fields).await, 303);
    house
        .call_until("ada", "moved", "called with key-of-ada")
        .await;
    assert!(!house.elsewhere.seen().is_empty());
    assert!(!sent(&house.elsewhere).contains("key-for-all"));
    // What one person agreed to does not lead other people there.
    house
        .call_until("amy", "moved", "called with key-for-all")
        .await;
    // Sessions that ada began before may connect there meanwhile.
    assert!(!sent(&house.elsewhere).contains("key-for-all"));
}

#[tokio::test]
async fn a_plugin_that_changes_stops_for_everybody_until_it_is_approved_again() {
    let house = House::new();
    house.set_for_all("API_KEY", "key-for-all");
    house.approve("keyed");
    for person in ["ada", "amy"] {
        house
            .call_until(person, "keyed", "called with key-for-all")
            .await;
    }
    let changed = entries(&house.service, "X-Other").to_string();
    house.folder.put("p/.mcp.json", changed);
    for person in ["ada", "amy"] {
        house.call_until(person, "keyed", "no admin approved").await;
    }
    let before = house.service.seen().len();
    for person in ["ada", "amy", "bob"] {
        let told = house.call(person, "keyed").await;
        assert!(told.contains("no admin approved"), "{told}");
    }
    assert_eq!(house.service.seen().len(), before, "nothing is sent");
    house.approve("keyed");
    for person in ["ada", "amy"] {
        house.call_until(person, "keyed", "called with none").await;
    }
}

#[tokio::test]
async fn a_program_is_refused_unless_an_admin_approved_it_for_people() {
    let house = House::new();
    house.set_for_all("API_KEY", "key-for-all");
    house.approve("program");
    let told = house.call("ada", "program").await;
    assert!(
        told.contains("no admin approved that program for people"),
        "{told}"
    );
    assert!(told.contains("--for-people"), "{told}");
    // Whose machine has no such paths.
    let place = house.folder.path().to_string_lossy().into_owned();
    assert!(!told.contains(&place), "{told}");
}

#[tokio::test]
async fn a_person_is_told_of_variables_only_where_they_help_and_of_no_path_of_the_gateway() {
    let house = House::new();
    let place = house.folder.path().to_string_lossy().into_owned();
    house.approve("keyed");
    let told = house.call("ada", "keyed").await;
    assert!(told.contains("with the variables as they are"), "{told}");
    assert!(!told.contains(&place), "{told}");
    // An entry that no value can set right.
    let broken = json!({"mcpServers": {"keyed": {
        "type": "http", "url": "ftp://service.example/mcp", "headers": {"X-Key": "${API_KEY}"},
    }}});
    house.folder.put("p/.mcp.json", broken.to_string());
    house.approve("keyed");
    house.call_until("ada", "keyed", "ftp").await;
    let told = house.call("ada", "keyed").await;
    assert!(!told.contains("variables as they are"), "{told}");
    assert!(!told.contains(&place), "{told}");
}

/// Threats E7 and E8 by a person of the team: what is approved as a name alone must not be filled in
/// with something that runs, or that leads what is set for all elsewhere.
#[tokio::test]
async fn no_value_of_a_person_decides_what_a_program_runs_or_meets_values_of_all_there() {
    let house = House::new();
    let program = |entry: Value| json!({"mcpServers": { "keyed": entry }}).to_string();
    let browser = Browser::default();
    for (entry, name) in [
        (json!({"command": "${OWN}"}), "program"),
        (
            json!({"command": "sh", "args": ["-c", "${OWN}"]}),
            "argument",
        ),
        (json!({"command": "sh", "cwd": "${OWN}"}), "working folder"),
        (
            json!({"command": "sh", "env": {"PYTHONPATH": "${OWN}"}}),
            "PYTHONPATH",
        ),
        (
            json!({"command": "sh", "env": {"https_proxy": "${OWN}"}}),
            "https_proxy",
        ),
    ] {
        house.folder.put("p/.mcp.json", program(entry));
        house.set_for_all("OWN", "for-all");
        house.approve_for_people("keyed");
        let page = house.open_page(&browser, "ada").await;
        house.set(&browser, &page, ["keyed", "OWN", "of-ada"]).await;
        house
            .call_until("ada", "keyed", "your own `OWN` would decide what runs")
            .await;
        let told = house.call("ada", "keyed").await;
        assert!(told.contains(name), "{told}");
        let form = form_of(&house.show(&browser, &page).await);
        let unset = with(&form, "keyed", &[("action", "unset"), ("name", "OWN")]);
        assert_eq!(house.send(&browser, &page, &unset).await, 303);
    }
    // Where her value may stand, it stands alone.
    let env = json!({"BASE": "${OWN}", "KEY": "${API_KEY}"});
    let entry = json!({"command": "sh", "env": env});
    house.folder.put("p/.mcp.json", program(entry));
    house.set_for_all("API_KEY", "key-for-all");
    house.approve_for_people("keyed");
    let page = house.open_page(&browser, "ada").await;
    house.set(&browser, &page, ["keyed", "OWN", "of-ada"]).await;
    let why = "your own `OWN` decides where they go";
    house.call_until("ada", "keyed", why).await;
}

/// Nothing is known of who opens it: so it must not cost the store or the issuer more than a little.
#[tokio::test]
async fn the_way_to_an_own_page_is_open_to_so_many_in_a_second_and_leaves_little() {
    let house = House::new();
    let address = format!("{PUBLIC}/oauth/variables");
    let mut refused = 0;
    let started = std::time::Instant::now();
    for _ in 0..200 {
        let answer = Browser::default().get(&house.replica, &address).await;
        match answer.status {
            303 => {}
            503 => {
                assert!(answer.header("retry-after").is_some(), "{answer:?}");
                refused += 1;
            }
            _ => panic!("{answer:?}"),
        }
    }
    let most = 10 * (started.elapsed().as_secs() + 2);
    assert!(200 - refused <= most, "{refused} of 200 were refused");
    let lifetimes = house.shelf.lifetimes();
    let most = usize::try_from(2 * most).unwrap();
    assert!(lifetimes.len() <= most, "{}", lifetimes.len());
    let ten_minutes = Duration::from_secs(600);
    assert!(
        lifetimes.iter().all(|it| *it <= ten_minutes),
        "{lifetimes:?}"
    );
}
