//! The async runtime of a command, and what has to be finished before the process ends.

use std::io::{self, Write as _};
use std::sync::OnceLock;

use keyway::in_flight::InFlight;
use keyway_terminal::EndingSignal;

use crate::error::CliError;
use crate::timeouts::{LONGEST_RENEWAL, SHUTDOWN_TIMEOUT, SILENT_RENEWAL};

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
            signal = keyway_terminal::ended() => {
                ended_by = Some(signal);
                Err(keyway::Error::Cancelled.into())
            }
            outcome = work => outcome,
        }
    });
    match ended_by {
        // Service managers and clients send that one, and get the outcome.
        Some(signal) if signal != EndingSignal::Terminate => keyway_terminal::exit_after(signal),
        _ => outcome,
    }
}

/// The same for a command that ends in its own way when it is told to.
pub(crate) fn block_on_to_its_end<T>(
    work: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    let work = async {
        let outcome = work.await;
        finish_renewals().await;
        outcome
    };
    // A thread that reads from a terminal ends with the next line; it is not waited for.
    let outcome = keyway::runtime::block_on(work, SHUTDOWN_TIMEOUT);
    outcome.map_err(|source| CliError::SystemLimit { source })?
}

/// Waits for tokens that are being renewed: their answers may be the only copies of what a server
/// has issued.
///
/// The second signal since the process was started hurries, whether the first one ended the command,
/// cancelled its call, or came after its input was closed: a client that closes our input sends a
/// signal a moment later, and both are one and the same end. Nothing is lost by that where the
/// exchange is in a process of its own.
async fn finish_renewals() {
    let in_flight = in_flight();
    let finished = async {
        if in_flight.settled(SILENT_RENEWAL).await {
            return;
        }
        let line = "waiting for the answer of a token endpoint\n";
        drop(io::stderr().lock().write_all(line.as_bytes()));
        if in_flight.settled(LONGEST_RENEWAL).await {
            return;
        }
        // No exchange takes that long: these are tokens that the disk does not take, and that are
        // nowhere but here.
        let line = "new tokens cannot be stored; free space on the disk of the vault, or press \
                    Ctrl-C to give the sign-in up\n";
        drop(io::stderr().lock().write_all(line.as_bytes()));
        while !in_flight.settled(LONGEST_RENEWAL).await {}
    };
    let hurried = async {
        while keyway_terminal::heard() < SIGNALS_TO_HURRY {
            keyway_terminal::ended().await;
        }
    };
    tokio::select! {
        // The first, so that a process with nothing to finish listens for nothing.
        biased;
        () = finished => {}
        () = hurried => {}
    }
}

/// The first asks for an end in good order.
const SIGNALS_TO_HURRY: usize = 2;
