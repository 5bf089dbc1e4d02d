//! What a signed-in call costs besides itself: requests and looks at the database, counted.
//!
//! Time is measured by `cargo xtask bench vault`, not here.

use std::sync::Arc;

use keyway::connect::{Host, HttpClient, HttpSettings, Isolation, Launcher, Target};
use keyway::load::Loader;
use keyway::settings::{Confinement, Settings};
use keyway::sign_in::{Accounts, KeptVault, PromptPolicy};
use keyway::vault::{Folders, KeySources, Vault};
use keyway_config::environment::{HostVariables, Scope, Variables};
use keyway_config::resolve::resolve;
use keyway_mcp::session::{ClientInfo, Nobody, Request, Session};
use keyway_testkit::{Desk, rig};
use serde_json::{Map, json};

const KEYWAY: &str = env!("CARGO_BIN_EXE_keyway");

fn desk() -> Desk {
    let desk = Desk::new(KEYWAY, rig::Settings::default());
    desk.sign_in();
    desk.rig.forget();
    desk
}

#[test]
fn a_signed_in_call_adds_no_oauth_request() {
    let desk = desk();
    let outcome = desk.call().run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(desk.rig.oauth_requests().is_empty());
    let refused = desk.rig.journal().into_iter();
    assert_eq!(refused.filter(|seen| seen.status == 401).count(), 0);
}

/// The stages that `keyway call` goes through, on the vault that its own sign-in left behind.
#[tokio::test]
async fn a_signed_in_call_looks_at_the_database_once() {
    let desk = desk();
    let folders = Folders::below(desk.folder.at("home/keyway"));
    let at = folders.clone();
    let open = move || Vault::open(&at, KeySources::default());
    let vault = Arc::new(KeptVault::new(folders, Box::new(open)));
    let loaded = Loader::default().load(desk.folder.path()).unwrap();
    let variables = HostVariables::default();
    let nothing = Variables::default();
    let (_, server) = loaded.plugin.servers().next().unwrap();
    let spec = resolve(server, &Scope::new(&variables, &nothing)).unwrap();
    let host = Host {
        http: HttpClient::new(HttpSettings::default()).unwrap(),
        launcher: Launcher::new("/proc/self/exe"),
        environment: Vec::new(),
        isolation: Isolation::default(),
        log: None,
        accounts: Some(Accounts {
            vault: Arc::clone(&vault),
            interaction: None,
            asking: PromptPolicy::Never,
            settings: Arc::new(Settings::default()),
            profile: "default".to_owned(),
            account: None,
            device: false,
            whose: None,
        }),
        events: keyway::events::Events::default(),
        supplied: None,
    };
    let target = Target {
        plugin: &loaded.plugin.name(),
        spec: &spec,
        host: &variables,
        grants: &[],
        files: None,
        confinement: Confinement::default(),
    };
    let connected = host.connect(target).await.unwrap();
    let client = ClientInfo {
        name: "t".to_owned(),
        version: "1".to_owned(),
    };
    let opened = Session::open(
        connected.connection,
        client,
        Arc::new(Nobody),
        connected.offer,
    );
    let session = opened.await.unwrap();
    for _ in 0..10 {
        let mut params = Map::new();
        params.insert("name".to_owned(), json!("echo"));
        params.insert("arguments".to_owned(), json!({ "message": "hello" }));
        let called = session.request(Request::new("tools/call", params));
        assert!(called.await.unwrap().get().contains("Echo: hello"));
    }
    session.close().await;
    let cost = vault.get().unwrap().statistics();
    assert_eq!((cost.reads, cost.writes), (1, 0), "for all calls together");
    assert!(desk.rig.oauth_requests().is_empty());
    let seen = desk.rig.seen("/mcp");
    assert!(seen[0].request.header("authorization").is_some(), "at once");
}
