//! The host's side of MCP authentication: load a plugin's servers, get them approved, connect, talk.
//!
//! From an address to a call:
//!
//! ```
//! # use std::sync::Arc;
//! # use keyway::sign_in::{ConsentQuestion, InteractionError, Presenter};
//! # #[derive(Debug)] struct Browser;
//! # impl Presenter for Browser {
//! #     fn show(&self, question: &ConsentQuestion) -> Result<(), InteractionError> {
//! #         let page = question.url.to_string();
//! #         std::thread::spawn(move || keyway_testkit::visit(&page));
//! #         Ok(())
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # keyway::init();
//! # let rig = keyway_testkit::rig::Rig::start(Default::default());
//! # let home = tempfile::tempdir()?;
//! # let folders = keyway::vault::Folders::below(home.path().join("keyway"));
//! # let url: url::Url = rig.mcp().parse()?;
//! let host = keyway::Host::builder()
//!     .client("my-editor", "1.0")
//!     .presenter(Arc::new(Browser)) // opens the consent page
//! #   .vault(folders, Default::default())
//!     .build()?;
//! let server = host.server(&url)?.approve().await?;
//! let session = server.connect().await?; // signs in if the server asks for it
//! for tool in session.tools().await? {
//!     println!("{}", tool.name);
//! }
//! let answer = session.call("echo", serde_json::json!({ "message": "hello" })).await?;
//! # assert_eq!(answer.text(), "Echo: hello");
//! # session.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! A plugin is read with [`Host::load`], which gives a [`Plugin`]; [`Plugin::plan`] says what one of
//! its servers would run and send, [`Plan::approve`] gets that approved, and only [`Approved`]
//! connects. A host that starts local servers or helpers calls [`init`] first in `main`.
//!
//! Parts that a host may not need are features, all on by default: `stdio` (local servers and
//! helpers), `sse`, `ws`, `callback` (browser sign-in), `vault` (encrypted SQLite store), `keyring`,
//! and `settings-file` (`config.toml`). An entry that needs one that is off fails with the code
//! `not-built-in`.
//!
//! Every port of the host can be replaced: see [`HostBuilder`]. The process environment is looked at
//! only where a port was left to its default. Types of other crates of Keyway that its functions take
//! or return are found here as well, so that a host depends on this crate alone:
//!
//! ```
//! use keyway::code::{Code, Exit, Fixer, Stage};
//! use keyway::config::environment::Environment;
//! use keyway::connect::{AuthorizedClient, Log, LogFile};
//! use keyway::events::Observer;
//! use keyway::runtime::Tasks;
//! # fn used(_: (Code, Exit, Fixer, Stage), _: (AuthorizedClient, Log, LogFile)) {}
//! # fn ports(_: &dyn Environment, _: &dyn Observer, _: &dyn Tasks) {}
//! ```

pub use keyway_code as code;
pub use keyway_config as config;
pub use keyway_files::{config_files, env_file, error, load, stamps};
pub use keyway_mcp as mcp;
pub use keyway_secret as secret;
pub use keyway_store as store;

/// Lets this process start local servers and helpers. **Call it first in `main`**, before an async
/// runtime or any thread is started.
///
/// Programs start through a second process of this program, isolated before it becomes the child.
/// Renewals that are to survive the end of this process
/// ([`HostBuilder::detached_renewals`]) run in one as well.
/// In such a process this function never returns. Without it, starting a program is an error
/// (`launcher-not-initialized`) and never a second copy of the host.
#[cfg(feature = "stdio")]
pub fn init() {
    keyway_transport::take_over();
    #[cfg(feature = "vault")]
    if let Some(stream) = keyway_transport::detached() {
        carrier::work(stream);
    }
}

pub mod approval;
#[cfg(all(feature = "stdio", feature = "vault"))]
mod carrier;
pub mod connect;
pub mod diagnosis;
pub mod env_filter;
pub mod events;
#[cfg(all(feature = "callback", feature = "vault"))]
pub mod examination;
#[cfg(feature = "vault")]
pub mod hand_outs;
pub mod health;
pub mod host;
pub mod identity;
pub mod in_flight;
mod log_file;
mod observed_authorizer;
pub mod redaction_values;
pub mod remembered_tools;
pub mod runtime;
pub mod settings;
pub mod sign_in;
pub mod status;
mod timeouts;
#[cfg(feature = "vault")]
pub mod variables;
#[cfg(feature = "vault")]
pub mod vault;

pub use self::host::{
    ApprovalPrompt, ApprovalStore, Approved, Error, Host, HostBuilder, Plan, Plugin, SignOutPlan,
};
