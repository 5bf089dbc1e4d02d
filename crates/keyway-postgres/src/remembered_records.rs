//! Records of a tenant that every renewal reads, kept in memory for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use keyway_secret::{Clock, Secret};
use keyway_store::{RecordStore, StoreError};

use crate::timeouts::RECORD_MEMORY;

/// Records, each read from the database once in a while: what was learned of issuers is read by every
/// renewal, and changes a few times in the life of an issuer.
#[derive(Debug)]
pub struct RememberedRecords {
    records: Arc<dyn RecordStore>,
    clock: Arc<dyn Clock>,
    /// Held for one operation on the map, never while the database is asked.
    read: Mutex<HashMap<String, Read>>,
}

#[derive(Debug)]
struct Read {
    at: Instant,
    value: Option<Secret<Vec<u8>>>,
}

impl RememberedRecords {
    /// Remembers what it reads in `records`, by the time of `clock`.
    #[must_use]
    pub fn new(records: Arc<dyn RecordStore>, clock: Arc<dyn Clock>) -> Self {
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

impl RecordStore for RememberedRecords {
    fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
        {
            let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            let now = self.clock.monotonic();
            if let Some(known) = read.get(name)
                && now.saturating_duration_since(known.at) < RECORD_MEMORY
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

/// More names than issuers of a team; people choose issuers, so there is an end to it.
const MOST: usize = 4_096;

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    /// Counts how often it is read.
    #[derive(Debug, Default)]
    struct Counted {
        values: Mutex<HashMap<String, Vec<u8>>>,
        reads: Mutex<usize>,
    }

    impl RecordStore for Counted {
        fn get(&self, name: &str) -> Option<Secret<Vec<u8>>> {
            *self.reads.lock().unwrap() += 1;
            self.values
                .lock()
                .unwrap()
                .get(name)
                .cloned()
                .map(Secret::new)
        }

        fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
            let mut values = self.values.lock().unwrap();
            values.insert(name.to_owned(), value.to_vec());
            Ok(())
        }

        fn delete(&self, name: &str) -> Result<(), StoreError> {
            self.values.lock().unwrap().remove(name);
            Ok(())
        }
    }

    #[derive(Debug)]
    struct Hand(Mutex<Instant>);

    impl Clock for Hand {
        fn monotonic(&self) -> Instant {
            *self.0.lock().unwrap()
        }

        fn wall(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH
        }
    }

    #[test]
    fn a_record_is_read_again_after_a_while_and_what_is_put_counts_at_once() {
        let inner = Arc::new(Counted::default());
        let clock = Arc::new(Hand(Mutex::new(Instant::now())));
        let records = RememberedRecords::new(Arc::clone(&inner) as _, Arc::clone(&clock) as _);
        let has = |name| records.get(name).is_some();
        // That there is none is remembered as well.
        assert!(!has("strict") && !has("strict"));
        assert_eq!(*inner.reads.lock().unwrap(), 1);
        records.put("strict", b"").unwrap();
        assert!(has("strict"));
        assert_eq!(*inner.reads.lock().unwrap(), 1);
        // Another gateway's word is found after a while.
        inner.put("grace", b"").unwrap();
        inner.delete("strict").unwrap();
        assert!(has("strict") && has("grace"));
        *clock.0.lock().unwrap() += RECORD_MEMORY + Duration::from_millis(1);
        assert!(!has("strict") && has("grace"));
        records.delete("grace").unwrap();
        assert!(!has("grace"));
    }
}
