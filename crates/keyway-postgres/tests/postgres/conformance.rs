//! The cases that every store has to pass.

use keyway_store::StoreError;
use keyway_store::conformance;

use crate::server::{Database, ada, shared};

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
