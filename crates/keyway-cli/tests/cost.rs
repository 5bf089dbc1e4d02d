//! What a signed-in call costs besides itself: requests and looks at the database, counted.
//!
//! Time is measured by `cargo xtask bench vault`, not here.

use std::sync::Arc;

use keyway::Host;
use keyway::sign_in::PromptPolicy;
use keyway::vault::KeptVault;
use keyway::vault::{Folders, KeySources, Vault};
use keyway_testkit::{Desk, rig};
use serde_json::json;

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
    let vault = Arc::new(KeptVault::new(folders.clone(), Box::new(open)));
    let host = Host::builder()
        .shared_vault(Arc::clone(&vault), folders)
        .asking(PromptPolicy::Never)
        .build()
        .unwrap();
    let plugin = host.load(desk.folder.path()).unwrap();
    let approved = plugin.plan_only().unwrap().approve().await.unwrap();
    let session = approved.connect().await.unwrap();
    for _ in 0..10 {
        let called = session.call("echo", json!({ "message": "hello" })).await;
        assert!(called.unwrap().raw.get().contains("Echo: hello"));
    }
    session.close().await;
    let cost = vault.get().unwrap().statistics();
    assert_eq!((cost.reads, cost.writes), (1, 0), "for all calls together");
    assert!(desk.rig.oauth_requests().is_empty());
    let seen = desk.rig.seen("/mcp");
    assert!(seen[0].request.header("authorization").is_some(), "at once");
}
