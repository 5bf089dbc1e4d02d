//! A call that needs a sign-in: it waits, shows that it does, and answers before the client gives up.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use keyway_auth::ports::DeviceQuestion;
use keyway_code::Code;
use tokio::sync::Semaphore;

use super::*;

const PAGE: &str = "https://as.example/authorize?x=y";

/// A sign-in that completes once it gets a permit.
#[derive(Debug)]
pub(super) struct Gate {
    permits: Semaphore,
    asked: AtomicUsize,
    /// No person can be asked, as where there is no browser.
    is_unattended: AtomicBool,
    /// Only the client can show the code.
    has_code: AtomicBool,
}

impl SignInPort for Gate {
    fn sign_in(&self) -> BoxFuture<'_, Result<(), ServerProblem>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {
            if self.is_unattended.load(Ordering::SeqCst) {
                let problem = ServerProblem::from(&refused());
                let code = Code::SignInRequired;
                return Err(ServerProblem { code, ..problem });
            }
            self.permits.acquire().await.unwrap().forget();
            Ok(())
        })
    }

    fn consent_page(&self) -> Option<String> {
        let is_attended = !self.is_unattended.load(Ordering::SeqCst);
        is_attended.then(|| PAGE.to_owned())
    }

    fn device_code(&self) -> BoxFuture<'_, DeviceQuestion> {
        Box::pin(async {
            if !self.has_code.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            let page = "https://as.example/device".parse().unwrap();
            DeviceQuestion::new(page, "ABCD-EFGH".to_owned())
        })
    }

    fn signed_in_elsewhere(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// A server without a sign-in, and a client with these capabilities.
async fn closed(capabilities: Value) -> (Arc<Fake>, Client) {
    let (fake, mut client) = unlisted(capabilities).await;
    assert_eq!(client.tools().await, ["one__sign_in"]);
    (fake, client)
}

/// The same, before the client has listed anything.
async fn unlisted(capabilities: Value) -> (Arc<Fake>, Client) {
    let fake = Fake::new("one").tools(&["t"]);
    fake.attempt(0, Err(ServerProblem::from(&refused())));
    let gate = Gate {
        permits: Semaphore::new(0),
        asked: AtomicUsize::new(0),
        is_unattended: AtomicBool::new(false),
        has_code: AtomicBool::new(false),
    };
    fake.door.set(gate).unwrap();
    let mut client = Client::of(&[&fake]);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities});
    client.request("initialize", params).await;
    (fake, client)
}

fn asked(fake: &Fake) -> usize {
    fake.door.get().unwrap().asked.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn a_call_answers_with_the_page_before_the_client_gives_up_and_the_sign_in_continues() {
    let (fake, mut client) = closed(json!({})).await;
    let params = json!({"name": "one__sign_in", "_meta": {"progressToken": "p"}});
    let started = tokio::time::Instant::now();
    let answer = client.request("tools/call", params).await;
    let waited = started.elapsed();
    assert!(waited >= Duration::from_secs(40), "{waited:?}");
    assert!(waited < Duration::from_secs(60), "{waited:?}");
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(PAGE), "{text}");
    let told = client.arrived().await;
    let progress = told
        .iter()
        .filter(|told| told["method"] == "notifications/progress");
    assert!(progress.count() >= 5, "{told:?}");
    // Another call joins the same sign-in.
    let again = client.call("one__sign_in").await;
    assert_eq!(again["result"]["isError"], true, "{again}");
    assert_eq!(asked(&fake), 1);
    client.arrived().await;
    fake.door.get().unwrap().permits.add_permits(1);
    let told = client.next().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(client.tools().await, ["one__t"]);
    assert_eq!(client.call("one__t").await["result"]["from"], "one");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_opens_pages_itself_is_given_the_page_to_open() {
    let (fake, mut client) = closed(json!({"elicitation": {"url": {}}})).await;
    let answer = client.call("one__sign_in").await;
    assert_eq!(answer["error"]["code"], -32042, "{answer}");
    let page = &answer["error"]["data"]["elicitations"][0];
    assert_eq!(page["mode"], "url", "{answer}");
    assert_eq!(page["url"], PAGE, "{answer}");
    assert_eq!(asked(&fake), 1);
}

#[tokio::test(start_paused = true)]
async fn calls_that_come_at_once_ask_once_and_all_continue() {
    let (fake, mut client) = closed(json!({})).await;
    let mut calls = Vec::new();
    for _ in 0..20 {
        let params = json!({"name": "one__sign_in"});
        calls.push(client.start("tools/call", params).await);
    }
    settle().await;
    fake.door.get().unwrap().permits.add_permits(1);
    for id in calls {
        let answer = client.answer(id).await;
        assert_eq!(answer["result"]["isError"], Value::Null, "{answer}");
    }
    assert_eq!(asked(&fake), 1);
}

#[tokio::test(start_paused = true)]
async fn where_no_person_can_be_asked_a_call_answers_at_once_with_the_command() {
    let (fake, mut client) = closed(json!({"elicitation": {"url": {}}})).await;
    let gate = fake.door.get().unwrap();
    gate.is_unattended.store(true, Ordering::SeqCst);
    let started = tokio::time::Instant::now();
    let answer = client.call("one__sign_in").await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("keyway login one"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_code_that_only_the_client_can_show_is_the_answer_at_once_and_the_sign_in_continues() {
    let (fake, mut client) = closed(json!({})).await;
    let gate = fake.door.get().unwrap();
    gate.has_code.store(true, Ordering::SeqCst);
    let started = tokio::time::Instant::now();
    for _ in 0..2 {
        let answer = client.call("one__sign_in").await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        for part in ["https://as.example/device", "ABCD-EFGH"] {
            assert!(text.contains(part), "{text}");
        }
    }
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(asked(&fake), 1);
    client.arrived().await;
    gate.permits.add_permits(1);
    let told = client.next().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(client.call("one__t").await["result"]["from"], "one");
}

#[tokio::test(start_paused = true)]
async fn the_sign_in_tool_asks_no_person_again_once_the_sign_in_is_over() {
    let (fake, mut client) = closed(json!({})).await;
    let gate = fake.door.get().unwrap();
    gate.has_code.store(true, Ordering::SeqCst);
    let pending = client.call("one__sign_in").await;
    assert_eq!(pending["result"]["isError"], true, "{pending}");
    gate.permits.add_permits(1);
    settle().await;
    // The client has not listed again.
    let answer = client.call("one__sign_in").await;
    assert_eq!(answer["result"]["isError"], Value::Null, "{answer}");
    assert_eq!(asked(&fake), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_opens_pages_gets_the_page_of_the_code_and_is_told_when_it_may_call_again() {
    let (fake, mut client) = closed(json!({"elicitation": {"url": {}}})).await;
    let gate = fake.door.get().unwrap();
    gate.has_code.store(true, Ordering::SeqCst);
    let answer = client.call("one__sign_in").await;
    let elicited = &answer["error"]["data"]["elicitations"][0];
    assert_eq!(elicited["url"], "https://as.example/device", "{answer}");
    let message = elicited["message"].as_str().unwrap();
    assert!(message.contains("ABCD-EFGH"), "{message}");
    client.arrived().await;
    gate.permits.add_permits(1);
    let done = loop {
        let told = client.next().await;
        if told["method"] == "notifications/elicitation/complete" {
            break told;
        }
    };
    assert_eq!(done["params"]["elicitationId"], elicited["elicitationId"]);
}

#[tokio::test(start_paused = true)]
async fn message_of_an_error_says_what_to_do_and_its_code_is_of_the_range_for_that() {
    let fake = Fake::new("one").tools(&["t"]);
    fake.attempt(0, Err(ServerProblem::from(&refused())));
    let mut client = Client::of(&[&fake]);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    client.request("initialize", params).await;
    let error = client.call("one__t").await["error"].clone();
    let (message, hint) = (&error["message"], &error["data"]["hint"]);
    let (message, hint) = (message.as_str().unwrap(), hint.as_str().unwrap());
    assert!(message.contains(hint), "{message}");
    let code = error["code"].as_i64().unwrap();
    assert!((-32099..=-32000).contains(&code), "{code}");
}

/// As after the end of its session: the client knows the tool from before, and does not list again.
#[tokio::test(start_paused = true)]
async fn a_tool_that_another_session_listed_asks_when_it_is_called() {
    let (fake, mut client) = unlisted(json!({})).await;
    let id = client.start("tools/call", json!({"name": "one__t"})).await;
    settle().await;
    assert_eq!(asked(&fake), 1);
    fake.door.get().unwrap().permits.add_permits(1);
    let answer = client.answer(id).await;
    assert_eq!(answer["result"]["from"], "one", "{answer}");
    // After the sign-in, it is known that there is no such tool.
    let unknown = client.call("one__u").await;
    let message = unknown["error"]["message"].as_str().unwrap();
    assert_eq!(message, "unknown tool `one__u`");
    assert_eq!(asked(&fake), 1);
}
