//! OAuth on demand, as MCP 2026-07-28 and the three revisions before it want it.
//!
//! A request goes out without a token, or with the stored one. If the server refuses it, one
//! decision is made for all requests that wait: take what another process stored, renew, ask the
//! person, or let the refusal stand. Discovery, registration, consent and exchange are one function
//! each, over the ports; nothing here opens a socket.

mod account_pin;
mod auth_method_serde;
mod authorizer;
mod binding;
mod blocking;
mod cache_lifetime;
mod carried;
mod client;
mod details;
mod discovery;
pub(crate) mod dpop;
mod dpop_binding;
mod engine;
mod exchange;
mod grant_access;
mod memory;
mod metadata;
mod metadata_cache;
mod person;
pub(crate) mod pkce;
mod probe;
mod record_name;
mod redirect_address;
mod refresh;
mod refresh_traffic;
mod registered_clients;
mod registration;
mod renewal_status;
mod replaced_tokens;
mod required_scopes;
mod rotation;
pub(crate) mod scope;
mod secret_serde;
mod sent_request;
mod settings;
mod sign_in;
mod sign_in_record;
mod sign_out;
mod status;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod token;
mod vault_error;
mod wire;

pub use self::account_pin::AccountPin;
pub use self::authorizer::{OAuth, PromptPolicy};
pub use self::binding::SignInBinding;
pub use self::carried::settle;
pub use self::engine::{Ports, Server, SignInStores};
pub use self::exchange::exchange;
pub use self::refresh_traffic::{
    IssuerCounts, RefreshCounts, RefreshLimit, RefreshLimits, RefreshOutcome, RefreshTraffic,
};
pub use self::registration::{client_metadata, is_client_address};
pub use self::replaced_tokens::replaced_tokens_record;
pub use self::required_scopes::required_scopes;
pub use self::sent_request::SentRequest;
pub use self::settings::{
    Assertion, AssertionFuture, AuthMethod, ClientIdentity, ClientOwner, ClientProof,
    ClientSettings, DpopRule, Endpoints, GrantKind, IdJag, KeptToken, PkceRule, RefreshScope,
    ResourceRule, Settings,
};
pub use self::sign_in::{BegunSignIn, CheckedTokens, GivenTokens, SignInPreview};
pub use self::sign_out::{Revoked, SignedOut};
pub use self::status::{SignIn, UnstoredRenewal, UnstoredSignIn};
pub use crate::document::DocumentError;
pub use crate::endpoint::EndpointError;
pub use crate::error::{OAuthError, Refusal, RejectionCause, RequestTarget, SignInCause};
pub use crate::jose::{JoseError, SigningKey};
