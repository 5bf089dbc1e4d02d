//! Databases and rows that must not be used: each is refused with its own error.

use std::path::Path;
use std::sync::Arc;

use keyway_postgres::{FileKey, Person, PostgresError, Replica, Settings};
use keyway_store::conformance::Backend as _;
use keyway_store::{
    Claim, Damage, Generation, GrantKey, GrantStore, OneTimeStore as _, RecordStore as _,
    StoreError,
};
use keyway_testkit::{appears, eventually};

use crate::pooler::Pooler;
use crate::processes::{CLAIM, grant, tokens};
use crate::server::{Database, Server, ada, settings, shared, write_private};

/// What opening says, in the words of a person's terminal.
fn refusal(database: &Database<'_>) -> String {
    let error = database.try_replica().unwrap_err();
    assert!(error.hint().is_some(), "{error} says what to do next");
    error.to_string()
}

#[test]
fn empty_database_gets_the_schema_once_however_many_start() {
    let database = Database::new(shared());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| database.replica());
        }
    });
    assert_eq!(
        database.sql("SELECT count(*), max(version) FROM keyway.store"),
        "1|7"
    );
}

#[test]
fn newer_schema_is_refused_unless_it_says_that_this_version_can_go_on() {
    let database = Database::new(shared());
    drop(database.replica());
    database.sql("UPDATE keyway.store SET version = 98, usable_by = 1");
    drop(database.replica());
    database.sql("UPDATE keyway.store SET version = 99, usable_by = 98");
    let refused = "the database has schema 99, and this version knows schemas up to 7";
    assert_eq!(refusal(&database), refused);
    assert_eq!(database.sql("SELECT version FROM keyway.store"), "99");
}

#[test]
fn schema_of_another_program_is_refused_and_left_alone() {
    let database = Database::new(shared());
    database.sql("CREATE SCHEMA keyway CREATE TABLE store (name text)");
    let refused = "the database has a schema `keyway` that is not Keyway's";
    assert_eq!(refusal(&database), refused);
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'keyway'";
    assert_eq!(database.sql(tables), "1");
}

#[test]
fn read_only_database_is_refused() {
    let database = Database::new(shared());
    let name = &database.name;
    database.sql(&format!(
        "ALTER DATABASE {name} SET default_transaction_read_only = on"
    ));
    assert_eq!(refusal(&database), "the database is read-only");
}

#[test]
fn role_that_row_level_security_does_not_bind_is_refused() {
    let database = Database::new(shared());
    let settings = Settings::new(&database.address("super")).unwrap();
    let refused = Replica::open(&settings, Arc::new(database.key())).unwrap_err();
    let expected = "the role `super` is exempt from row-level security";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn store_of_another_key_is_refused() {
    let database = Database::new(shared());
    drop(database.replica());
    let path = database.place.path().join("other");
    write_private(&path, &"6b".repeat(32));
    let other = FileKey::read(&path).unwrap();
    let refused = Replica::open(&database.settings(), Arc::new(other)).unwrap_err();
    assert!(
        matches!(refused, PostgresError::OtherKey { .. }),
        "{refused}"
    );
}

#[test]
fn database_that_is_not_there_is_named_as_such() {
    let mut database = Database::new(shared());
    database.name = "absent".to_owned();
    assert_eq!(refusal(&database), "the database refuses the connection");
    let nowhere = Settings::new("postgres://keyway@%2Fnowhere/keyway").unwrap();
    let away = Replica::open(&nowhere, Arc::new(database.key())).unwrap_err();
    assert!(matches!(away, PostgresError::Unreachable { .. }), "{away}");
    assert!(away.is_transient());
    assert!(away.hint().unwrap().contains("start the database"));
}

#[test]
fn a_key_file_that_is_missing_is_named_and_not_taken_for_the_password() {
    let refused = FileKey::read(Path::new("/nowhere/wrapping.key")).unwrap_err();
    assert_eq!(refused.to_string(), "cannot read `/nowhere/wrapping.key`");
}

/// Too long for a name (RFC 1035): no resolver is asked for it.
#[test]
fn a_host_that_nobody_knows_is_not_one_to_be_started() {
    let database = Database::new(shared());
    let address = format!("postgres://keyway@{}.invalid/keyway", "a".repeat(64));
    let nowhere = Settings::new(&address).unwrap();
    let away = Replica::open(&nowhere, Arc::new(database.key())).unwrap_err();
    assert!(matches!(away, PostgresError::Unreachable { .. }), "{away}");
    assert!(away.hint().unwrap().contains("check the host"), "{away}");
}

#[test]
fn standby_is_refused() {
    let primary = Server::start();
    let database = Database::new(&primary);
    drop(database.replica());
    let standby = primary.standby();
    let address = database.address("keyway");
    let [from, to] =
        [primary.folder(), standby.folder()].map(|it| it.to_str().unwrap().replace('/', "%2F"));
    let there = settings(&address.replace(&from, &to), database.place.path());
    let refused = Replica::open(&there, Arc::new(database.key())).unwrap_err();
    assert_eq!(refused.to_string(), "the database is a standby");
}

#[test]
fn pooler_that_shares_sessions_is_refused_with_the_reason() {
    let database = Database::new(shared());
    drop(database.replica());
    for more in [
        "",
        "ignore_startup_parameters = options",
        "ignore_startup_parameters = options\ndefault_pool_size = 1",
    ] {
        let pooler = Pooler::start(&database, more);
        let there = settings(&pooler.address, database.place.path());
        let refused = Replica::open(&there, Arc::new(database.key())).unwrap_err();
        assert!(
            matches!(refused, PostgresError::Pooler),
            "{more}: {refused}"
        );
        assert!(
            refused
                .hint()
                .is_some_and(|hint| hint.contains("session mode"))
        );
    }
}

/// Two sign-ins of one person and one of another, all of the same tenant.
fn three(database: &Database<'_>) -> [keyway_postgres::PostgresGrants; 2] {
    let replica = database.replica();
    let bob = Person::new("acme", "https://idp.example bob").unwrap();
    let [ada, bob] = [ada(), bob].map(|person| replica.grants(person));
    ada.put(&grant(), &tokens("ada")).unwrap();
    ada.put(&other(), &tokens("other")).unwrap();
    bob.put(&grant(), &tokens("bob")).unwrap();
    [ada, bob]
}

fn other() -> GrantKey {
    grant().account("other")
}

#[test]
fn swapped_rows_columns_and_generations_do_not_open() {
    for (what, sql) in [
        (
            "between sign-ins of a person",
            "UPDATE keyway.grants SET access = (SELECT access FROM keyway.grants
                 WHERE person LIKE '%ada' AND name LIKE '%other%'::bytea)",
        ),
        (
            "between people",
            "UPDATE keyway.grants g SET (access, key_id) = (SELECT access, key_id
                 FROM keyway.grants WHERE person LIKE '%bob')",
        ),
        (
            "between columns",
            "UPDATE keyway.grants SET access = refresh",
        ),
        (
            "to another generation",
            "UPDATE keyway.grants SET generation = generation + 1",
        ),
        (
            "cut short",
            "UPDATE keyway.grants SET access = substring(access FOR 20)",
        ),
        (
            "to another key",
            "UPDATE keyway.grants SET key_id = sha256('x')",
        ),
        (
            "keys between people",
            "UPDATE keyway.person_keys p SET (key_id, wrapped) = (SELECT key_id, wrapped
                 FROM keyway.person_keys WHERE person LIKE '%bob')",
        ),
    ] {
        let database = Database::new(shared());
        drop(three(&database));
        database.sql(sql);
        // A new process: nothing is in memory.
        let store = database.open();
        let error = store.read(&grant()).unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::Corrupt {
                    how: Damage::Altered | Damage::Missing,
                    ..
                }
            ),
            "{what}: {error}"
        );
    }
}

#[test]
fn refresh_token_with_a_foreign_fingerprint_is_not_handed_out() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let [ada, _] = three(&database);
    database.sql("UPDATE keyway.grants SET fingerprint = sha256('x')");
    let generation = ada.read(&grant())?.unwrap().generation;
    let refused = ada.claim(&grant(), generation, CLAIM).unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
    Ok(())
}

#[test]
fn query_that_does_not_say_for_whom_sees_nothing() {
    let database = Database::new(shared());
    let [_ada, _bob] = three(&database);
    let replica = database.replica();
    replica
        .records(ada())
        .put("client", b"registration")
        .unwrap();
    let ask = |before: &str, table: &str| {
        database.sql(&format!(
            "SET ROLE keyway; {before}; SELECT count(*) FROM keyway.{table}"
        ))
    };
    for table in ["grants", "person_keys", "records", "audit"] {
        assert_eq!(ask("SELECT", table).trim(), "0", "{table}");
        let half = "SET keyway.tenant = 'acme'";
        assert_eq!(ask(half, table), "0", "{table}: without a person");
    }
    let whole = "SET keyway.tenant = 'acme'; SET keyway.person = 'https://idp.example bob'";
    assert_eq!(ask(whole, "grants"), "1");
    let written = "SET keyway.tenant = 'acme'; SET keyway.person = 'https://idp.example bob';
                   UPDATE keyway.grants SET needs_reauth = true";
    ask(written, "grants");
    assert_eq!(
        database.sql("SELECT count(*) FROM keyway.grants WHERE needs_reauth"),
        "1"
    );
}

#[test]
fn signing_a_person_out_destroys_their_key_and_nobody_elses() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let [ada_here, bob] = three(&database);
    let replica = database.replica();
    let mut feed = replica.grants(ada()).change_feed()?;
    database.replica().forget(&ada())?;
    assert!(
        feed.wait(std::time::Duration::from_secs(5))?,
        "others hear of it"
    );
    assert!(ada_here.read(&grant())?.is_none());
    assert_eq!(bob.read(&grant())?.unwrap().access.expose(), "access-bob");
    assert_eq!(database.sql("SELECT count(*) FROM keyway.person_keys"), "1");
    // Signing in again makes a new key, also where the old one is in memory.
    ada_here.put(&grant(), &tokens("again"))?;
    let again = database.open().read(&grant())?.unwrap();
    assert_eq!(again.access.expose(), "access-again");
    Ok(())
}

#[test]
fn no_token_is_in_the_database_in_the_open() {
    let database = Database::new(shared());
    let [_ada, _bob] = three(&database);
    let dump = database.sql("SELECT * FROM keyway.grants; SELECT * FROM keyway.person_keys");
    for secret in ["access-ada", "refresh-ada", "5a5a5a5a"] {
        let hexadecimal: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(
            !dump.contains(secret) && !dump.contains(&hexadecimal),
            "{secret}"
        );
    }
}

#[test]
fn swapped_refresh_tokens_and_details_are_not_handed_out() {
    for (what, sql) in [
        (
            "refresh tokens of two sign-ins",
            "UPDATE keyway.grants SET refresh = (SELECT refresh FROM keyway.grants
                 WHERE person LIKE '%ada' AND name LIKE '%other%'::bytea)",
        ),
        (
            "refresh tokens of two people",
            "UPDATE keyway.grants SET (refresh, key_id) = (SELECT refresh, key_id
                 FROM keyway.grants WHERE person LIKE '%bob')",
        ),
        (
            "an access token as a refresh token",
            "UPDATE keyway.grants SET refresh = access",
        ),
        (
            "a refresh token of an earlier generation",
            "UPDATE keyway.grants SET generation = generation + 1",
        ),
    ] {
        let database = Database::new(shared());
        drop(three(&database));
        let generation = "SELECT generation FROM keyway.grants
            WHERE person LIKE '%ada' AND name NOT LIKE '%other%'::bytea";
        database.sql(sql);
        let generation = database.sql(generation).parse().unwrap();
        let store = database.open();
        let claim = store.claim(&grant(), Generation::new(generation), CLAIM);
        let refused = claim.unwrap_err();
        assert!(
            matches!(refused, StoreError::Corrupt { .. }),
            "{what}: {refused}"
        );
        let refused = store.refresh_to_revoke(&grant()).unwrap_err();
        assert!(
            matches!(refused, StoreError::Corrupt { .. }),
            "{what}: {refused}"
        );
    }
}

#[test]
fn swapped_records_and_values_that_are_used_once_do_not_open() {
    for (what, sql) in [
        (
            "between names",
            "UPDATE keyway.records r SET value = (SELECT value FROM keyway.records o
                 WHERE o.person = r.person AND o.kind = r.kind AND o.record_id <> r.record_id)",
        ),
        (
            "between people",
            "UPDATE keyway.records r SET (value, key_id) = (SELECT value, key_id
                 FROM keyway.records o WHERE o.person <> r.person AND o.kind = r.kind
                 AND length(o.value) = length(r.value) LIMIT 1)",
        ),
        (
            "between kinds",
            "UPDATE keyway.records r SET value = (SELECT value FROM keyway.records o
                 WHERE o.person = r.person AND o.kind <> r.kind LIMIT 1)",
        ),
    ] {
        let database = Database::new(shared());
        let replica = database.replica();
        let bob = Person::new("acme", "https://idp.example bob").unwrap();
        for (person, value) in [(ada(), b"ada"), (bob, b"bob")] {
            for name in ["one", "two"] {
                let records = replica.records(person.clone());
                records.put(name, value).unwrap();
                let values = replica.one_time(person.clone());
                values.put(name, value, CLAIM).unwrap();
            }
        }
        drop(replica);
        database.sql(sql);
        let replica = database.replica();
        // A registration is made again; what is used once is refused.
        assert!(replica.records(ada()).get("one").is_none(), "{what}");
        let refused = replica.one_time(ada()).take("one").unwrap_err();
        assert!(
            matches!(refused, StoreError::Corrupt { .. }),
            "{what}: {refused}"
        );
    }
}

#[test]
fn database_that_turns_read_only_hands_nothing_out_until_it_is_writable() -> Result<(), StoreError>
{
    let database = Database::new(shared());
    let replica = database.replica();
    let store = replica.grants(ada());
    let generation = store.put(&grant(), &tokens("1"))?;
    let name = &database.name;
    let turn = |to: &str| {
        let sql = format!(
            "ALTER DATABASE {name} SET default_transaction_read_only = {to};
             SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE usename = 'keyway' AND datname = '{name}'"
        );
        database.server.sql("postgres", &sql);
    };
    turn("on");
    eventually("the replica notices", || !replica.is_ready());
    let refused = store.claim(&grant(), generation, CLAIM);
    assert!(refused.is_err(), "{refused:?}");
    assert!(!replica.is_ready());
    turn("off");
    eventually("the replica is back", || replica.is_ready());
    let claim = appears("the sign-in can be claimed", || {
        store.claim(&grant(), generation, CLAIM).ok()
    });
    assert!(matches!(claim, Claim::Claimed(_)), "{claim:?}");
    Ok(())
}
