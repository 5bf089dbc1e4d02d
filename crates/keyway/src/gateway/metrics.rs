//! Numbers about the gateway, in the text form that Prometheus reads.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;

/// What is counted.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    requests: AtomicU64,
    refused: AtomicU64,
    errors: AtomicU64,
    micros: AtomicU64,
    buckets: [AtomicU64; BOUNDS.len()],
}

impl Metrics {
    /// Counts a request that was answered, or whose answer has begun.
    pub(super) fn count(&self, status: StatusCode, took: Duration) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if status == StatusCode::FORBIDDEN {
            self.refused.fetch_add(1, Ordering::Relaxed);
        } else if status.is_client_error() || status.is_server_error() {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        let bucket = BOUNDS.iter().position(|(bound, _)| micros <= *bound);
        if let Some(bucket) = bucket.and_then(|at| self.buckets.get(at)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes everything down.
    pub(super) fn text(&self, sessions: usize) -> String {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let requests = load(&self.requests);
        let mut text = String::new();
        for (name, kind, help, value) in [
            (
                "sessions",
                "gauge",
                "Sessions that are open.",
                sessions as u64,
            ),
            ("requests_total", "counter", "Requests over HTTP.", requests),
            (
                "refused_total",
                "counter",
                "Requests that were turned away.",
                load(&self.refused),
            ),
            (
                "errors_total",
                "counter",
                "Requests answered with another error over HTTP.",
                load(&self.errors),
            ),
        ] {
            let name = format!("keyway_{name}");
            let _fits = write!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"
            );
        }
        let name = "keyway_request_seconds";
        let _fits = write!(
            text,
            "# HELP {name} Time to the first byte of an answer.\n# TYPE {name} histogram\n"
        );
        let mut below = 0;
        for (bucket, (_, bound)) in self.buckets.iter().zip(BOUNDS) {
            below += load(bucket);
            let _fits = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        let micros = load(&self.micros);
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        let _fits = write!(
            text,
            "{name}_bucket{{le=\"+Inf\"}} {requests}\n{name}_sum {seconds}.{rest:06}\n{name}_count {requests}\n"
        );
        text
    }
}

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
        metrics.count(StatusCode::OK, Duration::from_micros(50));
        metrics.count(StatusCode::FORBIDDEN, Duration::from_millis(2));
        metrics.count(StatusCode::NOT_FOUND, Duration::from_secs(90));
        let text = metrics.text(7);
        for line in [
            "keyway_sessions 7",
            "keyway_requests_total 3",
            "keyway_refused_total 1",
            "keyway_errors_total 1",
            "keyway_request_seconds_bucket{le=\"0.0001\"} 1",
            "keyway_request_seconds_bucket{le=\"0.003\"} 2",
            "keyway_request_seconds_bucket{le=\"60\"} 2",
            "keyway_request_seconds_bucket{le=\"+Inf\"} 3",
            "keyway_request_seconds_sum 90.002050",
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in\n{text}");
        }
    }
}
