//! One person and several processes that would ask them the same.

use std::sync::Arc;
use std::time::Duration;

use async_lock::Semaphore;
use keyway_code::Code;
use keyway_store::GrantStore as _;

use super::eventually;
use crate::oauth::testing::{Deed, Kit, TOKEN, cause};
use crate::oauth::{OAuth, OAuthError, PromptPolicy};
use crate::ports::InteractionError;

/// A person who does something once the gate is opened, and is asked by one process at a time.
fn kit(deed: Deed) -> (Kit, Arc<Semaphore>) {
    let (kit, gate) = (Kit::new(), Arc::new(Semaphore::new(0)));
    kit.person.take_turns();
    kit.person
        .will([Deed::After(Arc::clone(&gate), Box::new(deed))]);
    (kit, gate)
}

/// Processes, each with a handle to the vault of its own.
fn processes(kit: &Kit, count: usize) -> Vec<OAuth> {
    (0..count)
        .map(|_| kit.process(&kit.other_shelf()))
        .collect()
}

/// Lets all processes call, and the person act once all but one wait for their turn.
fn all_call(kit: &Kit, gate: &Semaphore, all: &[OAuth]) -> Vec<Result<u16, OAuthError>> {
    std::thread::scope(|scope| {
        let callers: Vec<_> = all
            .iter()
            .map(|oauth| scope.spawn(|| kit.call(oauth).map_err(cause)))
            .collect();
        eventually("all wait", || kit.person.waiting() == all.len() - 1);
        gate.add_permits(1);
        let ended = callers.into_iter().map(|caller| caller.join().unwrap());
        ended.collect()
    })
}

#[test]
fn a_no_answers_every_process_that_waited_for_that_window() {
    let (kit, gate) = kit(Deed::Deny);
    let all = processes(&kit, 4);
    let ended = all_call(&kit, &gate, &all);
    assert_eq!(kit.person.windows(), 1);
    let errors: Vec<_> = ended.into_iter().map(Result::unwrap_err).collect();
    assert!(errors.iter().all(|error| error.code() == Code::AuthFailed));
    let elsewhere = errors.iter();
    let elsewhere = elsewhere.filter(|error| matches!(error, OAuthError::DeclinedElsewhere));
    assert_eq!(elsewhere.count(), 3);
    // None of them asks again soon; a process that did not wait, or insists, does.
    for oauth in &all {
        kit.call(oauth).unwrap_err();
    }
    assert_eq!(kit.person.windows(), 1);
    assert_eq!(kit.call(&processes(&kit, 1)[0]).unwrap(), 200);
    assert_eq!(kit.person.windows(), 2);
}

#[test]
fn silence_is_waited_for_once() {
    let (kit, gate) = kit(Deed::TimeOut);
    let all = processes(&kit, 3);
    for ended in all_call(&kit, &gate, &all) {
        let silence = OAuthError::Interaction(InteractionError::Timeout { seconds: 300 });
        assert_eq!(ended.unwrap_err().to_string(), silence.to_string());
    }
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn cancelling_in_one_process_does_not_answer_for_the_others() {
    let (kit, gate) = kit(Deed::Cancel);
    let all = processes(&kit, 3);
    let ended = all_call(&kit, &gate, &all);
    let failed = ended.iter().filter(|ended| ended.is_err()).count();
    assert_eq!((failed, kit.person.windows()), (1, 2));
}

#[test]
fn a_yes_serves_every_process_that_waited_for_that_window() {
    let (kit, gate) = kit(Deed::Agree);
    let all = processes(&kit, 4);
    for ended in all_call(&kit, &gate, &all) {
        assert_eq!(ended.unwrap(), 200);
    }
    assert_eq!(kit.person.windows(), 1);
    assert_eq!(kit.world.seen(TOKEN).len(), 1);
}

#[test]
fn clients_that_need_a_sign_in_at_once_share_a_window_and_what_is_refused_is_not_shared() {
    let (kit, gate) = kit(Deed::Agree);
    let all = processes(&kit, 3);
    std::thread::scope(|scope| {
        let entering: Vec<_> = all
            .iter()
            .map(|oauth| scope.spawn(|| kit.run(oauth.enter())))
            .collect();
        eventually("all wait", || kit.person.waiting() == all.len() - 1);
        gate.add_permits(1);
        for entered in entering {
            entered.join().unwrap().unwrap();
        }
    });
    assert_eq!(kit.person.windows(), 1);
    let first = kit.stored().unwrap().generation;
    // A client that asks although there is a sign-in is not helped by that one.
    kit.run(all[0].enter()).unwrap();
    assert_eq!(kit.person.windows(), 2);
    let stored = kit.shelf.read(&kit.key).unwrap().unwrap();
    assert_ne!(stored.generation, first);
}

#[test]
fn a_request_that_stops_waiting_names_the_page_and_the_sign_in_continues() {
    let (mut kit, gate) = kit(Deed::Agree);
    kit.prompt_policy = PromptPolicy::AtMost(Duration::from_secs(45));
    let oauth = kit.oauth();
    kit.clock.let_pass(250);
    let error = cause(kit.call(&oauth).unwrap_err());
    let OAuthError::SignInUnderWay { address } = error else {
        panic!("{error}");
    };
    assert!(address.starts_with("https://as.example/"), "{address}");
    // A sign-in may take 300 s.
    assert!(kit.clock.passed() < Duration::from_secs(200));
    gate.add_permits(1);
    eventually("the sign-in is stored", || kit.stored().is_some());
    assert_eq!(kit.call(&oauth).unwrap(), 200);
    assert_eq!(kit.person.windows(), 1);
}

#[test]
fn a_request_that_waits_for_the_window_of_another_process_does_not_hang() {
    let (mut kit, gate) = kit(Deed::Agree);
    let first = kit.oauth();
    kit.prompt_policy = PromptPolicy::AtMost(Duration::from_secs(45));
    let second = kit.process(&kit.other_shelf());
    std::thread::scope(|scope| {
        let first = scope.spawn(|| kit.call(&first));
        eventually("it asks", || kit.person.windows() == 1);
        kit.clock.let_pass(250);
        let error = cause(kit.call(&second).unwrap_err());
        assert!(matches!(error, OAuthError::AskedElsewhere), "{error}");
        assert_eq!(error.code(), Code::SignInRequired);
        kit.clock.let_pass(0);
        gate.add_permits(1);
        assert_eq!(first.join().unwrap().unwrap(), 200);
    });
    assert_eq!(kit.call(&second).unwrap(), 200);
    assert_eq!(kit.person.windows(), 1);
}
