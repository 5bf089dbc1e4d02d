//! Tokens that were found good with the keys of one set, and whose they are.
//!
//! A client sends its token with each request, and to read it and to check its signature takes a good
//! part of what the gateway does for a call. The rules of a verifier never change, so that only time can
//! make a bad token of a good one: the times are compared at each request. What is remembered goes with
//! its keys, which are fetched again every ten minutes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ring::digest::{SHA256, digest};

use crate::person::VerifiedPerson;
use crate::timeouts::CLOCK_SKEW;

/// Whose good tokens are, by the digest of each.
#[derive(Default)]
pub(crate) struct VerifiedTokens {
    /// Held for a look or a change.
    known: Mutex<HashMap<TokenDigest, VerifiedToken>>,
}

/// All of a token, header and signature included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenDigest([u8; 32]);

/// What a good token says.
#[derive(Debug, Clone)]
pub(crate) struct VerifiedToken {
    pub(crate) person: VerifiedPerson,
    /// When it was issued, or from when on it is valid if that is later.
    pub(crate) begins_at: SystemTime,
}

impl TokenDigest {
    pub(crate) fn new(token: &str) -> Self {
        let mut found = [0; 32];
        found.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        Self(found)
    }
}

impl VerifiedToken {
    /// Says whether the token counts at a time, as [`ReadToken::person`] does.
    ///
    /// [`ReadToken::person`]: crate::access_token::ReadToken::person
    fn counts_at(&self, now: SystemTime) -> bool {
        self.begins_at <= now + CLOCK_SKEW && now < self.person.expires_at + CLOCK_SKEW
    }
}

impl VerifiedTokens {
    /// Returns whose a token is, if it was found good and its times still are.
    pub(crate) fn person(&self, token: &TokenDigest, now: SystemTime) -> Option<VerifiedPerson> {
        let known = self.known();
        let token = known.get(token).filter(|token| token.counts_at(now))?;
        Some(token.person.clone())
    }

    /// Remembers a token that was found good.
    pub(crate) fn insert(&self, digest: TokenDigest, token: VerifiedToken) {
        let mut known = self.known();
        // Rare, and it costs one more check of each token; no order has to be kept.
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(digest, token);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<TokenDigest, VerifiedToken>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Only how many: the rest is about people.
impl fmt::Debug for VerifiedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known().len();
        f.debug_struct("VerifiedTokens")
            .field("known", &known)
            .finish()
    }
}

/// About 5 MiB.
const MAX_KNOWN: usize = 20_000;

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::Person;

    const HOUR: Duration = Duration::from_secs(3600);

    fn token() -> VerifiedToken {
        VerifiedToken {
            person: VerifiedPerson {
                person: Person::new("https://idp.example", "ada").unwrap(),
                expires_at: UNIX_EPOCH + 2 * HOUR,
                is_admin: false,
            },
            begins_at: UNIX_EPOCH + HOUR,
        }
    }

    #[test]
    fn number_of_remembered_tokens_is_bounded() {
        let verified = VerifiedTokens::default();
        let digest = |number: usize| TokenDigest::new(&number.to_string());
        let now = UNIX_EPOCH + HOUR;
        for number in 0..=MAX_KNOWN {
            verified.insert(digest(number), token());
            assert!(verified.person(&digest(number), now).is_some());
        }
        assert!(verified.known().len() <= MAX_KNOWN);
        assert_eq!(verified.person(&digest(0), now), None);
    }

    #[test]
    fn remembered_token_counts_between_its_times_alone() {
        let verified = VerifiedTokens::default();
        let digest = TokenDigest::new("a.b.c");
        verified.insert(digest, token());
        let counts = |at| verified.person(&digest, at).is_some();
        let (begins, ends) = (UNIX_EPOCH + HOUR, UNIX_EPOCH + 2 * HOUR);
        let moment = Duration::from_millis(1);
        assert!(!counts(begins - CLOCK_SKEW - moment));
        assert!(counts(begins - CLOCK_SKEW));
        assert!(counts(ends + CLOCK_SKEW - moment));
        assert!(!counts(ends + CLOCK_SKEW));
    }
}
