//! The command `keyway`: reads the outside world once, hands it to one command, and ends with its
//! exit code. Everything that prints is below this file.

mod archive;
mod arguments;
mod browser;
mod command_line;
mod commands;
mod consent;
mod context;
mod environment;
mod error;
mod events;
mod panics;
mod report;
mod runtime;
mod service_manager;
mod settings;
mod timeouts;
mod tool_names;
mod traces;
mod vault;
mod waiting;

use std::process::ExitCode;

use clap::Parser as _;
use keyway::connect::harden_self;
use keyway_code::Exit;

use crate::arguments::help::{self, Screen};
use crate::command_line::{Arguments, program};
use crate::context::CommandContext;
use crate::error::CliError;

fn main() -> ExitCode {
    // First: in a process that was started as a launcher, nothing else may run.
    keyway::init();
    panics::end_at_once(keyway_terminal::show_again);
    keyway_terminal::survive_file_limit();
    let word = std::env::args_os().nth(1).unwrap_or_default();
    if let Some(exit) = commands::demo::play(&word) {
        return exit.into();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let program = help::with_screen(program(), Screen::Short);
            let again = program.try_get_matches();
            let error = help::with_tip(again.err().unwrap_or(error));
            // A reader that closes the pipe before the end of the help is not a failure.
            drop(error.print());
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            return exit.into();
        }
    };
    if arguments.command.wants_json() {
        panics::owe_object();
    }
    // Before anything secret is read or typed: no other process of the same user may look in.
    if let Err(source) = harden_self() {
        let context = CommandContext::open(&arguments.global, program);
        let error = CliError::from(keyway::Error::Harden { source });
        context.print_failure(&error);
        return error.exit().into();
    }
    let mut context = CommandContext::open(&arguments.global, program);
    vault::warn_of_loss(&context);
    let recorded = context.record(&arguments.global);
    let outcome = recorded.and_then(|()| command_line::run(&arguments.command, &mut context));
    let exit = match outcome {
        Ok(exit) => exit,
        Err(CliError::BrokenPipe { exit }) => exit,
        Err(error) => {
            if arguments.command.wants_json() {
                // Standard output may be closed by now; the exit code still tells.
                drop(context.print(&report::failure::object(&error), error.exit()));
            }
            context.print_failure(&error);
            error.exit()
        }
    };
    exit.into()
}
