//! Numbers about the gateway, in the text form that Prometheus reads.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;

/// What is counted, for each way in.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Clients over HTTP.
    pub(super) http: Counts,
    /// Processes of `keyway run` that use our connections.
    pub(super) run: Counts,
}

/// What is counted of one way in.
///
/// `Relaxed`: numbers to show, which guard no other data and need not agree to the last request.
#[derive(Debug, Default)]
pub(super) struct Counts {
    present: AtomicU64,
    requests: AtomicU64,
    refused: AtomicU64,
    errors: AtomicU64,
    micros: AtomicU64,
    buckets: [AtomicU64; BOUNDS.len()],
}

impl Counts {
    /// Counts a client that connected.
    pub(super) fn come(&self) {
        self.present.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a client that disconnected.
    pub(super) fn go(&self) {
        self.present.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a request over HTTP that was answered, or whose answer has begun.
    pub(super) fn count(&self, status: StatusCode, took: Duration) {
        self.answered(took);
        if status == StatusCode::FORBIDDEN {
            self.refused.fetch_add(1, Ordering::Relaxed);
        } else if status.is_client_error() || status.is_server_error() {
            self.failed();
        }
    }

    /// Counts a request that was answered.
    pub(super) fn answered(&self, took: Duration) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        let bucket = BOUNDS.iter().position(|(bound, _)| micros <= *bound);
        if let Some(bucket) = bucket.and_then(|at| self.buckets.get(at)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a request to which the server gave no answer.
    pub(super) fn failed(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    fn times(&self, text: &mut String, client: &str) {
        let name = "keyway_request_seconds";
        let mut below = 0;
        for (bucket, (_, bound)) in self.buckets.iter().zip(BOUNDS) {
            below += load(bucket);
            let _fits = writeln!(
                text,
                "{name}_bucket{{client=\"{client}\",le=\"{bound}\"}} {below}"
            );
        }
        let (requests, micros) = (load(&self.requests), load(&self.micros));
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        let _fits = write!(
            text,
            "{name}_bucket{{client=\"{client}\",le=\"+Inf\"}} {requests}\n\
             {name}_sum{{client=\"{client}\"}} {seconds}.{rest:06}\n\
             {name}_count{{client=\"{client}\"}} {requests}\n"
        );
    }
}

impl Metrics {
    /// Writes everything down; `sessions` are those over HTTP.
    pub(super) fn text(&self, sessions: usize) -> String {
        let (http, run) = (&self.http, &self.run);
        let mut text = String::new();
        for (name, kind, help, values) in [
            (
                "sessions",
                "gauge",
                "Sessions that are open.",
                [sessions as u64, load(&run.present)],
            ),
            (
                "requests_total",
                "counter",
                "Requests.",
                [load(&http.requests), load(&run.requests)],
            ),
            (
                "refused_total",
                "counter",
                "Requests that were refused.",
                [load(&http.refused), load(&run.refused)],
            ),
            (
                "errors_total",
                "counter",
                "Requests answered with another error of our own.",
                [load(&http.errors), load(&run.errors)],
            ),
        ] {
            let name = format!("keyway_{name}");
            let _fits = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            for (client, value) in CLIENTS.into_iter().zip(values) {
                let _fits = writeln!(text, "{name}{{client=\"{client}\"}} {value}");
            }
        }
        let name = "keyway_request_seconds";
        let _fits = write!(
            text,
            "# HELP {name} Time to the first byte of an answer.\n# TYPE {name} histogram\n"
        );
        for (client, counts) in CLIENTS.into_iter().zip([http, run]) {
            counts.times(&mut text, client);
        }
        text
    }
}

fn load(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}

/// The ways in, as they are named.
const CLIENTS: [&str; 2] = ["http", "keyway run"];
/// Microseconds, and the same in seconds as text.
const BOUNDS: [(u64, &str); 9] = [
    (100, "0.0001"),
    (300, "0.0003"),
    (1_000, "0.001"),
    (3_000, "0.003"),
    (10_000, "0.01"),
    (100_000, "0.1"),
    (1_000_000, "1"),
    (10_000_000, "10"),
    (60_000_000, "60"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_everything_below_and_sums_add_up() {
        let metrics = Metrics::default();
        let (http, run) = (&metrics.http, &metrics.run);
        http.count(StatusCode::OK, Duration::from_micros(50));
        http.count(StatusCode::FORBIDDEN, Duration::from_millis(2));
        http.count(StatusCode::NOT_FOUND, Duration::from_secs(90));
        run.come();
        run.come();
        run.go();
        run.answered(Duration::from_micros(200));
        let text = metrics.text(7);
        for line in [
            r#"keyway_sessions{client="http"} 7"#,
            r#"keyway_sessions{client="keyway run"} 1"#,
            r#"keyway_requests_total{client="http"} 3"#,
            r#"keyway_requests_total{client="keyway run"} 1"#,
            r#"keyway_refused_total{client="http"} 1"#,
            r#"keyway_errors_total{client="http"} 1"#,
            r#"keyway_request_seconds_bucket{client="http",le="0.0001"} 1"#,
            r#"keyway_request_seconds_bucket{client="http",le="0.003"} 2"#,
            r#"keyway_request_seconds_bucket{client="http",le="60"} 2"#,
            r#"keyway_request_seconds_bucket{client="http",le="+Inf"} 3"#,
            r#"keyway_request_seconds_sum{client="http"} 90.002050"#,
            r#"keyway_request_seconds_count{client="keyway run"} 1"#,
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in\n{text}");
        }
    }
}
