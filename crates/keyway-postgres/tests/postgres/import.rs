//! Sign-ins that come from another store.

use keyway_postgres::Import;
use keyway_store::conformance::Backend as _;
use keyway_store::{GrantStore as _, StoreError};

use crate::processes::{grant, tokens};
use crate::server::{Database, ada, shared};

#[test]
fn sign_in_of_another_store_is_stored_once_whatever_became_of_it() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let store = database.replica().grants(ada());
    let Import::Stored { generation } = store.import(&grant(), &tokens("1"), "move-1")? else {
        panic!("it is not stored");
    };
    let read = database.open().read(&grant())?.unwrap();
    assert_eq!(
        (read.generation, &**read.access.expose()),
        (generation, "access-1")
    );
    let again = store.import(&grant(), &tokens("1"), "move-1")?;
    assert_eq!(again, Import::Before);
    store.delete(&grant())?;
    let again = store.import(&grant(), &tokens("1"), "move-1")?;
    assert_eq!(again, Import::Before, "the person signed out here since");
    assert!(store.read(&grant())?.is_none());
    Ok(())
}

#[test]
fn sign_in_of_another_store_replaces_none() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let store = database.replica().grants(ada());
    store.put(&grant(), &tokens("here"))?;
    let refused = store.import(&grant(), &tokens("1"), "move-1")?;
    assert_eq!(refused, Import::Occupied);
    let read = store.read(&grant())?.unwrap();
    assert_eq!(read.access.expose(), "access-here");
    store.delete(&grant())?;
    let stored = store.import(&grant(), &tokens("1"), "move-1")?;
    assert!(matches!(stored, Import::Stored { .. }), "{stored:?}");
    Ok(())
}

#[test]
fn two_that_import_the_same_sign_in_at_once_store_it_once() {
    let database = Database::new(shared());
    let replicas = [database.replica(), database.replica()];
    for turn in 0..20 {
        let transfer = format!("move-{turn}");
        let at = grant().account(&transfer);
        let results: Vec<_> = std::thread::scope(|scope| {
            let started: Vec<_> = replicas
                .iter()
                .map(|replica| {
                    let (at, transfer) = (&at, &transfer);
                    scope.spawn(move || {
                        let store = replica.grants(ada());
                        store.import(at, &tokens("1"), transfer).unwrap()
                    })
                })
                .collect();
            started.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let stored = results
            .iter()
            .filter(|it| matches!(it, Import::Stored { .. }));
        assert_eq!(stored.count(), 1, "{results:?}");
        assert!(results.contains(&Import::Before), "{results:?}");
    }
}
