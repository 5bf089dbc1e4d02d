//! What every store must do, as functions that a backend's tests call.
//!
//! [`grant_store_conformance`](crate::grant_store_conformance) turns those about [`GrantStore`] into
//! tests. Each gets an empty store of its own; a handle that is dropped stands for a process that
//! died. [`record_is_replaced_and_deleted_by_name`], [`document_is_found_until_its_lifetime_ends`],
//! [`one_time_value_is_taken_once_and_in_time`] and those about values are called with an empty
//! store.

mod claims;
mod records;
mod refresh_model;
mod sign_ins;
mod values;

use std::time::Duration;

use keyway_secret::Secret;

use crate::claim::{Claim, Claimed, Commit, Marked, RejectionCause};
use crate::error::StoreError;
use crate::grant::{Grant, GrantState, Tokens};
use crate::grant_store::{Deleted, GrantStore};
use crate::key::GrantKey;
use crate::time::Generation;

pub use self::claims::*;
pub use self::records::*;
pub use self::sign_ins::*;
pub use self::values::*;

/// Takes every step that the model of the refresh protocol knows on a store of this kind, and
/// compares the answers; the model itself is explored by the tests of this crate.
///
/// # Errors
///
/// Returns the error of the store, if a step fails.
pub fn every_answer_is_that_of_the_refresh_model(backend: &impl Backend) -> Outcome {
    refresh_model::replay::replay_all(backend)
}

/// One store that can be opened many times.
pub trait Backend: Sync {
    /// A handle on the store.
    type Store: GrantStore;

    /// Opens one more handle, as another process would.
    fn open(&self) -> Self::Store;

    /// Moves the store's clock on, by which claims grow old; `false` if it cannot be moved.
    fn advance(&self, _by: Duration) -> bool {
        false
    }
}

/// Makes a test of every function in this module; `$fresh` makes an empty
/// [`Backend`](crate::conformance::Backend).
#[macro_export]
macro_rules! grant_store_conformance {
    ($fresh:expr) => {
        $crate::grant_store_conformance!(@each $fresh;
            absent_grant_is_not_an_error
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
            overdue_claim_of_the_living_is_taken_over_only_on_request
            lost_answer_frees_the_claim_and_is_counted
            what_a_server_asked_to_wait_is_said_by_every_claim
            journaled_tokens_are_committed_before_the_next_claim
            journaled_tokens_never_replace_a_newer_generation
            journaled_sign_in_is_stored_unless_another_is_or_the_person_signed_out
            rejection_marks_only_the_token_that_was_sent
            cause_of_a_rejection_is_told_until_the_next_sign_in
            rejection_of_an_older_token_changes_nothing
            signing_in_again_ends_claim_and_mark
            signing_out_is_final_for_those_still_at_it
            watcher_hears_of_others_but_not_of_refreshes
            refresh_token_is_there_to_be_revoked_while_another_process_claims_it
            users_of_a_sign_in_are_asked_to_stop_and_waited_for
            list_shows_one_profile
            one_winner_per_generation
            every_answer_is_that_of_the_refresh_model
        );
    };
    (@each $fresh:expr; $($name:ident)*) => {
        $(
            #[test]
            fn $name() -> Result<(), $crate::StoreError> {
                $crate::conformance::$name(&$fresh)
            }
        )*
    };
}

type Outcome = Result<(), StoreError>;

fn signed_in<B: Backend>(backend: &B) -> Result<(B::Store, Generation), StoreError> {
    let store = backend.open();
    let generation = store.put(&grant(), &tokens(1))?;
    Ok((store, generation))
}

fn claimed(store: &impl GrantStore, generation: Generation) -> Result<Claimed, StoreError> {
    match store.claim(&grant(), generation, LONG)? {
        Claim::Claimed(claimed) => Ok(claimed),
        other => panic!("{other:?}"),
    }
}

fn committed(
    store: &impl GrantStore,
    generation: Generation,
    number: usize,
) -> Result<Generation, StoreError> {
    committed_tokens(store, generation, &tokens(number))
}

/// Commits tokens; what the store says of them at once has to be what is read then.
fn committed_tokens(
    store: &impl GrantStore,
    generation: Generation,
    tokens: &Tokens,
) -> Result<Generation, StoreError> {
    let (committed, told) = store.commit_and_read(&grant(), generation, tokens)?;
    let Commit::Committed { generation } = committed else {
        panic!("{committed:?}");
    };
    if let Some(told) = told {
        let Some(read) = store.read(&grant())? else {
            panic!("what was committed is not there");
        };
        assert!(told.now <= read.now);
        let told = Grant {
            now: read.now,
            ..told
        };
        // Neither shows its tokens.
        assert_eq!(format!("{told:?}"), format!("{read:?}"));
        assert_eq!(told.access.expose(), read.access.expose());
        assert_eq!(told.details.expose(), read.details.expose());
    }
    Ok(generation)
}

fn access(store: &impl GrantStore, grant: &GrantKey) -> Result<String, StoreError> {
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
