//! The result of a request on its way to the client.

use bytes::Bytes;

/// A result, as JSON.
#[derive(Debug)]
pub(super) struct ResultText {
    pub(super) json: String,
    /// The message of a server that it was cut out of, where that was large: the result keeps its
    /// reservation.
    pub(super) of: Option<Bytes>,
}

impl From<String> for ResultText {
    fn from(json: String) -> Self {
        Self { json, of: None }
    }
}

impl From<&str> for ResultText {
    fn from(json: &str) -> Self {
        json.to_owned().into()
    }
}
