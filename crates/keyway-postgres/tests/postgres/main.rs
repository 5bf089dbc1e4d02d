//! The stores on a real PostgreSQL, which these tests start themselves.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail the test"
)]

mod audit;
mod bad_input;
mod conformance;
mod dead_claims;
mod failover;
mod faults;
mod import;
#[cfg(feature = "pkcs11")]
mod pkcs11;
mod pooler;
mod processes;
mod rekey;
mod restored;
mod server;
mod survey;
mod values;
