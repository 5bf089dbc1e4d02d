//! Signing out: which servers and processes are told, and that nothing is left.

use std::sync::Arc;
use std::time::Duration;

use async_lock::Semaphore;
use keyway_secret::Secret;
use keyway_store::GrantStore as _;
use serde_json::json;

use crate::oauth::testing::{Deed, Kit, REVOKE, Reply, TOKEN};
use crate::oauth::{AuthMethod, ClientOwner, ClientProof, ClientSettings, Revoked};

#[test]
fn c13_t17_the_refresh_token_is_revoked_before_the_access_token_and_nothing_is_left() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let ended = kit.run(oauth.sign_out()).unwrap();
    assert!(ended.existed);
    assert_eq!(ended.revoked, Revoked::Done);
    let told = kit.world.seen(REVOKE);
    let told: Vec<_> = told
        .iter()
        .map(|seen| {
            (
                seen.field("token"),
                seen.field("token_type_hint"),
                seen.field("client_id"),
            )
        })
        .collect();
    let of = |token: &str, hint: &str| (token.to_owned(), hint.to_owned(), "client-1".to_owned());
    assert_eq!(
        told,
        [of("rt-1", "refresh_token"), of("at-1", "access_token")]
    );
    assert!(kit.stored().is_none());
    assert!(kit.shelf.list("default").unwrap().is_empty());
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.person.windows(), 2, "the next use asks again");
}

#[test]
fn c13_a_token_at_hand_is_not_used_after_signing_out() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.run(oauth.sign_out()).unwrap();
    kit.person.will([Deed::Cancel]);
    kit.world.forget();
    kit.call(&oauth).unwrap_err();
    for seen in kit.world.journal() {
        assert_eq!(seen.header("authorization"), "");
    }
}

#[test]
fn c13_signing_out_succeeds_whatever_the_server_says() {
    for (reply, revoked, pending) in [
        (Reply::raw(500, ""), Revoked::Failed, 1),
        (Reply::raw(429, ""), Revoked::Failed, 1),
        (Reply::raw(400, "garbage"), Revoked::Refused, 0),
        (Reply::raw(302, ""), Revoked::Refused, 0),
        (Reply::times_out(), Revoked::Failed, 1),
    ] {
        let kit = Kit::new();
        let oauth = kit.signed_in();
        kit.world.route(REVOKE, [reply]);
        let ended = kit.run(oauth.sign_out()).unwrap();
        assert_eq!((ended.revoked, ended.pending), (revoked, pending));
        assert!(kit.stored().is_none());
    }
}

/// A sign-out while the server is away: the token lives on there, and only this machine knows it.
#[test]
fn refresh_token_whose_revocation_failed_is_revoked_by_the_next_sign_out() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.world.route(REVOKE, [Reply::times_out()]);
    kit.run(oauth.sign_out()).unwrap();
    // Still away: nothing is forgotten.
    let again = kit.run(kit.oauth().sign_out()).unwrap();
    assert_eq!((again.existed, again.pending), (false, 1));
    kit.world.forget();
    kit.world.route(REVOKE, [Reply::raw(200, "")]);
    let last = kit.run(kit.oauth().sign_out()).unwrap();
    assert_eq!(
        (last.revoked, last.replaced, last.pending),
        (Revoked::Done, 1, 0)
    );
    let told = kit.world.seen(REVOKE);
    assert_eq!(
        told.first().map(|seen| seen.field("token")).unwrap(),
        "rt-1"
    );
    // And then it is forgotten.
    let nothing = kit.run(kit.oauth().sign_out()).unwrap();
    assert_eq!(nothing.revoked, Revoked::Nothing);
}

#[test]
fn c13_a_server_that_takes_no_revocations_is_not_asked() {
    let kit = Kit::new();
    kit.honest.say("revocation_endpoint", json!(null));
    let oauth = kit.signed_in();
    let ended = kit.run(oauth.sign_out()).unwrap();
    assert_eq!(ended.revoked, Revoked::NotOffered);
    assert!(kit.stored().is_none());
}

#[test]
fn a_client_whose_secret_is_gone_is_not_passed_off_as_one_without() {
    let known = |proof| {
        Some(ClientSettings {
            id: "known".to_owned(),
            proof,
            method: Some(AuthMethod::ClientSecretPost),
            owner: ClientOwner::Entry,
        })
    };
    let mut kit = Kit::new();
    kit.settings.client = known(ClientProof::Secret(Secret::new("secret".to_owned())));
    kit.signed_in();
    kit.settings.client = known(ClientProof::Public);
    let ended = kit.run(kit.oauth().sign_out()).unwrap();
    assert_eq!(ended.revoked, Revoked::NoProof);
    assert!(kit.world.seen(REVOKE).is_empty());
    assert!(kit.stored().is_none());
}

#[test]
fn c13_without_a_sign_in_nothing_is_sent() {
    let kit = Kit::new();
    let ended = kit.run(kit.oauth().sign_out()).unwrap();
    assert!(!ended.existed);
    assert_eq!(ended.revoked, Revoked::Nothing);
    assert!(kit.world.journal().is_empty());
}

#[test]
fn c13_a_store_that_is_locked_is_an_error_and_the_sign_in_stays() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.shelf.lock(1);
    kit.run(oauth.sign_out()).unwrap_err();
    assert!(kit.stored().is_some());
    assert!(kit.world.seen(REVOKE).is_empty());
}

#[test]
fn c13_a_renewal_under_way_elsewhere_is_waited_for_and_its_token_revoked() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let other = kit.process(&kit.other_shelf());
    let gate = Arc::new(Semaphore::new(0));
    let (honest, held) = (kit.honest.clone(), Arc::clone(&gate));
    kit.world
        .answer(TOKEN, move |seen| honest.token(seen).behind(&held));
    kit.clock.let_pass(20);
    std::thread::scope(|scope| {
        let renewing = scope.spawn(|| kit.run(other.renew()));
        super::eventually("it is under way", || super::redeemed(&kit) == 1);
        let ending = scope.spawn(|| kit.run(oauth.sign_out()));
        // Time to revoke too early, which may not happen.
        std::thread::sleep(Duration::from_millis(100));
        assert!(kit.world.seen(REVOKE).is_empty());
        gate.add_permits(1);
        renewing.join().unwrap().unwrap();
        assert_eq!(ending.join().unwrap().unwrap().revoked, Revoked::Done);
    });
    let told = kit.world.seen(REVOKE);
    let told: Vec<_> = told.iter().map(|seen| seen.field("token")).collect();
    assert_eq!(told, ["rt-2", "at-2"]);
    assert_eq!(kit.honest.current(), "", "nothing counts any more");
    assert!(kit.stored().is_none());
}

#[test]
fn c13_an_owner_that_never_ends_its_claim_does_not_stop_a_sign_out() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    let other = kit.other_shelf();
    let generation = kit.stored().unwrap().generation;
    drop(other.claim(&kit.key, generation, Duration::from_secs(600)));
    kit.clock.let_pass(1000);
    let ended = kit.run(oauth.sign_out()).unwrap();
    assert!(kit.stored().is_none());
    // What is known is revoked; what the owner may get is not, and that is said.
    assert_eq!((ended.revoked, ended.pending), (Revoked::Renewing, 1));
    let told = kit.world.seen(REVOKE);
    let told: Vec<_> = told.iter().map(|seen| seen.field("token")).collect();
    assert_eq!(told, ["rt-1", "at-1"]);
    // The owner has died: the next sign-out tells the server once more.
    kit.world.forget();
    let again = kit.run(kit.oauth().sign_out()).unwrap();
    assert_eq!(
        (again.revoked, again.replaced, again.pending),
        (Revoked::Done, 1, 0)
    );
    assert_eq!(kit.world.seen(REVOKE).len(), 1);
}

/// The answer comes after a sign-out that did not wait for it.
#[test]
fn token_that_a_renewal_gets_after_a_sign_out_is_revoked_by_it_or_by_the_next_sign_out() {
    for (reply, left) in [(Reply::raw(200, ""), 0), (Reply::raw(503, ""), 1)] {
        let kit = Kit::new();
        kit.signed_in();
        let other = kit.process(&kit.other_shelf());
        let gate = Arc::new(Semaphore::new(0));
        let (honest, held) = (kit.honest.clone(), Arc::clone(&gate));
        kit.world
            .answer(TOKEN, move |seen| honest.token(seen).behind(&held));
        kit.world.route(REVOKE, [reply]);
        std::thread::scope(|scope| {
            let renewing = scope.spawn(|| kit.run(other.renew()));
            super::eventually("it is under way", || super::redeemed(&kit) == 1);
            kit.shelf.delete(&kit.key).unwrap();
            gate.add_permits(1);
            drop(renewing.join().unwrap());
        });
        let told = kit.world.seen(REVOKE);
        let told: Vec<_> = told.iter().map(|seen| seen.field("token")).collect();
        assert_eq!(told, ["rt-2"]);
        assert!(kit.stored().is_none());
        kit.world.route(REVOKE, [Reply::raw(200, "")]);
        let next = kit.run(kit.oauth().sign_out()).unwrap();
        assert_eq!((next.replaced, next.pending), (left, 0));
    }
}

#[test]
fn c13_a_sign_in_that_was_tampered_with_can_be_got_rid_of() {
    let kit = Kit::new();
    let oauth = kit.signed_in();
    kit.shelf.spoil();
    let ended = kit.run(oauth.sign_out()).unwrap();
    assert!(ended.existed);
    assert_eq!(
        ended.revoked,
        Revoked::Refused,
        "it is said that the tokens count on"
    );
    kit.shelf.repair();
    assert!(kit.stored().is_none());
}

#[test]
fn another_process_is_asked_to_stop_before_anything_is_revoked() {
    let kit = Kit::new();
    let other = kit.process(&kit.other_shelf());
    other.attend();
    assert_eq!(kit.call(&other).unwrap(), 200);
    assert!(!other.is_stop_requested());
    let (user, world) = (other.clone(), Arc::clone(&kit.world));
    let leaving = std::thread::spawn(move || {
        super::eventually("it is asked to leave", || user.is_stop_requested());
        let revoked = world.seen(REVOKE).len();
        user.leave();
        revoked
    });
    let ended = kit.run(kit.oauth().sign_out()).unwrap();
    assert_eq!((ended.users.stopped, ended.users.remaining), (1, 0));
    assert_eq!(leaving.join().unwrap(), 0, "its token still counted");
    kit.person.will([Deed::Cancel]);
    kit.world.forget();
    kit.call(&other).unwrap_err();
    for seen in kit.world.journal() {
        assert_eq!(seen.header("authorization"), "", "it has none any more");
    }
}

#[test]
fn a_process_that_does_not_answer_does_not_delay_a_sign_out() {
    let kit = Kit::new();
    let other = kit.process(&kit.other_shelf());
    other.attend();
    assert_eq!(kit.call(&other).unwrap(), 200);
    let ended = kit.run(kit.oauth().sign_out()).unwrap();
    assert_eq!((ended.users.stopped, ended.users.remaining), (0, 1));
    assert_eq!(ended.revoked, Revoked::Done);
    assert!(kit.stored().is_none());
}

/// All connections of a host are asked by one task: a slow store must not stop it.
#[test]
fn whether_to_stop_is_told_at_once_while_the_use_is_being_shown() {
    let kit = Kit::new();
    let shelf = kit.other_shelf();
    let other = kit.process(&shelf);
    other.attend();
    let door = shelf.marks();
    door.close();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| kit.call(&other).unwrap());
        super::eventually("its use is being shown", || door.most() == 1);
        let (user, (tell, told)) = (other.clone(), std::sync::mpsc::channel());
        scope.spawn(move || tell.send(user.is_stop_requested()));
        let told = told.recv_timeout(Duration::from_secs(10));
        door.open();
        assert_eq!(told, Ok(false));
        assert_eq!(call.join().unwrap(), 200);
    });
}
