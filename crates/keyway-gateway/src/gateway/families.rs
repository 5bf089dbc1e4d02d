//! Families of samples, in the text form that Prometheus reads; those of renewals.

use std::fmt::Write as _;
use std::time::Duration;

use keyway_auth::oauth::{IssuerCounts, RefreshCounts, RefreshOutcome};

/// Samples of one name.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    /// Values by their labels, which are written already.
    samples: Vec<(String, String)>,
}

impl Family {
    pub(crate) fn new<L: Into<String>>(
        name: &'static str,
        kind: &'static str,
        help: &'static str,
        samples: Vec<(L, String)>,
    ) -> Self {
        let samples = samples.into_iter();
        let samples = samples.map(|(labels, value)| (labels.into(), value));
        Self {
            name,
            kind,
            help,
            samples: samples.collect(),
        }
    }

    /// Writes it, unless there is no sample of it yet.
    pub(crate) fn write(&self, text: &mut String) {
        if self.samples.is_empty() {
            return;
        }
        let Self {
            name, kind, help, ..
        } = self;
        let _fits = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, value) in &self.samples {
            let _fits = match labels.as_str() {
                "" => writeln!(text, "{name} {value}"),
                labels => writeln!(text, "{name}{{{labels}}} {value}"),
            };
        }
    }
}

/// Returns what was counted of renewals.
#[expect(
    clippy::too_many_lines,
    reason = "one family after the other, no nesting"
)]
pub(super) fn of_renewals(counts: &RefreshCounts) -> Vec<Family> {
    let each = |of: &dyn Fn(&IssuerCounts) -> String| {
        let issuers = counts.issuers.iter();
        issuers
            .map(|(issuer, counted)| (labelled(issuer), of(counted)))
            .collect::<Vec<_>>()
    };
    let outcomes = counts.issuers.iter().flat_map(|(issuer, counted)| {
        RefreshOutcome::ALL.into_iter().map(move |outcome| {
            let labels = format!("{},outcome=\"{}\"", labelled(issuer), outcome.as_str());
            (labels, counted.outcome(outcome).to_string())
        })
    });
    let causes = counts.reauthorizations.iter();
    let causes = causes.map(|(cause, count)| (format!("cause=\"{cause}\""), count.to_string()));
    let single = |count: u64| vec![("", count.to_string())];
    vec![
        Family::new(
            "keyway_refreshes_total",
            "counter",
            "Renewals, by what they came to.",
            outcomes.collect(),
        ),
        Family::new(
            "keyway_refresh_exchanges_total",
            "counter",
            "Renewals for which the refresh token was sent.",
            each(&|it| it.exchanges.to_string()),
        ),
        Family::new(
            "keyway_refresh_exchanges_in_flight",
            "gauge",
            "Refresh tokens whose answer is awaited.",
            each(&|it| it.in_flight.to_string()),
        ),
        Family::new(
            "keyway_refresh_ceiling_waiting",
            "gauge",
            "Renewals that wait because of the ceiling of their issuer.",
            each(&|it| it.waiting.to_string()),
        ),
        Family::new(
            "keyway_refresh_ceiling_waits_total",
            "counter",
            "Renewals that have waited because of the ceiling.",
            each(&|it| it.ceiling_waits.to_string()),
        ),
        Family::new(
            "keyway_refresh_ceiling_wait_seconds_total",
            "counter",
            "For how long they have waited.",
            each(&|it| seconds(it.ceiling_wait_time)),
        ),
        Family::new(
            "keyway_refresh_claim_waits_total",
            "counter",
            "Renewals that waited for another process.",
            single(counts.claim_waits),
        ),
        Family::new(
            "keyway_refresh_claim_wait_seconds_total",
            "counter",
            "For how long they waited.",
            vec![("", seconds(counts.claim_wait_time))],
        ),
        Family::new(
            "keyway_commits_superseded_total",
            "counter",
            "Renewals whose sign-in had been replaced before they were stored.",
            single(counts.superseded_commits),
        ),
        Family::new(
            "keyway_reauthorizations_total",
            "counter",
            "Sign-ins that their person has to repeat, by cause.",
            causes.collect(),
        ),
        Family::new(
            "keyway_token_cache_hits_total",
            "counter",
            "Requests for which the token was in memory.",
            single(counts.token_hits),
        ),
        Family::new(
            "keyway_token_cache_misses_total",
            "counter",
            "Requests for which the store was asked.",
            single(counts.token_misses),
        ),
    ]
}

fn seconds(time: Duration) -> String {
    format!("{}.{:06}", time.as_secs(), time.subsec_micros())
}

/// Writes a label whose value comes from others.
fn labelled(issuer: &str) -> String {
    let mut text = "issuer=\"".to_owned();
    for c in keyway_secret::printable(issuer).chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_issuer_stays_one_label() {
        assert_eq!(
            labelled("https://a\"}\nb\\c"),
            "issuer=\"https://a\\\"} b\\\\c\""
        );
    }
}
