//! What the tests of several crates share. Development only.
//!
//! [`Folder`] builds a plugin folder, [`Keyway`] runs the built program in a clean environment,
//! [`Canary`] finds a value in output under any encoding that could carry it, [`visit`] follows
//! redirects as a browser does, and [`KeyringSession`] is a desktop session with a real keyring.
//!
//! With the feature `rig`, [`rig`] is a server that plays MCP server and authorization server, and the
//! binary `oauth-rig` the same for other programs; a [`Desk`] has everything to sign in to it.
//!
//! The binary `conformance-client` is what the official conformance suite tests; it alone needs the
//! feature of that name, and with it the whole library.

mod browser;
mod canary;
mod command;
#[cfg(feature = "rig")]
mod desk;
mod folder;
mod keyring_session;
#[cfg(feature = "rig")]
pub mod rig;

pub use self::browser::{Page, VisitError, visit};
pub use self::canary::Canary;
pub use self::command::{Keyway, Outcome, Running};
#[cfg(feature = "rig")]
pub use self::desk::{Desk, Person};
pub use self::folder::Folder;
pub use self::keyring_session::KeyringSession;
