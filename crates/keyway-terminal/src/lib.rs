//! What a command does with its terminal and with the signals that end it.
//!
//! [`ask`] and [`Hidden`] read what must not be seen, [`ended`] and [`Interrupts`] say that the
//! process was told to end, and a [`Table`] shows columns. Signals and a terminal are of a process,
//! not of a value, so that this crate keeps state in statics: a terminal that hides what is typed
//! shows it again however the process ends.

mod hidden_input;
mod signals;
mod table;

pub use self::hidden_input::{AskError, Hidden, ask, pasted, show_again, tell};
pub use self::signals::{EndingSignal, Interrupts, ended, exit_after, heard, survive_file_limit};
pub use self::table::Table;
