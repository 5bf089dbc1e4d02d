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
mod faults;
mod pooler;
mod processes;
mod server;
