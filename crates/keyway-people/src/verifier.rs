//! The one question about a token: whose is it?

use std::sync::Arc;
use std::time::SystemTime;

use keyway_secret::{Clock, Secret};

use crate::access_token::{ReadToken, TokenError, TokenKind};
use crate::issuer::Issuer;
use crate::issuer_keys::IssuerKeys;
use crate::key_set::KeySet;
use crate::person::VerifiedPerson;
use crate::rules::TokenRules;
use crate::verified_tokens::{TokenDigest, VerifiedToken};

/// Says whose an access token is (RFC 9068).
#[derive(Debug)]
pub struct AccessTokenVerifier {
    pub(crate) rules: TokenRules,
    pub(crate) issuers: Vec<Arc<IssuerKeys>>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl AccessTokenVerifier {
    /// Accepts tokens of these issuers; nothing is fetched yet.
    #[must_use]
    pub fn new(rules: TokenRules, issuers: Vec<Issuer>, clock: Arc<dyn Clock>) -> Self {
        let issuers = issuers.into_iter().map(|issuer| {
            let clock = Arc::clone(&clock);
            Arc::new(IssuerKeys::new(issuer, clock))
        });
        Self {
            rules,
            issuers: issuers.collect(),
            clock,
        }
    }

    /// Says whether text could be a token of an issuer at all: a JWT has dots, and no gateway token
    /// has one.
    #[must_use]
    pub fn is_candidate(text: &str) -> bool {
        text.contains('.')
    }

    /// Returns what a token has to be.
    #[must_use]
    pub const fn rules(&self) -> &TokenRules {
        &self.rules
    }

    /// Returns the names of the issuers.
    pub fn issuers(&self) -> impl Iterator<Item = &str> {
        self.issuers.iter().map(|it| it.name())
    }

    /// Says whose a token is.
    ///
    /// Must be called inside a runtime.
    ///
    /// # Errors
    ///
    /// Returns the first rule that the token breaks.
    ///
    /// Cancel safety: cancel safe; a fetch of keys that it began goes on for others.
    pub async fn verify(&self, token: &Secret<String>) -> Result<VerifiedPerson, TokenError> {
        let (digest, now) = (TokenDigest::new(token.expose()), self.clock.wall());
        for issuer in &self.issuers {
            if let Some(keys) = issuer.known_keys()
                && let Some(person) = keys.verified.person(&digest, now)
            {
                return Ok(person);
            }
        }
        let read = ReadToken::read(token.expose(), &self.rules, TokenKind::Access)?;
        let issuer = self.issuers.iter().find(|it| it.name() == read.issuer);
        let issuer = issuer.ok_or(TokenError::IssuerNotListed)?;
        let (person, expires_at) = read.person(&self.rules, now)?;
        let keys = check_signature(&read, issuer).await?;
        let is_admin = read.check_access(&self.rules)?;
        let begins_at = read.begins_at()?;
        let person = VerifiedPerson {
            person,
            expires_at,
            is_admin,
        };
        let token = VerifiedToken {
            person: person.clone(),
            begins_at,
        };
        keys.verified.insert(digest, token);
        Ok(person)
    }

    /// Does the same with keys that are there, and fetches none.
    ///
    /// # Errors
    ///
    /// Returns the first rule that the token breaks.
    pub fn verify_with(
        rules: &TokenRules,
        issuer: &str,
        keys: &KeySet,
        token: &str,
        now: SystemTime,
    ) -> Result<VerifiedPerson, TokenError> {
        let read = ReadToken::read(token, rules, TokenKind::Access)?;
        if read.issuer != issuer {
            return Err(TokenError::IssuerNotListed);
        }
        let (person, expires_at) = read.person(rules, now)?;
        read.check_signature(keys)?;
        let is_admin = read.check_access(rules)?;
        Ok(VerifiedPerson {
            person,
            expires_at,
            is_admin,
        })
    }
}

/// Checks that a token is signed with a key of its issuer, as it is known or published now, and returns
/// the keys that it was found in.
pub(crate) async fn check_signature(
    read: &ReadToken<'_>,
    issuer: &Arc<IssuerKeys>,
) -> Result<Arc<KeySet>, TokenError> {
    let keys = issuer.keys().await.map_err(TokenError::NoKeys)?;
    match read.check_signature(&keys) {
        Err(TokenError::UnknownKey) => {
            let others = issuer.keys_after(&keys).await;
            let others = others.map_err(TokenError::NoKeys)?;
            let others = others.ok_or(TokenError::UnknownKey)?;
            read.check_signature(&others)?;
            Ok(others)
        }
        checked => checked.map(|()| keys),
    }
}
