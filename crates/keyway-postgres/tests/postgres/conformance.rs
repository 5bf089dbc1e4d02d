//! The cases that every store has to pass.

use keyway_store::StoreError;
use keyway_store::conformance;

use crate::server::{Server, ada};

keyway_store::grant_store_conformance!(Server::shared().database());

#[test]
fn records_pass_the_conformance_cases() -> Result<(), StoreError> {
    let records = Server::shared().database().replica().records(ada());
    conformance::record_is_replaced_and_deleted_by_name(&records)
}

#[test]
fn documents_pass_the_conformance_cases() -> Result<(), StoreError> {
    let documents = Server::shared().database().replica().documents(ada());
    conformance::document_is_found_until_its_lifetime_ends(&documents)
}
