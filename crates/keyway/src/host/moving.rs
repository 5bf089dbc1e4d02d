//! Moving a sign-in to another vault, and importing one that another vault sealed.

use std::sync::Arc;

use keyway_config::resolve::SpecEndpoint;
use keyway_store::{GrantKey, StoreError};
use keyway_vault::{Move, MovedGrant, SealedGrant, TransferKey, Vault};

use super::approved::Approved;
use super::error::Error;
use super::plan::Plan;
use crate::sign_in::Accounts;

impl Approved<Plan> {
    /// Seals the sign-in for the vault with the key `to` and deletes it here; `None` without one.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotOAuth`], [`Error::NoHome`], and [`Error::Store`] if it cannot be moved; it
    /// stays then.
    pub fn move_sign_in(&self, to: &TransferKey) -> Result<Option<MovedGrant>, Error> {
        let (accounts, vault, key) = self.sign_in_place()?;
        let (namespace, record) = accounts.beside(&key)?;
        let what = Move::new(&key).with_record(namespace, record);
        Ok(vault.move_grant(&what, to).map_err(StoreError::from)?)
    }

    /// Says where the sign-in went; `None` if there is one here, or it was never moved.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotOAuth`], [`Error::NoHome`] and [`Error::Store`].
    pub fn moved_sign_in(&self) -> Result<Option<MovedGrant>, Error> {
        let (accounts, _, key) = self.sign_in_place()?;
        Ok(accounts.moved(&key)?)
    }

    /// Stores a sign-in that another vault sealed for this one.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotOAuth`], [`Error::NoHome`], and [`Error::Store`] if it is not for this
    /// vault and server, has expired or was imported before.
    pub fn import_sign_in(&self, sealed: &SealedGrant) -> Result<(), Error> {
        let (accounts, vault, key) = self.sign_in_place()?;
        let beside = accounts.beside(&key)?;
        let imported = vault.import_grant(sealed, &key, Some(&beside));
        Ok(imported.map_err(StoreError::from)?)
    }

    fn sign_in_place(&self) -> Result<(&Accounts, Arc<Vault>, GrantKey), Error> {
        let (Some(_), SpecEndpoint::Remote(remote)) = (self.oauth(), &self.spec().endpoint) else {
            return Err(Error::NotOAuth {
                server: self.server().to_owned(),
                method: self.method(),
            });
        };
        let accounts = self.host().accounts.as_ref().ok_or(Error::NoHome)?;
        let vault = accounts.vault.as_ref().ok_or(Error::NoHome)?;
        let root = self.target().host.source();
        let key = accounts.key(self.plugin(), self.server(), root, remote);
        Ok((accounts, vault.get().map_err(StoreError::from)?, key))
    }
}
