//! `keyway probe`: does a server work? First its health address, then what decides: a list call.

use clap::Args;
use keyway::examination::list_anything;
use keyway::health::Health;
use keyway::host::ChildLines;
use keyway_code::Exit;
use keyway_secret::printable;
use serde::Serialize;

use super::tools::Format;
use crate::arguments::connect::{ConnectArgs, SignInPolicy};
use crate::arguments::hidden;
use crate::arguments::server::ServerArg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::failure::{Failure, chain};
use crate::report::to_text;
use crate::waiting::{asking, waiting_for};
use keyway_terminal::Table;

/// Check a server's health endpoint, then list its tools
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway probe docs")]
#[command(mut_arg("browser", hidden))]
pub(crate) struct Probe {
    #[command(flatten)]
    server: ServerArg,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Runs the command; the exit code is that of the second probe, which decides.
pub(crate) fn run(arguments: &Probe, context: &CommandContext) -> Result<Exit, CliError> {
    let (name, health, decided) = super::block_on(async {
        let host = arguments.reach.host(context, SignInPolicy::NEVER)?;
        let lines = ChildLines::default();
        let server = arguments
            .server
            .approved(context, &lines.listen(&host), &arguments.reach)
            .await?;
        let probing = async {
            let health = server.health().await.map_err(CliError::from);
            let decided = list_anything(&server).await.map_err(CliError::from);
            (Row::of_health(health), decided)
        };
        let what = asking(server.server());
        let (health, decided) = waiting_for(context, what, Some(lines), probing).await;
        Ok((server.server().to_owned(), health, decided))
    })?;
    let exit = decided.as_ref().map_or_else(CliError::exit, |_| Exit::Done);
    let connect = match &decided {
        Ok(found) => Row::new("ok", found.summary()),
        Err(error) => Row::new("failed", chain(error)),
    };
    let text = match arguments.format {
        Format::Human => {
            let mut table = Table::new(["PROBE", "RESULT", "WHAT"]);
            for (name, row) in [("health", &health), ("connect", &connect)] {
                let cells = [name.to_owned(), row.result.to_owned(), row.what.clone()];
                table.push(cells);
            }
            context.render(&table)
        }
        Format::Json => to_text(&Object {
            schema_version: 1,
            diagnostics: decided
                .as_ref()
                .err()
                .map(Failure::of)
                .into_iter()
                .collect(),
            server: &name,
            health: &health,
            connect: &connect,
        }),
    };
    context.print(&text, exit)?;
    if let Err(error) = &decided {
        context.print_failure(error);
    }
    Ok(exit)
}

/// What one probe found.
#[derive(Serialize)]
struct Row {
    result: &'static str,
    what: String,
}

impl Row {
    const fn new(result: &'static str, what: String) -> Self {
        Self { result, what }
    }

    fn of_health(health: Result<Health, CliError>) -> Self {
        match health {
            Ok(Health::Ok) => Self::new("ok", "HTTP 200".to_owned()),
            Ok(Health::Refused { status: 401 }) => {
                let what = "HTTP 401: the credential is missing, wrong or expired";
                Self::new("refused", what.to_owned())
            }
            Ok(Health::Refused { status }) => {
                let what = "the credential is valid but not allowed to do this";
                Self::new("refused", format!("HTTP {status}: {what}"))
            }
            Ok(Health::Inconclusive { status }) => {
                Self::new("inconclusive", format!("HTTP {status}"))
            }
            Ok(Health::Unreachable { failure }) => {
                Self::new("unreachable", printable(&failure.to_string()))
            }
            Ok(_) => Self::new("none", "a local server has no health address".to_owned()),
            Err(error) => Self::new("failed", chain(&error)),
        }
    }
}

#[derive(Serialize)]
struct Object<'a> {
    schema_version: u32,
    diagnostics: Vec<Failure>,
    server: &'a str,
    health: &'a Row,
    connect: &'a Row,
}
