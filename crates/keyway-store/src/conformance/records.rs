//! Small values by name, kept forever or for a while.

#![expect(missing_docs, reason = "the name of a test is its documentation")]

use super::*;
use crate::records::{DocumentCache, OneTimeStore, RecordStore};

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

pub fn one_time_value_is_taken_once_and_in_time(store: &dyn OneTimeStore) -> Outcome {
    assert!(store.take("a")?.is_none());
    store.put("a", b"first", HOUR)?;
    store.put("b", b"other", HOUR)?;
    store.put("a", b"second", HOUR)?;
    for _ in 0..2 {
        let found = store.get("a")?.map(|value| value.expose().clone());
        assert_eq!(found.as_deref(), Some(&b"second"[..]));
    }
    let takers = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..8).map(|_| scope.spawn(|| store.take("a"))).collect();
        takers.into_iter().map(|it| it.join()).collect::<Vec<_>>()
    });
    let mut taken = Vec::new();
    for taker in takers {
        let Ok(found) = taker else {
            panic!("a taker panicked");
        };
        taken.extend(found?.map(|value| value.expose().clone()));
    }
    assert_eq!(taken, [b"second".to_vec()]);
    assert!(store.get("a")?.is_none());
    store.put("a", b"late", Duration::ZERO)?;
    assert!(store.get("a")?.is_none(), "its time is over");
    assert!(store.take("a")?.is_none(), "its time is over");
    store.put("a", b"again", HOUR)?;
    let again = store.take("a")?.map(|value| value.expose().clone());
    assert_eq!(again.as_deref(), Some(&b"again"[..]));
    let other = store.take("b")?.map(|value| value.expose().clone());
    assert_eq!(other.as_deref(), Some(&b"other"[..]));
    Ok(())
}

fn record(store: &dyn RecordStore, name: &str) -> Option<Vec<u8>> {
    store.get(name).map(|value| value.expose().clone())
}
