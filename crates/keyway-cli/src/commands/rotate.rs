//! `keyway rotate`: a new credential in the place of the old, which stays until the new one works.

use std::path::PathBuf;

use clap::Args;
use keyway::connect::Host;
use keyway::diagnosis::credential_variables;
use keyway::env_file;
use keyway::error::MigrateError;
use keyway::load::Loaded;
use keyway::sign_in::{AuthError, OAuth, PromptPolicy};
use keyway_config::environment::{Environment as _, Origin, Variables};
use keyway_config::method::Method;
use keyway_secret::{Secret, printable};

use super::env;
use super::probe::listed;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::reach::{Manner, NOBODY, Reach, ReachError, Ready, Way, find};
use crate::server_args::ServerArg;
use crate::surroundings::Surroundings;

/// Replace a server's credential; the old one stays until the new one works
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway rotate search
  keyway rotate search --variable SEARCH_KEY")]
pub(crate) struct Rotate {
    #[command(flatten)]
    server: ServerArg,
    /// Variable to replace, if several feed the server
    #[arg(long, value_name = "NAME")]
    variable: Option<String>,
    /// Print the sign-in URL instead of opening a browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    reach: Reach,
}

/// Runs the command.
pub(crate) fn run(arguments: &Rotate, context: &CommandContext) -> Result<Exit, CliError> {
    let (loaded, server) = arguments.server.load(context, &arguments.reach)?;
    let entry = find(&loaded, server.as_deref())?;
    let ready = arguments.reach.prepare(context, &loaded, entry)?;
    match ready.spec.method {
        Method::OAuth => sign_in(arguments, context, &ready),
        Method::Dynamic => Err(CliError::Usage {
            what: "a helper supplies this credential; rotate it where the helper takes it from",
        }),
        _ => value(arguments, context, (&loaded, &ready)),
    }
}

/// Renews a sign-in, or asks for a new one where that is over.
fn sign_in(arguments: &Rotate, context: &CommandContext, ready: &Ready) -> Result<Exit, CliError> {
    let manner = Manner {
        asking: PromptPolicy::WhenNeeded,
        way: if arguments.no_browser {
            Way::Address
        } else {
            Way::Browser
        },
        insists: true,
    };
    super::block_on(async {
        let host: Host = arguments.reach.host(context, manner)?;
        let server = ready.spec.name.clone();
        let failed = |error: AuthError| ReachError::SignIn {
            server: server.clone(),
            error,
        };
        let not_oauth = || ReachError::NotOAuth {
            server: server.clone(),
            method: ready.spec.method,
        };
        let oauth: OAuth = ready.oauth(&host).ok_or_else(not_oauth)?;
        let what = match oauth.renew().await {
            Ok(()) => "has a new token",
            Err(error) if error.is_transient() => return Err(failed(error).into()),
            Err(_) => {
                oauth.sign_in(None).await.map_err(failed)?;
                "is signed in to anew"
            }
        };
        let found = listed(ready, &host).await?;
        let name = printable(&server);
        let text = format!("`{name}` {what}: {}\n", found.in_words());
        context.print(&text, Exit::Done)?;
        Ok(Exit::Done)
    })
}

/// Replaces the value of a variable.
fn value(
    arguments: &Rotate,
    context: &CommandContext,
    (loaded, ready): (&Loaded, &Ready),
) -> Result<Exit, CliError> {
    let name = arguments.variable(ready)?;
    let place = Place::of(&name, arguments, loaded)?;
    let new = env::read_value(&name)?;
    let new = new.filter(|value| !value.expose().is_empty());
    let new = new.ok_or(ReachError::Cancelled)?;
    let tried = Variables::from_pairs([(name.clone(), new.expose().clone())]);
    let reach = arguments.reach.trying(tried);
    let entry = find(loaded, Some(&ready.spec.name))?;
    let with_new = reach.prepare(context, loaded, entry)?;
    let found = super::block_on(async {
        let host = reach.host(context, NOBODY)?;
        listed(&with_new, &host).await
    });
    let found = found.map_err(|error| CliError::NotRotated {
        server: printable(&ready.spec.name),
        source: Box::new(error),
    })?;
    let text = format!("the new value works: {}\n", found.in_words());
    context.print(&text, Exit::Done)?;
    context.print_aside(&place.put(&name, &new)?);
    Ok(Exit::Done)
}

impl Rotate {
    fn variable(&self, ready: &Ready) -> Result<String, CliError> {
        let names = credential_variables(&ready.spec);
        match (&self.variable, names.as_slice()) {
            (Some(name), _) if names.contains(name) => Ok(name.clone()),
            (None, [only]) => Ok(only.clone()),
            _ => Err(CliError::WhichVariable { names }),
        }
    }
}

/// Where the value of a variable comes from.
enum Place {
    Shell,
    File(PathBuf),
    Vault,
}

impl Place {
    /// Finds it in the order in which values count.
    fn of(name: &str, arguments: &Rotate, loaded: &Loaded) -> Result<Self, CliError> {
        let given = arguments.reach.env_file();
        let surroundings = Surroundings::open(given)?;
        let (origin, named) = surroundings.with_scope(loaded, |scope| {
            (scope.origin(name), loaded.file_of_variable(name, &scope))
        });
        let file = match given {
            Some(file) if env_file::load(file)?.get(name).is_some() => Some(file.to_owned()),
            _ => named,
        };
        Ok(match (origin, file) {
            (Some(Origin::File), Some(file)) => Self::File(file),
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
                let replaced = env_file::replace(path, (name, new));
                replaced.map_err(|source| MigrateError {
                    written: Vec::new(),
                    source,
                })?;
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
