//! Claims in the hands of a carrier: what it ends when the process that made them is gone.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{Claim, GrantState, GrantStore as _};

use super::{eventually, is_a_chain, redeemed};
use crate::BoxFuture;
use crate::oauth::testing::{Kit, Reply, TOKEN, World};
use crate::oauth::{OAuth, SentRequest, settle};
use crate::ports::{
    Carried, CarriedExchange, ExchangeCarrier, HttpClient as _, HttpFailure, HttpRequest,
    HttpResponse, Tasks as _,
};

/// A carrier in this process, which keeps what it was handed.
#[derive(Debug)]
struct Carrier {
    world: Arc<World>,
    carried: Mutex<Option<Carried>>,
    sent: Mutex<Option<SentRequest>>,
    ended: AtomicU32,
}

/// The two halves that a carrier consists of are one here.
#[derive(Debug)]
struct Half(Arc<Carrier>);

impl ExchangeCarrier for Half {
    fn take(&self, carried: Carried) -> BoxFuture<'_, Option<Arc<dyn CarriedExchange>>> {
        *self.0.carried.lock().unwrap() = Some(carried);
        let exchange: Arc<dyn CarriedExchange> = Arc::new(Self(Arc::clone(&self.0)));
        Box::pin(std::future::ready(Some(exchange)))
    }
}

impl CarriedExchange for Half {
    fn send(
        &self,
        details: Secret<Vec<u8>>,
        request: HttpRequest,
    ) -> BoxFuture<'_, Result<HttpResponse, HttpFailure>> {
        Box::pin(async move {
            let answer = self.0.world.send(request).await;
            let sent = SentRequest::new(details, answer.clone());
            *self.0.sent.lock().unwrap() = Some(sent);
            answer
        })
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(()))
    }
}

fn carried(kit: &mut Kit) -> Arc<Carrier> {
    let carrier = Arc::new(Carrier {
        world: Arc::clone(&kit.world),
        carried: Mutex::default(),
        sent: Mutex::default(),
        ended: AtomicU32::new(0),
    });
    kit.carrier = Some(Arc::new(Half(Arc::clone(&carrier))));
    carrier
}

/// Signs in, and forgets what the carrier did for that.
fn signed_in(kit: &Kit, carrier: &Carrier) -> OAuth {
    let oauth = kit.signed_in();
    carrier.ended.store(0, Ordering::SeqCst);
    drop(carrier.sent.lock().unwrap().take());
    kit.honest.reset();
    oauth
}

/// Signs in, and ends the process at the moment when `answer` reaches its carrier.
fn dies_at(answer: Reply) -> (Kit, Arc<Carrier>) {
    let mut kit = Kit::new();
    let carrier = carried(&mut kit);
    let oauth = signed_in(&kit, &carrier);
    let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
    kit.world.answer(TOKEN, move |seen| {
        // Whatever the process does with the answer, it reaches the store no more.
        shelf.lock(u32::MAX);
        let issued = honest.token(seen);
        if answer.is_empty() {
            issued
        } else {
            answer.clone()
        }
    });
    let used = oauth.clone();
    kit.tasks.spawn(Box::pin(async move {
        drop(used.renew().await);
    }));
    eventually("the answer is there", || {
        carrier.sent.lock().unwrap().is_some()
    });
    (kit, carrier)
}

/// Lets the carrier do what is left, with its own handle to the vault.
fn settled(kit: &Kit, carrier: &Carrier) {
    let shelf = kit.other_shelf();
    let claim = carrier.carried.lock().unwrap().clone().unwrap();
    let sent = carrier.sent.lock().unwrap().take();
    kit.run(settle(&claim, sent, kit.ports(&shelf)));
}

#[test]
fn tokens_are_stored_by_the_carrier_if_the_process_is_gone() {
    let (kit, carrier) = dies_at(Reply::raw(0, ""));
    assert_eq!(kit.stored_access(), "at-1");
    settled(&kit, &carrier);
    assert_eq!(kit.stored_access(), "at-2");
    assert_eq!(redeemed(&kit), 1);
    assert_eq!(carrier.ended.load(Ordering::SeqCst), 0);
    kit.shelf.lock(0);
    let next = kit.process(&kit.other_shelf());
    kit.honest.reset();
    let honest = kit.honest.clone();
    kit.world.answer(TOKEN, move |seen| honest.token(seen));
    assert_eq!(kit.call(&next).unwrap(), 200);
    is_a_chain(&kit);
}

/// A carrier that takes nothing.
#[derive(Debug)]
struct Absent;

impl ExchangeCarrier for Absent {
    fn take(&self, _: Carried) -> BoxFuture<'_, Option<Arc<dyn CarriedExchange>>> {
        Box::pin(std::future::ready(None))
    }
}

#[test]
fn renewal_runs_here_if_no_carrier_takes_it() {
    let mut kit = Kit::new();
    kit.carrier = Some(Arc::new(Absent));
    let oauth = kit.signed_in();
    kit.honest.reset();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.stored_access(), "at-2");
    assert_eq!(redeemed(&kit), 1);
    is_a_chain(&kit);
}

#[test]
fn process_that_lives_stores_them_itself_and_says_so() {
    let mut kit = Kit::new();
    let carrier = carried(&mut kit);
    let oauth = signed_in(&kit, &carrier);
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.stored_access(), "at-2");
    assert_eq!(carrier.ended.load(Ordering::SeqCst), 1);
    // Should it not have heard that, it changes nothing, and no token counts as replaced.
    settled(&kit, &carrier);
    assert_eq!(kit.stored_access(), "at-2");
    kit.world.forget();
    kit.run(oauth.sign_out()).unwrap();
    let revoked = kit.world.seen(crate::oauth::testing::REVOKE);
    let tokens: Vec<String> = revoked.iter().map(|seen| seen.field("token")).collect();
    assert_eq!(tokens, ["rt-2", "at-2"]);
}

#[test]
fn refusal_is_recorded_by_the_carrier_if_the_process_is_gone() {
    let (kit, carrier) = dies_at(Reply::error(400, "invalid_grant"));
    settled(&kit, &carrier);
    assert_eq!(kit.stored().unwrap().state, GrantState::NeedsReauth);
}

#[test]
fn lost_answer_is_recorded_by_the_carrier_if_the_process_is_gone() {
    let (kit, carrier) = dies_at(Reply::times_out());
    settled(&kit, &carrier);
    let generation = kit.stored().unwrap().generation;
    let claim = kit
        .other_shelf()
        .claim(&kit.key, generation, Duration::from_secs(1));
    let Claim::Claimed(claim) = claim.unwrap() else {
        panic!("it is free");
    };
    assert_eq!(claim.lost_answers, 1);
}

#[test]
fn claim_of_which_nothing_was_sent_is_given_back() {
    let (kit, carrier) = dies_at(Reply::error(400, "invalid_grant"));
    drop(carrier.sent.lock().unwrap().take());
    settled(&kit, &carrier);
    let generation = kit.stored().unwrap().generation;
    let claim = kit
        .other_shelf()
        .claim(&kit.key, generation, Duration::from_secs(1));
    let Claim::Claimed(claim) = claim.unwrap() else {
        panic!("it is free");
    };
    assert_eq!((claim.lost_answers, claim.interrupted), (0, 0));
}

/// Begins a sign-in, and ends the process at the moment when its tokens reach the carrier.
fn sign_in_dies(kit: &Kit, carrier: &Carrier) {
    let (honest, shelf) = (kit.honest.clone(), kit.shelf.clone());
    kit.world.answer(TOKEN, move |seen| {
        shelf.lock(u32::MAX);
        honest.token(seen)
    });
    let used = kit.oauth();
    kit.tasks.spawn(Box::pin(async move {
        drop(used.sign_in(None).await);
    }));
    eventually("the answer is there", || {
        carrier.sent.lock().unwrap().is_some()
    });
}

#[test]
fn first_sign_in_is_stored_by_the_carrier_if_the_process_is_gone() {
    let mut kit = Kit::new();
    let carrier = carried(&mut kit);
    sign_in_dies(&kit, &carrier);
    assert_eq!(kit.stored_access(), "");
    settled(&kit, &carrier);
    assert_eq!(kit.stored_access(), "at-1");
    assert_eq!(carrier.ended.load(Ordering::SeqCst), 0);
    // And what is stored can be renewed: issuer, client and endpoint are there.
    kit.shelf.lock(0);
    let next = kit.process(&kit.other_shelf());
    kit.honest.reset();
    let honest = kit.honest.clone();
    kit.world.answer(TOKEN, move |seen| honest.token(seen));
    assert_eq!(kit.call(&next).unwrap(), 200);
    is_a_chain(&kit);
}

#[test]
fn sign_in_that_the_process_stored_is_not_stored_again_over_its_successor() {
    let mut kit = Kit::new();
    let carrier = carried(&mut kit);
    let oauth = kit.signed_in();
    assert_eq!(carrier.ended.load(Ordering::SeqCst), 1, "it is told");
    kit.honest.reset();
    let sent = carrier.sent.lock().unwrap().take();
    let sign_in = carrier.carried.lock().unwrap().take();
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.stored_access(), "at-2");
    // A carrier that was stopped meanwhile, and did not hear it.
    *carrier.sent.lock().unwrap() = sent;
    *carrier.carried.lock().unwrap() = sign_in;
    settled(&kit, &carrier);
    assert_eq!(kit.stored_access(), "at-2");
    is_a_chain(&kit);
}

#[test]
fn code_that_was_refused_leaves_the_earlier_sign_in_as_it_was() {
    let mut kit = Kit::new();
    let carrier = carried(&mut kit);
    let oauth = kit.signed_in();
    kit.world
        .answer(TOKEN, |_| Reply::error(400, "invalid_grant"));
    assert!(kit.run(oauth.sign_in(None)).is_err());
    assert_eq!(kit.world.redeemed("authorization_code").len(), 2);
    settled(&kit, &carrier);
    assert_eq!(kit.stored_access(), "at-1");
}

#[test]
fn sign_in_runs_here_if_no_carrier_takes_it() {
    let mut kit = Kit::new();
    kit.carrier = Some(Arc::new(Absent));
    kit.signed_in();
    assert_eq!(kit.stored_access(), "at-1");
}
