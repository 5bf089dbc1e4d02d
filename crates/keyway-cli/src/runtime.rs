//! The async runtime of a command, and what has to be finished before the process ends.

use std::sync::OnceLock;

use keyway::in_flight::InFlight;

use crate::error::CliError;
use crate::signals::terminated;
use crate::timeouts::{LONGEST_GOODBYE, LONGEST_RENEWAL};

/// What this process must not end in the middle of, whichever command runs.
pub(crate) fn in_flight() -> InFlight {
    static IN_FLIGHT: OnceLock<InFlight> = OnceLock::new();
    IN_FLIGHT.get_or_init(InFlight::default).clone()
}

/// Runs a command that talks to servers; one thread is enough. However it ends, a token that is
/// being renewed is kept first.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    block_on_to_its_end(async {
        tokio::select! {
            // Listened for before anything is done.
            biased;
            () = terminated() => Err(keyway::Error::Cancelled.into()),
            outcome = work => outcome,
        }
    })
}

/// The same for a command that ends in its own way when it is told to.
pub(crate) fn block_on_to_its_end<T>(
    work: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|source| CliError::Client { source })?;
    let outcome = runtime.block_on(async {
        let outcome = work.await;
        in_flight().settled(LONGEST_RENEWAL).await;
        outcome
    });
    // A thread that reads from a terminal ends with the next line; nobody waits for that.
    runtime.shutdown_timeout(LONGEST_GOODBYE);
    outcome
}
