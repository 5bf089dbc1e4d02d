//! Sealed rows as the stores of `keyway-store`: registrations, documents that expire, values that are
//! used once, and values that are listed.

use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{
    Deleted, DocumentCache, NamedValue, OneTimeStore, RecordStore, StoreError, ValueStore,
};

use super::Sealed;

impl RecordStore for Sealed<'_> {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        Some(Sealed::get(self, name).ok()??.value)
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        Sealed::put(self, name, value)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        Sealed::delete(self, name)?;
        Ok(())
    }
}

impl DocumentCache for Sealed<'_> {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        Some(Sealed::get(self, name).ok()??.value)
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        self.put_for(name, value, lifetime)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        Sealed::delete(self, name)?;
        Ok(())
    }
}

impl OneTimeStore for Sealed<'_> {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        Ok(Sealed::get(self, name)?.map(|record| record.value))
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        self.put_for(name, value, lifetime)?;
        Ok(())
    }

    fn take(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        Ok(Sealed::take(self, name)?)
    }
}

impl ValueStore for Sealed<'_> {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        Ok(Sealed::get(self, name)?.map(|record| record.value))
    }

    fn all(&self) -> Result<Vec<NamedValue>, StoreError> {
        let all = self.read_all()?.into_iter();
        Ok(all.map(|(name, record)| (name, record.value)).collect())
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        Sealed::put(self, name, value)?;
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<bool, StoreError> {
        Ok(Sealed::delete(self, name)? != Deleted::Absent)
    }
}
