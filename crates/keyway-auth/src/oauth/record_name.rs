//! Names of stored records and documents that belong to one sign-in.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use keyway_store::GrantKey;
use ring::digest::{Context, SHA256};

/// Names a record by its kind and its sign-in, without revealing the address or the account.
///
/// What the sign-in is bound to counts only where there is such a thing, so that records of other
/// sign-ins keep the names that they have had.
pub(super) fn record_name(kind: &str, key: &GrantKey) -> String {
    let mut hash = Context::new(&SHA256);
    let parts = [
        key.profile(),
        key.plugin_name(),
        key.server_name(),
        key.resource_uri(),
        key.account_name(),
    ];
    let bound = [key.issuer_uri(), key.client_id()];
    let bound = bound.into_iter().filter(|part| !part.is_empty());
    for part in parts.into_iter().chain(bound) {
        hash.update(&part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let hash = BASE64_URL_SAFE_NO_PAD.encode(hash.finish());
    format!("{kind} {hash}")
}
