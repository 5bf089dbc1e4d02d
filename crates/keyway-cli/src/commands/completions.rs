//! `keyway completions`: a shell completion script.
//!
//! The scripts for bash, zsh and fish ask `keyway __complete`, which knows servers and tools.

use clap::Args;
use clap_complete::Shell;
use keyway_code::Exit;

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
    context.print(&script(arguments.shell, context), Exit::Done)?;
    Ok(Exit::Done)
}

/// Returns the script for a shell. Others than these three complete commands and flags only.
pub(crate) fn script(shell: Shell, context: &CommandContext) -> String {
    match shell {
        Shell::Bash => include_str!("completions/keyway.bash").to_owned(),
        Shell::Zsh => include_str!("completions/_keyway").to_owned(),
        Shell::Fish => include_str!("completions/keyway.fish").to_owned(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut (context.program)(), "keyway", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    }
}
