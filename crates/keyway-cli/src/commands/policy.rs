//! `keyway policy`: which tools clients of the gateway may see and call.

use std::ffi::OsString;
use std::sync::Arc;

use clap::{Args, Subcommand};
use keyway::examination::examine;
use keyway::settings::ToolRule;
use keyway_code::Exit;
use keyway_config::names::of_server_id;
use keyway_policy::{Policies, ToolDigest};
use keyway_secret::printable;
use serde_json::json;

use super::confirmation::ask;
use super::token::server_scope;
use super::tools::Format;
use crate::arguments::connect::{ConnectArgs, SignInPolicy, server_name};
use crate::arguments::server::ServerArg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::vault::open_vault;
use crate::waiting::{asking, waiting_for};
use keyway_terminal::Table;

/// Set which tools clients of the gateway may see and call
///
/// Rules of `config.toml` count too, and where both have one, the stricter. A tool that is new or has
/// changed since its server got its first rule is denied until you looked at it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway policy deny tracker:issues 'delete_*'
  keyway policy ask tracker:issues create_issue --client ci
  keyway policy list")]
pub(crate) struct Policy {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Let clients call a tool
    #[command(after_help = "\
Examples:
  keyway policy allow docs search")]
    Allow(Which),
    /// Let clients call a tool after you say yes, at the client or on the dashboard
    #[command(after_help = "\
Examples:
  keyway policy ask docs 'create_*'")]
    Ask(Which),
    /// Hide a tool from clients, and refuse calls of it
    #[command(after_help = "\
Examples:
  keyway policy deny docs delete_page --client ci")]
    Deny(Which),
    /// Remove a rule
    #[command(after_help = "\
Examples:
  keyway policy reset docs delete_page --client ci")]
    Reset(Which),
    /// Show a tool that is new or has changed, and accept it as it is now
    #[command(after_help = "\
Examples:
  keyway policy look docs search")]
    Look {
        /// Server that has the tool
        #[arg(value_name = "SERVER")]
        server: String,
        /// Name of the tool
        #[arg(value_name = "TOOL")]
        tool: String,
        /// Accept it without asking
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        reach: ConnectArgs,
    },
    /// List all rules
    #[command(after_help = "\
Examples:
  keyway policy list")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: Format,
    },
}

#[derive(Debug, Args)]
struct Which {
    /// A server of the plugin in this folder, or `PLUGIN:SERVER`
    #[arg(value_name = "SERVER")]
    server: String,
    /// Name of a tool, or a pattern in which `*` is any text
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Only for the client with the gateway token of this name
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
}

impl Policy {
    /// Says whether one JSON object is printed.
    pub(crate) const fn format(&self) -> Format {
        match self.action {
            Action::List { format } => format,
            _ => Format::Human,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Policy, context: &CommandContext) -> Result<Exit, CliError> {
    let host = ConnectArgs::default().host(context, SignInPolicy::NEVER)?;
    let policies = Policies::new(host.settings(), Arc::new(open_vault()?))?;
    let set = |which: &Which, rule| -> Result<Exit, CliError> {
        let (plugin, server) = server_scope(&which.server, None)?;
        let of = (which.client.as_deref(), which.tool.as_str());
        policies.set_rule((&plugin, &server), of, rule, [])?;
        context.print_aside("set; a running gateway follows within a second\n");
        Ok(Exit::Done)
    };
    match &arguments.action {
        Action::Allow(which) => set(which, Some(ToolRule::Allow)),
        Action::Ask(which) => set(which, Some(ToolRule::Ask)),
        Action::Deny(which) => set(which, Some(ToolRule::Deny)),
        Action::Reset(which) => set(which, None),
        Action::List { format } => list(context, &policies, *format),
        Action::Look {
            server,
            tool,
            yes,
            reach,
        } => look(context, &policies, (server, tool, *yes), reach),
    }
}

fn list(context: &CommandContext, policies: &Policies, format: Format) -> Result<Exit, CliError> {
    let mut objects = Vec::new();
    let mut table = Table::new(["SERVER", "TOOL", "CLIENT", "RULE", "FROM"]);
    for name in policies.servers() {
        let (plugin, server) = of_server_id(&name).unwrap_or(("".into(), &name));
        for it in policies.rules(&plugin, server) {
            let (rule, from) = (it.rule.as_str(), it.place());
            objects.push(
                json!({ "server": name, "tool": it.tool, "client": it.client,
                "rule": rule, "is_in_config": it.is_in_config }),
            );
            let client = it
                .client
                .as_deref()
                .map_or_else(|| "all".to_owned(), printable);
            let (server, tool) = (printable(&name), printable(&it.tool));
            table.push([server, tool, client, rule.to_owned(), from.to_owned()]);
        }
    }
    let text = match format {
        Format::Json => {
            let all = json!({ "schema_version": 1, "diagnostics": [], "policies": objects });
            format!("{all}\n")
        }
        Format::Human if objects.is_empty() => "no rules\n".to_owned(),
        Format::Human => context.render(&table),
    };
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

/// Shows a tool as its server describes it now, and accepts it.
fn look(
    context: &CommandContext,
    policies: &Policies,
    (server, tool, yes): (&str, &str, bool),
    reach: &ConnectArgs,
) -> Result<Exit, CliError> {
    super::block_on(async {
        let host = reach.host(context, SignInPolicy::default())?;
        let (plugin, name) = ServerArg::from(OsString::from(server)).load(&host, reach)?;
        let name = server_name(&plugin, name.as_deref())?;
        let examining = examine(&plugin, &name);
        let found = waiting_for(context, asking(&name), None, examining).await?;
        let offer = found.as_ref().and_then(|found| found.offer.as_ref());
        let mut tools = offer.into_iter().flat_map(|offer| &offer.tools);
        let digest = tools.find_map(|raw| ToolDigest::named(raw, tool).map(|it| (raw, it)));
        let Some((raw, digest)) = digest else {
            let what =
                "the server does not list that tool now; `keyway tools SERVER` says what it lists";
            return Err(CliError::Usage { what });
        };
        context.print(&format!("{}\n", printable(raw.get())), Exit::Done)?;
        if !yes
            && !ask(
                context,
                "Let clients call it as it is now, as their rules say?",
            )
        {
            return Ok(Exit::Failed);
        }
        policies.look_at((&plugin.name(), &name), tool, digest)?;
        context.print_aside("accepted\n");
        Ok(Exit::Done)
    })
}
