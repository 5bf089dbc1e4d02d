//! What a server said when it refused, as far as it may be shown.

/// A refusal as the server worded it, made fit to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The registered code.
    pub code: String,
    /// The server's own explanation.
    pub description: Option<String>,
    /// The HTTP status, if the refusal came as an answer.
    pub status: Option<u16>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.code)?;
        match &self.description {
            Some(text) => write!(f, " ({text})"),
            None => Ok(()),
        }
    }
}

/// Makes a text that a peer sent fit to be shown: without what moves a cursor, and not long.
pub(crate) fn shown(text: &str) -> String {
    let text = keyway_secret::printable(text);
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

const MAX_SHOWN: usize = 200;
