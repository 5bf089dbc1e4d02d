//! Errors of the store, as errors of OAuth.

use keyway_code::Code;
use keyway_store::StoreError;

use crate::error::OAuthError;

pub(super) fn vault_error(error: &StoreError) -> OAuthError {
    let cause = std::error::Error::source(error);
    let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
    let (message, hint) = (format!("{error}{cause}"), error.hint());
    if error.code() == Code::VaultUnwritable {
        return OAuthError::VaultUnwritable { message, hint };
    }
    if error.code() == Code::StoreUnreachable {
        return OAuthError::StoreUnreachable { message, hint };
    }
    OAuthError::Vault { message, hint }
}
