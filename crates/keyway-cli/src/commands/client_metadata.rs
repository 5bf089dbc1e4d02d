//! `keyway client-metadata`: the document by which authorization servers know this client.

use clap::Args;
use keyway::sign_in::client_metadata;

use crate::error::CliError;
use crate::exit::Exit;
use crate::session::Session;

/// Print the document to host at a client-ID metadata address
#[derive(Debug, Args)]
pub(crate) struct ClientMetadata {
    /// Where it will be hosted; `https`, with a path. Put the same into `config.toml` under
    /// `[oauth]` as `client_metadata_url`
    #[arg(value_name = "URL")]
    url: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &ClientMetadata, session: &Session) -> Result<Exit, CliError> {
    let document = client_metadata(&arguments.url);
    session.print(&format!("{document:#}\n"), Exit::Done)?;
    Ok(Exit::Done)
}
