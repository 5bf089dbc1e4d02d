//! Sealed records of the vault as signing in stores them: registrations, metadata, tool lists, and
//! sign-ins that wait for a browser.

use std::sync::Arc;
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{DocumentCache, OneTimeStore, RecordStore, StoreError};
use keyway_vault::Namespace;

use super::KeptVault;

/// The clients that registered themselves, of one profile.
#[derive(Debug)]
pub(crate) struct Registrations {
    vault: Arc<KeptVault>,
    profile: String,
}

impl Registrations {
    pub(crate) fn new(vault: Arc<KeptVault>, profile: &str) -> Self {
        Self {
            vault,
            profile: profile.to_owned(),
        }
    }

    fn name(&self, name: &str) -> String {
        full_name(&self.profile, name)
    }

    /// Returns where the vault keeps a record of a profile.
    pub(crate) fn place(
        profile: &str,
        name: &str,
    ) -> Result<(Namespace, String), keyway_vault::VaultError> {
        Ok((Namespace::new(NAMESPACE)?, full_name(profile, name)))
    }
}

impl RecordStore for Registrations {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let vault = self.vault.existing().ok()??;
        let record = vault.sealed(Namespace::new(NAMESPACE).ok()?);
        let record = record.get(&self.name(name)).ok()??;
        Some(record.value)
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        let vault = self.vault.get()?;
        let records = vault.sealed(Namespace::new(NAMESPACE)?);
        records.put(&self.name(name), value)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let Some(vault) = self.vault.existing()? else {
            return Ok(());
        };
        let records = vault.sealed(Namespace::new(NAMESPACE)?);
        records.delete(&self.name(name))?;
        Ok(())
    }
}

fn full_name(profile: &str, name: &str) -> String {
    format!("{}:{profile}{name}", profile.len())
}

/// The discovery documents. Their names say whose they are.
#[derive(Debug)]
pub(crate) struct Discovery(pub(crate) Arc<KeptVault>);

impl DocumentCache for Discovery {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let vault = self.0.existing().ok()??;
        let documents = vault.sealed(Namespace::new(DISCOVERY).ok()?);
        Some(documents.get(name).ok()??.value)
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        let vault = self.0.get()?;
        let documents = vault.sealed(Namespace::new(DISCOVERY)?);
        documents.put_for(name, value, lifetime)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let Some(vault) = self.0.existing()? else {
            return Ok(());
        };
        let documents = vault.sealed(Namespace::new(DISCOVERY)?);
        documents.delete(name)?;
        Ok(())
    }
}

/// What each server listed last. Only a convenience: without a vault nothing is kept.
#[derive(Debug)]
pub(crate) struct ToolLists(pub(crate) Arc<KeptVault>);

impl RecordStore for ToolLists {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let vault = self.0.existing().ok()??;
        let lists = vault.sealed(Namespace::new(LISTS).ok()?);
        Some(lists.get(name).ok()??.value)
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        let Some(vault) = self.0.existing()? else {
            return Ok(());
        };
        vault.sealed(Namespace::new(LISTS)?).put(name, value)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let Some(vault) = self.0.existing()? else {
            return Ok(());
        };
        vault.sealed(Namespace::new(LISTS)?).delete(name)?;
        Ok(())
    }
}

/// What is used once.
#[derive(Debug)]
pub(crate) struct OneTime(pub(crate) Arc<KeptVault>);

impl OneTimeStore for OneTime {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        let Some(vault) = self.0.existing()? else {
            return Ok(None);
        };
        let found = vault.sealed(Namespace::new(ONE_TIME)?).get(name)?;
        Ok(found.map(|record| record.value))
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        let vault = self.0.get()?;
        let values = vault.sealed(Namespace::new(ONE_TIME)?);
        values.put_for(name, value, lifetime)?;
        Ok(())
    }

    fn take(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        let Some(vault) = self.0.existing()? else {
            return Ok(None);
        };
        Ok(vault.sealed(Namespace::new(ONE_TIME)?).take(name)?)
    }
}

const NAMESPACE: &str = "registrations";
const DISCOVERY: &str = "discovery";
const ONE_TIME: &str = "one-time";
pub(crate) const LISTS: &str = "lists";
