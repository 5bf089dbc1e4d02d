//! `keyway remove`: the reverse of `keyway add`, in every client.

use clap::Args;
use keyway_clients::install::Home;
use keyway_code::Exit;
use keyway_secret::printable;

use super::adopt::undo;
use super::confirmation::Consent;
use crate::arguments::connect::{ConnectArgs, SignInPolicy};
use crate::arguments::own_plugin;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::waiting::waiting_for;

/// Remove servers of your own, from every client too
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway remove docs
  keyway remove docs search --yes")]
pub(crate) struct Remove {
    /// Servers that `keyway add` or `keyway adopt` made
    #[arg(value_name = "SERVER", required = true)]
    servers: Vec<String>,
    #[command(flatten)]
    consent: Consent,
}

/// Runs the command.
pub(crate) fn run(arguments: &Remove, context: &CommandContext) -> Result<Exit, CliError> {
    let folder = own_plugin::folder()?;
    let prefix = own_plugin::PREFIX;
    let names = arguments.servers.iter();
    let names: Vec<&str> = names
        .map(|name| name.strip_prefix(prefix).unwrap_or(name))
        .collect();
    let known = Home::open(&folder)?.names();
    if let Some(unknown) = names
        .iter()
        .find(|name| !known.iter().any(|it| it == *name))
    {
        return Err(keyway::Error::UnknownServer {
            name: printable(unknown),
            near: keyway_config::names::nearest_name(unknown, known.iter().map(String::as_str)),
        }
        .into());
    }
    let is_named = |server: &Option<String>| {
        server
            .as_deref()
            .is_some_and(|server| names.contains(&server))
    };
    let mut undone = undo::plan(context, |receipt| is_named(&receipt.own_server))?;
    let mut shown = undo::shown(&undone);
    for name in &names {
        shown.push_str(&format!(
            "`{}` is signed out and removed\n",
            printable(name)
        ));
    }
    if !arguments.consent.agreed(context, &shown)? {
        return Ok(arguments.consent.refused());
    }
    super::block_on(async {
        let host = ConnectArgs::default().host(context, SignInPolicy::NEVER)?;
        let plugin = own_plugin::load(&host)?;
        for name in &names {
            let what = format!("signing out of `{}`", printable(name));
            // A server that cannot be reached is signed out here all the same.
            if let Ok(plan) = plugin.plan_sign_out(name)
                && plan.oauth().is_some()
                && let Err(error) = waiting_for(context, what, None, plan.sign_out()).await
            {
                context.print_aside(&format!("note: {error}\n"));
            }
        }
        Ok::<_, CliError>(())
    })?;
    undone.write(&folder)?;
    Home::open(&folder)?.remove_all(&names)?;
    context.print_aside("removed\n");
    Ok(Exit::Done)
}
