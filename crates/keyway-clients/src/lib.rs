//! Other programs' files: where each MCP client keeps its servers, what Keyway writes there, how that is
//! undone, and the unit files of the gateway's service.

pub mod claude_code;
pub mod clients;
mod clients_page;
pub mod convert;
pub mod host_pages;
pub mod install;
pub mod new_server;
pub mod own_entries;
pub mod service;
pub mod survey;
pub mod takeover;
mod timeouts;

pub use self::clients_page::clients_page;
