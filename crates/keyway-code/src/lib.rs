//! Every code under which Keyway reports that something does not work: one exhaustive enum with
//! one table.
//!
//! An error of any crate maps to one [`Code`] in its own `code()`; what a code means for a person
//! (page, hint, who can fix it), for a server (stage, state) and for a script (text, exit status)
//! is written here and nowhere else. The rules of `keyway check` are codes of the same vocabulary.
//! Callers branch on the variant, never on the text.

mod code;
mod exit;
mod exit_status;
mod facts;
mod stage;
mod state;
mod table;

pub use self::exit::Exit;
pub use self::exit_status::describe_exit;
pub use self::facts::{Facts, Fixer, Kind};
pub use self::stage::Stage;
pub use self::state::{Reason, ServerState, State};
pub use self::table::Code;

#[cfg(test)]
mod tests;
