//! `keyway trust`: what was approved, and approving or taking it back.

use clap::{Args, Subcommand};
use keyway::events::Kind;
use keyway::load::Loaded;
use keyway::trust::{Approval, Ledger, Question, Surroundings as Around};
use keyway_secret::printable;
use serde_json::json;

use super::tools::Format;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::reach::{Reach, approve, describe, find, with_ledger};
use crate::surroundings::Surroundings;
use crate::table::Table;
use crate::vault::existing_vault;

/// Decide which entries may run programs and get variables
#[derive(Debug, Args)]
pub(crate) struct Trust {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List what was approved
    List {
        /// How to print it
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: Format,
        #[command(flatten)]
        reach: Reach,
    },
    /// Approve an entry as it is now, or let it have one more variable
    Grant {
        /// The server
        #[arg(value_name = "SERVER")]
        server: String,
        /// Also let its helper or process have this variable
        #[arg(long = "env", value_name = "NAME")]
        variables: Vec<String>,
        #[command(flatten)]
        reach: Reach,
    },
    /// Take an approval back
    Revoke {
        /// The server
        #[arg(value_name = "SERVER")]
        server: String,
        #[command(flatten)]
        reach: Reach,
    },
    /// Take all approvals back
    Reset {
        #[command(flatten)]
        reach: Reach,
    },
}

impl Trust {
    /// Says whether one JSON object is printed.
    pub(crate) const fn format(&self) -> Format {
        match self.action {
            Action::List { format, .. } => format,
            _ => Format::Human,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Trust, context: &CommandContext) -> Result<Exit, CliError> {
    match &arguments.action {
        Action::List { format, reach } => list(context, reach, *format),
        Action::Grant {
            server,
            variables,
            reach,
        } => grant(context, reach, server, variables),
        Action::Revoke { server, reach } => revoke(context, reach, server),
        Action::Reset { reach } => reset(context, reach),
    }
}

fn list(context: &CommandContext, reach: &Reach, format: Format) -> Result<Exit, CliError> {
    let profile = reach.profile(context)?;
    let approvals = match existing_vault()? {
        Some(vault) => Ledger::new(&vault, &profile)?.list()?,
        None => Vec::new(),
    };
    let text = match format {
        Format::Json => {
            let object = |it: &Approval| {
                let id = format!("{}:{}", it.plugin, it.server);
                json!({ "id": id, "source": it.source, "variables": it.grants })
            };
            let approvals: Vec<_> = approvals.iter().map(object).collect();
            let all = json!({ "schema_version": 1, "diagnostics": [], "approvals": approvals });
            format!("{all}\n")
        }
        Format::Human if approvals.is_empty() => "nothing is approved\n".to_owned(),
        Format::Human => {
            let mut table = Table::new(["SERVER", "PLUGIN AT", "MORE VARIABLES"]);
            for approval in approvals {
                let id = format!("{}:{}", approval.plugin, approval.server);
                let (id, source) = (printable(&id), printable(&approval.source));
                table.push([id, source, approval.grants.join(", ")]);
            }
            table.render(context.width(), context.head_style())
        }
    };
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

fn grant(
    context: &CommandContext,
    reach: &Reach,
    server: &str,
    variables: &[String],
) -> Result<Exit, CliError> {
    let loaded = reach.load(context, None)?;
    let Some(question) = question(&loaded, server)? else {
        context.print_aside("nothing to approve: it runs no program and gets no variable\n");
        return Ok(Exit::Done);
    };
    context.print_aside(&describe(&question));
    with_ledger(&reach.profile(context)?, |ledger| {
        approve(ledger, &question)?;
        for variable in variables {
            ledger.grant(&question.source, &question.server, variable)?;
        }
        Ok(())
    })?;
    let events = &context.events;
    events.emit(Kind::TrustDecided, Some(&question.server), None);
    context.print_aside("approved\n");
    Ok(Exit::Done)
}

fn revoke(context: &CommandContext, reach: &Reach, server: &str) -> Result<Exit, CliError> {
    let loaded = reach.load(context, None)?;
    let (_, entry) = find(&loaded, Some(server))?;
    let existed = with_ledger(&reach.profile(context)?, |ledger| {
        Ok(ledger.revoke(&loaded.plugin.root, &entry.name)?)
    })?;
    if existed {
        let (name, code) = (Some(entry.name.as_str()), Some("pending-trust"));
        context.events.emit(Kind::TrustDecided, name, code);
    }
    context.print_aside(if existed {
        "no longer approved\n"
    } else {
        "was not approved\n"
    });
    Ok(Exit::Done)
}

fn reset(context: &CommandContext, reach: &Reach) -> Result<Exit, CliError> {
    let count = with_ledger(&reach.profile(context)?, |ledger| {
        let approvals = ledger.list()?;
        for approval in &approvals {
            ledger.revoke(approval.source.as_ref(), &approval.server)?;
        }
        Ok(approvals.len())
    })?;
    context.print_aside(&format!("took back {count} approvals\n"));
    Ok(Exit::Done)
}

/// Returns what has to be approved of a server; `None` for one that runs and gets nothing.
pub(super) fn question(loaded: &Loaded, server: &str) -> Result<Option<Question>, CliError> {
    let (document, entry) = find(loaded, Some(server))?;
    let surroundings = Surroundings::open(None)?;
    let host = surroundings.host_variables(&loaded.plugin);
    let plugin = loaded.plugin.name();
    Ok(surroundings.with_scope(loaded, |scope| {
        let around = Around {
            plugin: &plugin,
            root: &loaded.plugin.root,
            document,
            host: &host,
        };
        Question::about(entry, around, &scope)
    }))
}
