//! `keyway env`: variables kept sealed, for servers that no shell starts.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read as _};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use keyway::connect::harden_self;
use keyway::events::rfc3339;
use keyway::variables::{KeepError, KeptVariable, KeptVariables};
use keyway_code::Exit;
use keyway_config::headers::MAX_VALUE_BYTES;
use keyway_secret::{Clock as _, Secret, SystemClock};
use serde_json::json;

use super::tools::Format;
use crate::arguments::connect::open_database;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::vault::{existing_vault, open_vault, remove_from_vault};
use keyway_terminal::Table;

/// Store encrypted variables, for clients that are not started from a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway env set SEARCH_KEY
  keyway env list")]
pub(crate) struct Env {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Store a variable; prompts for the value, or reads it from standard input
    ///
    /// Keyway uses it where neither the environment nor an env file sets the variable.
    #[command(after_help = "\
Examples:
  keyway env set SEARCH_KEY
  pass show search | keyway env set SEARCH_KEY")]
    Set {
        /// Name of the variable
        #[arg(value_name = "NAME")]
        name: String,
        /// Taken so that it can be refused without being repeated.
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        more: Vec<OsString>,
    },
    /// Delete a stored variable
    #[command(after_help = "\
Examples:
  keyway env unset SEARCH_KEY")]
    Unset {
        /// Name of the variable
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List stored variables with date and length, never a value
    #[command(after_help = "\
Examples:
  keyway env list")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: Format,
    },
}

impl Env {
    /// Says whether one JSON object is printed.
    pub(crate) const fn format(&self) -> Format {
        match self.action {
            Action::List { format } => format,
            _ => Format::Human,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Env, context: &CommandContext) -> Result<Exit, CliError> {
    match &arguments.action {
        Action::Set { name, more } => set(context, name, more),
        Action::Unset { name } => unset(context, name),
        Action::List { format } => list(context, *format),
    }
}

fn set(context: &CommandContext, name: &str, more: &[OsString]) -> Result<Exit, CliError> {
    if !more.is_empty() {
        return Err(CliError::Usage {
            what: "a value cannot be an argument, which other programs could see; it is prompted for, or read from standard input",
        });
    }
    harden_self().map_err(|source| keyway::Error::Harden { source })?;
    KeptVariables::check_name(name)?;
    let Some(value) = read_value(name)? else {
        context.print_aside("nothing was stored\n");
        return Ok(Exit::Failed);
    };
    match open_database(context, None)? {
        Some(database) => {
            let kept = KeptVariables::of(&database.tenant_variables()?);
            kept.set(name, &value, now())?;
        }
        None => keep(name, &value)?,
    }
    context.print_aside("stored\n");
    Ok(Exit::Done)
}

/// Keeps a value; one that was kept under the name is destroyed.
pub(super) fn keep(name: &str, value: &Secret<String>) -> Result<(), CliError> {
    keep_all(&[(name.to_owned(), value.clone())])
}

/// Keeps values under the names of their variables.
pub(super) fn keep_all(values: &[(String, Secret<String>)]) -> Result<(), CliError> {
    let vault = open_vault()?;
    let kept = KeptVariables::new(&vault)?;
    for (name, value) in values {
        kept.set(name, value, now())?;
    }
    Ok(())
}

/// Returns the value; `None` if the person gave none.
pub(super) fn read_value(name: &str) -> Result<Option<Secret<String>>, CliError> {
    let failed = |source| CliError::Client { source };
    let mut input = io::stdin();
    if input.is_terminal() {
        return Ok(keyway_terminal::ask(&format!("Value of {name}: "))?);
    }
    // Never grows, so that no copy is left behind; one byte and a line's end more than is allowed.
    let most = MAX_VALUE_BYTES.saturating_add(3);
    let mut bytes = Vec::with_capacity(most);
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    let read = input.by_ref().take(limit).read_to_end(&mut bytes);
    read.map_err(failed)?;
    if bytes.ends_with(b"\n") {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    let text = String::from_utf8(bytes).map_err(|_| CliError::Usage {
        what: "the value is not UTF-8",
    })?;
    Ok(Some(Secret::new(text)))
}

fn unset(context: &CommandContext, name: &str) -> Result<Exit, CliError> {
    KeptVariables::check_name(name)?;
    if let Some(database) = open_database(context, None)? {
        if !KeptVariables::of(&database.tenant_variables()?).unset(name)? {
            let (what, list) = ("variable", "keyway env list");
            return Err(CliError::Absent { what, list });
        }
        context.print_aside("deleted\n");
        return Ok(Exit::Done);
    }
    let texts = ("variable", "keyway env list", "deleted\n");
    remove_from_vault(context, texts, |vault| {
        Ok(KeptVariables::new(vault)?.unset(name)?)
    })
}

fn list(context: &CommandContext, format: Format) -> Result<Exit, CliError> {
    let kept = match (open_database(context, None)?, existing_vault()?) {
        (Some(database), _) => KeptVariables::of(&database.tenant_variables()?).list()?,
        (None, Some(vault)) => KeptVariables::new(&vault)?.list()?,
        (None, None) => Vec::new(),
    };
    let text = match format {
        Format::Json => {
            let object = |it: &KeptVariable| {
                let set_at = rfc3339(seconds(it.set_at));
                json!({ "name": it.name, "set_at": set_at, "bytes": it.bytes })
            };
            let variables: Vec<_> = kept.iter().map(object).collect();
            let all = json!({ "schema_version": 1, "diagnostics": [], "variables": variables });
            format!("{all}\n")
        }
        Format::Human if kept.is_empty() => "no stored variables\n".to_owned(),
        Format::Human => {
            let mut table = Table::new(["NAME", "SET", "BYTES"]);
            for it in kept {
                let set_at = rfc3339(seconds(it.set_at));
                table.push([it.name, set_at, it.bytes.to_string()]);
            }
            context.render(&table)
        }
    };
    context.print(&text, Exit::Done)?;
    Ok(Exit::Done)
}

fn seconds(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn now() -> SystemTime {
    SystemClock.wall()
}

impl From<KeepError> for CliError {
    fn from(error: KeepError) -> Self {
        match error {
            KeepError::Store(error) => error.into(),
            error => Self::Keep(error),
        }
    }
}
