//! A record that belongs to one sign-in, stored beside its grant.

use std::sync::Arc;

use keyway_secret::Secret;
use keyway_store::GrantKey;

use super::blocking::BlockingTasks;
use super::record_name::record_name;
use crate::ports::RecordStore;

/// One record. Errors of the store are dropped: what the record says can be done without.
#[derive(Debug)]
pub(super) struct SignInRecord {
    name: String,
    records: Arc<dyn RecordStore>,
    blocking: BlockingTasks,
}

impl SignInRecord {
    pub(super) fn new(
        kind: &str,
        key: &GrantKey,
        records: &Arc<dyn RecordStore>,
        blocking: &BlockingTasks,
    ) -> Self {
        Self {
            name: record_name(kind, key),
            records: Arc::clone(records),
            blocking: blocking.clone(),
        }
    }

    pub(super) async fn get(&self) -> Option<Secret<Vec<u8>>> {
        let (records, name) = (Arc::clone(&self.records), self.name.clone());
        self.blocking.run(move || records.get(&name)).await
    }

    /// Replaces the value by what `change` makes of it.
    pub(super) async fn update(
        &self,
        change: impl FnOnce(Option<Secret<Vec<u8>>>) -> Secret<Vec<u8>> + Send + 'static,
    ) {
        let (records, name) = (Arc::clone(&self.records), self.name.clone());
        let update = move || {
            let value = change(records.get(&name));
            drop(records.put(&name, value.expose()));
        };
        self.blocking.run(update).await;
    }

    pub(super) async fn delete(&self) {
        let (records, name) = (Arc::clone(&self.records), self.name.clone());
        let delete = move || drop(records.delete(&name));
        self.blocking.run(delete).await;
    }
}
