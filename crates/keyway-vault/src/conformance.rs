//! What every [`GrantStore`] has to do, as functions that a backend's tests call.
//!
//! [`grant_store_conformance`](crate::grant_store_conformance) turns all of them into tests. Each
//! gets an empty store of its own; a handle that is dropped stands for a process that died.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use keyway_secret::Secret;

use crate::error::VaultError;
use crate::grants::{Claim, Claimed, Commit, GrantKey, GrantState, GrantStore, Marked, Tokens};
use crate::store::{Deleted, Generation};

/// One store that can be opened many times.
pub trait Backend: Sync {
    /// A handle on the store.
    type Store: GrantStore;

    /// Opens one more handle, as another process would.
    fn open(&self) -> Self::Store;
}

/// Makes a test of every function in this module; `$fresh` makes an empty [`Backend`].
#[macro_export]
macro_rules! grant_store_conformance {
    ($fresh:expr) => {
        $crate::grant_store_conformance!(@each $fresh;
            absent_grant_is_no_error
            what_was_put_is_read_by_others
            unknown_lifetime_stays_unknown
            other_account_is_another_sign_in
            living_owner_keeps_others_out
            outdated_generation_cannot_be_claimed
            commit_replaces_the_generation_once
            what_a_refresh_does_not_return_is_kept
            late_winner_saves_its_tokens
            released_claim_is_free_and_only_its_own
            claim_of_the_dead_is_taken_over_at_once
            claim_ends_with_its_time
            rejection_marks_only_the_token_that_was_sent
            rejection_of_an_older_token_changes_nothing
            signing_in_again_ends_claim_and_mark
            signing_out_is_final_for_those_still_at_it
            watcher_hears_of_others_but_not_of_refreshes
            who_uses_a_sign_in_is_asked_to_stop_and_waited_for
            list_shows_one_profile
            one_winner_per_generation
        );
    };
    (@each $fresh:expr; $($name:ident)*) => {
        $(
            #[test]
            fn $name() -> Result<(), $crate::VaultError> {
                $crate::conformance::$name(&$fresh)
            }
        )*
    };
}

type Outcome = Result<(), VaultError>;

#[expect(missing_docs, reason = "the name of a test is its documentation")]
mod cases {
    use super::*;

    pub fn absent_grant_is_no_error(backend: &impl Backend) -> Outcome {
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
        let Commit::Committed { generation } = store.commit(&grant(), old, &bare)? else {
            panic!("nobody else committed");
        };
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
        claimed(&quick, generation)?;
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
        let old = claimed(&first, generation)?.epoch;
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

    pub fn claim_ends_with_its_time(backend: &impl Backend) -> Outcome {
        let (first, generation) = signed_in(backend)?;
        first.claim(&grant(), generation, Duration::ZERO)?;
        assert_eq!(claimed(&backend.open(), generation)?.interrupted, 1);
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
        assert!(!first.release(&grant(), claim.epoch)?);
        assert!(first.read(&grant())?.is_none());
        assert!(first.put(&grant(), &tokens(3))? > generation);
        first.commit(&grant(), generation, &tokens(4))?;
        assert_eq!(access(&first, &grant())?, "access-3");
        Ok(())
    }

    pub fn watcher_hears_of_others_but_not_of_refreshes(backend: &impl Backend) -> Outcome {
        let (store, generation) = signed_in(backend)?;
        let mut watch = backend.open().watch()?;
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

    pub fn who_uses_a_sign_in_is_asked_to_stop_and_waited_for(backend: &impl Backend) -> Outcome {
        let (store, _) = signed_in(backend)?;
        assert_eq!(store.dismiss(&grant(), LONG)?.ended, 0, "nobody does");
        let other = grant().account("other");
        let [Some(first), Some(stranger)] = [
            backend.open().attend(&grant())?,
            backend.open().attend(&other)?,
        ] else {
            panic!("there is a store");
        };
        assert!(!first.is_dismissed());
        let stubborn = store.dismiss(&grant(), Duration::ZERO)?;
        assert_eq!((stubborn.ended, stubborn.left), (0, 1));
        assert!(first.is_dismissed());
        assert!(!stranger.is_dismissed(), "of another sign-in");
        drop(first);
        let Some(second) = backend.open().attend(&grant())? else {
            panic!("there is a store");
        };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while !second.is_dismissed() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let polite = store.dismiss(&grant(), LONG)?;
            assert_eq!((polite.ended, polite.left), (1, 0));
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
}

pub use self::cases::*;

fn signed_in<B: Backend>(backend: &B) -> Result<(B::Store, Generation), VaultError> {
    let store = backend.open();
    let generation = store.put(&grant(), &tokens(1))?;
    Ok((store, generation))
}

fn claimed(store: &impl GrantStore, generation: Generation) -> Result<Claimed, VaultError> {
    match store.claim(&grant(), generation, LONG)? {
        Claim::Claimed(claimed) => Ok(claimed),
        other => panic!("{other:?}"),
    }
}

fn committed(
    store: &impl GrantStore,
    generation: Generation,
    number: usize,
) -> Result<Generation, VaultError> {
    match store.commit(&grant(), generation, &tokens(number))? {
        Commit::Committed { generation } => Ok(generation),
        other => panic!("{other:?}"),
    }
}

fn access(store: &impl GrantStore, grant: &GrantKey) -> Result<String, VaultError> {
    let found = store.read(grant)?;
    Ok(found
        .map(|found| found.access.expose().clone())
        .unwrap_or_default())
}

fn grant() -> GrantKey {
    GrantKey::new("default")
        .plugin("demo")
        .server("search")
        .issuer("https://as.example")
}

fn tokens(number: usize) -> Tokens {
    Tokens::new(text(&format!("access-{number}")))
        .with_refresh(text(&format!("refresh-{number}")))
        .with_details(Secret::new(format!("details-{number}").into_bytes()))
        .with_lifetime(HOUR)
}

fn text(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

const LONG: Duration = Duration::from_secs(600);
const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_secs(2);
