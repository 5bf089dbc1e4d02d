//! The async runtime of a command, and what has to be finished before the process ends.

use std::io::{self, Write as _};
use std::sync::OnceLock;

use keyway::in_flight::InFlight;
use tokio::signal::unix::SignalKind;

use crate::error::CliError;
use crate::signals;
use crate::timeouts::{LONGEST_GOODBYE, LONGEST_RENEWAL, SILENT_RENEWAL};

/// What this process must not end in the middle of, whichever command runs.
pub(crate) fn in_flight() -> InFlight {
    static IN_FLIGHT: OnceLock<InFlight> = OnceLock::new();
    IN_FLIGHT.get_or_init(InFlight::default).clone()
}

/// Runs a command that talks to servers; one thread is enough. However it ends, a token that is
/// being renewed is kept first.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let mut ended_by = None;
    let outcome = block_on_to_its_end(async {
        tokio::select! {
            // Listened for before anything is done.
            biased;
            signal = signals::ended() => {
                ended_by = Some(signal);
                Err(keyway::Error::Cancelled.into())
            }
            outcome = work => outcome,
        }
    });
    match ended_by {
        // Service managers and clients send that one, and get the outcome.
        Some(signal) if signal != SignalKind::terminate() => signals::exit_after(signal),
        _ => outcome,
    }
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
        finish_renewals().await;
        outcome
    });
    // A thread that reads from a terminal ends with the next line; nobody waits for that.
    runtime.shutdown_timeout(LONGEST_GOODBYE);
    outcome
}

/// Waits for tokens that are being renewed: their answers may be the only copies of what a server
/// has issued. A signal hurries.
async fn finish_renewals() {
    if in_flight().settled(SILENT_RENEWAL).await {
        return;
    }
    let line = "waiting for the answer of a token endpoint; stopping now may lose the sign-in\n";
    drop(io::stderr().lock().write_all(line.as_bytes()));
    let in_flight = in_flight();
    tokio::select! {
        // In no particular order: whichever comes first ends the process.
        _ = in_flight.settled(LONGEST_RENEWAL) => {}
        _ = signals::ended() => {}
    }
}
