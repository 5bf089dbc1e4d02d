//! What authorizers need of the outside world; the transport and the program supply it.

mod consent;
mod http;

use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime};

use keyway_secret::Secret;

use crate::BoxFuture;
use crate::error::HelperFault;

pub use self::consent::{
    Callback, Consent, ConsentQuestion, Declined, DeviceQuestion, Interaction, InteractionError,
    Redirect, ShownCode, Turn,
};
pub use self::http::{Barred, HttpClient, HttpFailure, HttpRequest, HttpResponse, Redirects};

/// Tells the time, so that tests can.
pub trait Clock: Send + Sync + Debug {
    /// Returns a time that never goes back.
    fn monotonic(&self) -> Instant;

    /// Returns the time of day, for what is told to others or outlives the process.
    fn wall(&self) -> SystemTime;
}

/// Runs a headers helper: one program, bounded in time and output, in a process group of its own.
pub trait HelperRunner: Send + Sync + Debug {
    /// Runs it once and returns what it printed on standard output.
    ///
    /// # Errors
    ///
    /// Returns which rule it broke; the output is then thrown away.
    fn run(&self, timeout: Duration) -> BoxFuture<'_, Result<Secret<Vec<u8>>, HelperFault>>;
}

/// Runs work beside whoever asked for it.
pub trait Tasks: Send + Sync + Debug {
    /// Runs a task to its end, even if nobody waits for it any more.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Runs work that waits for a disk, on a thread that may.
    fn block(&self, work: Box<dyn FnOnce() + Send>);

    /// Waits.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;
}

/// Sealed records by name, beside the tokens: registrations.
///
/// Calls block.
pub trait Records: Send + Sync + Debug {
    /// Returns a record; one that cannot be read is as good as none.
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>>;

    /// Keeps a record.
    ///
    /// # Errors
    ///
    /// Returns why it could not be kept.
    fn put(&self, name: &str, value: &[u8]) -> Result<(), keyway_vault::VaultError>;

    /// Removes a record.
    ///
    /// # Errors
    ///
    /// Returns why it is still there.
    fn delete(&self, name: &str) -> Result<(), keyway_vault::VaultError>;
}

/// Sealed discovery documents by name, each for a while.
///
/// Calls block.
pub trait Documents: Send + Sync + Debug {
    /// Returns a document whose time is not over; one that cannot be read is as good as none.
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>>;

    /// Keeps a document for so long.
    ///
    /// # Errors
    ///
    /// Returns why it could not be kept.
    fn keep(
        &self,
        name: &str,
        value: &[u8],
        lifetime: Duration,
    ) -> Result<(), keyway_vault::VaultError>;

    /// Removes a document.
    ///
    /// # Errors
    ///
    /// Returns why it is still there.
    fn forget(&self, name: &str) -> Result<(), keyway_vault::VaultError>;
}
