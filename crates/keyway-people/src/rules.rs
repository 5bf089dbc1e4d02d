//! What a token has to be, as the settings say it.

use crate::algorithm::Algorithm;
use crate::claims::ClaimRule;

/// What a token has to be beside signed by a listed issuer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TokenRules {
    /// What `aud` has to hold: our own name.
    pub audience: String,
    /// How it may be signed.
    pub algorithms: Vec<Algorithm>,
    /// The scopes that it has to have, all of them.
    pub scopes: Vec<String>,
    /// Who may use the gateway at all, if not all people of the issuers.
    pub members: Option<ClaimRule>,
    /// Who is an admin; without it there is none.
    pub admins: Option<ClaimRule>,
}

impl TokenRules {
    /// Admits every person with a token for `audience`, signed by any [`Algorithm`].
    #[must_use]
    pub fn new(audience: impl Into<String>) -> Self {
        Self {
            audience: audience.into(),
            algorithms: Algorithm::ALL.to_vec(),
            scopes: Vec::new(),
            members: None,
            admins: None,
        }
    }
}
