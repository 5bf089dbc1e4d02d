//! What authorizers need of the outside world; the transport and the program supply it.

mod carrier;
mod consent;
mod http;

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use keyway_secret::Secret;

use crate::confinement_note::ConfinementNote;
use crate::future::BoxFuture;
use crate::helper_fault::HelperFault;

pub use keyway_store::{DocumentCache, RecordStore};

pub use self::carrier::{Carried, CarriedExchange, ExchangeCarrier};
pub use self::consent::{
    Callback, Consent, ConsentQuestion, Declined, DeviceQuestion, ForeignPage, Interaction,
    InteractionError, Redirect, ShownCode, Turn,
};
pub use self::http::{
    Barred, HttpClient, HttpFailure, HttpRequest, HttpResponse, Redirects, SentMark, Wait,
};

/// Runs a headers helper: one program, bounded in time and output, in a process group of its own.
pub trait HelperRunner: Send + Sync + Debug {
    /// Runs it once and returns what it printed on standard output.
    ///
    /// # Errors
    ///
    /// Returns which rule it broke; the output is then thrown away.
    ///
    /// Cancel safety: dropping the future must kill the helper with its process group; its output
    /// is thrown away.
    fn run(&self, timeout: Duration) -> BoxFuture<'_, Result<Secret<Vec<u8>>, HelperFault>>;

    /// Says, after a run that failed or whose output cannot be used, what it was kept from; `None`
    /// if it was not confined or did not start.
    fn confinement(&self) -> Option<ConfinementNote> {
        None
    }
}

/// Something that the process should not end in the middle of; see [`Tasks::hold`].
pub type Hold = Arc<dyn Any + Send + Sync>;

/// Runs work in the background.
pub trait Tasks: Send + Sync + Debug {
    /// Runs a task to its end, even if no caller waits for it any more.
    fn spawn(&self, task: BoxFuture<'static, ()>);

    /// Runs work that waits for a disk, on a thread that may.
    fn block(&self, work: Box<dyn FnOnce() + Send>);

    /// Waits.
    ///
    /// Cancel safety: must be cancel safe; nothing continues.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;

    /// Begins something that the process should not end in the middle of: it waits, if it can,
    /// until the last copy is dropped. By default nothing waits.
    fn hold(&self) -> Hold {
        Arc::new(())
    }
}
