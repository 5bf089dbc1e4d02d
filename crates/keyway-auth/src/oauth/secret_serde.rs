//! Secrets inside documents that are sealed as a whole: wiped here, plain text there.

use keyway_secret::Secret;
use serde::{Deserialize as _, Deserializer, Serializer};

/// Writes a secret into a document that is sealed next.
pub(super) fn serialize<S: Serializer>(
    secret: &Option<Secret<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => serializer.serialize_some(secret.expose()),
        None => serializer.serialize_none(),
    }
}

/// Reads a secret out of a document that was sealed.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Secret<String>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(Secret::new))
}
