//! Client registrations and cached metadata, in memory.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use keyway_secret::Secret;
use keyway_store::{DocumentCache, RecordStore, StoreError};

/// Values by name, some of which expire.
#[derive(Debug, Default)]
pub struct MemoryRecords(Mutex<HashMap<String, Value>>);

#[derive(Debug)]
struct Value {
    bytes: Secret<Vec<u8>>,
    until: Option<Instant>,
}

impl MemoryRecords {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        let mut values = self.lock();
        values.retain(|_, value| value.until.is_none_or(|until| until > Instant::now()));
        values.get(name).map(|value| value.bytes.clone())
    }

    fn store(&self, name: &str, value: &[u8], until: Option<Instant>) {
        let bytes = Secret::new(value.to_vec());
        self.lock().insert(name.to_owned(), Value { bytes, until });
    }
}

impl RecordStore for MemoryRecords {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        self.find(name)
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        self.store(name, value, None);
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.lock().remove(name);
        Ok(())
    }
}

impl DocumentCache for MemoryRecords {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        self.find(name)
    }

    fn put(&self, name: &str, value: &[u8], lifetime: Duration) -> Result<(), StoreError> {
        self.store(name, value, Some(Instant::now() + lifetime));
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.lock().remove(name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use keyway_store::conformance;

    use super::*;

    #[test]
    fn records_pass_the_conformance_cases() -> Result<(), StoreError> {
        conformance::record_is_replaced_and_deleted_by_name(&MemoryRecords::default())
    }

    #[test]
    fn documents_pass_the_conformance_cases() -> Result<(), StoreError> {
        conformance::document_is_found_until_its_lifetime_ends(&MemoryRecords::default())
    }
}
