//! What an entry of ours says in a client's file, by how the client reaches the server.

use clap::ValueEnum;
use keyway_clients::clients::Client;
use keyway_clients::install::{HelperEntry, OwnEntry, Remote};
use keyway_gateway::address::{self, DEFAULT_PORT};
use keyway_secret::shell_word;

use super::install::{absolute, started};
use crate::arguments::own_plugin;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
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

impl Via {
    /// Asks which, and says what each means.
    pub(crate) fn ask(context: &CommandContext) -> Self {
        context.print_aside(WAYS);
        match super::install::read_line().as_str() {
            "2" | "gateway" => Self::Gateway,
            "3" | "direct" => Self::Direct,
            _ => Self::Run,
        }
    }
}

/// Returns the entry for a server of the person's own plugin.
pub(crate) fn of(
    client: &Client,
    server: &str,
    (via, remote): (Option<Via>, &Remote),
) -> Result<OwnEntry, CliError> {
    let url = remote.url().expose();
    // A client would not fill in our variables, and knows nothing of our other headers.
    let is_plain = !url.contains("${") && remote.has_no_headers();
    match via.filter(|_| client.helper.is_some()) {
        Some(Via::Gateway) => {
            let port = address::read(&folders()?.data).unwrap_or(DEFAULT_PORT);
            let url = address::route(port, own_plugin::NAME, server);
            Ok(OwnEntry::Helper(HelperEntry::new(
                url,
                helper(client, server, "")?,
            )))
        }
        Some(Via::Direct) if is_plain => {
            let helper = helper(client, server, " --direct")?;
            Ok(OwnEntry::Helper(HelperEntry::new(url.clone(), helper)))
        }
        _ => run(server),
    }
}

/// Returns the entry that starts `keyway run`.
pub(crate) fn run(server: &str) -> Result<OwnEntry, CliError> {
    let folder = own_plugin::folder()?;
    let root = std::path::absolute(&folder).unwrap_or(folder);
    let root = root.into_os_string().into_string();
    let root = root.map_err(|_| CliError::Usage {
        what: "the path of the folder is not UTF-8",
    })?;
    Ok(OwnEntry::Run(started(root, server)?))
}

fn helper(client: &Client, server: &str, more: &str) -> Result<String, CliError> {
    let program = ProcessEnvironment::program().ok_or(CliError::Usage {
        what: "cannot find the path of this program",
    })?;
    let program = shell_word(&absolute(&program)?);
    let name = shell_word(&format!("{}{server}", own_plugin::PREFIX));
    // Codex says cleanly that a helper failed; of a refused header it concludes that it should sign in.
    let fail = if client.name == "codex" {
        " --fail"
    } else {
        ""
    };
    Ok(format!("{program} headers {name}{more}{fail}"))
}

const WAYS: &str = "\
How shall clients that can run a helper reach the servers?
  1  run      the client starts `keyway run`; works without a gateway (default)
  2  gateway  the client connects to `keyway serve`, which has to run; no token of a server leaves Keyway
  3  direct   the client keeps the server's URL and gets the access token; every program of yours can then
              ask Keyway for that token
Choose 1, 2 or 3: ";
