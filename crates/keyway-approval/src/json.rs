//! What waits for an approval, as programs read it.

use serde_json::{Value, json};

use crate::{Changes, Question};

impl Question {
    /// Writes everything that is approved, the digest over it, and what changed since the last
    /// approval, for `keyway status --format json` and the control API of the gateway.
    ///
    /// Every member is always there; `null` is what does not apply.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let facts = self.facts.iter().map(|fact| {
            json!({
                "kind": fact.kind.label(),
                "text": fact.text(),
                "caution": fact.caution,
            })
        });
        json!({
            "digest": self.digest.to_string(),
            "facts": facts.collect::<Vec<_>>(),
            "changes": self.changes.as_ref().map(Changes::lines),
        })
    }
}
