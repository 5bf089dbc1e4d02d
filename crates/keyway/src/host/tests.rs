//! What the types promise: threads, and futures that may be dropped at any point.

mod chosen_files;
mod one_look;
mod same_name;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyway_mcp::aggregate::SignInPort as _;
use keyway_testkit::rig::{Assertions, Confidential, Rig, SecretMethod, Settings};
use keyway_testkit::{Folder, drop_at_every_await, eventually, poll_at_most, visit};
use serde_json::json;

use super::*;
use crate::sign_in::{ConsentQuestion, InteractionError, Presenter};
use crate::vault::{Folders, KeySources};

const fn shared<T: Send + Sync>() {}

fn sent<F: Future + Send>(future: F) -> F {
    future
}

/// Compiles, or it does not.
#[test]
fn hosts_plans_and_sessions_are_shared_between_threads() {
    shared::<Host>();
    shared::<HostBuilder>();
    shared::<Plugin>();
    shared::<Plan>();
    shared::<Approved<Plan>>();
    shared::<SignOutPlan>();
    shared::<Error>();
    shared::<keyway_mcp::session::Session>();
    shared::<crate::events::Events>();
    shared::<crate::events::EventStream>();
    shared::<crate::approval::Approval>();
    shared::<crate::approval::Question>();
    shared::<crate::connect::ConnectionFingerprint>();
    shared::<crate::connect::FingerprintKey>();
    shared::<crate::in_flight::InFlight>();
    shared::<crate::redaction_values::RedactionValues>();
    shared::<crate::settings::Settings>();
    shared::<crate::sign_in::Accounts>();
    shared::<crate::sign_in::SignInGate>();
    shared::<crate::sign_in::Stores>();
    shared::<crate::vault::KeptVault>();
    shared::<VariableScope>();
}

#[tokio::test]
async fn the_browser_comes_back_to_the_path_of_the_host() {
    let rig = Rig::start(Settings::default());
    let folder = Folder::with_entries("{}");
    let host = Host::builder()
        .vault(Folders::below(folder.at("home")), KeySources::default())
        .presenter(Arc::new(Agreeing))
        .redirect_path("/editor/signed-in")
        .build()
        .unwrap();
    let mut events = host.subscribe();
    let plan = host.server(&rig.mcp().parse().unwrap()).unwrap();
    let session = plan.approve().await.unwrap().connect().await.unwrap();
    session.close().await;
    let asked = rig.seen("/authorize");
    let asked = format!("{asked:?}");
    assert!(asked.contains("editor%2Fsigned-in"), "{asked}");
    let mut kinds = Vec::new();
    while kinds.last() != Some(&crate::events::Kind::ServerConnected) {
        let event = events.next().await.unwrap();
        assert_eq!(event.pid, std::process::id());
        assert!(event.plugin.is_some(), "{event:?}");
        kinds.push(event.kind);
    }
    assert!(
        kinds.contains(&crate::events::Kind::AuthCompleted),
        "{kinds:?}"
    );
}

#[derive(Debug)]
struct Agreeing;

impl Presenter for Agreeing {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        let page = question.url.to_string();
        drop(std::thread::spawn(move || drop(visit(&page))));
        Ok(())
    }
}

fn host(folder: &Folder) -> Host {
    Host::builder()
        .vault(Folders::below(folder.at("home")), KeySources::default())
        .presenter(Arc::new(Agreeing))
        .build()
        .unwrap()
}

#[tokio::test]
async fn whatever_future_is_dropped_at_any_await_point_the_next_call_works() {
    let rig = Rig::start(Settings::default());
    let folder = Folder::with_entries("{}");
    let host = host(&folder);
    let url = rig.mcp().parse().unwrap();
    let server = sent(host.server(&url).unwrap().approve()).await.unwrap();
    // Signed in first, so that each round is short.
    sent(server.connect()).await.unwrap().close().await;
    let mut whole = 0;
    for polls in 1..100 {
        if poll_at_most(polls, sent(server.connect())).await.is_some() {
            whole += 1;
        }
        if whole > 3 {
            break;
        }
    }
    assert!(whole > 0, "it was polled to its end as well");
    let session = server.connect().await.unwrap();
    for polls in 1..50 {
        let call = session.call("echo", json!({ "message": "dropped" }));
        drop(poll_at_most(polls, call).await);
    }
    let answer = session.call("echo", json!({ "message": "hello" })).await;
    assert_eq!(answer.unwrap().text(), "Echo: hello");
    session.close().await;
}

/// With a timer for each, 3,333 connections that did nothing took a sixth of a processor.
#[tokio::test(flavor = "multi_thread")]
async fn connections_are_looked_after_together_for_as_long_as_there_are_any() {
    let rig = Rig::start(Settings::default());
    let folder = Folder::with_entries("{}");
    let host = host(&folder);
    let attendance = host.accounts.as_ref().unwrap().attendance.clone();
    let server = host.server(&rig.mcp().parse().unwrap()).unwrap();
    let server = server.approve().await.unwrap();
    assert_eq!(attendance.extent(), (0, false));
    for _ in 0..2 {
        let mut sessions = Vec::new();
        for count in 1..=3 {
            sessions.push(server.connect().await.unwrap());
            assert_eq!(attendance.extent(), (count, true));
        }
        for session in sessions {
            session.close().await;
        }
        eventually("none is left", || attendance.extent() == (0, false));
    }
}

#[tokio::test]
async fn an_address_is_enough_for_a_host() {
    let rig = Rig::start(Settings::default());
    let folder = Folder::with_entries("{}");
    let plan = host(&folder).server(&rig.mcp().parse().unwrap()).unwrap();
    assert!(plan.question().is_none(), "it runs and gets nothing");
    let session = plan.approve().await.unwrap().connect().await.unwrap();
    let tools = session.tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "echo"));
    session.close().await;
}

#[tokio::test]
async fn an_address_with_a_dollar_sign_is_not_a_template() {
    let folder = Folder::with_entries("{}");
    let url = "https://h.example/mcp?q=${HOME}".parse().unwrap();
    let plan = host(&folder).server(&url).unwrap();
    assert!(plan.question().is_none());
    assert!(plan.problems().is_empty(), "{:?}", plan.problems());
}

#[tokio::test]
async fn plain_http_to_another_machine_is_refused() {
    let folder = Folder::with_entries("{}");
    let url = "http://h.example/mcp".parse().unwrap();
    let refused = host(&folder).server(&url).unwrap().approve().await;
    assert!(
        matches!(refused, Err(Error::Unresolved { .. })),
        "{refused:?}"
    );
}

/// Collects pages; a person agrees to all of them from the moment that they are told to.
#[derive(Debug, Default)]
struct Hesitating {
    pages: Mutex<Vec<String>>,
    agrees: AtomicBool,
}

impl Hesitating {
    fn windows(&self) -> usize {
        self.pages.lock().unwrap().len()
    }

    /// Waits for the first page, and agrees to it and to all that follow.
    fn agree(&self) {
        eventually("a page is shown", || self.windows() > 0);
        let pages = self.pages.lock().unwrap();
        self.agrees.store(true, Ordering::SeqCst);
        for page in &*pages {
            agree_to(page.clone());
        }
    }
}

impl Presenter for Hesitating {
    fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
        let page = question.url.to_string();
        let mut pages = self.pages.lock().unwrap();
        pages.push(page.clone());
        if self.agrees.load(Ordering::SeqCst) {
            agree_to(page);
        }
        Ok(())
    }
}

fn agree_to(page: String) {
    drop(std::thread::spawn(move || drop(visit(&page))));
}

/// The next caller waits for the page that the first one left behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_dropped_at_any_await_point_asks_the_person_once() {
    let dropped = drop_at_every_await(async |polls| {
        let rig = Rig::start(Settings::default());
        let folder = Folder::with_entries("{}");
        let person = Arc::new(Hesitating::default());
        let host = Host::builder()
            .vault(Folders::below(folder.at("home")), KeySources::default())
            .presenter(person.clone())
            .build()
            .unwrap();
        let plan = host.server(&rig.mcp().parse().unwrap()).unwrap();
        let gate = plan.approve().await.unwrap().sign_in_gate().unwrap();
        if polls > 1 {
            person.agrees.store(true, Ordering::SeqCst);
        }
        let first = poll_at_most(polls, gate.sign_in()).await;
        if let Some(signed_in) = first {
            signed_in.unwrap();
            return true;
        }
        let mut next = pin!(gate.sign_in());
        assert!(poll_at_most(1, next.as_mut()).await.is_none());
        person.agree();
        next.await.unwrap();
        assert_eq!(person.windows(), 1, "dropped after {polls} polls");
        false
    })
    .await;
    assert!(dropped >= 2, "{dropped}");
}

/// The server accepts each refresh token once, and revokes the sign-in if one comes twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_dropped_at_any_await_point_loses_no_token() {
    let rig = Rig::start(Settings::default());
    // Slow enough for the next connection to come while the exchange is under way.
    rig.set(|settings| settings.token_delay = Duration::from_millis(100));
    let folder = Folder::with_entries("{}");
    let person = Arc::new(Hesitating::default());
    person.agrees.store(true, Ordering::SeqCst);
    let host = Host::builder()
        .vault(Folders::below(folder.at("home")), KeySources::default())
        .presenter(person.clone())
        .build()
        .unwrap();
    let url = rig.mcp().parse().unwrap();
    let server = host.server(&url).unwrap().approve().await.unwrap();
    server.connect().await.unwrap().close().await;
    let dropped = drop_at_every_await(async |polls| {
        rig.reset();
        if let Some(connected) = poll_at_most(polls, server.connect()).await {
            connected.unwrap().close().await;
            return true;
        }
        server.connect().await.unwrap().close().await;
        assert_eq!(person.windows(), 1, "dropped after {polls} polls");
        false
    })
    .await;
    assert!(dropped >= 2, "{dropped}");
    let families = rig.families();
    let [family] = &families[..] else {
        panic!("one sign-in: {families:?}");
    };
    assert!(family.ended.is_none(), "{family:?}");
}

/// A server that takes assertions of an identity provider, and a host that is signed in there.
struct Organisation {
    provider: Rig,
    server: Rig,
    folder: Folder,
    host: Host,
}

impl Organisation {
    fn new() -> Self {
        let mut settings = Settings::default();
        settings.assertions = Assertions::Granted;
        let server = Rig::start(settings.clone());
        settings.account = Some("person@org.example".to_owned());
        let client = Confidential::new("CANARY-provider", SecretMethod::ClientSecretBasic);
        settings.clients.insert("ours".to_owned(), client);
        let provider = Rig::start(settings);
        let url = server.mcp();
        let folder =
            Folder::with_entries(&format!(r#"{{"s": {{"type": "http", "url": "{url}"}}}}"#));
        folder.put("secret", "CANARY-provider");
        let issuer = provider.origin();
        let mut own = crate::settings::ServerSettings {
            source: folder.path().to_owned(),
            ..Default::default()
        };
        own.oauth.grant = Some(crate::settings::Grant::IdJag);
        own.oauth.client.id = Some("c".to_owned());
        own.oauth.identity_provider.issuer = Some(issuer.clone());
        let mut at_provider = crate::settings::Issuer::default();
        at_provider.client.id = Some("ours".to_owned());
        let secret = crate::settings::SecretSource::File(folder.at("secret"));
        at_provider.client.secret = Some(secret);
        let mut settings = crate::settings::Settings::default();
        let plugin = folder.path().file_name().unwrap().to_str().unwrap();
        settings.servers.insert(format!("{plugin}:s"), own);
        settings.oauth.issuers.insert(issuer, at_provider);
        let host = Host::builder()
            .vault(Folders::below(folder.at("home")), KeySources::default())
            .presenter(Arc::new(Agreeing))
            .settings(settings)
            .build()
            .unwrap();
        Self {
            provider,
            server,
            folder,
            host,
        }
    }
}

/// Otherwise the next call would sign in again, unasked.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_out_dropped_at_any_await_point_ends_the_sign_in_at_the_provider_too() {
    let dropped = drop_at_every_await(async |polls| {
        let it = Organisation::new();
        let plugin = it.host.load(it.folder.path()).unwrap();
        let server = plugin.plan("s").unwrap().approve().await.unwrap();
        server.connect().await.unwrap().close().await;
        assert!(it.provider.live_refresh_tokens() > 0);
        let plan = plugin.plan_sign_out("s").unwrap();
        let is_signed_in = || {
            let stored = it.host.accounts().unwrap();
            !stored.stores.grants.list("default").unwrap().is_empty()
        };
        if let Some(done) = poll_at_most(polls, plan.sign_out()).await {
            done.unwrap();
            assert!(!is_signed_in());
            return true;
        }
        if polls > 0 {
            eventually("both have ended", || {
                it.provider.live_refresh_tokens() == 0 && !is_signed_in()
            });
            assert_eq!(it.server.live_refresh_tokens(), 0);
        }
        false
    })
    .await;
    assert!(dropped >= 2, "{dropped}");
}

#[test]
fn a_package_runner_gets_longer_to_start_than_other_programs() {
    let entries = json!({
        "fetched": {"command": "npx", "args": ["-y", "some-server"]},
        "here": {"command": "/bin/sh", "args": ["server.sh"]},
        "remote": {"type": "http", "url": "https://mcp.example.com/mcp"},
    });
    let folder = Folder::with_entries(&entries.to_string());
    let host = Host::builder().vault(Folders::below(folder.at("home")), KeySources::default());
    let plugin = host.build().unwrap().load(folder.path()).unwrap();
    let limit = |server: &str| {
        let plan = plugin.plan(server).unwrap();
        plan.dangerous_approve_unasked().unwrap().start_limit()
    };
    assert_eq!(limit("fetched"), Duration::from_secs(120));
    assert_eq!(limit("here"), Duration::from_secs(60));
    assert_eq!(limit("remote"), Duration::from_secs(60));
}
