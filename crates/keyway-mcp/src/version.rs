//! Protocol versions, and what a message or an answer says about the version of its sender.
//!
//! MCP has two families of versions, called eras here: up to 2025-11-25 a session starts with
//! `initialize`; since 2026-07-28 every request carries its version, and `server/discover` asks a
//! server what it supports. Every place that has to know the era of a peer asks this module.

use keyway_transport::{Envelope, Event, Raw, TransportError};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::jsonrpc::{
    HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
};

/// The modern version that we speak.
pub const MODERN: &str = "2026-07-28";

/// The legacy versions that we speak, newest first.
pub const LEGACY: [&str; 4] = [NEWEST_LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"];

/// The newest legacy version.
pub const NEWEST_LEGACY: &str = "2025-11-25";

/// The `_meta` key by which a modern request says its version.
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The era that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientEra {
    /// 2026-07-28: every request carries its version.
    Modern,
    /// Before: `initialize` comes first.
    Legacy,
}

impl ClientEra {
    /// Reads the era from a client's first request; `None` if it could be of either.
    #[must_use]
    pub fn of(envelope: &Envelope<'_>) -> Option<Self> {
        match envelope.method.as_deref()? {
            "initialize" => Some(Self::Legacy),
            "server/discover" => Some(Self::Modern),
            _ => {
                let params = envelope.params?.get();
                params.contains(PROTOCOL_VERSION).then_some(Self::Modern)
            }
        }
    }
}

/// What an answer to `server/discover` says about a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Discovery {
    /// It speaks [`MODERN`].
    Modern,
    /// It is a modern server that does not take the request: of another version, or because of its
    /// headers or capabilities. It may name the versions that it supports.
    OtherVersion {
        /// Those versions.
        supported: Vec<String>,
    },
    /// It does not know the question, so it is a legacy server.
    Legacy,
}

impl Discovery {
    /// Reads an answer.
    pub(crate) fn of(envelope: &Envelope<'_>) -> Self {
        #[derive(Deserialize)]
        struct Error<'a> {
            code: i64,
            #[serde(borrow)]
            data: Option<&'a RawValue>,
        }
        match (envelope.result, envelope.error) {
            (_, Some(error)) => match serde_json::from_str::<Error<'_>>(error.get()) {
                Ok(error) => Self::of_error(error.code, error.data),
                Err(_) => Self::Legacy,
            },
            (Some(result), None) => Self::of_result(result.get()),
            (None, None) => Self::Legacy,
        }
    }

    /// Reads a result; one that names no versions comes from a legacy server.
    pub(crate) fn of_result(result: &str) -> Self {
        #[derive(Deserialize)]
        struct Result {
            #[serde(rename = "supportedVersions")]
            supported: Vec<String>,
        }
        let Ok(Result { supported }) = serde_json::from_str(result) else {
            return Self::Legacy;
        };
        if supported.iter().any(|version| version == MODERN) {
            return Self::Modern;
        }
        Self::OtherVersion { supported }
    }

    /// Reads an error; only modern servers use the codes for headers, capabilities and versions.
    pub(crate) fn of_error(code: i64, data: Option<&RawValue>) -> Self {
        #[derive(Default, Deserialize)]
        struct Data {
            #[serde(default)]
            supported: Vec<String>,
        }
        if !MODERN_CODES.contains(&code) {
            return Self::Legacy;
        }
        let data = data.and_then(|data| serde_json::from_str::<Data>(data.get()).ok());
        let Data { supported } = data.unwrap_or_default();
        Self::OtherVersion { supported }
    }
}

/// Says whether the answer to a first request looks like that of a server of the other era.
pub(crate) fn is_of_other_era(answer: &Event) -> bool {
    #[derive(Deserialize)]
    struct Error {
        code: i64,
    }
    match answer {
        Event::Failed { error, .. } => match error {
            TransportError::Timeout { .. } => true,
            TransportError::Status { status, .. } => {
                matches!(status, 400 | 404 | 405 | 406 | 415 | 422)
            }
            _ => false,
        },
        Event::Frame(frame) => {
            let envelope = frame.envelope().ok();
            let error = envelope.as_ref().and_then(|it| it.error).map(Raw::get);
            let error = error.and_then(|error| serde_json::from_str::<Error>(error).ok());
            error.is_some_and(|error| OTHER_ERA_CODES.contains(&error.code))
        }
        _ => false,
    }
}

/// Error codes that only a modern server sends.
pub(crate) const MODERN_CODES: [i64; 3] =
    [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION];

/// What servers answer to a request of another era: unknown method, missing parameters, and the
/// modern codes. Legacy servers also use their own -32000.
const OTHER_ERA_CODES: [i64; 7] = [
    METHOD_NOT_FOUND,
    INVALID_PARAMS,
    INVALID_REQUEST,
    -32000,
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
];

#[cfg(test)]
mod tests {
    use keyway_transport::Frame;

    use super::*;

    #[test]
    fn an_answer_to_discover_decides_the_era_in_one_way() {
        let other = |supported: &[&str]| Discovery::OtherVersion {
            supported: supported.iter().copied().map(str::to_owned).collect(),
        };
        for (answer, expected) in [
            (
                r#"{"id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#,
                Discovery::Modern,
            ),
            (
                r#"{"id":1,"result":{"supportedVersions":["2025-11-25"],"capabilities":{}}}"#,
                other(&["2025-11-25"]),
            ),
            (
                r#"{"id":1,"result":{"supportedVersions":"2026-07-28"}}"#,
                Discovery::Legacy,
            ),
            (r#"{"id":1,"result":{}}"#, Discovery::Legacy),
            (
                r#"{"id":1,"error":{"code":-32022,"message":"","data":{"supported":["x"]}}}"#,
                other(&["x"]),
            ),
            (
                r#"{"id":1,"error":{"code":-32020,"message":""}}"#,
                other(&[]),
            ),
            (
                r#"{"id":1,"error":{"code":-32601,"message":""}}"#,
                Discovery::Legacy,
            ),
            (r#"{"id":1,"error":"odd"}"#, Discovery::Legacy),
        ] {
            let frame = Frame::new(answer).unwrap();
            assert_eq!(
                Discovery::of(&frame.envelope().unwrap()),
                expected,
                "{answer}"
            );
        }
    }
}
