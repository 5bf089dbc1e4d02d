//! A token as it is read: three parts, a header and claims, each rule with its own error.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_auth::PeerDocument;
use keyway_auth::oauth::DocumentError;
use thiserror::Error;

use crate::algorithm::Algorithm;
use crate::claims::texts;
use crate::issuer_keys::KeysError;
use crate::key_set::KeySet;
use crate::person::{Person, PersonError};
use crate::rules::TokenRules;
use crate::timeouts::CLOCK_SKEW;

/// Which token is read: neither counts as the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// An access token (RFC 9068).
    Access,
    /// An ID token (OpenID Connect Core section 2).
    Identity,
}

/// A token whose header and claims keep to the rules. Its signature is not checked yet.
pub(crate) struct ReadToken<'a> {
    /// What is signed.
    text: &'a str,
    signature: Vec<u8>,
    algorithm: Algorithm,
    key_id: Option<String>,
    claims: PeerDocument,
    pub(crate) issuer: String,
}

impl<'a> ReadToken<'a> {
    /// Reads a token as far as that needs no key and no clock.
    pub(crate) fn read(
        token: &'a str,
        rules: &TokenRules,
        kind: TokenKind,
    ) -> Result<Self, TokenError> {
        if token.len() > MAX_TOKEN {
            return Err(TokenError::TooLong);
        }
        let (text, signature) = token.rsplit_once('.').ok_or(TokenError::NotThreeParts)?;
        let (header, claims) = text.split_once('.').ok_or(TokenError::NotThreeParts)?;
        if claims.contains('.') {
            return Err(TokenError::NotThreeParts);
        }
        let decode = |part| {
            let decoded = BASE64_URL_SAFE_NO_PAD.decode(part);
            decoded.map_err(|_| TokenError::NotBase64)
        };
        let header = PeerDocument::parse(&decode(header)?).map_err(TokenError::Header)?;
        let (algorithm, key_id) = read_header(&header, rules, kind)?;
        let claims = PeerDocument::parse(&decode(claims)?).map_err(TokenError::Claims)?;
        let issuer = claims.text("iss").map_err(TokenError::Claims)?;
        let issuer = issuer.ok_or(TokenError::NoIssuer)?.to_owned();
        Ok(Self {
            text,
            signature: decode(signature)?,
            algorithm,
            key_id,
            claims,
            issuer,
        })
    }

    /// Checks the claims that every token has, and returns whose it is and when it ends.
    pub(crate) fn person(
        &self,
        rules: &TokenRules,
        now: SystemTime,
    ) -> Result<(Person, SystemTime), TokenError> {
        if !texts(&self.claims, "aud").contains(&rules.audience) {
            return Err(TokenError::WrongAudience);
        }
        // A token that is bound to a key proves nothing without that key (RFC 7800, RFC 9449).
        if self.claims.has("cnf") {
            return Err(TokenError::BoundToKey);
        }
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let expires = self.time("exp")?.ok_or(TokenError::NoExpiry)?;
        if now >= expires + CLOCK_SKEW {
            return Err(TokenError::Expired);
        }
        if self
            .time("nbf")?
            .is_some_and(|from| from > now + CLOCK_SKEW)
        {
            return Err(TokenError::NotYetValid);
        }
        if self.time("iat")?.is_some_and(|at| at > now + CLOCK_SKEW) {
            return Err(TokenError::IssuedInFuture);
        }
        let subject = self.claims.text("sub").map_err(TokenError::Claims)?;
        let subject = subject.ok_or(TokenError::NoSubject)?;
        let person = Person::new(&self.issuer, subject)?;
        Ok((person, UNIX_EPOCH + expires))
    }

    /// Returns when the token was issued, or from when on it is valid if that is later.
    pub(crate) fn begins_at(&self) -> Result<SystemTime, TokenError> {
        let begins = self.time("iat")?.max(self.time("nbf")?);
        Ok(UNIX_EPOCH + begins.unwrap_or_default())
    }

    /// Returns a claim that is text.
    pub(crate) fn text(&self, claim: &'static str) -> Result<Option<&str>, TokenError> {
        self.claims.text(claim).map_err(TokenError::Claims)
    }

    /// Says whether the token is for one audience alone.
    pub(crate) fn has_one_audience(&self) -> bool {
        texts(&self.claims, "aud").len() == 1
    }

    /// Says whether the token is signed with one of the keys.
    pub(crate) fn check_signature(&self, keys: &KeySet) -> Result<(), TokenError> {
        let mut found = keys.find(self.key_id.as_deref(), self.algorithm).peekable();
        if found.peek().is_none() {
            return Err(TokenError::UnknownKey);
        }
        let text = self.text.as_bytes();
        let is_signed = found.any(|key| key.verifies(self.algorithm, text, &self.signature));
        match is_signed {
            true => Ok(()),
            false => Err(TokenError::BadSignature),
        }
    }

    /// Says whether the person may use the gateway, and whether as an admin.
    pub(crate) fn check_access(&self, rules: &TokenRules) -> Result<bool, TokenError> {
        let scopes = texts(&self.claims, "scope");
        if !rules.scopes.iter().all(|scope| scopes.contains(scope)) {
            return Err(TokenError::MissingScope);
        }
        let holds = |rule: &crate::ClaimRule| rule.holds(&self.claims);
        if !rules.members.as_ref().is_none_or(holds) {
            return Err(TokenError::NotMember);
        }
        Ok(rules.admins.as_ref().is_some_and(holds))
    }

    /// Reads a time in seconds (RFC 7519 section 2): a number, and never a text.
    fn time(&self, claim: &'static str) -> Result<Option<Duration>, TokenError> {
        if !self.claims.has(claim) {
            return Ok(None);
        }
        let raw = self.claims.raw(claim).unwrap_or_default();
        let seconds = serde_json::from_str::<f64>(raw).ok();
        let seconds = seconds.filter(|seconds| (0.0..=MAX_TIME).contains(seconds));
        let seconds = seconds.ok_or(TokenError::NotTime { claim })?;
        Ok(Some(Duration::from_secs_f64(seconds)))
    }
}

fn read_header(
    header: &PeerDocument,
    rules: &TokenRules,
    token: TokenKind,
) -> Result<(Algorithm, Option<String>), TokenError> {
    // We know no extension, so none that is critical (RFC 7515 section 4.1.11).
    if header.raw("crit").is_some() {
        return Err(TokenError::Critical);
    }
    let algorithm = header.text("alg").map_err(TokenError::Header)?;
    let algorithm = algorithm.unwrap_or_default();
    if algorithm.is_empty() || algorithm.eq_ignore_ascii_case("none") {
        return Err(TokenError::Unsigned);
    }
    if algorithm.to_ascii_uppercase().starts_with("HS") {
        return Err(TokenError::SharedSecret);
    }
    let algorithm = Algorithm::from_name(algorithm);
    let algorithm = algorithm.filter(|it| rules.algorithms.contains(it));
    let algorithm = algorithm.ok_or(TokenError::AlgorithmNotListed)?;
    // RFC 9068 section 4, so that no ID token counts as an access token.
    let kind = header.text("typ").map_err(TokenError::Header)?;
    let kind = kind.unwrap_or_default().to_ascii_lowercase();
    let is_access = matches!(&*kind, "at+jwt" | "application/at+jwt");
    match token {
        TokenKind::Access if !is_access => return Err(TokenError::WrongType),
        TokenKind::Identity if !matches!(&*kind, "" | "jwt" | "application/jwt") => {
            return Err(TokenError::NotIdToken);
        }
        _ => {}
    }
    let id = header.text("kid").map_err(TokenError::Header)?;
    if id.is_some_and(|id| id.len() > MAX_KEY_ID) {
        return Err(TokenError::KeyIdTooLong);
    }
    Ok((algorithm, id.map(str::to_owned)))
}

/// Why a token lets no person in. Never holds anything of the token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is longer than 16 KiB; nothing of it was decoded.
    #[error("the token is longer than 16 KiB")]
    TooLong,
    /// It is not a signed JWT in its compact form.
    #[error("the token is not a signed JWT")]
    NotThreeParts,
    /// A part of it is not base64url.
    #[error("the token is not base64url")]
    NotBase64,
    /// Its header breaks a rule; two members of the same name are one.
    #[error("the header of the token cannot be read: {0}")]
    Header(DocumentError),
    /// Its claims break a rule; two claims of the same name are one.
    #[error("the claims of the token cannot be read: {0}")]
    Claims(DocumentError),
    /// Its header demands an extension.
    #[error("the token demands an extension (`crit`)")]
    Critical,
    /// It is not signed.
    #[error("the token is not signed")]
    Unsigned,
    /// It is signed with a shared secret: with a public key taken for one, by any person.
    #[error("the token is signed with a shared secret")]
    SharedSecret,
    /// It is signed by an algorithm that the settings do not list.
    #[error("the token is signed by an algorithm that is not allowed here")]
    AlgorithmNotListed,
    /// It is a JWT of another type, such as an ID token.
    #[error("the token is not an access token (`typ` is not `at+jwt`)")]
    WrongType,
    /// It is a JWT of another type, where an ID token is expected.
    #[error("the token is not an ID token")]
    NotIdToken,
    /// The name of its key is too long.
    #[error("the name of the token's key is longer than {MAX_KEY_ID} bytes")]
    KeyIdTooLong,
    /// It names no issuer.
    #[error("the token has no issuer")]
    NoIssuer,
    /// Its issuer is not listed.
    #[error("the token is from an issuer that is not accepted here")]
    IssuerNotListed,
    /// It is for another resource.
    #[error("the token is for another audience")]
    WrongAudience,
    /// It is bound to a key, of which a bearer shows nothing.
    #[error("the token is bound to a key, which is not supported here")]
    BoundToKey,
    /// It has no end.
    #[error("the token has no `exp`")]
    NoExpiry,
    /// A time in it is not a number of seconds.
    #[error("`{claim}` of the token is not a time")]
    NotTime {
        /// Which.
        claim: &'static str,
    },
    /// It has ended.
    #[error("the token has expired")]
    Expired,
    /// It begins later.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// It was made later than now.
    #[error("the token was issued in the future")]
    IssuedInFuture,
    /// It names no person.
    #[error("the token has no subject")]
    NoSubject,
    /// Its subject cannot be a person's name.
    #[error("the subject of the token cannot be used: {0}")]
    Subject(#[from] PersonError),
    /// The issuer has no such key, also after its keys were fetched again.
    #[error("the token is signed with a key that its issuer does not publish")]
    UnknownKey,
    /// The signature is not of the key that the token names.
    #[error("the signature of the token is wrong")]
    BadSignature,
    /// The keys of the issuer cannot be had, and none are known from before.
    #[error("the keys of the token's issuer cannot be fetched: {0}")]
    NoKeys(KeysError),
    /// The person may not do this: a scope is missing.
    #[error("the token lacks a scope that is needed here")]
    MissingScope,
    /// The person is known and has no access.
    #[error("this person has no access here")]
    NotMember,
}

impl TokenError {
    /// Says whether the token is good and its person has no access.
    #[must_use]
    pub const fn is_forbidden(&self) -> bool {
        matches!(self, Self::MissingScope | Self::NotMember)
    }

    /// Says whether the same token may be good later, because its issuer is away.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::NoKeys(_))
    }
}

pub(crate) const MAX_TOKEN: usize = 16 * 1024;
const MAX_KEY_ID: usize = 256;
/// Far enough, and no sum of times overflows.
const MAX_TIME: f64 = 1e11;
