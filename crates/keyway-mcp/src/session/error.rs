//! Why a conversation or a request in it failed.

use std::time::Duration;

use keyway_code::{Code, Exit, ServerState};
use keyway_transport::TransportError;
use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::splice::quoted;

/// Why a request got no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The connection failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The server answered with an error.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The server broke a rule of the protocol.
    #[error("the server broke the protocol: {what}")]
    Protocol {
        /// Which.
        what: &'static str,
    },
    /// Client and server have no version in common.
    #[error("no protocol version in common; the server offers {offered}")]
    NoCommonVersion {
        /// What it offers.
        offered: String,
    },
    /// The server did not answer in time.
    #[error("no answer to `{method}` within {seconds} seconds")]
    Timeout {
        /// The request.
        method: String,
        /// The limit.
        seconds: u64,
    },
}

impl SessionError {
    /// A request that was not answered within its time.
    #[must_use]
    pub fn timeout(method: &str, limit: Duration) -> Self {
        Self::Timeout {
            method: method.to_owned(),
            seconds: limit.as_secs(),
        }
    }

    /// Returns the code used in every format.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Transport(error) => error.code(),
            Self::Rpc(_) => Code::ServerError,
            Self::Protocol { .. } => Code::ProtocolError,
            Self::NoCommonVersion { .. } => Code::NoCommonVersion,
            Self::Timeout { .. } => Code::Timeout,
        }
    }

    /// Says whether trying again later may help without anyone doing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Transport(error) => error.is_transient(),
            error => error.code().facts().waiting_helps,
        }
    }

    /// Returns the state that it leaves a server in.
    #[must_use]
    pub fn state(&self) -> ServerState {
        match self {
            Self::Transport(error) => error.state(),
            error => error.code().state(),
        }
    }

    /// Returns how a command ends that fails with it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Transport(error) => error.exit(),
            error => error.code().exit(),
        }
    }

    /// Returns what to do next; `SERVER` and `PLUGIN` stand for the names.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Transport(error) => error.hint(),
            error => error.code().hint(),
        }
    }
}

/// A JSON-RPC error as the server sent it.
#[derive(Debug, Error)]
#[error(
    "the server answered with error {code}: {}",
    keyway_secret::printable(message)
)]
#[non_exhaustive]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// More about it.
    pub data: Option<Box<RawValue>>,
}

impl RpcError {
    /// Makes an error to answer a server with.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Reads the error of a response; `None` if it has no code, or what it has is of another type.
    pub(crate) fn read(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Wire {
            code: i64,
            #[serde(default)]
            message: String,
            data: Option<Box<RawValue>>,
        }
        let Wire {
            code,
            message,
            data,
        } = serde_json::from_str(text).ok()?;
        Some(Self {
            code,
            message,
            data,
        })
    }

    /// Returns the error as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let message = quoted(&self.message);
        match &self.data {
            Some(data) => {
                format!(
                    r#"{{"code":{},"message":{message},"data":{data}}}"#,
                    self.code
                )
            }
            None => format!(r#"{{"code":{},"message":{message}}}"#, self.code),
        }
    }
}
