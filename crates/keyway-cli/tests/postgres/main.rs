//! `keyway serve` with its sign-ins in a real PostgreSQL, which these tests start themselves.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests stop where they cannot go on, and write files of a person"
)]

mod audit;
mod away;
mod killed;
mod migrate;
mod operations;
mod refused;
mod rekey;
mod team;
