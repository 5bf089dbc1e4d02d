//! How a server is authenticated to: one [`Authorizer`] per way, and the ports they talk through.
//!
//! An authorizer is asked for a [`Credential`] before a request, and told of a [`Challenge`] when
//! the server refuses one; it decides once what to do. Nothing here opens a socket, starts a
//! process or looks at a clock, so every decision can be shown in a unit test.

mod authorizer;
mod challenge;
mod complaint;
mod confinement_note;
mod credential_flaw;
mod denied;
mod document;
mod dynamic;
mod endpoint;
mod error;
mod fixed;
mod future;
mod helper_fault;
mod helper_output;
mod jose;
pub mod oauth;
mod observer;
pub mod ports;
mod redact;
mod refusal;
mod retry_after;
mod timeouts;

pub use self::authorizer::{Authorizer, Challenge, Credential, Proof, Verdict};
pub use self::challenge::{AuthChallenge, parse_challenges, token_challenge};
pub use self::complaint::Complaint;
pub use self::confinement_note::ConfinementNote;
pub use self::credential_flaw::{CredentialFlaw, lasting};
pub use self::denied::Denied;
pub use self::document::Document as PeerDocument;
pub use self::dynamic::{Dynamic, Renewal};
pub use self::error::AuthError;
pub use self::fixed::Fixed;
pub use self::future::BoxFuture;
pub use self::helper_fault::HelperFault;
pub use self::helper_output::parse as parse_helper_output;
pub use self::observer::{Observer, ServerEvent, ServerObserver, Topic};
pub use self::redact::Redactor;
pub use self::refusal::HttpRefusal;
pub use self::retry_after::retry_after;
