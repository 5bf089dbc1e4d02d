//! Claims beside those that every token has: scopes, and what makes an admin or a member.

use keyway_auth::PeerDocument;

/// A claim that has to have one of some values, such as `groups`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRule {
    claim: String,
    values: Vec<String>,
}

impl ClaimRule {
    /// Holds for a token whose `claim` is one of `values`, or a list with one of them.
    #[must_use]
    pub const fn new(claim: String, values: Vec<String>) -> Self {
        Self { claim, values }
    }

    pub(crate) fn holds(&self, claims: &PeerDocument) -> bool {
        let found = texts(claims, &self.claim);
        found.iter().any(|value| self.values.contains(value))
    }
}

/// Returns the texts of a claim: of a list all, of `scope` the words (RFC 8693 section 4.2), and
/// otherwise the text as a whole. What is not text is none.
pub(crate) fn texts(claims: &PeerDocument, claim: &str) -> Vec<String> {
    let Some(raw) = claims.raw(claim) else {
        return Vec::new();
    };
    if let Ok(list) = serde_json::from_str::<Vec<String>>(raw) {
        return list;
    }
    match serde_json::from_str::<String>(raw) {
        Ok(text) if claim == "scope" => text.split(' ').map(str::to_owned).collect(),
        Ok(text) => vec![text],
        Err(_) => Vec::new(),
    }
}
