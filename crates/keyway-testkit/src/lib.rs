//! What the tests of several crates share. Development only.
//!
//! [`Folder`] builds a plugin folder, [`Keyway`] runs the built program in a clean environment, and
//! [`Canary`] finds a value in output under any encoding that could carry it.

mod canary;
mod command;
mod folder;

pub use self::canary::Canary;
pub use self::command::{Keyway, Outcome};
pub use self::folder::Folder;
