//! Serving MCP clients over HTTP: routes, gateway tokens, sessions, the dashboard, metrics and traces.

pub mod activity;
pub mod dashboard;
pub mod gateway;
pub mod lazy_server;
mod percent;
pub mod schema;
pub mod shared_gateway;
pub mod sharing;
pub mod trace_parent;
pub mod traces;
