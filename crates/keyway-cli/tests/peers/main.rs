//! Third-party servers and clients, on both sides of the program.
//!
//! The official SDKs in three languages, the Inspector, clients of agents, and servers that `npx`, `uvx` and a virtual
//! environment start. All are found below `KEYWAY_TOOLS`; without them these tests say so.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests start servers and clients, and stop where they cannot"
)]

mod adopted;
mod bundled;
mod clients;
mod codex_thread;
mod editors;
mod gateway;
mod helpers;
mod inspector;
mod installed;
mod model;
mod more_clients;
mod over_ssh;
mod parsers;
mod people;
mod sdks;
mod tools;
mod wrong_type;
