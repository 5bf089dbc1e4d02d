//! Renewing: ahead of time, on refusal, once for all who wait, and never at the cost of a sign-in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_lock::Semaphore;
use futures_lite::future::{block_on, or, yield_now};
use keyway_code::Code;
use keyway_store::GrantState;

use super::{eventually, is_a_chain, redeemed, refused};
use crate::oauth::testing::{Kit, MCP, Reply, TOKEN, bearer};
use crate::ports::Tasks as _;
use crate::{Authorizer as _, Verdict};

#[test]
fn rule_1_a_token_is_renewed_ahead_of_its_end_while_nobody_waits() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let gate = Arc::new(Semaphore::new(0));
    let honest = kit.honest.clone();
    let held = Arc::clone(&gate);
    kit.world
        .answer(TOKEN, move |seen| honest.token(seen).behind(&held));
    kit.clock.advance(Duration::from_secs(3500));
    assert_eq!(bearer(&oauth.cached().unwrap()), "Bearer at-1");
    assert_eq!(redeemed(&kit), 0, "too early");
    kit.clock.advance(Duration::from_secs(75));
    for _ in 0..100 {
        assert_eq!(
            bearer(&oauth.cached().unwrap()),
            "Bearer at-1",
            "nobody waits"
        );
    }
    eventually("it is renewed", || redeemed(&kit) == 1);
    gate.add_permits(1);
    eventually("the new one is used", || {
        bearer(&oauth.cached().unwrap()) == "Bearer at-2"
    });
    assert_eq!(redeemed(&kit), 1);
    is_a_chain(&kit);
}

#[test]
fn rule_1_a_token_without_an_end_is_renewed_when_it_is_refused() {
    let kit = Kit::new();
    kit.honest.add(serde_json::json!({}));
    let oauth = kit.signed_in();
    kit.clock.advance(Duration::from_secs(1_000_000));
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(redeemed(&kit), 0);
    kit.honest.reset();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(redeemed(&kit), 1);
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn t5_a_token_that_is_refused_though_its_time_is_not_over_is_renewed() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!((redeemed(&kit), kit.person.windows()), (1, 1));
    is_a_chain(&kit);
}

#[test]
fn a_token_whose_time_is_over_is_not_even_sent() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.clock.advance(Duration::from_secs(3601));
    kit.world.forget();
    for process in [oauth, kit.process(&kit.other_shelf())] {
        assert_eq!(kit.call(&process).unwrap(), 200);
    }
    let sent = kit.world.seen(MCP);
    assert!(
        sent.iter()
            .all(|seen| seen.header("authorization") == "Bearer at-2")
    );
    assert_eq!(redeemed(&kit), 1);
}

#[test]
fn c5_ten_thousand_refusals_at_once_make_one_request() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let used = kit.run(oauth.obtain()).unwrap();
    kit.world.forget();
    let done = Arc::new(AtomicU32::new(0));
    for _ in 0..10_000 {
        let (oauth, used, done) = (oauth.clone(), used.clone(), done.clone());
        kit.tasks.spawn(Box::pin(async move {
            let verdict = oauth.challenged(&used, refused(1)).await.unwrap();
            let Verdict::Retry(better) = verdict else {
                panic!("there is a better one");
            };
            assert_eq!(bearer(&better), "Bearer at-2");
            done.fetch_add(1, Ordering::SeqCst);
        }));
    }
    eventually("all are helped", || done.load(Ordering::SeqCst) == 10_000);
    assert_eq!(redeemed(&kit), 1);
    is_a_chain(&kit);
}

#[test]
fn t4_t5_several_processes_make_one_request_and_open_no_window() {
    let kit = Kit::new();
    kit.signed_in();
    let gate = Arc::new(Semaphore::new(0));
    let (honest, held) = (kit.honest.clone(), Arc::clone(&gate));
    kit.world
        .answer(TOKEN, move |seen| honest.token(seen).behind(&held));
    for expired in [false, true] {
        let processes: Vec<_> = (0..4).map(|_| kit.process(&kit.other_shelf())).collect();
        kit.world.forget();
        if expired {
            kit.clock.advance(Duration::from_secs(3601));
        } else {
            kit.honest.reset();
        }
        kit.clock.let_pass(20);
        std::thread::scope(|scope| {
            let callers: Vec<_> = processes
                .iter()
                .map(|oauth| scope.spawn(|| kit.call(oauth).unwrap()))
                .collect();
            eventually("one redeems", || redeemed(&kit) > 0);
            // Time for the others to redeem as well, which they may not.
            std::thread::sleep(Duration::from_millis(100));
            gate.add_permits(100);
            for caller in callers {
                assert_eq!(caller.join().unwrap(), 200);
            }
        });
        assert_eq!(redeemed(&kit), 1, "expired: {expired}");
        is_a_chain(&kit);
    }
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn rule_2_a_caller_that_goes_away_does_not_lose_the_new_token() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let gate = Arc::new(Semaphore::new(0));
    let (honest, held) = (kit.honest.clone(), Arc::clone(&gate));
    kit.world
        .answer(TOKEN, move |seen| honest.token(seen).behind(&held));
    let used = kit.run(oauth.obtain()).unwrap();
    let asking = async {
        oauth.challenged(&used, refused(1)).await.unwrap();
        panic!("the gate is closed");
    };
    let leaving = async {
        while redeemed(&kit) == 0 {
            yield_now().await;
        }
    };
    block_on(or(asking, leaving));
    assert_eq!(kit.stored_access(), "at-1");
    gate.add_permits(1);
    eventually("it is stored", || kit.stored_access() == "at-2");
    eventually("it is used", || {
        oauth.cached().is_some_and(|c| bearer(&c) == "Bearer at-2")
    });
    assert_eq!(redeemed(&kit), 1);
    is_a_chain(&kit);
}

#[test]
fn rule_2_a_token_endpoint_that_never_answers_is_given_up_after_ten_seconds() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    let never = Arc::new(Semaphore::new(0));
    kit.world.route(TOKEN, [Reply::raw(200, "").behind(&never)]);
    kit.clock.let_pass(1000);
    let error = kit.call(&oauth).unwrap_err();
    assert_eq!(error.code(), Code::NetworkError);
    assert!(error.is_transient());
    assert_eq!(kit.stored().unwrap().state, GrantState::Good);
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn rule_3_a_token_is_in_the_store_before_anybody_gets_it() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let used = kit.run(oauth.obtain()).unwrap();
    let Verdict::Retry(better) = kit.run(oauth.challenged(&used, refused(1))).unwrap() else {
        panic!("there is a better one");
    };
    assert_eq!(bearer(&better), format!("Bearer {}", kit.stored_access()));
}

#[test]
fn rule_3_a_store_that_is_locked_for_a_moment_does_not_lose_the_new_token() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
    kit.world.answer(TOKEN, move |seen| {
        shelf.lock(3);
        honest.token(seen)
    });
    kit.honest.reset();
    kit.clock.let_pass(50);
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.stored_access(), "at-2");
    is_a_chain(&kit);
}

#[test]
fn t4_a_slow_token_endpoint_is_waited_for() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    let honest = kit.honest.clone();
    kit.world.answer(TOKEN, move |seen| {
        honest.token(seen).after(Duration::from_secs(3))
    });
    kit.clock.let_pass(100);
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert!(kit.clock.passed() >= Duration::from_secs(3));
    assert_eq!(redeemed(&kit), 1);
}
