//! `keyway explain`: the page of a code, from the program itself.

use clap::Args;
use keyway_code::{Code, Exit};
use keyway_config::names::nearest_name;
use keyway_secret::printable;

use crate::context::CommandContext;
use crate::error::CliError;

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
        let mut codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        codes.sort_unstable();
        context.print(&format!("{}\n", codes.join("\n")), Exit::Done)?;
        return Ok(Exit::Done);
    };
    let wanted = code.trim().to_ascii_lowercase();
    let Some(code) = Code::from_text(&wanted) else {
        return Err(CliError::UnknownCode {
            near: nearest_name(&wanted, Code::ALL.iter().map(|code| code.as_str())),
            code: printable(code),
        });
    };
    context.print(code.page(), Exit::Done)?;
    Ok(Exit::Done)
}
