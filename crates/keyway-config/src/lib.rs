//! The configuration contract between a plugin and its host: parse, resolve, rewrite.
//!
//! A file becomes a [`Document`](document::Document) of entries, whatever is wrong with it. An entry
//! and a [`Scope`](environment::Scope) of variables become a [`ServerSpec`](resolve::ServerSpec), or
//! an error that lists every field in the way. The crate is pure: it reads no file, no environment
//! and no clock. The rules of `keyway check` are in `keyway-lint`.
//!
//! ```
//! use keyway_code::Code;
//! use keyway_config::environment::{Scope, Variables};
//! use keyway_config::plugin::Plugin;
//! use keyway_config::resolve::{SpecEndpoint, resolve};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = r#"{"mcpServers": {"tracker": {
//!     "type": "http",
//!     "url": "https://tracker.example/mcp",
//!     "headers": {"Authorization": "Bearer ${TRACKER_TOKEN}"}
//! }}}"#;
//! let plugin = Plugin::from_text("/plugin", ".mcp.json", text);
//! let host = plugin.host_variables();
//! let (_, server) = plugin.servers().next().ok_or("no entry")?;
//!
//! // Nothing is sent while a variable is missing; the error says which field needs it, and where.
//! let unset = Variables::default();
//! let errors = resolve(server, &Scope::new(&host, &unset)).err().ok_or("it resolved")?;
//! assert_eq!(
//!     errors.to_string(),
//!     "variable `TRACKER_TOKEN` is not set (header `Authorization`)"
//! );
//! assert_eq!(errors.diagnostics()[0].code, Code::UnresolvedVariable);
//!
//! let set = Variables::from_pairs([("TRACKER_TOKEN", "s3cr3t")]);
//! let spec = resolve(server, &Scope::new(&host, &set))?;
//! let SpecEndpoint::Remote(remote) = &spec.endpoint else {
//!     return Err("not a remote server".into());
//! };
//! // What is shown of a value is its template.
//! assert_eq!(remote.headers[0].1.to_string(), "Bearer ${TRACKER_TOKEN}");
//! # Ok(())
//! # }
//! ```

pub mod address;
#[cfg(feature = "bundles")]
pub mod bundle;
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
pub mod paths;
pub mod placeholder;
pub mod plugin;
pub mod portable;
pub mod prompt;
pub mod reference;
pub mod resolve;
pub mod schema_id;
pub mod source;
pub mod template;
pub mod toml;
pub mod transport;
pub mod usage;
pub mod yaml;
