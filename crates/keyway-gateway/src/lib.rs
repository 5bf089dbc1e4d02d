//! Serving MCP clients over HTTP: routes, gateway tokens, sessions, the dashboard, the control API,
//! metrics and traces.

pub mod address;
pub mod admin_port;
pub mod control;
pub mod control_client;
pub mod database_watch;
pub mod gateway;
mod history;
pub mod lazy_server;
pub mod local_backend;
pub mod people;
pub mod public_listener;
pub mod recording;
pub mod served_plugins;
pub mod shared_gateway;
pub mod sharing;
pub mod team;
mod timeouts;

pub use keyway_transport::SHUTDOWN_TIMEOUT;
