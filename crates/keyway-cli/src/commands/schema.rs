//! `keyway schema`: the contract as a JSON Schema, for editors.

use clap::Args;
use keyway_code::Exit;

use crate::context::CommandContext;
use crate::error::CliError;

/// Print the JSON Schema of `.mcp.json`, for editors
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway schema > mcp.schema.json")]
pub(crate) struct Schema {}

/// Prints the schema.
pub(crate) fn run(_arguments: &Schema, context: &CommandContext) -> Result<Exit, CliError> {
    context.print(&keyway_check::schema::text(), Exit::Done)?;
    Ok(Exit::Done)
}
