//! What an operator sees of a tenant, and what not.

use std::time::Duration;

use keyway_postgres::{Person, SignInStates};
use keyway_store::{Claim, GrantStore, Marked, StoreError, Tokens};

use crate::processes::{CLAIM, Worker, grant, owner, tokens};
use crate::server::{Database, ada, shared};

fn sums(states: SignInStates) -> [u64; 4] {
    let SignInStates {
        sign_ins,
        renewing,
        needs_reauth,
        not_renewable,
        ..
    } = states;
    [sign_ins, renewing, needs_reauth, not_renewable]
}

#[test]
fn people_are_listed_with_the_states_of_their_sign_ins() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    let grants = replica.grants(ada());
    let generation = grants.put(&grant(), &tokens("1"))?;
    grants.claim(&grant(), generation, CLAIM)?;
    let rejected = grant().account("rejected");
    let generation = grants.put(&rejected, &tokens("1"))?;
    let Claim::Claimed(claimed) = grants.claim(&rejected, generation, CLAIM)? else {
        panic!("it is free");
    };
    let marked = grants.mark_reauth(&rejected, generation, &claimed.fingerprint)?;
    assert!(matches!(marked, Marked::Marked));
    let bob = replica.grants(Person::new("acme", "https://idp.example bob").unwrap());
    bob.put(&grant(), &Tokens::new("access".to_owned().into()))?;
    let all = replica.grants(Person::shared("acme").unwrap());
    all.put(&grant(), &tokens("1"))?;
    let elsewhere = replica.grants(Person::new("other", "https://idp.example eve").unwrap());
    elsewhere.put(&grant(), &tokens("1"))?;

    let people = replica.people("acme", "", 100)?;
    let people: Vec<_> = people
        .into_iter()
        .map(|it| (it.person, sums(it.states)))
        .collect();
    let named = |name: &str| Some(format!("https://idp.example {name}"));
    assert_eq!(
        people,
        [
            (None, [1, 0, 0, 0]),
            (named("ada"), [2, 1, 1, 0]),
            (named("bob"), [1, 0, 0, 1]),
        ]
    );
    let found = replica.people("acme", "BOB", 100)?;
    assert_eq!(found.len(), 1);
    assert_eq!(replica.people("acme", "%", 100)?, [], "no pattern");
    assert_eq!(replica.people("acme", "", 2)?.len(), 2);
    let (people, states) = replica.sign_in_states("acme")?;
    assert_eq!((people, sums(states)), (2, [4, 1, 1, 1]));
    Ok(())
}

/// The second wall stands: what shows rows of all people ends with its function.
#[test]
fn a_query_beside_the_functions_still_sees_nothing() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    replica.grants(ada()).put(&grant(), &tokens("1"))?;
    let ask = |what: &str| {
        let setting = "SET ROLE keyway; SET keyway.tenant = 'acme';";
        database.sql(&format!("{setting} {what}"))
    };
    for function in ["people('', 9)", "sign_in_states()", "key_ages()"] {
        let counted = format!(
            "BEGIN; SELECT count(*) FROM keyway.{function};
             SELECT (SELECT count(*) FROM keyway.grants)
                  + (SELECT count(*) FROM keyway.person_keys); COMMIT;"
        );
        assert_eq!(ask(&counted), "1\n0", "{function}");
    }
    let columns = "SELECT count(*) FROM (SELECT unnest(proargnames) AS c FROM pg_proc
        WHERE proname IN ('people', 'sign_in_states', 'key_ages')) t
        WHERE c IN ('access', 'refresh', 'details', 'fingerprint', 'wrapped', 'key_id')";
    assert_eq!(database.sql(columns), "0");
    Ok(())
}

#[test]
fn keys_grow_old_and_a_new_wrapping_key_is_young() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    assert_eq!(replica.key_ages("acme")?.oldest_data, None);
    replica.grants(ada()).put(&grant(), &tokens("1"))?;
    let hour = Duration::from_secs(3600);
    database.sql(
        "UPDATE keyway.person_keys SET made_at = made_at - 7200000;
         UPDATE keyway.store SET wrapper_since = wrapper_since - 3600000;",
    );
    let ages = replica.key_ages("acme")?;
    assert!(
        ages.wrapping >= hour && ages.wrapping < 2 * hour,
        "{ages:?}"
    );
    assert!(ages.oldest_data.unwrap() >= 2 * hour, "{ages:?}");
    assert_eq!(ages.data_keys, 1);
    database.sql("UPDATE keyway.store SET wrapper = '\\x0102'");
    assert!(replica.key_ages("acme")?.wrapping < hour);
    assert_eq!(replica.key_ages("other")?.data_keys, 0);
    Ok(())
}

#[test]
fn replicas_are_listed_with_whether_they_live_and_takeovers_are_counted() -> Result<(), StoreError>
{
    let database = Database::new(shared());
    let survivor = database.replica();
    let generation = survivor.grants(ada()).put(&grant(), &tokens("1"))?;
    let mut worker = Worker::start(&database, "claim", &[]);
    let other = owner(&worker.says());
    let listed = survivor.replicas()?;
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|it| it.is_held), "{listed:?}");
    let mine: Vec<_> = listed.iter().filter(|it| it.is_self).collect();
    assert_eq!(mine.len(), 1);
    assert_ne!(mine[0].owner, other);
    worker.kill();
    let claimed = survivor.grants(ada()).claim(&grant(), generation, CLAIM)?;
    assert!(matches!(claimed, Claim::Claimed(_)), "{claimed:?}");
    let listed = survivor.replicas()?;
    let dead = listed.iter().find(|it| it.owner == other).unwrap();
    assert!(!dead.is_held);
    let counts = survivor.counts();
    assert_eq!(counts.takeovers_died, 1);
    assert_eq!((counts.takeovers_ended, counts.takeovers_overdue), (0, 0));
    assert_eq!(counts.connections_most, 3);
    assert!(
        counts.connections >= 1 && counts.connections_used == 0,
        "{counts:?}"
    );
    Ok(())
}
