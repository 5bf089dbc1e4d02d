//! `keyway rotate`: replaces a credential; the old one stays until the new one works.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use keyway::diagnosis::credential_variables;
use keyway::env_file;
use keyway::examination::list_anything;
use keyway::host::SignInOutcome;
use keyway::sign_in::{AuthError, OAuth, PromptPolicy};
use keyway::{Approved, Error, Host, Plan, Plugin};
use keyway_check::migrate::{MigrateError, replace_variable};
use keyway_code::Exit;
use keyway_config::environment::{Environment as _, Origin, Variables};
use keyway_config::method::Method;
use keyway_secret::{Secret, printable};

use super::env;
use super::login::{UNNEEDED, sign_in_if_needed};
use crate::arguments::connect::{ConnectArgs, SignInChannel, SignInPolicy, plan};
use crate::arguments::server::ServerArg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::waiting::{asking, signing_in, waiting_for};

/// Replace a server's credential; the old one stays until the new one works
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway rotate search
  keyway rotate search --variable SEARCH_KEY")]
pub(crate) struct Rotate {
    #[command(flatten)]
    server: ServerArg,
    /// Variable to replace, if the credential uses several
    #[arg(long, value_name = "NAME")]
    variable: Option<String>,
    /// Print the sign-in URL instead of opening a browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(arguments: &Rotate, context: &CommandContext) -> Result<Exit, CliError> {
    super::block_on(async {
        let policy = SignInPolicy {
            asking: PromptPolicy::WhenNeeded,
            channel: if arguments.no_browser {
                SignInChannel::Address
            } else {
                SignInChannel::Browser
            },
            insists: true,
        };
        let host = arguments.reach.host(context, policy)?;
        let (plugin, name) = arguments.server.load(&host, &arguments.reach)?;
        let server = plan(&plugin, name.as_deref())?.approve().await?;
        match server.method() {
            Method::OAuth => sign_in(context, &server).await,
            Method::Dynamic => Err(CliError::Usage {
                what: "a helper supplies this credential; rotate it where the helper takes it from",
            }),
            _ => value(arguments, context, (&plugin, &server)).await,
        }
    })
}

/// Renews a sign-in, or asks for a new one where that is over.
async fn sign_in(context: &CommandContext, server: &Approved<Plan>) -> Result<Exit, CliError> {
    let name = server.server().to_owned();
    let failed = |error: AuthError| Error::SignIn {
        server: name.clone(),
        error,
    };
    let not_oauth = || Error::NotOAuth {
        server: name.clone(),
        method: server.method(),
    };
    let oauth: OAuth = server.oauth().ok_or_else(not_oauth)?;
    let what = match waiting_for(context, asking(&name), None, oauth.renew()).await {
        Ok(()) => "has a new token",
        Err(error) if error.is_transient() => return Err(failed(error).into()),
        Err(_) => match waiting_for(
            context,
            signing_in(&name),
            None,
            sign_in_if_needed(server, None),
        )
        .await?
        {
            SignInOutcome::Unneeded => {
                let text = format!("`{}` {UNNEEDED}\n", printable(&name));
                context.print(&text, Exit::Done)?;
                return Ok(Exit::Done);
            }
            _ => "is signed in again",
        },
    };
    let found = waiting_for(context, asking(&name), None, list_anything(server)).await?;
    let text = format!("`{}` {what}: {}\n", printable(&name), found.summary());
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

/// Replaces the value of a variable.
async fn value(
    arguments: &Rotate,
    context: &CommandContext,
    (plugin, server): (&Plugin, &Approved<Plan>),
) -> Result<Exit, CliError> {
    let name = arguments.variable(server)?;
    let place = ValueSource::of(&name, arguments, (plugin, server.server()))?;
    let new = env::read_value(&name)?;
    let new = new.filter(|value| !value.expose().is_empty());
    let new = new.ok_or(Error::Cancelled)?;
    let tried = Variables::from_pairs([(name.clone(), new.expose().clone())]);
    let host: Host = server
        .host()
        .with_overrides(tried)
        .with_asking(PromptPolicy::Never);
    let plan = host
        .plugin(Arc::clone(plugin.loaded()))
        .plan(server.server())?;
    let with_new = plan.approve().await?;
    let listing = list_anything(&with_new);
    let found = waiting_for(context, asking(server.server()), None, listing).await;
    let found = found.map_err(|error| CliError::NotRotated {
        server: printable(server.server()),
        source: Box::new(error.into()),
    })?;
    let text = format!("the new value works: {}\n", found.summary());
    context.print(&text, Exit::Done)?;
    context.print_aside(&place.put(&name, &new)?);
    Ok(Exit::Done)
}

impl Rotate {
    fn variable(&self, server: &Approved<Plan>) -> Result<String, CliError> {
        let names = credential_variables(server.spec());
        match (&self.variable, names.as_slice()) {
            (Some(name), _) if names.contains(name) => Ok(name.clone()),
            (None, [only]) => Ok(only.clone()),
            _ => Err(CliError::WhichVariable { names }),
        }
    }
}

/// Where the value of a variable comes from.
enum ValueSource {
    Shell,
    File(PathBuf),
    Vault,
}

impl ValueSource {
    /// Finds it in the order in which values count.
    fn of(
        name: &str,
        arguments: &Rotate,
        (plugin, server): (&Plugin, &str),
    ) -> Result<Self, CliError> {
        let (given, loaded) = (arguments.reach.env_file(), plugin.loaded());
        let (_, entry) = plugin.entry(Some(server))?;
        let variables = plugin.host().variable_scope(loaded)?;
        let scope = variables.scope();
        let origin = entry.scope(&scope).origin(name);
        let named = loaded.file_of_variable(entry, name, &scope);
        let file = match given {
            Some(file) if env_file::load(file)?.get(name).is_some() => Some(file.to_owned()),
            _ => named,
        };
        Ok(match (origin, file) {
            (Some(Origin::File | Origin::Plugin), Some(file)) => Self::File(file),
            (Some(Origin::Vault), _) => Self::Vault,
            _ => Self::Shell,
        })
    }

    /// Puts the new value there, or says how; returns what to tell the person.
    fn put(&self, name: &str, new: &Secret<String>) -> Result<String, CliError> {
        let place = match self {
            Self::Shell => {
                return Ok(format!(
                    "`{name}` comes from your shell, which only you can change: put the new value where it is set, as in\n\n  export {name}=…\n\nthen see that it arrived: keyway doctor\n"
                ));
            }
            Self::File(path) => {
                let replaced = replace_variable(path, (name, new));
                replaced.map_err(MigrateError::from)?;
                printable(&path.to_string_lossy())
            }
            Self::Vault => {
                env::keep(name, new)?;
                "the vault".to_owned()
            }
        };
        Ok(format!(
            "`{name}` was replaced in {place}; revoke the old value where it was issued\n"
        ))
    }
}
