//! What a host depends on: plugins read from disk, approved, connected to and talked with.
//!
//! `load` → `trust` → `connect` → `session`, `bridge` or `aggregate`. The process environment is
//! never looked at: whatever is needed of it comes in as an argument.
//!
//! ```
//! use keyway::load::Loader;
//! use keyway_lint::{Context, lint};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join(".mcp.json");
//! keyway::write::create(&file, br#"{"docs": {"url": "https://docs.example/mcp"}}"#, 0o644)?;
//!
//! let loaded = Loader::default().load(folder.path())?;
//! let context = Context::new(&loaded.plugin);
//! let found = lint(&context);
//! assert!(found.iter().any(|diagnostic| diagnostic.code == Code::UrlMissingType));
//! # Ok(())
//! # }
//! ```

/// Lets this process start local servers and helpers. **Call it first in `main`**, before an async
/// runtime or any thread is started.
///
/// Children start through a second process of this program, isolated before it becomes the child.
/// In that process this function never returns. Without it, starting a program is an error
/// (`launcher-not-initialized`) and never a second copy of the host.
pub fn init() {
    keyway_transport::take_over();
}

pub mod approval;
pub mod connect;
pub mod diagnosis;
pub mod env_file;
pub mod error;
pub mod events;
mod git;
pub mod health;
pub mod host;
pub mod identity;
pub mod load;
pub mod migrate;
mod offers;
pub mod read;
pub mod settings;
pub mod sign_in;
pub mod status;
pub mod supplied;
pub mod variables;
pub mod vault;
pub mod watch;
mod watched;
pub mod withheld;
pub mod write;

pub use self::host::{
    ApprovalPrompt, ApprovalStore, Approved, Error, Host, HostBuilder, Plan, Plugin, SignOutPlan,
};
