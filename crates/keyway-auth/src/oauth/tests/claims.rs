//! Whose turn it is: claims of the living and the dead, and a store that cannot be written to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyway_code::Code;
use keyway_store::{Claim, Commit, GrantState, GrantStore as _, Tokens};

use super::{eventually, is_a_chain, redeemed, refused};
use crate::Authorizer as _;
use crate::oauth::testing::{Deed, Kit, REVOKE, Reply, TOKEN, cause};
use crate::oauth::{OAuthError, PromptPolicy, RejectionCause, Revoked, replaced_tokens_record};

#[test]
fn c6_rule_5_without_a_claim_nothing_is_redeemed() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.honest.reset();
    kit.shelf.lock(1);
    let error = kit.call(&oauth).unwrap_err();
    assert_eq!(error.code(), Code::Vault);
    assert_eq!(redeemed(&kit), 0);
    assert_eq!(kit.person.windows(), 1);
    kit.clock.advance(Duration::from_secs(2));
    assert_eq!(kit.call(&oauth).unwrap(), 200);
}

#[test]
fn rule_5_a_token_in_memory_is_used_while_the_store_is_locked() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.shelf.lock(u32::MAX);
    kit.clock.advance(Duration::from_secs(3580));
    for _ in 0..10 {
        assert_eq!(kit.call(&oauth).unwrap(), 200);
    }
    assert_eq!(redeemed(&kit), 0);
}

#[test]
fn rule_6_the_claim_of_a_dead_owner_is_taken_over_at_once() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let generation = kit.stored().unwrap().generation;
    let dead = kit.other_shelf();
    let claim = dead.claim(&kit.key, generation, Duration::from_secs(600));
    assert!(matches!(claim.unwrap(), Claim::Claimed(_)));
    drop(dead);
    kit.honest.reset();
    assert_eq!(
        kit.call(&oauth).unwrap(),
        200,
        "the clock stands still, so no call waited"
    );
    assert_eq!(redeemed(&kit), 1);
}

#[test]
fn rule_6_a_token_that_a_dead_owner_may_have_redeemed_is_tried_once_and_the_cause_named() {
    let mut kit = Kit::new();
    kit.prompt_policy = PromptPolicy::Never;
    kit.run(kit.oauth().sign_in(None)).unwrap();
    let oauth = kit.oauth();
    let generation = kit.stored().unwrap().generation;
    let dead = kit.other_shelf();
    drop(dead.claim(&kit.key, generation, Duration::from_secs(600)));
    drop(dead);
    kit.honest.reset();
    kit.honest.revoke_family();
    let error = cause(kit.call(&oauth).unwrap_err());
    let OAuthError::GrantRejected { cause, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(cause, RejectionCause::ProcessDied);
    for _ in 0..5 {
        kit.call(&oauth).unwrap_err();
    }
    assert_eq!(redeemed(&kit), 1, "never a loop");
}

#[test]
fn the_claim_of_a_living_owner_is_waited_for_but_not_for_ever() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let generation = kit.stored().unwrap().generation;
    let other = kit.other_shelf();
    drop(other.claim(&kit.key, generation, Duration::from_secs(600)));
    kit.honest.reset();
    kit.clock.let_pass(1000);
    let error = kit.call(&oauth).unwrap_err();
    assert_eq!(
        error.code().exit(),
        keyway_code::Exit::Network,
        "no sign-in"
    );
    assert!(
        matches!(cause(error), OAuthError::RenewalBusy { process: Some(process), is_overdue: false } if process == std::process::id())
    );
    assert_eq!(redeemed(&kit), 0);
}

/// Its exchange may have begun before whatever made the server refuse the last token.
#[test]
fn token_that_another_process_renewed_and_the_server_refuses_is_renewed_once_more() {
    let kit = Kit::new();
    let ours = kit.signed_in();
    let generation = kit.stored().unwrap().generation;
    let other = kit.other_shelf();
    let lifetime = Duration::from_secs(600);
    let claim = match other.claim(&kit.key, generation, lifetime).unwrap() {
        Claim::Claimed(claim) => claim,
        claim => panic!("{claim:?}"),
    };
    kit.honest.reset();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| kit.call(&ours));
        eventually("it waits for the other process", || {
            kit.clock.is_waited_for()
        });
        let refused = Tokens::new("refused".to_owned().into())
            .with_lifetime(lifetime)
            .with_refresh(claim.refresh.clone());
        let committed = other.commit(&kit.key, generation, &refused);
        assert!(
            matches!(committed, Ok(Commit::Committed { .. })),
            "{committed:?}"
        );
        kit.clock.advance(Duration::from_secs(1));
        assert_eq!(call.join().unwrap().unwrap(), 200);
    });
    assert_eq!(redeemed(&kit), 1);
    assert_eq!(kit.person.windows(), 1, "the first sign-in alone");
}

#[test]
fn a_sign_out_elsewhere_is_not_undone_by_a_renewal() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let (other, key, honest) = (kit.other_shelf(), kit.key.clone(), kit.honest.clone());
    kit.world.answer(TOKEN, move |seen| {
        other.delete(&key).unwrap();
        honest.token(seen)
    });
    let used = kit.run(oauth.obtain()).unwrap();
    kit.honest.reset();
    kit.person.will([crate::oauth::testing::Deed::Cancel]);
    kit.run(oauth.challenged(&used, refused(1))).unwrap_err();
    assert!(kit.stored().is_none());
}

#[test]
fn a_sign_in_made_by_another_process_is_adopted_without_a_window() {
    let mut kit = Kit::new();
    kit.prompt_policy = PromptPolicy::Never;
    let oauth = kit.oauth();
    let error = kit.call(&oauth).unwrap_err();
    assert_eq!(error.code(), Code::SignInRequired);
    kit.run(kit.process(&kit.other_shelf()).sign_in(None))
        .unwrap();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn a_sign_in_by_another_process_is_noticed_within_a_second() {
    let kit = Kit::new();
    let oauth = kit.oauth();
    std::thread::scope(|scope| {
        let noticing = scope.spawn(|| kit.run(oauth.signed_in_elsewhere()));
        eventually("it looks again later", || kit.clock.is_waited_for());
        kit.run(kit.process(&kit.other_shelf()).sign_in(None))
            .unwrap();
        assert!(!noticing.is_finished(), "time stands still");
        kit.clock.advance(Duration::from_secs(1));
        eventually("it is noticed", || noticing.is_finished());
    });
}

/// A person would have to sign in once more.
#[test]
fn new_sign_in_is_stored_although_the_store_is_locked_for_a_while() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
    kit.world.answer(TOKEN, move |seen| {
        // The claim on the earlier sign-in fails as well, and then five tries and the journal.
        shelf.lock(8);
        honest.token(seen)
    });
    kit.clock.let_pass(500);
    kit.run(oauth.sign_in(None)).unwrap();
    assert_eq!(kit.stored_access(), "at-2");
    assert_eq!(kit.call(&oauth).unwrap(), 200);
}

/// A person signs in again because the refresh token was rejected, or to be granted more.
#[test]
fn new_sign_in_that_cannot_be_stored_is_journaled_and_committed_by_the_next_process() {
    for is_rejected in [false, true] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        if is_rejected {
            kit.honest.reset();
            kit.honest.revoke_family();
            kit.person.will([Deed::Cancel]);
            kit.call(&oauth).unwrap_err();
            assert_eq!(kit.stored().unwrap().state, GrantState::NeedsReauth);
        }
        let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
        kit.world.answer(TOKEN, move |seen| {
            shelf.lock_rows(true);
            honest.token(seen)
        });
        let before = kit.stored().unwrap();
        kit.clock.let_pass(500);
        let error = kit.run(oauth.sign_in(None)).unwrap_err();
        assert_eq!(error.code(), Code::Vault);
        assert_eq!(kit.stored().unwrap().generation, before.generation);
        // Whatever it claims, the successor of the token is committed first.
        let next = kit.other_shelf();
        let claim = next.claim(&kit.key, before.generation, Duration::ZERO);
        assert!(matches!(claim, Ok(Claim::Moved { .. })), "{claim:?}");
        assert_eq!(kit.stored_access(), "at-2", "rejected: {is_rejected}");
        assert_eq!(kit.stored().unwrap().state, GrantState::Good);
        assert_eq!(kit.call(&kit.process(&next)).unwrap(), 200);
    }
}

/// The first one, and one that cannot be renewed.
#[test]
fn first_sign_in_that_cannot_be_stored_is_journaled_and_committed_by_the_next_start() {
    for renews in [true, false] {
        let kit = Kit::new();
        let oauth = kit.oauth();
        let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
        if !renews {
            kit.honest.add(serde_json::json!({ "refresh_token": null }));
        }
        kit.world.answer(TOKEN, move |seen| {
            shelf.lock_rows(true);
            honest.token(seen)
        });
        kit.clock.let_pass(500);
        let error = cause(kit.run(oauth.sign_in(None)).unwrap_err());
        assert!(error.hint().contains("in the journal"), "{error}");
        assert!(kit.stored().is_none());
        kit.other_shelf().commit_journaled();
        assert_eq!(kit.stored_access(), "at-1");
        assert_eq!(kit.stored().unwrap().refreshable, renews);
        assert_eq!(kit.call(&kit.process(&kit.other_shelf())).unwrap(), 200);
    }
}

/// A database that is away does not say what a sign-in replaces: then what was there before.
#[test]
fn new_sign_in_is_journaled_although_the_store_cannot_even_be_read() {
    for is_first in [true, false] {
        let kit = Kit::new();
        let oauth = kit.oauth();
        if !is_first {
            kit.run(oauth.sign_in(None)).unwrap();
        }
        let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
        kit.world.answer(TOKEN, move |seen| {
            shelf.go_away();
            honest.token(seen)
        });
        kit.clock.let_pass(500);
        let error = cause(kit.run(oauth.sign_in(None)).unwrap_err());
        assert!(error.hint().contains("in the journal"), "{error}");
        let next = kit.other_shelf();
        next.commit_journaled();
        let stored = next.read(&kit.key).unwrap().unwrap();
        let expected = if is_first { "at-1" } else { "at-2" };
        assert_eq!(stored.access.expose(), expected);
    }
}

#[test]
fn first_sign_in_that_is_only_in_memory_is_stored_once_it_fits_and_its_process_named() {
    let kit = Kit::new();
    let oauth = kit.oauth();
    let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
    kit.world.answer(TOKEN, move |seen| {
        shelf.lock(u32::MAX);
        honest.token(seen)
    });
    kit.clock.let_pass(500);
    let error = cause(kit.run(oauth.sign_in(None)).unwrap_err());
    assert!(error.hint().contains("in the memory"), "{error}");
    eventually("it is shown", || kit.shelf.unstored(&kit.key).is_some());
    let process = kit.other_shelf().unstored(&kit.key);
    assert_eq!(process, Some(Some(std::process::id())));
    assert!(kit.tasks.is_held(), "the process waits for it");
    kit.shelf.lock(0);
    eventually("it is stored", || {
        kit.clock.advance(Duration::from_millis(500));
        kit.stored().is_some()
    });
    assert_eq!(kit.stored_access(), "at-1");
    eventually("the process may end", || !kit.tasks.is_held());
    eventually("it is shown no longer", || {
        kit.shelf.unstored(&kit.key).is_none()
    });
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn person_is_not_asked_for_a_sign_in_that_could_not_be_stored() {
    let kit = Kit::new();
    kit.shelf.fill();
    let error = kit.run(kit.oauth().sign_in(None)).unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(kit.person.windows(), 0);
}

/// The process that signed in waits for the store; another finds the journal meanwhile.
#[test]
fn journaled_sign_in_that_another_process_stored_and_renewed_is_not_put_back() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let before = kit.stored().unwrap().generation;
    let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
    kit.world.answer(TOKEN, move |seen| {
        if seen.field("grant_type") == "authorization_code" {
            shelf.lock_rows(true);
        }
        honest.token(seen)
    });
    let next = kit.other_shelf();
    std::thread::scope(|scope| {
        let signing_in = scope.spawn(|| kit.run(oauth.sign_in(None)));
        eventually("the journal is committed", || {
            kit.clock.advance(Duration::from_millis(50));
            let claim = next.claim(&kit.key, before, Duration::ZERO);
            matches!(claim, Ok(Claim::Moved { .. }))
        });
        kit.run(kit.process(&next).renew()).unwrap();
        assert_eq!(kit.stored_access(), "at-3");
        kit.shelf.lock_rows(false);
        eventually("the sign-in ends", || {
            kit.clock.advance(Duration::from_millis(50));
            signing_in.is_finished()
        });
        signing_in.join().unwrap().unwrap();
    });
    assert_eq!(kit.stored_access(), "at-3", "the newer tokens stay");
    is_a_chain(&kit);
}

#[test]
fn process_does_not_end_before_a_new_sign_in_is_stored() {
    let kit = Kit::new();
    let oauth = kit.oauth();
    kit.shelf.lock(u32::MAX);
    std::thread::scope(|scope| {
        let signing_in = scope.spawn(|| kit.run(oauth.sign_in(None)));
        eventually("the tokens are only in memory", || {
            kit.clock.advance(Duration::from_millis(50));
            kit.world.redeemed("authorization_code").len() == 1
        });
        eventually("storing is tried again", || kit.clock.is_waited_for());
        assert!(kit.tasks.is_held());
        assert!(kit.stored().is_none());
        kit.shelf.lock(0);
        eventually("it is stored", || {
            kit.clock.advance(Duration::from_millis(50));
            signing_in.is_finished()
        });
        signing_in.join().unwrap().unwrap();
    });
    assert_eq!(kit.stored_access(), "at-1");
    eventually("the process may end", || !kit.tasks.is_held());
}

/// Whether it succeeds or not, no process has to wait for it afterwards, and the server is told of
/// nothing that is still stored.
#[test]
fn sign_out_that_cannot_delete_leaves_no_claim() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.shelf.lock_at_delete(12);
    kit.clock.let_pass(500);
    kit.run(oauth.sign_out()).unwrap_err();
    assert!(kit.world.seen(REVOKE).is_empty());
    let generation = kit.stored().unwrap().generation;
    let other = kit.other_shelf();
    eventually("it is given back", || {
        kit.clock.advance(Duration::from_millis(500));
        let claim = other.claim(&kit.key, generation, Duration::from_secs(1));
        matches!(claim.unwrap(), Claim::Claimed(_))
    });
}

#[test]
fn sign_out_that_cannot_delete_leaves_the_sign_in_as_it_was() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.shelf.lock_at_delete(12);
    kit.clock.let_pass(500);
    kit.run(oauth.sign_out()).unwrap_err();
    kit.shelf.lock(0);
    kit.run(kit.oauth().renew()).unwrap();
    assert_eq!(kit.stored_access(), "at-2");
    is_a_chain(&kit);
    // And nothing of it is left over for the next one.
    let ended = kit.run(kit.oauth().sign_out()).unwrap();
    assert_eq!((ended.replaced, ended.pending), (0, 0));
}

#[test]
fn while_the_server_is_told_of_a_sign_out_the_next_one_knows_what_to_tell_it() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let (other, key) = (kit.other_shelf(), kit.key.clone());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    kit.world.answer(REVOKE, move |_| {
        let is_deleted = other.read(&key).unwrap().is_none();
        let is_kept =
            crate::ports::RecordStore::get(&*other, &replaced_tokens_record(&key)).is_some();
        noted.lock().unwrap().push((is_deleted, is_kept));
        Reply::raw(200, "")
    });
    kit.run(oauth.sign_out()).unwrap();
    assert_eq!(seen.lock().unwrap().first(), Some(&(true, true)));
    let nothing = kit.run(kit.oauth().sign_out()).unwrap();
    assert_eq!(nothing.revoked, Revoked::Nothing);
}

/// What one person's lost answers taught of an issuer counts for all who share its records.
#[test]
fn what_one_person_learned_of_an_issuer_the_others_know() {
    for is_shared in [false, true] {
        let (mut one, mut other, shared) = (Kit::new(), Kit::new(), Kit::new());
        if is_shared {
            one.issuers = Some(shared.shelf.clone());
            other.issuers = Some(shared.shelf.clone());
        }
        let oauth = one.signed_in();
        one.run(oauth.renew()).unwrap();
        let (honest, answers) = (one.honest.clone(), AtomicUsize::new(0));
        one.world.answer(TOKEN, move |seen| {
            match answers.fetch_add(1, Ordering::SeqCst) {
                0 => Reply::raw(200, "garbage"),
                _ => honest.token(seen),
            }
        });
        one.run(oauth.renew()).unwrap_err();
        one.run(oauth.renew()).unwrap();

        let oauth = other.signed_in();
        other.run(oauth.renew()).unwrap();
        let generation = other.stored().unwrap().generation;
        let stuck = other.other_shelf();
        drop(stuck.claim(&other.key, generation, Duration::ZERO));
        other.clock.let_pass(1000);
        let renewed = other.run(other.process(&other.other_shelf()).renew());
        assert_eq!(renewed.is_ok(), is_shared, "{renewed:?}");
    }
}

/// Rule 4: the claim of a living process is taken over where the issuer is known to grant grace.
#[test]
fn overdue_claim_is_taken_over_only_where_the_issuer_was_seen_to_grant_grace() {
    for is_known in [false, true] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        // A renewal that brings another refresh token: the issuer rotates.
        kit.run(oauth.renew()).unwrap();
        if is_known {
            let (honest, answers) = (kit.honest.clone(), AtomicUsize::new(0));
            kit.world.answer(TOKEN, move |seen| {
                // The token was replaced, and the answer is of no use; then it comes again.
                match answers.fetch_add(1, Ordering::SeqCst) {
                    0 => Reply::raw(200, "garbage"),
                    _ => honest.token(seen),
                }
            });
            kit.run(oauth.renew()).unwrap_err();
            kit.run(oauth.renew()).unwrap();
        }
        let generation = kit.stored().unwrap().generation;
        let other = kit.other_shelf();
        drop(other.claim(&kit.key, generation, Duration::ZERO));
        kit.clock.let_pass(1000);
        let before = redeemed(&kit);
        let renewed = kit.run(kit.process(&kit.other_shelf()).renew());
        if is_known {
            renewed.unwrap();
            assert_eq!(redeemed(&kit), before + 1);
            continue;
        }
        let error = cause(renewed.unwrap_err());
        let is_busy = matches!(
            error,
            OAuthError::RenewalBusy {
                is_overdue: true,
                ..
            }
        );
        assert!(is_busy, "{error}");
        assert_eq!(redeemed(&kit), before);
    }
}
