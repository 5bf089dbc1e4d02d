//! `keyway readme`: the authentication section of a plugin's README, made from its entries.

use clap::Args;
use keyway_check::changes::Changes;
use keyway_check::migrate;
use keyway_code::{Code, Exit};
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::usage::uses;
use keyway_lint::readme;

use crate::arguments::selection::One;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Format;
use crate::report::Verbosity;

/// Print or update the README section that lists a plugin's variables
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway readme
  keyway readme --write
  keyway readme --check")]
pub(crate) struct Readme {
    #[command(flatten)]
    selection: One,
    /// Write the section into the README, between its markers or at its end
    #[arg(long, conflicts_with = "check")]
    write: bool,
    /// Fail if the README is out of date; changes nothing
    #[arg(long)]
    check: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(arguments: &Readme, context: &CommandContext) -> Result<Exit, CliError> {
    let (loaded, _) = arguments.selection.load()?;
    context.read(&loaded);
    let plugin = &loaded.plugin;
    let updates = arguments.write || arguments.check;
    let update = readme::update(plugin);
    let mut diagnostics = Vec::new();
    if let (Err(fault), true) = (&update, updates) {
        let file = plugin
            .snapshot
            .readme
            .as_ref()
            .map_or("README", |r| r.path());
        let message = format!("`{file}` is left as it is: {fault}");
        let hint = "`keyway readme` prints the section to paste";
        diagnostics.push(finding(Code::ReadmeLeftAlone, message, hint));
    }
    let change = update.ok().flatten();
    if let (Some(change), true) = (&change, arguments.check) {
        let message = format!("`{}` is not up to date", change.file);
        diagnostics.push(finding(
            Code::ReadmeOutdated,
            message,
            "run `keyway readme --write`",
        ));
    }
    if let (Some(change), true) = (&change, arguments.write) {
        migrate::write_all(&loaded, std::slice::from_ref(change))?;
    }
    let used = uses(plugin);
    let mut changes = Changes::new(diagnostics).files(&change);
    for usage in &used {
        let (server, field) = (&usage.server.name, usage.field);
        changes = changes.variable(&usage.variable.name, server, &field.pointer);
    }
    let exit = changes.exit();
    if arguments.format == Format::Json {
        context.print(&changes.json(), exit)?;
        return Ok(exit);
    }
    if !updates {
        context.print(&format!("{}\n", readme::section(plugin)), exit)?;
    }
    context.print_aside(&changes.notes(context.verbosity));
    if context.verbosity != Verbosity::Quiet && updates && exit == Exit::Done {
        let line = match &change {
            Some(change) => format!("wrote {}\n", keyway_secret::printable(&change.file)),
            None => "nothing to do\n".to_owned(),
        };
        context.print_aside(&line);
    }
    Ok(exit)
}

fn finding(code: Code, message: String, hint: &str) -> Diagnostic {
    Diagnostic::new(code, Severity::Error, message).with_hint(hint)
}
