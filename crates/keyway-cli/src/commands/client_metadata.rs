//! `keyway client-metadata`: the document by which authorization servers know this client.

use clap::Args;
use keyway::sign_in::{client_metadata, is_client_address};
use keyway_code::Exit;

use crate::context::CommandContext;
use crate::error::CliError;

/// Print the OAuth client metadata document to host
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway client-metadata https://example.com/keyway/client.json > client.json")]
pub(crate) struct ClientMetadata {
    /// HTTPS URL where you host it; set the same URL as `client_metadata_url` under `[oauth]` in
    /// config.toml
    #[arg(value_name = "URL", value_parser = hosted)]
    url: String,
}

/// Takes an address that authorization servers accept as a client's name.
fn hosted(text: &str) -> Result<String, &'static str> {
    match is_client_address(text) {
        true => Ok(text.to_owned()),
        false => Err("it must be `https`, with a path and without user or fragment"),
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &ClientMetadata, context: &CommandContext) -> Result<Exit, CliError> {
    let document = client_metadata(&arguments.url);
    context.print(&format!("{document:#}\n"), Exit::Done)?;
    Ok(Exit::Done)
}
