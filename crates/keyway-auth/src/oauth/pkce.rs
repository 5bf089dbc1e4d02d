//! Proof key for code exchange (RFC 7636), by S256 and nothing else.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_secret::Secret;
use keyway_secret::random::{self, NoRandomness};
use ring::digest::{SHA256, digest};

/// The only method that is ever sent (threat A8).
pub(crate) const METHOD: &str = "S256";

/// A verifier for one authorization request, and its challenge.
#[derive(Debug, Clone)]
pub(crate) struct Pkce {
    verifier: Secret<String>,
    challenge: String,
}

impl Pkce {
    /// Makes a new pair.
    ///
    /// # Errors
    ///
    /// Returns that there are no random bytes.
    pub(crate) fn new() -> Result<Self, NoRandomness> {
        Ok(Self::of(random::token()?))
    }

    /// Returns what goes to the token endpoint, and nowhere before.
    pub(crate) const fn verifier(&self) -> &Secret<String> {
        &self.verifier
    }

    /// Returns what goes to the consent page.
    pub(crate) fn challenge(&self) -> &str {
        &self.challenge
    }

    /// Makes the pair of a verifier that was made earlier.
    pub(crate) fn of(verifier: Secret<String>) -> Self {
        let hash = digest(&SHA256, verifier.expose().as_bytes());
        Self {
            verifier,
            challenge: BASE64_URL_SAFE_NO_PAD.encode(hash),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7636 appendix B.
    #[test]
    fn a8_the_example_of_the_specification_comes_out() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned();
        let pkce = Pkce::of(Secret::new(verifier));
        assert_eq!(
            pkce.challenge(),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        assert_eq!(METHOD, "S256");
    }

    #[test]
    fn a8_a_verifier_is_new_each_time_and_never_the_challenge() {
        let (one, other) = (Pkce::new().unwrap(), Pkce::new().unwrap());
        assert_eq!(one.verifier().expose().len(), 43);
        assert!(!one.verifier().is_same_as(other.verifier()));
        assert_ne!(one.challenge(), other.challenge());
        assert_ne!(one.verifier().expose(), one.challenge());
        assert!(!format!("{one:?}").contains(one.verifier().expose()));
    }
}
