//! Small values by name, kept forever or for a while.

#![expect(missing_docs, reason = "the name of a test is its documentation")]

use super::*;
use crate::records::{DocumentCache, RecordStore};

pub fn record_is_replaced_and_deleted_by_name(store: &dyn RecordStore) -> Outcome {
    assert!(store.get("a").is_none());
    store.put("a", b"first")?;
    store.put("b", b"other")?;
    store.put("a", b"second")?;
    assert_eq!(record(store, "a").as_deref(), Some(&b"second"[..]));
    store.delete("a")?;
    assert!(store.get("a").is_none());
    store.delete("a")?;
    assert_eq!(record(store, "b").as_deref(), Some(&b"other"[..]));
    Ok(())
}

pub fn document_is_found_until_its_lifetime_ends(cache: &dyn DocumentCache) -> Outcome {
    cache.put("a", b"first", HOUR)?;
    cache.put("b", b"other", HOUR)?;
    let found = cache.get("a").map(|value| value.expose().clone());
    assert_eq!(found.as_deref(), Some(&b"first"[..]));
    cache.put("a", b"second", Duration::ZERO)?;
    assert!(cache.get("a").is_none(), "its lifetime is over");
    cache.delete("b")?;
    assert!(cache.get("b").is_none());
    cache.delete("b")
}

fn record(store: &dyn RecordStore, name: &str) -> Option<Vec<u8>> {
    store.get(name).map(|value| value.expose().clone())
}
