//! `keyway status`: each server with its state, and which of its variables are set.
//!
//! Nothing is run and nothing is sent; what is told follows from files and variables alone.

mod approval;
pub(crate) mod explain;
mod human;
mod json;
mod protection;
mod sign_in;

pub(crate) use self::sign_in::rfc3339;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use keyway::load::Loaded;
use keyway::sign_in::SignIn;
use keyway::status::{self, ServerStatus};
use keyway_config::diagnostic::Diagnostic;

use crate::error::CliError;
use crate::exit::Exit;
use crate::report::Report;
use crate::selection::Selection;
use crate::session::Session;
use crate::surroundings::Surroundings;

/// Show each server with its state and the variables it needs; runs and sends nothing
#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    selection: Selection,
    /// Take variables that are not in the environment from this file
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// How to print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table
    Human,
    /// One JSON object
    Json,
}

/// A server together with the plugin it belongs to.
struct Listed<'a> {
    plugin: String,
    status: ServerStatus<'a>,
    /// What its programs are kept from; `None` if it runs none.
    protection: Option<String>,
    /// Who is signed in to it.
    sign_in: Option<SignIn>,
}

impl Listed<'_> {
    /// Returns `<plugin>:<server>`; just the server where there is no plugin.
    fn id(&self) -> String {
        let name = &self.status.entry.name;
        if self.plugin.is_empty() {
            return name.clone();
        }
        format!("{}:{name}", self.plugin)
    }

    /// Returns the plugin whose file declares it.
    fn owner<'p>(&self, plugins: &'p [Loaded]) -> Option<&'p Loaded> {
        plugins.iter().find(|loaded| {
            let mut documents = loaded.plugin.documents.iter();
            documents.any(|document| std::ptr::eq(document, self.status.document))
        })
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Status, session: &Session) -> Result<Exit, CliError> {
    let surroundings = Surroundings::open(arguments.env_file.as_deref())?;
    let mut plugins = Vec::new();
    let mut failures = Vec::new();
    for loaded in arguments.selection.load() {
        match loaded {
            Ok(loaded) => plugins.push(loaded),
            Err(error) => failures.push(error),
        }
    }
    let (mut servers, diagnostics) = look(&plugins, &surroundings);
    approval::look_up(&mut servers, &plugins, &surroundings, session)?;
    protection::look_up(&mut servers, session)?;
    sign_in::look_up(&mut servers, &plugins, &surroundings, session)?;
    let exit = if failures.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    };
    let report = Report::new(&plugins, diagnostics, &failures);
    let text = match arguments.format {
        Format::Json => json::render(&servers, &report),
        Format::Human if report.is_empty() => String::new(),
        Format::Human => human::render(&servers, &report, session),
    };
    session.print(&text, exit)?;
    for failure in report.failures() {
        session.print_error(failure, failure.hint().as_deref());
    }
    Ok(exit)
}

fn look<'a>(
    plugins: &'a [Loaded],
    surroundings: &Surroundings,
) -> (Vec<Listed<'a>>, Vec<Diagnostic>) {
    let mut servers = Vec::new();
    let mut diagnostics = Vec::new();
    for loaded in plugins {
        surroundings.with_scope(loaded, |scope| {
            let found = status::of(&loaded.plugin, &scope);
            diagnostics.extend(explain::diagnostics(&loaded.plugin, scope, &found));
            let plugin = loaded.plugin.name();
            servers.extend(found.into_iter().map(|status| Listed {
                plugin: plugin.clone(),
                status,
                protection: None,
                sign_in: None,
            }));
        });
    }
    (servers, diagnostics)
}
