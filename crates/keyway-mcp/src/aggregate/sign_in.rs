//! The port by which a person signs in to a server.

use std::fmt;

use keyway_auth::BoxFuture;
use keyway_auth::ports::DeviceQuestion;
use tokio::sync::watch;

use crate::states::ServerProblem;

/// The way into a server that wants a sign-in.
pub trait SignInPort: Send + Sync + fmt::Debug {
    /// Asks a person, and returns once they signed in or declined.
    ///
    /// Cancel safety: the aggregate runs it in a task of its own and drops it only with the
    /// runtime. Other callers may drop it: a person who is being asked is asked on, and what they
    /// decide is stored.
    fn sign_in(&self) -> BoxFuture<'_, Result<(), ServerProblem>>;

    /// Returns the page on which the person is being asked.
    fn consent_page(&self) -> Option<String>;

    /// Returns what the person has to do on that page and then, if it is not to sign in: a sentence
    /// without its full stop.
    fn request(&self) -> Option<String> {
        None
    }

    /// Waits until the sign-in under way has a code that only the client can show to a person (RFC
    /// 8628); forever, where it has none.
    ///
    /// Cancel safety: must be cancel safe; it only waits.
    fn device_code(&self) -> BoxFuture<'_, DeviceQuestion>;

    /// Waits until a person signed in by another way.
    ///
    /// Cancel safety: must be cancel safe; it only waits.
    fn signed_in_elsewhere(&self) -> BoxFuture<'_, ()>;
}

/// A sign-in under way, for all calls that wait.
pub(super) type SignInProgress = watch::Receiver<Option<Result<(), ServerProblem>>>;
