//! The whole flow against servers and people that misbehave; names begin with the number of the
//! threat, or of the fault of another program that is not to be repeated.

mod answers;
mod bodies;
mod carrying;
mod ceiling;
mod claims;
mod client_codes;
mod clients;
mod deferred;
mod discovery;
mod exchanges;
mod grants;
mod identity;
mod issuers;
mod kept;
mod leaks;
mod proofs;
mod refresh;
mod remembered;
mod sign_out;
mod trouble;
mod turns;
mod watching;
mod windows;

use std::time::{Duration, Instant};

use http::HeaderValue;
use keyway_secret::Secret;
use keyway_store::{Claim, GrantStore as _};

use super::testing::Kit;
use super::{ClientProof, ClientSettings};
use crate::Challenge;

/// Waits until something is so; what takes two minutes hangs.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(120), "{what}");
        // Between two looks at what other threads do.
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What a server says of a token that it does not take.
fn refused(attempt: u32) -> Challenge {
    Challenge {
        status: 401,
        www_authenticate: vec![HeaderValue::from_static("Bearer error=\"invalid_token\"")],
        dpop_nonce: None,
        attempt,
    }
}

/// How many refresh tokens were sent.
fn redeemed(kit: &Kit) -> usize {
    kit.world.redeemed("refresh_token").len()
}

/// Each refresh token was sent once, and the one in the store is the one that counts.
fn is_a_chain(kit: &Kit) {
    let sent = kit.world.redeemed("refresh_token");
    let sent: Vec<_> = sent
        .iter()
        .map(|seen| seen.field("refresh_token"))
        .collect();
    let distinct: std::collections::HashSet<_> = sent.iter().collect();
    assert_eq!(distinct.len(), sent.len(), "{sent:?}");
    let stored = kit.stored().unwrap();
    let other = kit.other_shelf();
    let claim = other.claim(&kit.key, stored.generation, Duration::ZERO);
    let Claim::Claimed(claimed) = claim.unwrap() else {
        panic!("no process holds it");
    };
    assert_eq!(*claimed.refresh.expose(), kit.honest.current());
}

/// A client that was registered beforehand.
fn with_secret(id: &str, secret: &str) -> ClientSettings {
    let proof = ClientProof::Secret(Secret::new(secret.to_owned()));
    ClientSettings::new(id.to_owned(), proof)
}
