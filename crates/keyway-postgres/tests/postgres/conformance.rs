//! The cases that every store has to pass.

use keyway_postgres::Person;
use keyway_store::StoreError;
use keyway_store::conformance;

use crate::server::{Database, ada, bob, shared};

keyway_store::grant_store_conformance!(Database::new(shared()));

#[test]
fn records_pass_the_conformance_cases() -> Result<(), StoreError> {
    let records = Database::new(shared()).replica().records(ada());
    conformance::record_is_replaced_and_deleted_by_name(&records)
}

#[test]
fn documents_pass_the_conformance_cases() -> Result<(), StoreError> {
    let documents = Database::new(shared()).replica().documents(ada());
    conformance::document_is_found_until_its_lifetime_ends(&documents)
}

#[test]
fn one_time_values_pass_the_conformance_cases() -> Result<(), StoreError> {
    let values = Database::new(shared()).replica().one_time(ada());
    conformance::one_time_value_is_taken_once_and_in_time(&values)
}

#[test]
fn values_pass_the_conformance_cases() -> Result<(), StoreError> {
    let database = Database::new(shared());
    let replica = database.replica();
    conformance::value_is_listed_replaced_and_deleted_by_name(&replica.approvals(ada()))?;
    let of = |person| replica.variables(person);
    conformance::values_of_one_owner_are_not_those_of_another([&of(ada()), &of(bob())])?;
    let tenant = Person::shared("acme").unwrap();
    conformance::of_values_stored_at_once_one_is_left_and_whole(&of(tenant))
}
