//! Claiming, committing, giving back and marking: one process refreshes, whichever process dies.

#![expect(missing_docs, reason = "the name of a test is its documentation")]

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

pub fn living_owner_keeps_others_out(backend: &impl Backend) -> Outcome {
    let (first, generation) = signed_in(backend)?;
    let second = backend.open();
    let claim = claimed(&first, generation)?;
    assert_eq!(claim.refresh.expose(), "refresh-1");
    assert_eq!(claim.interrupted, 0);
    let me = first.owner()?;
    for store in [&first, &second] {
        let held = store.claim(&grant(), generation, LONG)?;
        assert!(matches!(held, Claim::Held { owner, .. } if owner == me));
    }
    assert!(second.orphans()?.is_empty());
    assert_eq!(access(&second, &grant())?, "access-1", "reading goes on");
    Ok(())
}

pub fn outdated_generation_cannot_be_claimed(backend: &impl Backend) -> Outcome {
    let (store, old) = signed_in(backend)?;
    let new = committed(&store, old, 2)?;
    let moved = store.claim(&grant(), old, LONG)?;
    assert!(matches!(moved, Claim::Moved { generation } if generation == new));
    Ok(())
}

pub fn commit_replaces_the_generation_once(backend: &impl Backend) -> Outcome {
    let (store, old) = signed_in(backend)?;
    let new = committed(&store, old, 2)?;
    assert!(new > old);
    let superseded = Commit::Superseded { current: Some(new) };
    assert_eq!(store.commit(&grant(), old, &tokens(3))?, superseded);
    assert_eq!(access(&store, &grant())?, "access-2");
    assert_eq!(claimed(&store, new)?.refresh.expose(), "refresh-2");
    Ok(())
}

pub fn what_a_refresh_does_not_return_is_kept(backend: &impl Backend) -> Outcome {
    let (store, old) = signed_in(backend)?;
    let bare = Tokens::new(text("access-2"));
    let generation = committed_tokens(&store, old, &bare)?;
    assert_eq!(claimed(&store, generation)?.refresh.expose(), "refresh-1");
    let found = store.read(&grant())?;
    assert!(found.is_some_and(|found| found.details.expose() == b"details-1"));
    Ok(())
}

pub fn late_winner_saves_its_tokens(backend: &impl Backend) -> Outcome {
    let (slow, generation) = signed_in(backend)?;
    let quick = backend.open();
    assert!(matches!(
        slow.claim(&grant(), generation, Duration::ZERO)?,
        Claim::Claimed(_)
    ));
    assert!(matches!(
        quick.take_over(&grant(), generation, LONG)?,
        Claim::Claimed(_)
    ));
    let saved = slow.commit(&grant(), generation, &tokens(2))?;
    let Commit::Committed { generation: new } = saved else {
        panic!("{saved:?}");
    };
    let superseded = Commit::Superseded { current: Some(new) };
    assert_eq!(quick.commit(&grant(), generation, &tokens(3))?, superseded);
    assert_eq!(access(&quick, &grant())?, "access-2");
    claimed(&quick, new).map(drop)
}

pub fn released_claim_is_free_and_only_its_own(backend: &impl Backend) -> Outcome {
    let (first, generation) = signed_in(backend)?;
    let second = backend.open();
    let old = claimed(&first, generation)?.id;
    assert!(first.release(&grant(), old)?);
    let taken = claimed(&second, generation)?;
    assert_eq!(taken.interrupted, 0, "giving back is not dying");
    assert!(!first.release(&grant(), old)?, "that claim is over");
    assert!(matches!(
        first.claim(&grant(), generation, LONG)?,
        Claim::Held { .. }
    ));
    Ok(())
}

pub fn claim_of_the_dead_is_taken_over_at_once(backend: &impl Backend) -> Outcome {
    let (first, generation) = signed_in(backend)?;
    let second = backend.open();
    let lost = claimed(&first, generation)?;
    let owner = first.owner()?;
    assert!(second.owner_alive(&owner)?);
    drop(first);
    assert!(!second.owner_alive(&owner)?);
    let orphans = second.orphans()?;
    let [orphan] = orphans.as_slice() else {
        panic!("{orphans:?}")
    };
    assert_eq!((&orphan.grant, &orphan.owner), (&grant(), &owner));
    assert_eq!(
        (orphan.generation, orphan.fingerprint),
        (generation, lost.fingerprint)
    );
    let claim = claimed(&second, generation)?;
    assert_eq!(claim.interrupted, 1);
    assert_eq!(claim.refresh.expose(), "refresh-1");
    assert!(second.orphans()?.is_empty());
    Ok(())
}

pub fn overdue_claim_of_the_living_is_taken_over_only_on_request(
    backend: &impl Backend,
) -> Outcome {
    let (first, generation) = signed_in(backend)?;
    let second = backend.open();
    assert!(matches!(
        first.claim(&grant(), generation, LONG)?,
        Claim::Claimed(_)
    ));
    for store in [&first, &second] {
        let held = store.take_over(&grant(), generation, LONG)?;
        assert!(
            matches!(
                held,
                Claim::Held {
                    is_overdue: false,
                    ..
                }
            ),
            "{held:?}"
        );
    }
    let new = committed(&first, generation, 2)?;
    first.claim(&grant(), new, Duration::ZERO)?;
    let held = second.claim(&grant(), new, LONG)?;
    assert!(
        matches!(
            held,
            Claim::Held {
                is_overdue: true,
                ..
            }
        ),
        "{held:?}"
    );
    let Claim::Claimed(taken) = second.take_over(&grant(), new, LONG)? else {
        panic!("an overdue claim can be taken over");
    };
    assert_eq!(taken.interrupted, 1);
    Ok(())
}

pub fn lost_answer_frees_the_claim_and_is_counted(backend: &impl Backend) -> Outcome {
    let (first, generation) = signed_in(backend)?;
    let second = backend.open();
    for lost in 1..3 {
        let claim = claimed(&first, generation)?;
        assert!(first.answer_lost(&grant(), claim.id)?);
        assert!(
            !first.answer_lost(&grant(), claim.id)?,
            "that claim is over"
        );
        let next = claimed(&second, generation)?;
        assert_eq!((next.lost_answers, next.interrupted), (lost, 0));
        second.release(&grant(), next.id)?;
    }
    let new = committed(&first, generation, 2)?;
    assert_eq!(claimed(&second, new)?.lost_answers, 0, "a new token");
    Ok(())
}

pub fn what_a_server_asked_to_wait_is_said_by_every_claim(backend: &impl Backend) -> Outcome {
    let (first, generation) = signed_in(backend)?;
    let second = backend.open();
    let claim = claimed(&first, generation)?;
    assert_eq!(claim.postponed, None);
    assert!(first.postpone(&grant(), claim.id, LONG)?);
    for store in [&first, &second] {
        let claim = claimed(store, generation)?;
        let wait = claim.postponed.unwrap_or_default();
        assert!(!wait.is_zero() && wait <= LONG, "{wait:?}");
        store.release(&grant(), claim.id)?;
    }
    let new = first.put(&grant(), &tokens(2))?;
    let claim = claimed(&second, new)?;
    assert_eq!(claim.postponed, None, "a new sign-in");
    assert!(second.postpone(&grant(), claim.id, Duration::ZERO)?);
    assert_eq!(claimed(&first, new)?.postponed, None);
    Ok(())
}

pub fn journaled_tokens_are_committed_before_the_next_claim(backend: &impl Backend) -> Outcome {
    let (first, generation) = signed_in(backend)?;
    let second = backend.open();
    claimed(&first, generation)?;
    if first.journal(&grant(), generation, &tokens(2)).is_err() {
        return Ok(()); // This backend has no second place.
    }
    drop(first);
    let moved = second.claim(&grant(), generation, LONG)?;
    assert!(matches!(moved, Claim::Moved { .. }), "{moved:?}");
    assert_eq!(access(&second, &grant())?, "access-2");
    Ok(())
}

pub fn journaled_tokens_never_replace_a_newer_generation(backend: &impl Backend) -> Outcome {
    let (first, generation) = signed_in(backend)?;
    if first.journal(&grant(), generation, &tokens(2)).is_err() {
        return Ok(());
    }
    let new = first.put(&grant(), &tokens(3))?;
    drop(first);
    let second = backend.open();
    claimed(&second, new)?;
    assert_eq!(access(&second, &grant())?, "access-3");
    Ok(())
}

pub fn journaled_sign_in_is_stored_unless_another_is_or_the_person_signed_out(
    backend: &impl Backend,
) -> Outcome {
    let (first, second) = (backend.open(), backend.open());
    // Without a refresh token: nothing of an earlier sign-in may be kept with it.
    let new = |number: u32| Tokens::new(Secret::new(format!("access-{number}")));
    // As before every sign-in: the journal may need what this makes sure of.
    first.reserve(&grant())?;
    if first.journal_sign_in(&grant(), None, &new(1)).is_err() {
        return Ok(()); // This backend has no second place.
    }
    let stored = second.settle_journal(&grant())?;
    assert_eq!(access(&second, &grant())?, "access-1");
    // Two over the same one: the later is what the person wants.
    let over = Some(first.put(&grant(), &tokens(2))?);
    assert!(stored < over);
    first.journal_sign_in(&grant(), over, &new(3))?;
    first.journal_sign_in(&grant(), over, &new(4))?;
    second.settle_journal(&grant())?;
    assert_eq!(access(&second, &grant())?, "access-4");
    assert!(
        second
            .read(&grant())?
            .is_some_and(|found| !found.refreshable)
    );
    // Another sign-in since.
    first.journal_sign_in(&grant(), over, &new(5))?;
    let latest = second.settle_journal(&grant())?;
    assert_eq!(access(&second, &grant())?, "access-4");
    // A sign-out since.
    first.delete(&grant())?;
    first.journal_sign_in(&grant(), None, &new(6))?;
    first.delete(&grant())?;
    assert_eq!(second.settle_journal(&grant())?, None);
    first.journal_sign_in(&grant(), latest, &new(7))?;
    assert_eq!(second.settle_journal(&grant())?, None);
    Ok(())
}

pub fn rejection_marks_only_the_token_that_was_sent(backend: &impl Backend) -> Outcome {
    let (store, generation) = signed_in(backend)?;
    let sent = claimed(&store, generation)?;
    let other = grant().account("ada");
    let elsewhere = store.put(&other, &tokens(1))?;
    let strange = Marked::Superseded {
        current: Some(elsewhere),
    };
    assert_eq!(
        store.mark_reauth(&other, elsewhere, &sent.fingerprint)?,
        strange
    );
    assert_eq!(
        store.mark_reauth(&grant(), generation, &sent.fingerprint)?,
        Marked::Marked
    );
    let Some(found) = backend.open().read(&grant())? else {
        panic!("nothing is deleted");
    };
    assert_eq!(found.state, GrantState::NeedsReauth);
    assert_eq!(found.access.expose(), "access-1");
    assert!(matches!(
        store.claim(&grant(), generation, LONG)?,
        Claim::NeedsReauth
    ));
    Ok(())
}

pub fn cause_of_a_rejection_is_told_until_the_next_sign_in(backend: &impl Backend) -> Outcome {
    let (first, generation) = signed_in(backend)?;
    let lost = claimed(&first, generation)?;
    first.answer_lost(&grant(), lost.id)?;
    let sent = claimed(&first, generation)?;
    assert_eq!(sent.rejection_cause(), RejectionCause::AnswerLost);
    first.mark_reauth(&grant(), generation, &sent.fingerprint)?;
    is_rejected_by(backend, RejectionCause::AnswerLost)?;
    let generation = first.put(&grant(), &tokens(2))?;
    let Some(found) = backend.open().read(&grant())? else {
        panic!("the new sign-in is stored");
    };
    assert_eq!(found.rejection_cause, RejectionCause::Server, "a new token");
    drop(claimed(&first, generation)?);
    drop(first);
    let second = backend.open();
    let sent = claimed(&second, generation)?;
    assert_eq!(sent.rejection_cause(), RejectionCause::ProcessDied);
    second.mark_reauth(&grant(), generation, &sent.fingerprint)?;
    is_rejected_by(backend, RejectionCause::ProcessDied)
}

/// Looks with the eyes of a process that had no part in it.
fn is_rejected_by(backend: &impl Backend, cause: RejectionCause) -> Outcome {
    let Some(found) = backend.open().read(&grant())? else {
        panic!("nothing is deleted");
    };
    assert_eq!(found.state, GrantState::NeedsReauth);
    assert_eq!(found.rejection_cause, cause);
    Ok(())
}

pub fn rejection_of_an_older_token_changes_nothing(backend: &impl Backend) -> Outcome {
    let (store, old) = signed_in(backend)?;
    let sent = claimed(&store, old)?.fingerprint;
    let new = committed(&store, old, 2)?;
    let superseded = Marked::Superseded { current: Some(new) };
    for generation in [old, new] {
        assert_eq!(store.mark_reauth(&grant(), generation, &sent)?, superseded);
    }
    assert!(
        store
            .read(&grant())?
            .is_some_and(|found| found.state == GrantState::Good)
    );
    Ok(())
}

pub fn one_winner_per_generation(backend: &impl Backend) -> Outcome {
    let (store, mut generation) = signed_in(backend)?;
    let handles: Vec<_> = (0..8).map(|_| backend.open()).collect();
    for round in 0..10 {
        let winners = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for handle in &handles {
                scope.spawn(|| {
                    // A panic here fails the test when the scope ends.
                    if let Ok(Claim::Claimed(_)) = handle.claim(&grant(), generation, LONG) {
                        winners.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(winners.load(Ordering::Relaxed), 1, "round {round}");
        generation = committed(&store, generation, round)?;
    }
    Ok(())
}
