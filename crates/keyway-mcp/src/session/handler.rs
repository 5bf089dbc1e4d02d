//! What a server may ask of its client, and tell it.

use std::fmt::Debug;

use keyway_auth::BoxFuture;
use keyway_transport::{Frame, TransportError};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::RpcError;
use crate::jsonrpc::{INTERNAL_ERROR, METHOD_NOT_FOUND};

/// Answers a server's questions: roots, sampling, elicitation.
pub trait Handler: Send + Sync + Debug {
    /// Returns the capabilities to declare.
    fn capabilities(&self) -> Value;

    /// Answers one question; in both eras the method and its parameters are the same.
    ///
    /// Cancel safety: dropped when the server cancels its question or goes away, or when the
    /// request that the question belongs to is dropped. The answer then goes nowhere; a person who
    /// is being asked must no longer be asked.
    fn answer<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Value, RpcError>>;

    /// Answers as [`Handler::answer`] does, with the result as its author wrote it.
    ///
    /// Dropped when the server cancels its question or goes away.
    ///
    /// Cancel safety: as [`Handler::answer`].
    fn pass_on<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, RpcError>> {
        Box::pin(async move {
            let answer = self.answer(method, params).await?;
            let unwritable = |_| RpcError::new(INTERNAL_ERROR, "the answer cannot be written");
            serde_json::value::to_raw_value(&answer).map_err(unwritable)
        })
    }

    /// Is told of a notification, progress and log lines included.
    fn notified(&self, method: &str, frame: &Frame);

    /// Waits until the byte budget of the receiver has space for a large answer; returns it as an
    /// error if there is none for too long. Nothing else of the server is read meanwhile.
    ///
    /// Cancel safety: dropped when the session ends. The answer is dropped with it, and an
    /// implementation must give back the room that it had reserved.
    fn reserve(&self, answer: Frame) -> BoxFuture<'_, Result<Frame, Frame>> {
        Box::pin(std::future::ready(Ok(answer)))
    }

    /// Is told that the connection has ended, before the requests that wait for an answer are.
    fn closed(&self, _reason: Option<&TransportError>) {}
}

/// Declares no capability, and declines every question.
#[derive(Debug, Clone, Copy)]
pub struct NoHandler;

impl Handler for NoHandler {
    fn capabilities(&self) -> Value {
        json!({})
    }

    fn answer<'a>(
        &'a self,
        method: &'a str,
        _params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        let declined = RpcError::new(METHOD_NOT_FOUND, format!("`{method}` is not supported"));
        Box::pin(std::future::ready(Err(declined)))
    }

    fn notified(&self, _method: &str, _frame: &Frame) {}
}
