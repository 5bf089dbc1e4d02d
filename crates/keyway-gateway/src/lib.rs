//! Serving MCP clients over HTTP: routes, gateway tokens, sessions, the dashboard, the control API,
//! metrics and traces.

pub mod activity;
pub mod address;
pub mod administration;
pub mod control;
pub mod control_client;
pub mod dashboard;
mod file_watch;
pub mod gateway;
mod gateway_token;
mod hex;
mod history;
pub mod lazy_server;
pub mod local_backend;
mod percent;
pub mod served_plugins;
pub mod shared_gateway;
pub mod sharing;
mod timeouts;
mod token_use;
pub mod trace_parent;
pub mod traces;

pub use keyway_transport::SHUTDOWN_TIMEOUT;
