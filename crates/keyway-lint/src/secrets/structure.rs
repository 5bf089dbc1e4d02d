//! Credentials inside a larger text: URLs, connection strings, assignments, header lines, JSON.
//!
//! The scanners are tolerant: they look for names and the values beside them and ignore what they
//! do not understand. Overlapping hits are sorted out by the caller.

use super::judge::{Hit, Scrutiny};
use super::{Reason, address, encoded, pairs, vendor};

/// Everything in `text` that its own structure shows to be a credential.
pub(super) fn scan(text: &str, scrutiny: Scrutiny) -> Vec<Hit> {
    let mut hits = scan_plain(text, scrutiny);
    let holds = |content: &str| {
        vendor::private_key(content).is_some() || !scan_plain(content, scrutiny).is_empty()
    };
    let encoded = encoded::scan(text, holds).into_iter();
    hits.extend(encoded.map(|range| Hit {
        range,
        reason: Reason::JsonArgument,
        name: None,
    }));
    hits
}

/// The same without what is written in base 64.
fn scan_plain(text: &str, scrutiny: Scrutiny) -> Vec<Hit> {
    let mut hits = Vec::new();
    if text.contains(['"', '\'']) {
        pairs::json(text, scrutiny, &mut hits);
    }
    address::scan(text, scrutiny, &mut hits);
    if text.contains('=') {
        pairs::assignments(text, scrutiny, &mut hits);
    }
    if text.contains(':') {
        pairs::header_lines(text, scrutiny, &mut hits);
    }
    hits
}
