//! Values by name that are listed, each owner's apart.

#![expect(missing_docs, reason = "the name of a test is its documentation")]

use super::*;
use crate::values::ValueStore;

pub fn value_is_listed_replaced_and_deleted_by_name(store: &dyn ValueStore) -> Outcome {
    assert!(store.get("A")?.is_none());
    assert!(store.all()?.is_empty());
    assert!(!store.delete("A")?, "there was none");
    store.put("B", b"other")?;
    store.put("A", b"first")?;
    store.put("A", b"second")?;
    assert_eq!(value(store, "A")?.as_deref(), Some(&b"second"[..]));
    let expected = [pair("A", b"second"), pair("B", b"other")];
    assert_eq!(listed(store)?, expected);
    assert!(store.delete("A")?);
    assert!(!store.delete("A")?, "it is gone");
    assert_eq!(listed(store)?, [pair("B", b"other")]);
    store.put("A", b"")?;
    assert_eq!(value(store, "A")?.as_deref(), Some(&b""[..]));
    let long = "n".repeat(256);
    store.put(&long, b"x")?;
    assert_eq!(value(store, &long)?.as_deref(), Some(&b"x"[..]));
    Ok(())
}

pub fn values_of_one_owner_are_not_those_of_another([ada, bob]: [&dyn ValueStore; 2]) -> Outcome {
    ada.put("KEY", b"of ada")?;
    assert!(bob.get("KEY")?.is_none());
    assert!(bob.all()?.is_empty());
    assert!(!bob.delete("KEY")?);
    bob.put("KEY", b"of bob")?;
    assert_eq!(value(ada, "KEY")?.as_deref(), Some(&b"of ada"[..]));
    assert!(bob.delete("KEY")?);
    assert_eq!(listed(ada)?, [pair("KEY", b"of ada")]);
    Ok(())
}

pub fn of_values_stored_at_once_one_is_left_and_whole(store: &dyn ValueStore) -> Outcome {
    let written = std::thread::scope(|scope| {
        let write = |at: u8| scope.spawn(move || store.put("KEY", &[at; 64]));
        let writers: Vec<_> = (0..8).map(write).collect();
        writers.into_iter().map(|it| it.join()).collect::<Vec<_>>()
    });
    for writer in written {
        let Ok(stored) = writer else {
            panic!("a writer panicked");
        };
        stored?;
    }
    let found = value(store, "KEY")?.unwrap_or_default();
    let is_whole = found.len() == 64 && found.iter().all(|byte| found.first() == Some(byte));
    assert!(is_whole, "{found:?}");
    assert_eq!(listed(store)?.len(), 1);
    Ok(())
}

fn value(store: &dyn ValueStore, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(store.get(name)?.map(|value| value.expose().clone()))
}

fn listed(store: &dyn ValueStore) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let all = store.all()?.into_iter();
    Ok(all
        .map(|(name, value)| (name, value.expose().clone()))
        .collect())
}

fn pair(name: &str, value: &[u8]) -> (String, Vec<u8>) {
    (name.to_owned(), value.to_vec())
}
