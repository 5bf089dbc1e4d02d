//! `keyway completions`: a script that completes commands and flags in a shell.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use keyway_code::Exit;

use crate::arguments::Arguments;
use crate::context::CommandContext;
use crate::error::CliError;

/// Print a shell completion script
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(keyway completions bash)
  keyway completions zsh > ~/.zfunc/_keyway
  keyway completions fish > ~/.config/fish/completions/keyway.fish")]
pub(crate) struct Completions {
    /// Shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(arguments: &Completions, context: &CommandContext) -> Result<Exit, CliError> {
    context.print(&script(arguments.shell), Exit::Done)?;
    Ok(Exit::Done)
}

/// Returns the script for a shell.
pub(crate) fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "keyway", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
