//! Renewing: ahead of time, on refusal, once for all waiting requests, never at the cost of a
//! sign-in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_lock::Semaphore;
use futures_lite::future::{block_on, or, yield_now};
use keyway_code::Code;
use keyway_store::{Claim, GrantState, GrantStore as _};

use super::{eventually, is_a_chain, redeemed, refused};
use crate::oauth::testing::{Kit, MCP, Reply, TOKEN, bearer, cause};
use crate::oauth::{OAuthError, PromptPolicy, RejectionCause, SignIn};
use crate::ports::{HttpFailure, Tasks as _};
use crate::{Authorizer as _, Verdict};

#[test]
fn rule_1_a_token_is_renewed_ahead_of_its_end_while_no_request_waits() {
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
            "no request waits"
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
fn rule_2_callers_are_told_after_ten_seconds_and_the_exchange_is_given_up_after_sixty() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    let never = Arc::new(Semaphore::new(0));
    kit.world.route(TOKEN, [Reply::raw(200, "").behind(&never)]);
    kit.clock.let_pass(1000);
    let before = kit.clock.passed();
    let error = kit.call(&oauth).unwrap_err();
    let waited = kit.clock.passed() - before;
    assert!((10..60).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(error.code(), Code::NetworkError);
    assert!(error.is_transient());
    assert!(matches!(cause(error), OAuthError::RenewalSlow { .. }));
    assert_eq!(kit.stored().unwrap().state, GrantState::Good);
    let other = kit.other_shelf();
    let generation = kit.stored().unwrap().generation;
    let look = || other.claim(&kit.key, generation, Duration::ZERO).unwrap();
    assert!(matches!(look(), Claim::Held { .. }), "the exchange goes on");
    let mut found = None;
    eventually("the exchange is given up", || {
        kit.clock.advance(Duration::from_secs(1));
        if let Claim::Claimed(claimed) = look() {
            found = Some(claimed);
        }
        found.is_some()
    });
    assert_eq!(found.unwrap().lost_answers, 1, "it may have been redeemed");
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn rule_2_an_answer_after_eleven_or_thirty_seconds_is_kept() {
    for seconds in [11, 30, 59] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        kit.honest.reset();
        let honest = kit.honest.clone();
        kit.world.answer(TOKEN, move |seen| {
            honest.token(seen).after(Duration::from_secs(seconds))
        });
        kit.clock.let_pass(500);
        let error = kit.call(&oauth).unwrap_err();
        assert_eq!(error.code(), Code::NetworkError, "{seconds}");
        eventually("the answer is stored", || {
            kit.clock.advance(Duration::from_millis(500));
            kit.stored_access() == "at-2"
        });
        assert_eq!(kit.call(&oauth).unwrap(), 200);
        assert_eq!(redeemed(&kit), 1, "{seconds}");
        is_a_chain(&kit);
        assert_eq!(kit.person.windows(), 1);
    }
}

#[test]
fn rule_2_time_in_which_the_process_is_stopped_does_not_count() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    let (honest, gate) = (kit.honest.clone(), Arc::new(Semaphore::new(0)));
    let held = Arc::clone(&gate);
    kit.world
        .answer(TOKEN, move |seen| honest.token(seen).behind(&held));
    let caller = {
        let oauth = oauth.clone();
        let used = kit.run(oauth.obtain()).unwrap();
        async move { drop(oauth.challenged(&used, refused(1)).await) }
    };
    kit.tasks.spawn(Box::pin(caller));
    eventually("it is sent", || redeemed(&kit) == 1);
    // As the clock looks to a process that was stopped for as long, twenty times over.
    for _ in 0..20 {
        eventually("the exchange waits", || kit.clock.is_waited_for());
        kit.clock.advance(Duration::from_secs(90));
    }
    gate.add_permits(1);
    eventually("the answer is stored", || kit.stored_access() == "at-2");
    is_a_chain(&kit);
}

#[test]
fn rule_2_a_process_that_waited_for_another_has_the_full_time_for_its_own_request() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    let generation = kit.stored().unwrap().generation;
    let first = kit.other_shelf();
    let Claim::Claimed(claim) = first
        .claim(&kit.key, generation, Duration::from_secs(120))
        .unwrap()
    else {
        panic!("it is free");
    };
    let honest = kit.honest.clone();
    kit.world.answer(TOKEN, move |seen| {
        honest.token(seen).after(Duration::from_secs(9))
    });
    let used = kit.run(oauth.obtain()).unwrap();
    let waiter = oauth.clone();
    let done = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&done);
    kit.tasks.spawn(Box::pin(async move {
        drop(waiter.challenged(&used, refused(1)).await);
        count.fetch_add(1, Ordering::SeqCst);
    }));
    // Half of the ten seconds goes by until the first process gives its claim back.
    for _ in 0..5 {
        eventually("it waits", || kit.clock.is_waited_for());
        kit.clock.advance(Duration::from_secs(1));
    }
    assert!(first.release(&kit.key, claim.id).unwrap());
    eventually("it is sent", || {
        kit.clock.advance(Duration::from_millis(5));
        redeemed(&kit) == 1
    });
    eventually("the answer is stored", || {
        kit.clock.advance(Duration::from_millis(250));
        kit.stored_access() == "at-2"
    });
    assert_eq!(redeemed(&kit), 1);
    is_a_chain(&kit);
}

#[test]
fn a_lost_answer_is_said_to_be_one_and_the_old_token_is_tried_once_more() {
    let mut kit = Kit::new();
    kit.prompt_policy = PromptPolicy::Never;
    kit.run(kit.oauth().sign_in(None)).unwrap();
    let oauth = kit.oauth();
    kit.honest.reset();
    let lost = || HttpFailure::Unreachable {
        host: "as.example".to_owned(),
        why: "connection lost".to_owned(),
        sent: true,
    };
    let honest = kit.honest.clone();
    let count = AtomicU32::new(0);
    kit.world.answer(TOKEN, move |seen| {
        let answer = honest.token(seen);
        match count.fetch_add(1, Ordering::SeqCst) {
            // The server has replaced the token.
            0 => Reply::fails(lost()),
            _ => answer,
        }
    });
    let error = cause(kit.call(&oauth).unwrap_err());
    assert!(
        matches!(
            error,
            OAuthError::GrantRejected {
                cause: RejectionCause::AnswerLost,
                ..
            }
        ),
        "{error}"
    );
    // Hints are replaced by those of the command; the cause must not go with them.
    assert!(error.to_string().contains("lost on the way"), "{error}");
    // So is it named from then on, by this process and by those that come later.
    let later = kit.process(&kit.other_shelf());
    for process in [&oauth, &later, &oauth] {
        let error = kit.call(process).unwrap_err();
        assert!(error.to_string().contains("lost on the way"), "{error}");
    }
    let status = SignIn::of(&kit.stored().unwrap()).unwrap();
    assert_eq!(status.rejection, Some(RejectionCause::AnswerLost));
    assert_eq!(redeemed(&kit), 2, "never a loop");
}

/// By the next use of the sign-in, which may be a minute later, a period of grace is over.
#[test]
fn a_token_whose_answer_was_lost_is_sent_again_and_not_without_end() {
    for lost in [1_u32, 3, 4] {
        let kit = Kit::new();
        kit.clock.let_pass(25);
        kit.run(kit.oauth().sign_in(None)).unwrap();
        let oauth = kit.oauth();
        kit.honest.reset();
        let honest = kit.honest.clone();
        let count = AtomicU32::new(0);
        kit.world.answer(TOKEN, move |seen| {
            if count.fetch_add(1, Ordering::SeqCst) < lost {
                return Reply::fails(HttpFailure::Unreachable {
                    host: "as.example".to_owned(),
                    why: "connection lost".to_owned(),
                    sent: true,
                });
            }
            // It has replaced the token, and takes it once more.
            honest.token(seen)
        });
        let outcome = kit.call(&oauth);
        match lost {
            4 => assert_eq!(outcome.unwrap_err().code(), Code::RefreshUnanswered),
            _ => assert_eq!(outcome.unwrap(), 200),
        }
        assert_eq!(redeemed(&kit), usize::try_from(lost + 1).unwrap().min(4));
    }
}

/// A process that was stopped, or took over late, repeats a token when grace is over. Were the issuer
/// taken for strict then, every person would lose their sign-in with the next lost answer.
#[test]
fn an_issuer_is_strict_only_if_it_refuses_a_repeated_token_at_once() {
    for (late, is_repeated) in [(5, true), (0, false)] {
        let mut kit = Kit::new();
        kit.prompt_policy = PromptPolicy::Never;
        kit.run(kit.oauth().sign_in(None)).unwrap();
        let oauth = kit.oauth();
        kit.honest.reset();
        let (honest, clock) = (kit.honest.clone(), kit.clock.clone());
        let count = AtomicU32::new(0);
        kit.world.answer(TOKEN, move |seen| {
            let lost = || HttpFailure::Unreachable {
                host: "as.example".to_owned(),
                why: "connection lost".to_owned(),
                sent: true,
            };
            match count.fetch_add(1, Ordering::SeqCst) {
                0 => {
                    honest.token(seen);
                    Reply::fails(lost())
                }
                1 => {
                    clock.advance(Duration::from_secs(late));
                    honest.token(seen)
                }
                // The sign-in after that, whose next answer is lost; it had not arrived.
                3 => Reply::fails(lost()),
                _ => honest.token(seen),
            }
        });
        kit.call(&oauth).unwrap_err();
        kit.run(oauth.sign_in(None)).unwrap();
        let renewed = kit.run(oauth.renew());
        assert_eq!(renewed.is_ok(), is_repeated, "{late}: {renewed:?}");
    }
}

#[test]
fn a_process_that_waited_for_the_one_that_was_refused_names_the_lost_answer() {
    let mut kit = Kit::new();
    kit.prompt_policy = PromptPolicy::Never;
    kit.run(kit.oauth().sign_in(None)).unwrap();
    let waiting = kit.oauth();
    assert_eq!(kit.call(&waiting).unwrap(), 200);
    kit.honest.reset();
    // It lost an answer, was refused, and ended without a word.
    let other = kit.other_shelf();
    let generation = kit.stored().unwrap().generation;
    for is_lost in [true, false] {
        let claim = other.claim(&kit.key, generation, Duration::from_secs(120));
        let Ok(Claim::Claimed(claim)) = claim else {
            panic!("{claim:?}");
        };
        if is_lost {
            other.answer_lost(&kit.key, claim.id).unwrap();
        } else {
            let sent = &claim.fingerprint;
            other.mark_reauth(&kit.key, generation, sent).unwrap();
        }
    }
    let error = kit.call(&waiting).unwrap_err();
    assert!(error.to_string().contains("lost on the way"), "{error}");
    assert_eq!(redeemed(&kit), 0, "what was rejected is not sent again");
}

#[test]
fn what_a_server_asks_to_wait_holds_for_all_processes() {
    let kit = Kit::new();
    kit.signed_in();
    kit.honest.reset();
    kit.world.route(
        TOKEN,
        [Reply::raw(429, "slow down").header("retry-after", "30")],
    );
    for _ in 0..8 {
        let process = kit.process(&kit.other_shelf());
        let error = kit.call(&process).unwrap_err();
        assert_eq!(error.code(), Code::AuthorizationServerError);
        assert!(error.is_transient());
    }
    assert_eq!(redeemed(&kit), 1);
    assert_eq!(kit.stored().unwrap().state, GrantState::Good);
}

#[test]
fn rule_3_a_store_that_stays_locked_gets_the_new_token_in_the_end() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
    kit.world.answer(TOKEN, move |seen| {
        // Longer than callers wait, the journal included.
        shelf.lock(60);
        honest.token(seen)
    });
    kit.honest.reset();
    kit.clock.let_pass(500);
    let error = kit.call(&oauth).unwrap_err();
    assert_eq!(error.code(), Code::Vault);
    eventually("it is stored", || {
        kit.clock.advance(Duration::from_millis(500));
        kit.stored_access() == "at-2"
    });
    is_a_chain(&kit);
}

#[test]
fn rule_3_callers_get_the_old_token_and_then_wait_while_the_new_one_is_only_in_memory() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
    kit.world.answer(TOKEN, move |seen| {
        shelf.lock(u32::MAX);
        honest.token(seen)
    });
    // It is renewed ahead of its end.
    kit.clock.advance(Duration::from_secs(3580));
    assert_eq!(bearer(&oauth.cached().unwrap()), "Bearer at-1");
    eventually("it is sent", || redeemed(&kit) == 1);
    eventually("storing is tried again", || kit.clock.is_waited_for());
    for _ in 0..10 {
        assert_eq!(kit.call(&oauth).unwrap(), 200);
    }
    assert_eq!(kit.stored_access(), "at-1");
    let last = kit.world.seen(MCP).pop().unwrap();
    assert_eq!(last.header("authorization"), "Bearer at-1");
    kit.clock.advance(Duration::from_secs(21));
    std::thread::scope(|scope| {
        let caller = scope.spawn(|| kit.call(&oauth));
        eventually("it waits", || kit.clock.is_waited_for());
        assert!(!caller.is_finished());
        kit.shelf.lock(0);
        eventually("it is served", || {
            kit.clock.advance(Duration::from_millis(50));
            caller.is_finished()
        });
        assert_eq!(caller.join().unwrap().unwrap(), 200);
    });
    let last = kit.world.seen(MCP).pop().unwrap();
    assert_eq!(last.header("authorization"), "Bearer at-2");
    is_a_chain(&kit);
}

#[test]
fn rule_3_a_token_is_in_the_store_before_any_request_gets_it() {
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
