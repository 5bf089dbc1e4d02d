//! Which document or endpoint an error is about.

use thiserror::Error;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestTarget {
    /// RFC 9728.
    #[error("the metadata of the server")]
    ResourceMetadata,
    /// RFC 8414.
    #[error("the metadata of the authorization server")]
    ServerMetadata,
    /// RFC 7591.
    #[error("the registration")]
    Registration,
    /// RFC 6749.
    #[error("the token endpoint")]
    Token,
    /// RFC 8628.
    #[error("the device endpoint")]
    Device,
    /// RFC 7009.
    #[error("the revocation endpoint")]
    Revocation,
    /// RFC 8693.
    #[error("the identity provider")]
    IdentityProvider,
    /// The consent page.
    #[error("the consent page")]
    Authorization,
}
