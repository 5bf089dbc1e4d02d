//! A request whose answer must not be given up lightly: it may be the only copy of a token that the
//! server has issued.

use crate::error::shown;
use crate::ports::{HttpClient, HttpFailure, HttpRequest, HttpResponse, Tasks};
use crate::timeouts::{CONNECT_ALLOWANCE, EXCHANGE_TICK, EXCHANGE_TIMEOUT};

/// Sends a request and waits for its answer for 60 seconds from when it is sent.
///
/// Only time in which this process runs counts: each tick counts once, however long the process
/// was stopped in it. The answer is looked for before the tick, the last one included, so one
/// that lies in the socket is always taken.
///
/// # Errors
///
/// Returns why there is no answer.
///
/// Cancel safety: dropping the future gives the answer up, and what it holds is lost.
pub async fn exchange(
    client: &dyn HttpClient,
    tasks: &dyn Tasks,
    request: HttpRequest,
) -> Result<HttpResponse, HttpFailure> {
    let host = shown(request.url.host_str().unwrap_or_default());
    let request = request.bounded_by_caller();
    let sent = request.sent.clone();
    let given_up = async {
        // Connecting is bounded by the client; a client that never says when it sends is not
        // waited for any longer.
        for _ in 0..CONNECT_ALLOWANCE.as_secs() {
            if sent.is_set() {
                break;
            }
            tasks.sleep(EXCHANGE_TICK).await;
        }
        for _ in 0..EXCHANGE_TIMEOUT.as_secs() {
            tasks.sleep(EXCHANGE_TICK).await;
        }
        Err(HttpFailure::Timeout {
            host,
            seconds: EXCHANGE_TIMEOUT.as_secs(),
            sent: true,
        })
    };
    let answer = client.send(request);
    futures_lite::future::or(answer, given_up).await
}
