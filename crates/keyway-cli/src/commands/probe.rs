//! `keyway probe`: does a server work? First its health address, then what decides: a list call.

use clap::Args;
use keyway::health::Health;
use keyway::{Approved, Error, Plan};
use keyway_code::Exit;
use keyway_mcp::session::{Era, Session};
use keyway_secret::printable;
use serde::Serialize;
use serde_json::value::RawValue;

use super::tools::Format;
use crate::arguments::hidden;
use crate::connect_args::{ConnectArgs, SignInPolicy};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::failure::{Failure, chain};
use crate::report::json::to_text;
use crate::server_args::ServerArg;
use crate::table::Table;

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
        let server = arguments.server.approved(&host, &arguments.reach).await?;
        let health = server.health().await.map_err(CliError::from);
        let decided = listed(&server).await;
        Ok((server.server().to_owned(), Row::of_health(health), decided))
    })?;
    let exit = decided.as_ref().map_or_else(CliError::exit, |_| Exit::Done);
    let connect = match &decided {
        Ok(found) => Row::new("ok", found.in_words()),
        Err(error) => Row::new("failed", chain(error)),
    };
    let text = match arguments.format {
        Format::Human => {
            let mut table = Table::new(["PROBE", "RESULT", "WHAT"]);
            for (name, row) in [("health", &health), ("connect", &connect)] {
                let cells = [name.to_owned(), row.result.to_owned(), row.what.clone()];
                table.push(cells);
            }
            table.render(context.width(), context.head_style())
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

/// What the server offered.
pub(super) struct Listed {
    era: Era,
    key: Option<&'static str>,
    items: Vec<Box<RawValue>>,
}

impl Listed {
    pub(super) fn in_words(&self) -> String {
        let era = &self.era;
        match (self.key, self.items.len()) {
            (Some(key), 1) => format!("{era}, 1 {}", key.trim_end_matches('s')),
            (Some(key), count) => format!("{era}, {count} {key}"),
            (None, _) => format!("{era}, offers nothing to list"),
        }
    }

    /// Returns the protocol that is spoken.
    pub(super) const fn era(&self) -> &Era {
        &self.era
    }

    /// Returns the tools, as the server described them.
    pub(super) fn into_tools(self) -> Vec<Box<RawValue>> {
        match self.key {
            Some("tools") => self.items,
            _ => Vec::new(),
        }
    }
}

/// Connects and makes one list call: greeting alone proves nothing.
pub(super) async fn listed(server: &Approved<Plan>) -> Result<Listed, CliError> {
    let session = server.connect().await?;
    let listed = list(&session).await;
    session.close().await;
    let (key, items) = listed.map_err(|error| Error::talk(server.spec(), error))?;
    Ok(Listed {
        era: session.facts().era.clone(),
        key,
        items,
    })
}

async fn list(
    session: &Session,
) -> Result<(Option<&'static str>, Vec<Box<RawValue>>), keyway_mcp::session::SessionError> {
    let lists = [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("prompts/list", "prompts"),
    ];
    let offered = lists.iter().find(|(_, key)| session.facts().offers(key));
    let Some((method, key)) = offered else {
        return Ok((None, Vec::new()));
    };
    let items = session.list(method, key).await?;
    Ok((Some(key), items))
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
