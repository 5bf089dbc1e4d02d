//! Each host against a real authorization and MCP server on loopback.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use example_hosts::clock::ManualClock;
use example_hosts::consent::Window;
use example_hosts::minimal::call;
use example_own_vault::MemoryVault;
use keyway::config::environment::Variables;
use keyway::host::SystemClock;
use keyway::sign_in::{ClientIdentity, Stores};
use keyway::vault::{Folders, KeySources};
use keyway::{Error, Host, HostBuilder};
use keyway_testkit::rig::{Rig, Seen, Settings};
use keyway_testkit::{Folder, visit};
use serde_json::json;

fn browser(page: &str) {
    let page = page.to_owned();
    drop(std::thread::spawn(move || drop(visit(&page))));
}

fn plugin(rig: &Rig, more: &str) -> Folder {
    let url = rig.mcp();
    Folder::with_entries(&format!(
        r#"{{"docs": {{"type": "http", "url": "{url}"{more}}}}}"#
    ))
}

fn below(folder: &Folder) -> HostBuilder {
    Host::builder()
        .client("example", "1.0")
        .environment(Variables::from_pairs([("DOCS_KEY", "k-1")]))
        .vault(Folders::below(folder.at("home")), KeySources::default())
}

#[tokio::test]
async fn a_minimal_host_calls_a_tool_after_a_sign_in() {
    let rig = Rig::start(Settings::default());
    let folder = plugin(&rig, "");
    let window = Arc::new(Window::agreeing(browser));
    let host = window.on(below(&folder)).build().unwrap();
    let said = call(&host, folder.path(), "echo", json!({ "message": "hello" })).await;
    assert_eq!(said.unwrap(), "Echo: hello");
    assert!(
        window
            .shown()
            .iter()
            .any(|line| line.starts_with("sign in at"))
    );
}

#[tokio::test]
async fn people_are_shown_the_name_of_the_host_and_not_ours() {
    let rig = Rig::start(Settings::default());
    let folder = plugin(&rig, "");
    let window = Arc::new(Window::agreeing(browser));
    let identity = ClientIdentity::new("My Editor")
        .with_uri("https://editor.example/")
        .with_logo("https://editor.example/logo.svg");
    let host = window
        .on(below(&folder))
        .identity(identity)
        .build()
        .unwrap();
    call(&host, folder.path(), "echo", json!({ "message": "a" }))
        .await
        .unwrap();
    let registered = rig.seen("/register");
    let body = &registered.first().unwrap().request.body;
    for words in ["My Editor", "https://editor.example/logo.svg"] {
        assert!(body.contains(words), "{body}");
    }
    assert!(!body.contains("Keyway"), "{body}");
    // Our own program shares the vault, and registers under its own name.
    let ours = window.on(below(&folder)).profile("other").build().unwrap();
    call(&ours, folder.path(), "echo", json!({ "message": "a" }))
        .await
        .unwrap();
    let registered = rig.seen("/register");
    assert!(registered.last().unwrap().request.body.contains("Keyway"));
}

/// The program of the review, which ran a plugin's command with a secret and asked no one, does not
/// compile any more; its nearest relative gets this error.
#[tokio::test]
async fn nothing_runs_and_nothing_is_sent_before_a_person_agreed() {
    let rig = Rig::start(Settings::default());
    let folder = plugin(&rig, r#", "headers": {"X-Key": "${DOCS_KEY}"}"#);
    let host = below(&folder).build().unwrap();
    let said = call(&host, folder.path(), "echo", json!({})).await;
    assert!(matches!(said, Err(Error::NotApproved { .. })), "{said:?}");
    assert!(rig.journal().is_empty(), "nothing was sent");
}

#[tokio::test]
async fn a_window_of_one_s_own_shows_what_is_approved_and_the_answer_is_kept() {
    let rig = Rig::start(Settings::default());
    let folder = plugin(&rig, r#", "headers": {"X-Key": "${DOCS_KEY}"}"#);
    let window = Arc::new(Window::agreeing(browser));
    let host = window.on(below(&folder)).build().unwrap();
    let plan = host.load(folder.path()).unwrap().plan_only().unwrap();
    plan.approve().await.unwrap();
    let shown = window.shown();
    assert!(
        shown.iter().any(|line| line.contains("DOCS_KEY")),
        "{shown:?}"
    );
    let other = below(&folder).build().unwrap();
    let plan = other.load(folder.path()).unwrap().plan_only().unwrap();
    assert!(plan.approved_before().is_ok());
}

#[tokio::test]
async fn a_store_of_one_s_own_keeps_the_sign_in() {
    let rig = Rig::start(Settings::default());
    let folder = plugin(&rig, "");
    let window = Arc::new(Window::agreeing(browser));
    let store = Arc::new(MemoryVault::default().handle());
    let stores = Stores::new(store, Arc::new(SystemClock));
    for sign_ins in [1, 1] {
        let host = window
            .on(Host::builder().stores(stores.clone()))
            .build()
            .unwrap();
        let said = call(&host, folder.path(), "echo", json!({ "message": "hi" })).await;
        assert_eq!(said.unwrap(), "Echo: hi");
        let shown = window.shown();
        let asked = shown.iter().filter(|line| line.starts_with("sign in"));
        assert_eq!(asked.count(), sign_ins, "once, then from the store");
    }
}

#[tokio::test]
async fn a_clock_of_one_s_own_sees_a_renewal_without_waiting() {
    let rig = Rig::start(Settings::default());
    let folder = plugin(&rig, "");
    let window = Arc::new(Window::agreeing(browser));
    let clock = Arc::new(ManualClock::starting_at((
        Instant::now(),
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000),
    )));
    // The store has a clock as well, which all its users share.
    let vault = MemoryVault::default();
    let stores = Stores::new(Arc::new(vault.handle()), Arc::clone(&clock) as _);
    let builder = Host::builder().stores(stores);
    let host = window.on(builder).clock(Arc::clone(&clock) as _);
    let plugin = host.build().unwrap().load(folder.path()).unwrap();
    let server = plugin.plan_only().unwrap().approve().await.unwrap();
    let session = server.connect().await.unwrap();
    let is_refresh = |seen: &Seen| seen.field("grant_type").as_deref() == Some("refresh_token");
    let refreshes = || rig.oauth_requests().into_iter().filter(is_refresh).count();
    session
        .call("echo", json!({ "message": "a" }))
        .await
        .unwrap();
    assert_eq!(refreshes(), 0);
    clock.advance(Duration::from_secs(3600));
    vault.advance(Duration::from_secs(3600));
    session
        .call("echo", json!({ "message": "b" }))
        .await
        .unwrap();
    assert_eq!(
        refreshes(),
        1,
        "the token was renewed, and no call waited for an hour"
    );
    session.close().await;
}
