//! The key that wraps people's keys: where the settings say that it is.

use std::sync::Arc;

use keyway::settings::{VaultSettings, WrappingKeySettings};
use keyway::store::{BackendFailure, StoreError};
use keyway::vault::{KeyCommand, KeySupplier as _};
use keyway_postgres::{FileKey, KeyWrapper, PostgresError, WrapError};
use thiserror::Error;

use super::DatabaseContext;
use super::secrets::Secrets;
use super::transit::TransitKey;

/// What holds a wrapping key.
type Holder = Arc<dyn KeyWrapper>;

/// Why there is no wrapping key.
#[derive(Debug, Error)]
enum NoKey {
    #[error("no wrapping key is set for the database")]
    Unset,
    #[error("the wrapping key in `{holder}` needs `{setting}` beside it")]
    Incomplete {
        holder: &'static str,
        setting: &'static str,
    },
    #[error("this build of Keyway has no PKCS#11")]
    #[cfg_attr(
        feature = "pkcs11",
        expect(dead_code, reason = "the error of builds without the feature")
    )]
    NoPkcs11,
}

impl NoKey {
    fn into_error(self) -> StoreError {
        let hint = "set `key_file` or `key_command` below `[vault]` of config.toml, or a section \
                    `[vault.key]`; make a key with: openssl rand -hex 32";
        BackendFailure::new(self).with_hint(hint).into()
    }
}

/// Opens the wrapping key, and the previous one while it is being changed.
pub(super) fn open(
    given: &VaultSettings,
    context: &DatabaseContext,
) -> Result<(Holder, Option<Holder>), StoreError> {
    let previous = given.previous_key.as_ref();
    Ok((
        one(&given.key, context)?,
        previous.map(|key| one(key, context)).transpose()?,
    ))
}

fn one(
    given: &WrappingKeySettings,
    context: &DatabaseContext,
) -> Result<Arc<dyn KeyWrapper>, StoreError> {
    if let Some(file) = &given.file {
        return Ok(Arc::new(FileKey::read(file)?));
    }
    if let Some(line) = &given.command {
        let command = KeyCommand::new(line.expose().into(), context.environment.clone());
        let supplied = command.supply().map_err(away)?;
        return Ok(Arc::new(FileKey::new(&supplied)?));
    }
    if given.pkcs11_module.is_some() {
        return pkcs11(given, context);
    }
    let Some(url) = &given.transit_url else {
        return Err(NoKey::Unset.into_error());
    };
    let name = needed(given.name.as_ref(), "transit_url", "name")?;
    let token = Secrets::new(given.clone(), context.clone(), "transit_url");
    let key = TransitKey::new(url, name, token, given.ca_file.as_deref());
    Ok(Arc::new(key.map_err(away)?))
}

#[cfg(feature = "pkcs11")]
fn pkcs11(
    given: &WrappingKeySettings,
    context: &DatabaseContext,
) -> Result<Arc<dyn KeyWrapper>, StoreError> {
    use keyway_postgres::{Pkcs11Key, Pkcs11Settings};

    let holder = "pkcs11_module";
    let module = needed(given.pkcs11_module.as_ref(), holder, holder)?;
    let token = needed(given.pkcs11_token.as_ref(), holder, "pkcs11_token")?;
    let name = needed(given.name.as_ref(), holder, "name")?;
    let secrets = Secrets::new(given.clone(), context.clone(), holder);
    let settings = Pkcs11Settings::new(module, token, name, secrets.read()?);
    Ok(Arc::new(Pkcs11Key::open(settings)?))
}

#[cfg(not(feature = "pkcs11"))]
fn pkcs11(
    _given: &WrappingKeySettings,
    _context: &DatabaseContext,
) -> Result<Arc<dyn KeyWrapper>, StoreError> {
    Err(NoKey::NoPkcs11.into_error())
}

fn needed<T: Clone>(
    value: Option<&T>,
    holder: &'static str,
    setting: &'static str,
) -> Result<T, StoreError> {
    let missing = || NoKey::Incomplete { holder, setting }.into_error();
    value.cloned().ok_or_else(missing)
}

fn away(error: impl std::error::Error + Send + Sync + 'static) -> PostgresError {
    PostgresError::Wrapper {
        source: WrapError::Away(Box::new(error)),
    }
}
