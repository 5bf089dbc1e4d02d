//! What is left behind by a session, or a future of one, that is dropped.

use std::sync::Weak;
use std::sync::atomic::Ordering;

use keyway_testkit::{drop_at_every_await, poll_at_most};
use tokio::time::timeout;

use super::*;
use crate::timeouts::NO_TIMEOUT;

/// Fails the test, by the paused clock, if something waits forever.
const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);

/// Asks for `method` without a limit of time.
const fn endless(method: &str) -> Forward<'_> {
    Forward {
        method,
        params: "{}",
        timeout: NO_TIMEOUT,
        progress: None,
    }
}

/// Says whether every copy of a link is gone: then the connection has ended, and a child with it.
async fn has_ended(link: Weak<Scripted>) -> bool {
    run_other_tasks().await;
    link.strong_count() == 0
}

/// Lets every other task run as far as it comes without time passing.
async fn run_other_tasks() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_gets_its_end_when_the_session_closes() {
    let (_link, session) = open(vec![modern()]).await;
    let session = session.unwrap();
    let call = timeout(FOREVER, session.forward(endless("x")));
    let (outcome, ()) = tokio::join!(call, session.close());
    let error = outcome.expect("the call ends").unwrap_err();
    assert_eq!(error.code(), Code::ConnectionClosed);
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_gets_its_end_when_closing_is_given_up() {
    let (link, session) = open(vec![modern()]).await;
    let session = session.unwrap();
    link.is_slow_to_close.store(true, Ordering::Relaxed);
    let call = timeout(FOREVER, session.forward(endless("x")));
    let close = poll_at_most(1, session.close());
    let (outcome, closed) = tokio::join!(call, close);
    assert!(closed.is_none());
    let error = outcome.expect("the call ends").unwrap_err();
    assert_eq!(error.code(), Code::ConnectionClosed);
}

#[tokio::test(start_paused = true)]
async fn an_opening_that_is_dropped_ends_the_connection_wherever_it_waits() {
    let dropped = drop_at_every_await(async |polls| {
        let (link, connection) = scripted(vec![
            ("server/discover", Reply::Silence),
            ("initialize", legacy("2025-06-18").1),
        ]);
        let link = Arc::downgrade(&{ link });
        let opening = Session::open(connection, client(), Arc::new(NoHandler), BOTH);
        let is_open = poll_at_most(polls, opening).await.is_some();
        assert!(has_ended(link).await, "dropped at await {polls}");
        is_open
    })
    .await;
    assert!(dropped >= 3, "{dropped}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_leaves_nothing_behind_wherever_it_waits() {
    let dropped = drop_at_every_await(async |polls| {
        let late = Reply::Late(Duration::from_secs(1), json!({}));
        let (link, session) = open(vec![modern(), ("x", late)]).await;
        let session = session.unwrap();
        let call = session.forward(endless("x"));
        let is_answered = poll_at_most(polls, call).await.is_some();
        assert_eq!(session.exchange.calls_under_way(), 0);
        session.close().await;
        let seen = std::mem::take(&mut *link.seen.lock().unwrap());
        let was_sent = seen.iter().any(|it| it["method"] == "x");
        let is_cancelled = seen
            .iter()
            .any(|it| it["method"] == "notifications/cancelled");
        assert_eq!(is_cancelled, was_sent && !is_answered, "await {polls}");
        let link = Arc::downgrade(&{ link });
        drop(session);
        assert!(has_ended(link).await, "dropped at await {polls}");
        is_answered
    })
    .await;
    assert!(dropped >= 2, "{dropped}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_dropped_while_it_closes_ends_the_connection() {
    let dropped = drop_at_every_await(async |polls| {
        let (link, session) = open(vec![modern()]).await;
        let session = session.unwrap();
        // A cancellation that cannot leave, and an end that takes its time.
        let call = poll_at_most(1, session.forward(endless("x"))).await;
        assert!(call.is_none());
        link.is_full.store(true, Ordering::Relaxed);
        link.is_slow_to_close.store(true, Ordering::Relaxed);
        let is_closed = poll_at_most(polls, session.close()).await.is_some();
        let link = Arc::downgrade(&{ link });
        drop(session);
        assert!(has_ended(link).await, "dropped at await {polls}");
        is_closed
    })
    .await;
    assert!(dropped >= 2, "{dropped}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_leave_times_out() {
    let (link, session) = open(vec![modern()]).await;
    let session = session.unwrap();
    link.is_full.store(true, Ordering::Relaxed);
    let outcome = timeout(FOREVER, session.request(Request::new("x", Map::new()))).await;
    let error = outcome.expect("it times out").unwrap_err();
    assert_eq!(error.code(), Code::Timeout);
    let outcome = timeout(FOREVER, session.notify("notifications/x", None)).await;
    let error = outcome.expect("it times out").unwrap_err();
    assert_eq!(error.code(), Code::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_call_times_out_even_if_its_cancellation_cannot_leave() {
    let (link, session) = open(vec![modern()]).await;
    let session = session.unwrap();
    let call = timeout(FOREVER, session.request(Request::new("x", Map::new())));
    let full = async { link.is_full.store(true, Ordering::Relaxed) };
    let (outcome, ()) = tokio::join!(call, full);
    let error = outcome.expect("it times out").unwrap_err();
    assert_eq!(error.code(), Code::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_session_leaves_no_cancellation_behind_that_cannot_leave() {
    let (link, session) = open(vec![modern()]).await;
    let session = session.unwrap();
    assert!(
        poll_at_most(1, session.forward(endless("x")))
            .await
            .is_none()
    );
    link.is_full.store(true, Ordering::Relaxed);
    // The task that tells the server begins to.
    run_other_tasks().await;
    let link = Arc::downgrade(&{ link });
    drop(session);
    assert!(has_ended(link).await);
}

/// Never answers.
#[derive(Debug)]
struct Undecided;

impl Handler for Undecided {
    fn capabilities(&self) -> Value {
        Answers.capabilities()
    }

    fn answer<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(std::future::pending())
    }

    fn notified(&self, _: &str, _: &Frame) {}
}

#[tokio::test(start_paused = true)]
async fn a_dropped_session_leaves_no_question_of_the_server_behind() {
    for handler in [Arc::new(Undecided) as Arc<dyn Handler>, Arc::new(Answers)] {
        let question = json!({"id": "q1", "method": "elicitation/create", "params": {}});
        let rules = vec![modern(), ("x", Reply::Ask(question))];
        let (link, connection) = scripted(rules);
        let session = Session::open(connection, client(), handler, BOTH).await;
        let session = session.unwrap();
        let ask = poll_at_most(1, session.forward(endless("x"))).await;
        assert!(ask.is_none());
        link.is_full.store(true, Ordering::Relaxed);
        // The question is read, and its answer begins to be sent.
        run_other_tasks().await;
        let link = Arc::downgrade(&{ link });
        drop(session);
        assert!(has_ended(link).await);
    }
}
