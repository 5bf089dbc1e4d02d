//! What was learned of issuers, for all people of a tenant.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use keyway::store::{RecordStore, StoreError};
use keyway_secret::{Clock, Secret};

/// Records of the tenant, each asked for once in a while: every renewal reads them, and they change
/// a few times in the life of an issuer.
///
/// The lock is held for one operation on the map.
#[derive(Debug)]
pub(super) struct IssuerRecords {
    records: Arc<dyn RecordStore>,
    clock: Arc<dyn Clock>,
    read: Mutex<HashMap<String, Read>>,
}

#[derive(Debug)]
struct Read {
    at: Instant,
    value: Option<Secret<Vec<u8>>>,
}

impl IssuerRecords {
    pub(super) fn new(records: Arc<dyn RecordStore>, clock: Arc<dyn Clock>) -> Self {
        Self {
            records,
            clock,
            read: Mutex::default(),
        }
    }

    fn note(&self, name: &str, value: Option<Secret<Vec<u8>>>) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() >= MOST {
            read.clear();
        }
        let at = self.clock.monotonic();
        read.insert(name.to_owned(), Read { at, value });
    }
}

impl RecordStore for IssuerRecords {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        {
            let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            let now = self.clock.monotonic();
            if let Some(known) = read.get(name)
                && now.saturating_duration_since(known.at) < FRESH
            {
                return known.value.clone();
            }
        }
        let value = self.records.get(name);
        self.note(name, value.clone());
        value
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        self.records.put(name, value)?;
        self.note(name, Some(Secret::new(value.to_vec())));
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.records.delete(name)?;
        self.note(name, None);
        Ok(())
    }
}

/// For so long another gateway may know more.
const FRESH: Duration = Duration::from_secs(30);
/// More names than issuers of a team; people choose issuers, so there is an end to it.
const MOST: usize = 4_096;
