//! `keyway help`: the help of the program, of one command, or the list of all commands.

use clap::Args;

use crate::arguments::help::{Screen, with_screen};
use crate::context::CommandContext;
use crate::error::CliError;
use keyway_code::Exit;

/// Show help
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway help --all
  keyway help login
  keyway help trust grant")]
pub(crate) struct Help {
    /// Command [default: the commands that most people need]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// List all commands
    #[arg(long, conflicts_with = "command")]
    all: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Help, context: &CommandContext) -> Result<Exit, CliError> {
    let screen = if arguments.all {
        Screen::All
    } else {
        Screen::Short
    };
    let words = ["keyway"].into_iter();
    let words = words.chain(arguments.command.iter().map(String::as_str));
    let program = with_screen((context.program)(), screen);
    let shown = program.try_get_matches_from(words.chain(["--help"]));
    let Err(help) = shown else {
        return Ok(Exit::Done);
    };
    // Help that is not read to its end is not a failure.
    drop(help.print());
    Ok(if help.use_stderr() {
        Exit::Usage
    } else {
        Exit::Done
    })
}
