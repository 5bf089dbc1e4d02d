//! Signing in and out, and which processes hear of it.

#![expect(missing_docs, reason = "the name of a test is its documentation")]

use super::*;

pub fn absent_grant_is_not_an_error(backend: &impl Backend) -> Outcome {
    let (store, generation) = signed_in(backend)?;
    let other = GrantKey::new("default").server("nobody");
    assert!(store.read(&other)?.is_none());
    assert!(matches!(
        store.claim(&other, generation, LONG)?,
        Claim::Absent
    ));
    let nothing = Commit::Superseded { current: None };
    assert_eq!(store.commit(&other, generation, &tokens(2))?, nothing);
    assert_eq!(store.delete(&other)?, Deleted::Absent);
    assert!(store.read(&other)?.is_none());
    Ok(())
}

pub fn what_was_put_is_read_by_others(backend: &impl Backend) -> Outcome {
    let (_store, generation) = signed_in(backend)?;
    let Some(found) = backend.open().read(&grant())? else {
        panic!("it was just put there");
    };
    assert_eq!(found.access.expose(), "access-1");
    assert_eq!(found.details.expose(), b"details-1");
    assert_eq!(found.generation, generation);
    assert_eq!(found.state, GrantState::Good);
    assert!(found.refreshable);
    let left = found.expires_at.map(|at| at.since(found.now));
    assert!(
        left.is_some_and(|left| left <= HOUR && left > HOUR / 2),
        "{left:?}"
    );
    Ok(())
}

pub fn unknown_lifetime_stays_unknown(backend: &impl Backend) -> Outcome {
    let store = backend.open();
    let generation = store.put(&grant(), &Tokens::new(text("access-1")))?;
    assert!(
        store
            .read(&grant())?
            .is_some_and(|found| found.expires_at.is_none())
    );
    assert!(matches!(
        store.claim(&grant(), generation, LONG)?,
        Claim::NotRefreshable
    ));
    Ok(())
}

pub fn other_account_is_another_sign_in(backend: &impl Backend) -> Outcome {
    let (store, first) = signed_in(backend)?;
    let other = grant().account("ada");
    store.put(&other, &tokens(2))?;
    assert_eq!(access(&store, &grant())?, "access-1");
    assert_eq!(access(&store, &other)?, "access-2");
    store.delete(&other)?;
    assert!(
        store
            .read(&grant())?
            .is_some_and(|found| found.generation == first)
    );
    Ok(())
}

pub fn signing_in_again_ends_claim_and_mark(backend: &impl Backend) -> Outcome {
    let (first, old) = signed_in(backend)?;
    let sent = claimed(&first, old)?.fingerprint;
    let new = backend.open().put(&grant(), &tokens(2))?;
    let superseded = Commit::Superseded { current: Some(new) };
    assert_eq!(first.commit(&grant(), old, &tokens(9))?, superseded);
    let superseded = Marked::Superseded { current: Some(new) };
    assert_eq!(first.mark_reauth(&grant(), old, &sent)?, superseded);
    assert_eq!(claimed(&first, new)?.refresh.expose(), "refresh-2");
    Ok(())
}

pub fn signing_out_is_final_for_those_still_at_it(backend: &impl Backend) -> Outcome {
    let (first, generation) = signed_in(backend)?;
    let claim = claimed(&first, generation)?;
    let deleted = backend.open().delete(&grant())?;
    assert!(
        matches!(deleted, Deleted::Wiped | Deleted::WipePending),
        "{deleted:?}"
    );
    let gone = Commit::Superseded { current: None };
    assert_eq!(first.commit(&grant(), generation, &tokens(2))?, gone);
    assert!(!first.release(&grant(), claim.id)?);
    assert!(first.read(&grant())?.is_none());
    assert!(first.put(&grant(), &tokens(3))? > generation);
    first.commit(&grant(), generation, &tokens(4))?;
    assert_eq!(access(&first, &grant())?, "access-3");
    Ok(())
}

pub fn watcher_hears_of_others_but_not_of_refreshes(backend: &impl Backend) -> Outcome {
    let (store, generation) = signed_in(backend)?;
    let mut watch = backend.open().change_feed()?;
    assert!(!watch.changed()?);
    let generation = committed(&store, generation, 2)?;
    assert!(
        !watch.wait(Duration::ZERO)?,
        "a refresh is none of its business"
    );
    let sent = claimed(&store, generation)?.fingerprint;
    assert!(!watch.changed()?);
    store.mark_reauth(&grant(), generation, &sent)?;
    assert!(watch.wait(SOON)?);
    store.put(&grant(), &tokens(3))?;
    assert!(watch.wait(SOON)?);
    assert!(!watch.changed()?, "told once");
    store.delete(&grant())?;
    assert!(watch.wait(SOON)?);
    Ok(())
}

pub fn refresh_token_is_there_to_be_revoked_while_another_process_claims_it(
    backend: &impl Backend,
) -> Outcome {
    let (store, generation) = signed_in(backend)?;
    let other = backend.open();
    let Claim::Claimed(claimed) = other.claim(&grant(), generation, LONG)? else {
        panic!("it is free");
    };
    let found = store.refresh_to_revoke(&grant())?;
    assert!(found.is_some_and(|it| it.is_same_as(&claimed.refresh)));
    let held = store.claim(&grant(), generation, LONG)?;
    assert!(matches!(held, Claim::Held { .. }), "the claim stays");
    store.delete(&grant())?;
    assert!(store.refresh_to_revoke(&grant())?.is_none());
    Ok(())
}

pub fn users_of_a_sign_in_are_asked_to_stop_and_waited_for(backend: &impl Backend) -> Outcome {
    let (store, _) = signed_in(backend)?;
    assert_eq!(
        store.stop_users(&grant(), LONG)?.stopped,
        0,
        "there are no users"
    );
    let other = grant().account("other");
    let [Some(first), Some(stranger)] = [
        backend.open().mark_in_use(&grant())?,
        backend.open().mark_in_use(&other)?,
    ] else {
        panic!("there is a store");
    };
    assert!(!first.is_stop_requested());
    let stubborn = store.stop_users(&grant(), Duration::ZERO)?;
    assert_eq!((stubborn.stopped, stubborn.remaining), (0, 1));
    assert!(first.is_stop_requested());
    assert!(!stranger.is_stop_requested(), "of another sign-in");
    drop(first);
    let Some(second) = backend.open().mark_in_use(&grant())? else {
        panic!("there is a store");
    };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !second.is_stop_requested() {
                // The port has no event for it: a process with a sign-in polls a few times a
                // second.
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let polite = store.stop_users(&grant(), LONG)?;
        assert_eq!((polite.stopped, polite.remaining), (1, 0));
        Ok(())
    })
}

pub fn list_shows_one_profile(backend: &impl Backend) -> Outcome {
    let (store, generation) = signed_in(backend)?;
    let elsewhere = GrantKey::new("work").server("search");
    store.put(&elsewhere, &tokens(2))?;
    let list = store.list("default")?;
    let [summary] = list.as_slice() else {
        panic!("{list:?}")
    };
    assert_eq!((&summary.grant, summary.generation), (&grant(), generation));
    assert!(summary.refreshable && summary.expires_at.is_some());
    assert!(store.list("nobody")?.is_empty());
    Ok(())
}
