//! What a host depends on: plugins read from disk, approved, connected to and talked with.
//!
//! `load` → `trust` → `connect` → `session`, `bridge` or `aggregate`. The process environment is
//! never looked at: whatever is needed of it comes in as an argument.
//!
//! ```
//! use keyway::load::Loader;
//! use keyway_config::lint::{Context, lint};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join(".mcp.json");
//! keyway::write::create(&file, br#"{"docs": {"url": "https://docs.example/mcp"}}"#, 0o644)?;
//!
//! let loaded = Loader::default().load(folder.path())?;
//! let context = Context { plugin: &loaded.plugin, scope: None, strict: false };
//! let found = lint(&context);
//! assert!(found.iter().any(|diagnostic| diagnostic.code == "url-missing-type"));
//! # Ok(())
//! # }
//! ```

pub mod activity;
pub mod aggregate;
pub mod bridge;
pub mod clients;
pub mod connect;
pub mod dashboard;
pub mod diagnosis;
pub mod env_file;
pub mod eras;
pub mod error;
pub mod events;
pub mod explain;
pub mod gateway;
mod git;
pub mod health;
pub mod identity;
pub mod install;
pub mod load;
pub mod migrate;
mod offers;
mod read;
pub mod schema;
pub mod service;
pub mod session;
pub mod settings;
pub mod sharing;
pub mod sign_in;
mod splice;
pub mod states;
pub mod status;
pub mod supplied;
pub mod traces;
pub mod trust;
pub mod variables;
pub mod vault;
pub mod watch;
mod watched;
mod weight;
pub mod whereabouts;
pub mod withheld;
pub mod write;
