//! Signatures that were found good with the keys of one set.
//!
//! A client sends its token with each request, and checking a signature takes longer than the rest of
//! what the gateway does for a call. Only the signature is remembered: times, audience, scopes and
//! membership are checked each time. What is remembered goes with its keys, which are fetched again
//! every ten minutes.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ring::digest::{Context, SHA256};

/// The digests of tokens with good signatures.
#[derive(Debug, Default)]
pub(crate) struct VerifiedSignatures {
    /// Held for a look or a change.
    known: Mutex<HashSet<[u8; 32]>>,
}

/// All of a token: what is signed, which names algorithm and key, and the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(crate) fn new(text: &str, signature: &[u8]) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(text.as_bytes());
        // In no base64 text, so that the parts cannot be cut elsewhere.
        context.update(b"\0");
        context.update(signature);
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        Self(digest)
    }
}

impl VerifiedSignatures {
    pub(crate) fn contains(&self, token: &TokenDigest) -> bool {
        self.known().contains(&token.0)
    }

    /// Remembers a token whose signature is good.
    pub(crate) fn insert(&self, token: TokenDigest) {
        let mut known = self.known();
        // Rare, and dearer by one check for each token; no order has to be kept.
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(token.0);
    }

    fn known(&self) -> MutexGuard<'_, HashSet<[u8; 32]>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About 1 MiB.
const MAX_KNOWN: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_remembered_signatures_is_bounded() {
        let verified = VerifiedSignatures::default();
        let token = |number: usize| TokenDigest::new("header.claims", &number.to_le_bytes());
        for number in 0..=MAX_KNOWN {
            verified.insert(token(number));
            assert!(verified.contains(&token(number)));
        }
        assert!(verified.known().len() <= MAX_KNOWN);
        assert!(!verified.contains(&token(0)));
    }
}
