//! Who a request is from: people, by the access tokens of issuers that the settings list.
//!
//! A [`Person`] is an issuer and a subject. [`AccessTokenVerifier`] reads a token as RFC 9068 has
//! it and says whose it is, or which rule it breaks. Tokens come from strangers, so they are
//! bounded before anything is decoded, and every fault has an error of its own, which holds
//! nothing of the token. The keys of an issuer are fetched through the port of `keyway-auth`,
//! cached, and fetched again at most once a minute for a key that is not known.
//!
//! A browser shows whose it is by a sign-in at the person's issuer, whose ID token is read here too
//! ([`AccessTokenVerifier::begin_browser_sign_in`]).
//!
//! What a person sends from a page of their own is read here as well ([`PersonForm`]).
//!
//! A token is read here and goes no further: [`VerifiedPerson`] does not hold it.

mod access_token;
mod algorithm;
mod browser_sign_in;
mod claims;
mod issuer;
mod issuer_keys;
mod key_set;
mod person;
mod person_form;
mod rules;
mod timeouts;
mod verified_tokens;
mod verifier;

pub use self::access_token::TokenError;
pub use self::algorithm::Algorithm;
pub use self::browser_sign_in::{BegunBrowserSignIn, BrowserProof, BrowserSignInError};
pub use self::claims::ClaimRule;
pub use self::issuer::{Issuer, IssuerError};
pub use self::issuer_keys::KeysError;
pub use self::key_set::{KeySet, KeySetError};
pub use self::person::{Person, PersonError, VerifiedPerson};
pub use self::person_form::{PersonAction, PersonForm};
pub use self::rules::TokenRules;
pub use self::verifier::AccessTokenVerifier;

#[cfg(test)]
mod tests;
