//! The port by which the tools of a server are remembered.

use std::fmt;

use keyway_auth::BoxFuture;
use serde_json::value::RawValue;

/// Remembers what a server listed, for clients that come while it is not there.
pub trait ToolMemory: Send + Sync + fmt::Debug {
    /// Returns the tools that the server listed last, to this or another process.
    ///
    /// Cancel safety: must be cancel safe; it only reads.
    fn recall(&self) -> BoxFuture<'_, Option<Vec<Box<RawValue>>>>;

    /// Remembers the tools. Must not block.
    fn remember(&self, tools: &[Box<RawValue>]);
}
