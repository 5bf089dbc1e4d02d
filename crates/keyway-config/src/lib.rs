//! The configuration contract between a plugin and its host.

pub mod address;
pub mod declared;
pub mod diagnostic;
pub mod dialect;
pub mod document;
pub mod edit;
pub mod env_file;
pub mod environment;
pub mod fields;
#[cfg(test)]
mod fixture;
pub mod headers;
pub mod json;
pub mod method;
pub mod names;
pub mod oauth_rules;
pub mod placeholder;
pub mod plugin;
pub mod resolve;
pub mod schema_id;
pub mod source;
pub mod template;
pub mod usage;
