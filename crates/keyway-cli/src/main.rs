//! The command `keyway`: reads the outside world once, hands it to one command, and ends with its
//! exit code. Everything that prints is below this file.

mod arguments;
mod commands;
mod diff;
mod environment;
mod error;
mod exit;
mod fingerprint;
mod host;
mod reach;
mod report;
mod selection;
mod session;
mod surroundings;
mod table;

use std::process::ExitCode;

use clap::Parser as _;
use keyway::connect::{LAUNCH_WORD, launcher_main};

use crate::arguments::Arguments;
use crate::error::CliError;
use crate::exit::Exit;
use crate::session::Session;

fn main() -> ExitCode {
    // Children are started by this very binary, before anything else of it comes to life.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == LAUNCH_WORD)
    {
        return launcher_main();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help that nobody reads to its end is no failure.
            drop(error.print());
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            return exit.into();
        }
    };
    let mut session = Session::open(&arguments.global);
    let exit = match commands::run(&arguments.command, &mut session) {
        Ok(exit) => exit,
        Err(CliError::ReaderGone { exit }) => exit,
        Err(error) => {
            session.print_error(&error, error.hint().as_deref());
            error.exit()
        }
    };
    exit.into()
}
