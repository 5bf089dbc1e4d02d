//! What an author of a plugin gets: rules over the entries, a scanner for literal credentials,
//! migrations, and the setup section of the README.
//!
//! Like `keyway-config`, on which it is built, this crate is pure: it reads no file, no environment
//! and no clock.

pub mod literals;
pub mod migrate;
pub mod readme;
pub mod rules;
pub mod script;
pub mod secrets;

pub use crate::rules::{Context, RULES, Rule, lint};
