//! Debug notes about a request: names, lengths and times, never a value.

use http::{HeaderMap, Method};
use keyway_auth::{Observer, Topic};
use tokio::time::Instant;
use url::Url;

use super::{Request, Response, SendError};

/// A request whose answer is waited for.
pub(super) struct RequestTrace<'a> {
    observer: &'a dyn Observer,
    what: String,
    started: Instant,
}

impl<'a> RequestTrace<'a> {
    /// Notes what is about to be sent.
    pub(super) fn begin<H: Fn() -> HeaderMap>(
        observer: &'a dyn Observer,
        request: &Request<'_, H>,
        url: &Url,
    ) -> Self {
        let origin = url.origin().ascii_serialization();
        let what = described(&request.method, &origin, &(request.headers)());
        Self {
            observer,
            what,
            started: Instant::now(),
        }
    }

    /// Notes what came of it.
    pub(super) fn end(self, answer: &Result<Response, SendError>) {
        let took = self.started.elapsed().as_millis();
        let came = match answer {
            Ok(response) => format!("HTTP {}", response.status()),
            Err(failed) => failed.error.code().to_string(),
        };
        let line = format!("{}: {came} after {took} ms", self.what);
        let line = keyway_secret::printable(&line);
        self.observer.note(Topic::Transport, None, &line);
    }
}

fn described(method: &Method, origin: &str, headers: &HeaderMap) -> String {
    let all = headers.iter();
    let names = all.map(|(name, value)| format!("{name} ({} bytes)", value.len()));
    let names: Vec<String> = names.collect();
    format!("{method} {origin} with {}", names.join(", "))
}
