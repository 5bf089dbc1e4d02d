//! Why a WebSocket ends: what its close codes and faults mean (RFC 6455 §7.4).

use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{self, error::ProtocolError};

use crate::error::TransportError;
use crate::frame::FrameError;

/// Why a connection ends: what we tell the server, and what the reader of the events.
#[derive(Debug)]
pub(super) struct CloseReason {
    pub(super) code: CloseCode,
    pub(super) error: Option<TransportError>,
}

impl CloseReason {
    /// Ends because we are done.
    pub(super) const fn normal() -> Self {
        Self {
            code: CloseCode::Normal,
            error: None,
        }
    }

    pub(super) const fn failed(code: CloseCode, error: TransportError) -> Self {
        Self {
            code,
            error: Some(error),
        }
    }

    /// Ends because the connection is gone.
    pub(super) const fn lost() -> Self {
        Self::failed(CloseCode::Away, TransportError::Closed)
    }

    /// Ends because the server says so; its reason may hold anything and is not passed on.
    pub(super) fn from_server(frame: Option<&CloseFrame>) -> Self {
        let what = match frame.map(|frame| frame.code) {
            None | Some(CloseCode::Normal | CloseCode::Away) => return Self::normal(),
            // It may be there again later.
            Some(CloseCode::Error | CloseCode::Restart | CloseCode::Again) => return Self::lost(),
            Some(CloseCode::Protocol) => "it closed with code 1002, protocol error",
            Some(CloseCode::Unsupported) => "it closed with code 1003, unsupported data",
            Some(CloseCode::Invalid) => "it closed with code 1007, invalid data",
            Some(CloseCode::Policy) => "it closed with code 1008, policy violation",
            Some(CloseCode::Size) => "it closed with code 1009, message too big",
            Some(CloseCode::Iana(3000)) => "it closed with code 3000, unauthorized",
            Some(CloseCode::Iana(3003)) => "it closed with code 3003, forbidden",
            Some(CloseCode::Library(_)) => "it closed with a code of its own",
            Some(_) => "it closed with an unexpected code",
        };
        Self::failed(CloseCode::Normal, TransportError::Protocol { what })
    }

    /// Ends because of what was read.
    pub(super) fn from_error(error: &tungstenite::Error) -> Self {
        use tungstenite::Error;
        let (code, what) = match error {
            Error::Capacity(CapacityError::MessageTooLong { size, .. }) => {
                let error = FrameError::TooLarge { bytes: *size }.into();
                return Self::failed(CloseCode::Size, error);
            }
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)
            | Error::ConnectionClosed
            | Error::AlreadyClosed
            | Error::Io(_) => return Self::lost(),
            Error::Utf8(_) => (CloseCode::Invalid, "a text message that is not UTF-8"),
            _ => (CloseCode::Protocol, "a malformed WebSocket frame"),
        };
        Self::failed(code, TransportError::Protocol { what })
    }
}

#[cfg(test)]
mod tests {
    use keyway_code::Code;

    use super::*;

    fn from_server(code: u16) -> Option<TransportError> {
        let frame = CloseFrame {
            code: code.into(),
            reason: "secret".into(),
        };
        CloseReason::from_server(Some(&frame)).error
    }

    #[test]
    fn close_codes_map_to_normal_transient_and_permanent() {
        assert!(CloseReason::from_server(None).error.is_none());
        for code in [1000, 1001] {
            assert!(from_server(code).is_none(), "{code}");
        }
        for code in [1011, 1012, 1013] {
            assert!(from_server(code).unwrap().is_transient(), "{code}");
        }
        for code in [1002, 1003, 1007, 1008, 1009, 1010, 3000, 3003, 4001] {
            let error = from_server(code).unwrap();
            assert_eq!(error.code(), Code::ProtocolError, "{code}");
            assert!(!error.to_string().contains("secret"));
        }
    }
}
