//! `keyway schema`: the contract as a JSON Schema, for editors.

mod document;

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
    context.print(&text(), Exit::Done)?;
    Ok(Exit::Done)
}

/// Returns the schema as it stands in `schema/mcp.schema.json`.
pub(crate) fn text() -> String {
    let mut text = serde_json::to_string_pretty(&document::schema()).unwrap_or_default();
    text.push('\n');
    text
}
