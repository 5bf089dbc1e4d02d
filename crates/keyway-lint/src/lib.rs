//! What an author of a plugin gets: rules over the entries, a scanner for literal credentials,
//! migrations, and the setup section of the README.
//!
//! Like `keyway-config`, on which it is built, this crate is pure: it reads no file, no environment
//! and no clock.
//!
//! ```
//! use keyway_code::Code;
//! use keyway_config::plugin::Plugin;
//! use keyway_lint::{Context, RULES, lint};
//!
//! let text = r#"{"mcpServers": {"tracker": {
//!     "type": "http",
//!     "url": "http://tracker.example/mcp",
//!     "headers": {"Authorization": "Bearer YOUR_TOKEN"}
//! }}}"#;
//! let plugin = Plugin::from_text("/plugin", ".mcp.json", text);
//! let found = lint(&Context::new(&plugin).strict(true));
//! let codes: Vec<Code> = found.iter().map(|diagnostic| diagnostic.code).collect();
//! assert!(codes.contains(&Code::InsecureUrl));
//! assert!(codes.contains(&Code::PlaceholderCredential));
//!
//! // Every rule has a page that says why it matters and how to fix it.
//! assert!(RULES.iter().all(|rule| rule.id.page().contains("## Why it matters")));
//! ```

pub mod check_settings;
pub mod convert;
pub mod literals;
pub mod mask;
pub mod migrate;
pub mod readme;
pub mod rules;
pub mod script;
pub mod secrets;
pub mod suppress;

pub use crate::rules::{Context, RULES, Rule, lint};
