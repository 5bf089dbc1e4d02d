//! The session of the library as what the work of the suite is done with.

use std::io;

use keyway_mcp::session::{Request, Session, SessionError};
use keyway_testkit::conformance::Connected;
use serde_json::{Map, Value};
use thiserror::Error;

/// Why the work could not be done.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The suite's context is not a JSON object.
    #[error("`MCP_CONFORMANCE_CONTEXT` cannot be read")]
    Context {
        #[source]
        source: serde_json::Error,
    },
    /// The process cannot run tasks.
    #[error("cannot start")]
    Runtime {
        #[source]
        source: io::Error,
    },
    /// What the scenario gave does not make a `config.toml`.
    #[error("the context makes no settings: {message}")]
    Settings {
        /// What is wrong.
        message: String,
    },
    /// The server cannot be used.
    #[error("cannot connect")]
    Host(#[from] keyway::Error),
    /// The server cannot be talked to.
    #[error("the conversation failed")]
    Session(#[from] SessionError),
}

/// The server of the scenario, through the library.
#[derive(Debug)]
pub(crate) struct Server<'a>(pub(crate) &'a Session);

impl Connected for Server<'_> {
    type Error = Failure;

    fn offers(&self, capability: &str) -> bool {
        self.0.facts().offers(capability)
    }

    async fn list(
        &mut self,
        method: &'static str,
        key: &'static str,
    ) -> Result<Vec<Value>, Failure> {
        let items = self.0.list(method, key).await?;
        let read = items.iter().map(|item| serde_json::from_str(item.get()));
        Ok(read.filter_map(Result::ok).collect())
    }

    async fn ask(
        &mut self,
        method: &'static str,
        params: Map<String, Value>,
    ) -> Result<(), Failure> {
        match self.0.request(Request::new(method, params)).await {
            Ok(_) => Ok(()),
            Err(SessionError::Rpc(error)) => {
                eprintln!("`{method}` was answered with error {}", error.code);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}
