//! Small hosts on the library `keyway`. Each is run by `tests/hosts.rs`.

pub mod clock;
pub mod consent;
pub mod minimal;
