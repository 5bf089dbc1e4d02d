//! Large messages, and a client that reads slowly.

use super::*;
use crate::backpressure::BUDGET_EXHAUSTED;

fn large() -> String {
    json!({ "content": "x".repeat(10_000_000) }).to_string()
}

/// A client that waits for so many large answers, and the server that gives them.
async fn asking(count: usize) -> (Arc<Fake>, Client, Vec<u64>) {
    let fake = Fake::new("one").tools(&["t"]);
    fake.on("tools/call", &large());
    let mut client = Client::of(&[&fake]);
    client.tools().await;
    let mut ids = Vec::new();
    for _ in 0..count {
        let id = client
            .start("tools/call", json!({ "name": "one__t" }))
            .await;
        ids.push(id);
        settle().await;
    }
    (fake, client, ids)
}

#[tokio::test(start_paused = true)]
async fn a_server_is_read_no_further_while_its_client_has_too_much_to_read() {
    let (fake, mut client, ids) = asking(4).await;
    let events = fake.events.lock().unwrap().clone().unwrap();
    let unread = || events.waiting();
    // One is ready for the client, one waits for the budget, and the rest has not been read.
    assert_eq!(unread(), 2);
    for (id, left) in ids.into_iter().zip([1, 0, 0, 0]) {
        let answer = client.answer_text(id).await;
        assert!(answer.len() > 10_000_000, "{}", answer.len());
        settle().await;
        assert_eq!(unread(), left);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_exceeds_the_budget_for_long_is_an_error_and_the_next_is_not() {
    let (_fake, mut client, ids) = asking(3).await;
    tokio::time::sleep(Duration::from_secs(45)).await;
    let mut messages = Vec::new();
    for id in ids {
        let answer = client.answer(id).await;
        messages.push(answer["error"]["message"].as_str().map(str::to_owned));
    }
    assert_eq!(messages, [None, Some(BUDGET_EXHAUSTED.to_owned()), None]);
}

#[tokio::test(start_paused = true)]
async fn large_requests_and_notifications_fit_the_budget_or_are_dropped() {
    let (outbox, mut events) = Outbox::open();
    let text = || format!(r#"{{"method":"{}"}}"#, "x".repeat(10_000_000));
    assert!(outbox.send(text()).await);
    outbox.try_notify(text());
    assert!(!outbox.send(text()).await);
    outbox.try_notify("{}".to_owned());
    let Some(Event::Frame(first)) = events.recv().await else {
        panic!("nothing came");
    };
    assert!(first.bytes().len() > 10_000_000);
    drop(first);
    let Some(Event::Frame(second)) = events.recv().await else {
        panic!("nothing came");
    };
    assert_eq!(second.bytes(), "{}");
    assert!(outbox.send(text()).await);
}

#[tokio::test(start_paused = true)]
async fn coalesced_notifications_are_bounded_in_bytes() {
    let (outbox, mut events) = Outbox::open();
    for filler in ["a", "b", "c"] {
        outbox.enqueue_coalesced(filler.repeat(600_000));
    }
    settle().await;
    assert!(events.try_recv().is_some());
    assert!(events.try_recv().is_none());
}
