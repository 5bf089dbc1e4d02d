//! What is measured of the database, as samples of one name.

/// Samples of one name, in the words of Prometheus.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DatabaseMetric {
    /// The name, with its unit.
    pub name: &'static str,
    /// `counter` or `gauge`.
    pub kind: &'static str,
    /// What it is, as a sentence.
    pub help: &'static str,
    /// Values by their labels, which are written already: `state="idle"`, or nothing.
    pub samples: Vec<(String, String)>,
}

#[cfg(feature = "postgres")]
impl DatabaseMetric {
    pub(crate) fn new(
        name: &'static str,
        kind: &'static str,
        help: &'static str,
        samples: Vec<(&str, String)>,
    ) -> Self {
        let samples = samples.into_iter();
        Self {
            name,
            kind,
            help,
            samples: samples
                .map(|(label, value)| (label.to_owned(), value))
                .collect(),
        }
    }
}
