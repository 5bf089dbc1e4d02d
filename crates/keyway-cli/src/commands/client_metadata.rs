//! `keyway client-metadata`: the document by which authorization servers know this client.

use clap::Args;
use keyway::sign_in::{client_metadata, is_client_address};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;

/// Print the document to host at a client-ID metadata address
#[derive(Debug, Args)]
pub(crate) struct ClientMetadata {
    /// Where it will be hosted; `https`, with a path. Put the same into `config.toml` under
    /// `[oauth]` as `client_metadata_url`
    #[arg(value_name = "URL", value_parser = hosted)]
    url: String,
}

/// Takes an address that authorization servers accept as a client's name.
fn hosted(text: &str) -> Result<String, &'static str> {
    match is_client_address(text) {
        true => Ok(text.to_owned()),
        false => Err("it has to be `https`, with a path, and without user or fragment"),
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &ClientMetadata, context: &CommandContext) -> Result<Exit, CliError> {
    let document = client_metadata(&arguments.url);
    context.print(&format!("{document:#}\n"), Exit::Done)?;
    Ok(Exit::Done)
}
