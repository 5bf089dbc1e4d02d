//! Why bytes from the bus are not a message.

use thiserror::Error;

/// Which rule of the message format is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Malformed {
    /// It does not begin like a message, or in another order of bytes.
    #[error("not a D-Bus message")]
    Prefix,
    /// It is longer than anything that was asked for.
    #[error("the message is longer than 64 KiB")]
    TooLong,
    /// Something reaches beyond the end.
    #[error("the message is truncated")]
    Short,
    /// A value does not match its type.
    #[error("a value does not match its type")]
    Value,
    /// The values are not those that the method returns.
    #[error("the reply has another signature than the method")]
    Signature,
}
