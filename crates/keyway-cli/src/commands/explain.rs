//! `keyway explain`: the page of a code, from the program itself.

use clap::Args;
use keyway::diagnosis;
use keyway_config::names::nearest_name;
use keyway_secret::printable;

use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;

/// Explain an error code or rule: what happened, why, what to do
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway explain auth-rejected
  keyway explain")]
pub(crate) struct Explain {
    /// Code to explain [default: list all codes]
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Explain, context: &CommandContext) -> Result<Exit, CliError> {
    let Some(code) = &arguments.code else {
        let mut codes: Vec<&str> = diagnosis::pages().map(|page| page.code).collect();
        codes.sort_unstable();
        context.print(&format!("{}\n", codes.join("\n")), Exit::Done)?;
        return Ok(Exit::Done);
    };
    let wanted = code.trim().to_ascii_lowercase();
    let Some(page) = diagnosis::page(&wanted) else {
        return Err(CliError::UnknownCode {
            near: nearest_name(&wanted, diagnosis::pages().map(|page| page.code)),
            code: printable(code),
        });
    };
    context.print(page.text, Exit::Done)?;
    Ok(Exit::Done)
}
