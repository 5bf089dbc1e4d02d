//! The secret that opens what holds a wrapping key.

use keyway::settings::WrappingKeySettings;
use keyway::store::{BackendFailure, StoreError};
use keyway_postgres::{PasswordSupplier as _, PostgresError, read_secret};
use keyway_secret::Secret;
use thiserror::Error;

use super::{DatabaseContext, PasswordCommand};

/// None is set.
#[derive(Debug, Error)]
#[error("the wrapping key in `{holder}` needs `secret_file` or `secret_command` beside it")]
struct NoSecret {
    holder: &'static str,
}

/// Where the PIN of a token, or the token for Transit, is read from: each time, because the latter is
/// renewed by others.
#[derive(Debug, Clone)]
pub(super) struct Secrets {
    given: WrappingKeySettings,
    context: DatabaseContext,
    holder: &'static str,
}

impl Secrets {
    pub(super) const fn new(
        given: WrappingKeySettings,
        context: DatabaseContext,
        holder: &'static str,
    ) -> Self {
        Self {
            given,
            context,
            holder,
        }
    }

    pub(super) fn read(&self) -> Result<Secret<String>, StoreError> {
        if let Some(file) = &self.given.secret_file {
            return Ok(read_secret(file)?);
        }
        let Some(line) = &self.given.secret_command else {
            let unset = NoSecret {
                holder: self.holder,
            };
            return Err(BackendFailure::new(unset).into());
        };
        let command = PasswordCommand {
            line: line.clone(),
            environment: self.context.environment.clone(),
        };
        let printed = command.supply();
        Ok(printed.map_err(|source| PostgresError::Password { source })?)
    }
}
