//! What a killed replica leaves behind, found for all people of a tenant at once.

use std::time::{Duration, Instant};

use keyway_postgres::{DeadClaim, Person, Replica};
use keyway_store::{Claim, Commit, GrantStore, StoreError};

use crate::processes::{CLAIM, PEOPLE, Worker, grant, one_of_many, owner, tokens};
use crate::server::{Database, ada, shared};

#[test]
fn claims_of_a_killed_replica_are_found_for_all_people_and_redeemed_side_by_side()
-> Result<(), StoreError> {
    let database = Database::new(shared());
    let survivor = database.replica();
    for number in 0..PEOPLE {
        let grants = survivor.grants(one_of_many(number));
        grants.put(&grant(), &tokens("1"))?;
    }
    let elsewhere = survivor.grants(Person::new("other", "somewhere else").unwrap());
    let generation = elsewhere.put(&grant(), &tokens("1"))?;
    elsewhere.claim(&grant(), generation, CLAIM)?;
    let mut worker = Worker::start(&database, "claim for all", &[]);
    let dead = owner(&worker.says());
    assert_eq!(survivor.dead_claims("acme")?, [], "it lives");
    worker.kill();
    let killed = Instant::now();
    let found = found(&survivor, "acme", PEOPLE);
    let found_after = killed.elapsed();
    assert!(found.iter().all(|claim| claim.owner == dead), "{found:?}");
    assert!(found_after >= Duration::from_millis(400), "{found_after:?}");
    std::thread::scope(|scope| {
        for claim in &found {
            let grants = survivor.grants(claim.person.clone());
            scope.spawn(move || {
                let taken = grants.claim(&claim.grant, claim.generation, CLAIM).unwrap();
                let Claim::Claimed(taken) = taken else {
                    panic!("{taken:?}");
                };
                assert_eq!(taken.interrupted, 1);
                let committed = grants.commit(&claim.grant, claim.generation, &tokens("2"));
                assert!(matches!(committed, Ok(Commit::Committed { .. })));
            });
        }
    });
    let redeemed_after = killed.elapsed();
    println!("found {found_after:?}, all redeemed {redeemed_after:?} after the kill");
    assert_eq!(survivor.dead_claims("acme")?, []);
    assert_eq!(survivor.dead_claims("other")?, [], "a claim of our own");
    Ok(())
}

/// The second wall: the list shows whose claims there are, and no sealed value to any query.
#[test]
fn list_of_claims_shows_no_other_tenant_and_no_sealed_value() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    let grants = replica.grants(ada());
    let generation = grants.put(&grant(), &tokens("1"))?;
    grants.claim(&grant(), generation, CLAIM)?;
    let ask = |who: &str, what: &str| {
        let setting = format!("SET ROLE keyway; SET keyway.tenant = '{who}';");
        database.sql(&format!("{setting} {what}"))
    };
    let listed = "SELECT count(*) FROM keyway.open_claims(0)";
    assert_eq!(ask("acme", listed), "1");
    assert_eq!(ask("other", listed), "0");
    let rows = "SELECT count(*) FROM keyway.grants";
    assert_eq!(ask("acme", rows), "0", "the setting ends with the function");
    let columns = "SELECT string_agg(c, ' ' ORDER BY c) FROM (SELECT unnest(proargnames) AS c
        FROM pg_proc WHERE proname = 'open_claims') t WHERE c IN
        ('access', 'refresh', 'details', 'fingerprint', 'key_id')";
    assert_eq!(database.sql(columns), "");
    Ok(())
}

#[test]
fn rows_of_killed_replicas_are_removed_once_their_claims_are_taken_over() -> Result<(), StoreError>
{
    let database = Database::new(shared());
    let survivor = database.replica();
    let grants = survivor.grants(ada());
    let generation = grants.put(&grant(), &tokens("1"))?;
    let mut worker = Worker::start(&database, "claim", &[]);
    worker.says();
    let other = database.replica();
    assert_eq!(survivor.remove_dead_replicas()?, 0);
    worker.kill();
    let claims = found(&survivor, "acme", 1);
    assert_eq!(
        survivor.remove_dead_replicas()?,
        0,
        "its claim is not settled"
    );
    let rows = "SELECT count(*) FROM keyway.replicas";
    assert_eq!(database.sql(rows), "3");
    let taken = grants.claim(&claims[0].grant, generation, CLAIM)?;
    assert!(matches!(taken, Claim::Claimed(_)), "{taken:?}");
    assert_eq!(survivor.remove_dead_replicas()?, 1);
    assert_eq!(database.sql(rows), "2");
    drop(other);
    Ok(())
}

/// A rolling upgrade: a replica of the version before made the schema, and stored a sign-in.
#[test]
fn schema_1_is_brought_up_to_date_with_what_it_holds() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    replica.grants(ada()).put(&grant(), &tokens("1"))?;
    drop(replica);
    database.sql(
        "DROP FUNCTION keyway.open_claims; DROP FUNCTION keyway.has_claims;
         DROP POLICY claims ON keyway.grants;
         DROP FUNCTION keyway.note, keyway.note_calls, keyway.append_audit, keyway.audit_chain,
             keyway.audit_hash, keyway.audit_part;
         DROP TABLE keyway.audit, keyway.audit_chains;
         DROP FUNCTION keyway.wraps_besides, keyway.mark_restored, keyway.this_copy,
             keyway.settle_wrapper;
         DROP POLICY wraps ON keyway.person_keys; DROP POLICY restored ON keyway.grants;
         ALTER TABLE keyway.store DROP next_wrapper, DROP previous_wrapper, DROP usable_later,
             DROP copy;
         ALTER TABLE keyway.replicas DROP wrappers; ALTER TABLE keyway.grants DROP restored;
         DROP TABLE keyway.named_values; DROP SEQUENCE keyway.value_changes;
         DROP TRIGGER note_wrapper ON keyway.store;
         DROP FUNCTION keyway.note_wrapper, keyway.people, keyway.sign_in_states, keyway.key_ages;
         DROP POLICY survey ON keyway.grants; DROP POLICY survey ON keyway.person_keys;
         ALTER TABLE keyway.person_keys DROP made_at; ALTER TABLE keyway.store DROP wrapper_since;
         UPDATE keyway.store SET version = 1",
    );
    let newer = database.replica();
    assert_eq!(newer.dead_claims("acme")?, []);
    let read = newer.grants(ada()).read(&grant())?.unwrap();
    assert_eq!(read.access.expose(), "access-1");
    let before = database.sql("SELECT usable_by FROM keyway.store");
    assert_eq!(before, "1", "the older replica goes on");
    Ok(())
}

/// Waits until so many claims are found.
fn found(survivor: &Replica, tenant: &str, count: usize) -> Vec<DeadClaim> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let found = survivor.dead_claims(tenant).unwrap();
        if found.len() == count {
            return found;
        }
        assert!(Instant::now() < end, "{found:?}");
    }
}
