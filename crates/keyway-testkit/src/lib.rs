//! What the tests of several crates share. Development only.
//!
//! [`Folder`] builds a plugin folder, [`Keyway`] runs the built program in a clean environment,
//! [`Canary`] finds a value in output under any encoding that could carry it, [`visit`] follows
//! redirects as a browser does, [`Gateway`] is `keyway serve` as a process, [`Terminal`] what a person
//! types at, [`Tools`] finds programs of others, and [`KeyringSession`] a desktop session with a real keyring.
//! Whatever must happen is waited for with [`eventually`], or for [`PATIENCE`] at most. A server of
//! others listens on a [`free_port`]. A future is dropped at each of its await points by
//! [`drop_at_every_await`]. [`bundle`] writes zip archives, hostile ones included.
//!
//! With the feature `rig`, [`rig`] is a server that plays MCP server and authorization server, and the
//! binary `oauth-rig` the same for other programs; a [`Desk`] has everything to sign in to it, over a
//! [`ChaosProxy`] if it is to be hard. An [`Upstream`] is a server of one function, and a [`Client`] talks to `keyway run`.
//!
//! [`reproduction`] plays known attacks against a program of any version; the binary `reproduce` prints a
//! table of them.
//!
//! With the feature `nginx`, [`Nginx`] is a real one, with certificates of an [`Authority`].
//!
//! The official conformance suite tests two binaries: `conformance-client`, an adapter on the library,
//! and `conformance-run`, a plain client of `keyway run`. Both share [`conformance`] and need the
//! feature `conformance-client`, and with it the whole library.

mod browser;
pub mod bundle;
mod canary;
mod cancel;
#[cfg(feature = "rig")]
mod chaos;
#[cfg(feature = "rig")]
mod client;
mod command;
#[cfg(feature = "conformance-client")]
pub mod conformance;
#[cfg(feature = "rig")]
mod desk;
mod folder;
mod gateway;
#[cfg(feature = "rig")]
mod http;
mod keyring_session;
#[cfg(feature = "nginx")]
mod nginx;
mod patience;
mod ports;
mod postgres;
mod programs;
#[cfg(feature = "rig")]
pub mod reproduction;
#[cfg(feature = "rig")]
pub mod rig;
mod terminal;
mod tools;
#[cfg(feature = "rig")]
mod upstream;

pub use self::browser::{Page, VisitError, submit, visit};
pub use self::canary::Canary;
pub use self::cancel::{MAX_POLLS, drop_at_every_await, poll_at_most};
#[cfg(feature = "rig")]
pub use self::chaos::{ChaosProxy, Fault};
#[cfg(feature = "rig")]
pub use self::client::Client;
pub use self::command::{Keyway, Outcome, Running};
#[cfg(feature = "rig")]
pub use self::desk::{Desk, Person};
pub use self::folder::Folder;
pub use self::gateway::Gateway;
#[cfg(feature = "rig")]
pub use self::http::{Answer, Request};
pub use self::keyring_session::KeyringSession;
#[cfg(feature = "nginx")]
pub use self::nginx::{Authority, Nginx};
pub use self::patience::{PATIENCE, appears, eventually};
pub use self::ports::free_port;
pub use self::postgres::{PostgresServer, give_away, unprivileged};
pub use self::programs::{LOOKER, WITHOUT_ISOLATION};
pub use self::terminal::Terminal;
pub use self::tools::Tools;
#[cfg(feature = "rig")]
pub use self::upstream::{Upstream, mcp};
