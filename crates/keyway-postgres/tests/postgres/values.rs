//! Variables and approvals: whose they are, and what becomes of rows that were tampered with.

use std::time::Duration;

use keyway_postgres::{Person, Replica};
use keyway_store::{Damage, GrantStore as _, StoreError, ValueStore as _};

use crate::server::{Database, ada, bob, shared};

fn tenant() -> Person {
    Person::shared("acme").unwrap()
}

/// Variables of two people and their tenant.
fn stored(replica: &Replica) {
    for (whose, value) in [(ada(), "of-ada"), (bob(), "of-bob"), (tenant(), "of-all")] {
        let variables = replica.variables(whose);
        variables.put("API_KEY", value.as_bytes()).unwrap();
        variables.put("OTHER", b"another").unwrap();
    }
}

#[test]
fn values_that_were_swapped_do_not_open() {
    let of_bob =
        "(SELECT value FROM keyway.named_values WHERE person LIKE '%bob' AND name = 'API_KEY')";
    for (what, sql) in [
        ("between people", format!("SET value = {of_bob}")),
        (
            "between people, with the key",
            format!(
                "SET value = {of_bob}, key_id = (SELECT key_id FROM keyway.person_keys
                     WHERE person LIKE '%bob')"
            ),
        ),
        (
            "between names",
            "SET value = (SELECT value FROM keyway.named_values
                 WHERE person LIKE '%ada' AND name = 'OTHER')"
                .to_owned(),
        ),
        (
            "to another change",
            "SET generation = generation + 1".to_owned(),
        ),
        ("to another kind", "SET kind = 'approval'".to_owned()),
        ("under another name", "SET name = 'MINE'".to_owned()),
        (
            "cut short",
            "SET value = substring(value FOR 20)".to_owned(),
        ),
        ("to another key", "SET key_id = sha256('x')".to_owned()),
    ] {
        let database = Database::new(shared());
        stored(&database.replica());
        database.sql(&format!(
            "UPDATE keyway.named_values {sql} WHERE person LIKE '%ada' AND name = 'API_KEY'"
        ));
        let replica = database.replica();
        let of_ada = match what {
            "to another kind" => replica.approvals(ada()),
            _ => replica.variables(ada()),
        };
        let error = of_ada.all().unwrap_err();
        let is_damaged = matches!(
            error,
            StoreError::Corrupt {
                how: Damage::Altered | Damage::Missing,
                ..
            }
        );
        assert!(is_damaged, "{what}: {error}");
    }
}

#[test]
fn a_query_that_does_not_say_for_whom_sees_no_value() {
    let database = Database::new(shared());
    stored(&database.replica());
    let ask = |before: &str| {
        let sql = "SELECT coalesce(string_agg(DISTINCT person, ','), 'none'), count(*)";
        database.sql(&format!(
            "SET ROLE keyway; {before}; {sql} FROM keyway.named_values"
        ))
    };
    assert_eq!(ask("RESET keyway.person"), "none|0");
    let of_acme = "SET keyway.tenant = 'acme'";
    assert_eq!(ask(of_acme), "none|0", "a tenant alone sees none either");
    let as_bob = format!("{of_acme}; SET keyway.person = 'https://idp.example bob'");
    assert_eq!(ask(&as_bob), "https://idp.example bob|2");
    let changed = format!("{as_bob}; UPDATE keyway.named_values SET name = 'X'");
    ask(&changed);
    let found = "SELECT count(*) FROM keyway.named_values WHERE name = 'X'";
    assert_eq!(database.sql(found), "2", "of bob alone");
}

#[test]
fn no_value_is_in_the_database_or_its_audit_in_the_open() {
    let database = Database::new(shared());
    stored(&database.replica());
    let dump = database.sql("SELECT * FROM keyway.named_values; SELECT * FROM keyway.audit");
    assert!(dump.contains("API_KEY"), "its name is");
    for value in ["of-ada", "of-bob", "of-all"] {
        let hexadecimal: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(
            !dump.contains(value) && !dump.contains(&hexadecimal),
            "{value}"
        );
    }
}

#[test]
fn other_replicas_hear_of_a_change_to_the_same_owner_alone() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let (here, there) = (database.replica(), database.replica());
    let feed = |person| there.variables(person).change_feed().unwrap();
    let (mut of_ada, mut of_bob) = (feed(ada()), feed(bob()));
    here.variables(ada()).put("API_KEY", b"x")?;
    assert!(of_ada.wait(Duration::from_secs(5))?);
    here.approvals(ada()).put("entry", b"x")?;
    assert!(here.variables(ada()).delete("API_KEY")?);
    assert!(of_ada.wait(Duration::from_secs(5))?);
    // Announcements come in order, so that those of the others would have been heard by now.
    assert!(!of_bob.changed()?);
    Ok(())
}

#[test]
fn forgetting_a_person_forgets_their_values_and_nobody_elses() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    stored(&replica);
    // Other gateways hear of all of it.
    let there = database.replica();
    let (variables, approvals) = (there.variables(ada()), there.approvals(ada()));
    let mut feeds = [
        there.grants(ada()).change_feed()?,
        variables.change_feed().unwrap(),
        approvals.change_feed().unwrap(),
    ];
    assert!(replica.forget(&ada())?);
    for feed in &mut feeds {
        assert!(feed.wait(Duration::from_secs(5))?);
    }
    assert!(!replica.forget(&ada())?, "there is nothing left");
    assert!(replica.variables(ada()).all()?.is_empty());
    assert_eq!(replica.variables(bob()).all()?.len(), 2);
    assert_eq!(replica.variables(tenant()).all()?.len(), 2);
    Ok(())
}

#[test]
fn who_set_which_variable_is_in_the_audit() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    replica.variables(ada()).put("API_KEY", b"x")?;
    replica.variables(ada()).delete("API_KEY")?;
    let rows =
        "SELECT string_agg(concat_ws(' ', person, event, outcome, cause), ';' ORDER BY number)
                FROM keyway.audit";
    assert_eq!(
        database.sql(rows),
        "https://idp.example ada variable set API_KEY;\
         https://idp.example ada variable deleted API_KEY"
    );
    Ok(())
}

/// Such as when a table went away under a running replica: each try would make a connection.
#[test]
fn a_statement_that_the_database_refuses_to_prepare_costs_no_connection() {
    let database = Database::new(shared());
    let replica = database.replica();
    stored(&replica);
    let sessions = || {
        database.sql(
            "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity
             WHERE usename = 'keyway'",
        )
    };
    let before = sessions();
    database.sql("ALTER TABLE keyway.named_values RENAME TO elsewhere");
    for _ in 0..3 {
        replica.variables(ada()).get("API_KEY").unwrap_err();
    }
    assert_eq!(sessions(), before);
}
