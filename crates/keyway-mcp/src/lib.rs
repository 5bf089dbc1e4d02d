//! What is said over an MCP connection: messages, sessions, version negotiation, and the two ways to
//! pass messages on, `bridge` for one server and `aggregate` for several.
//!
//! Nothing here opens a socket, starts a process or knows where a credential comes from: a
//! [`Connection`](keyway_transport::Connection) comes in, already authorized.

pub mod aggregate;
pub mod backpressure;
pub mod bridge;
pub mod declaration_site;
mod era_negotiation;
pub mod eras;
pub mod explain;
pub mod idle;
pub mod jsonrpc;
pub mod negotiation;
pub mod schema;
pub mod session;
pub mod splice;
pub mod states;
pub mod timeouts;
pub mod tool_memory;
pub mod version;
