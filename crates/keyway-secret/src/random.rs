//! Random values from the operating system: tokens, nonces, keys.
//!
//! The operating system may refuse; then there is no value, and callers send nothing.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use thiserror::Error;

use crate::Secret;

/// The operating system gave no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("cannot get random bytes from the operating system")]
pub struct NoRandomness;

/// Returns 256 random bits as 43 characters of unpadded base64url, valid in every part of a URL.
///
/// A token that comes back is compared with [`Secret::is_same_as`], in constant time.
///
/// # Errors
///
/// Returns [`NoRandomness`] if the operating system gives none.
pub fn token() -> Result<Secret<String>, NoRandomness> {
    let bytes = Secret::new(bytes::<TOKEN_BYTES>()?);
    Ok(Secret::new(BASE64_URL_SAFE_NO_PAD.encode(bytes.expose())))
}

/// Returns random bytes.
///
/// # Errors
///
/// Returns [`NoRandomness`] if the operating system gives none.
pub fn bytes<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

const TOKEN_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn b4_no_two_tokens_are_the_same_and_each_has_256_bits() {
        let tokens: Vec<_> = (0..1000).map(|_| token().unwrap()).collect();
        let distinct: HashSet<&str> = tokens.iter().map(|it| it.expose().as_str()).collect();
        assert_eq!(distinct.len(), tokens.len());
        for token in distinct {
            assert_eq!(token.len(), 43);
            assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(token).unwrap().len(), 32);
        }
    }

    #[test]
    fn b4_a_token_is_the_same_as_itself_alone() {
        let (one, other) = (token().unwrap(), token().unwrap());
        assert!(one.is_same_as(&one.clone()));
        assert!(!one.is_same_as(&other));
        let cut = Secret::new(one.expose().chars().take(42).collect::<String>());
        assert!(!one.is_same_as(&cut));
        assert!(!one.is_same_as(&Secret::new(String::new())));
    }
}
