//! How clients reach the servers of the person's own plugin: the flag, the question, and where this
//! program and its gateway are.

use clap::ValueEnum;
use keyway_clients::own_entries::{self, OwnEntries};
use keyway_gateway::address::{self, DEFAULT_PORT};

use super::client_files::this_program;
use crate::arguments::own_plugin;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::vault::folders;

/// How a client reaches a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    /// The client starts `keyway run`; works everywhere, needs no gateway
    Run,
    /// The client connects to the gateway, with a token from `keyway headers`; the gateway has to run
    Gateway,
    /// The client connects to the server itself, with the access token from `keyway headers`
    Direct,
}

impl From<Via> for own_entries::Via {
    fn from(via: Via) -> Self {
        match via {
            Via::Run => Self::Run,
            Via::Gateway => Self::Gateway,
            Via::Direct => Self::Direct,
        }
    }
}

impl Via {
    /// Asks which, and says what each means.
    pub(crate) fn ask(context: &CommandContext) -> Self {
        context.print_aside(WAYS);
        match super::confirmation::read_line().as_str() {
            "2" | "gateway" => Self::Gateway,
            "3" | "direct" => Self::Direct,
            _ => Self::Run,
        }
    }
}

/// Returns the entries for servers of the person's own plugin.
pub(crate) fn own_entries() -> Result<OwnEntries, CliError> {
    let folder = own_plugin::folder()?;
    let root = std::path::absolute(&folder).unwrap_or(folder);
    let root = root.into_os_string().into_string();
    let root = root.map_err(|_| CliError::Usage {
        what: "the path of the folder is not UTF-8",
    })?;
    let port = address::read(&folders()?.data).unwrap_or(DEFAULT_PORT);
    let gateway_url = move |server: &str| address::route(port, own_plugin::NAME, server);
    Ok(OwnEntries::new(this_program()?, root, gateway_url))
}

const WAYS: &str = "\
How should clients that can run a helper reach the servers?
  1  run      the client starts `keyway run`; works without a gateway (default)
  2  gateway  the client connects to `keyway serve`, which has to run; no token of a server leaves Keyway
  3  direct   the client keeps the server's URL and gets the access token; every program of yours can then
              ask Keyway for that token
Choose 1, 2 or 3: ";
