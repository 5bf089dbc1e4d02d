//! `keyway readme`: the authentication section of a plugin's README, made from its entries.

use clap::Args;
use keyway_check::changes::Changes;
use keyway_check::migrate;
use keyway_code::{Code, Exit};
use keyway_config::diagnostic::{Diagnostic, Severity};
use keyway_config::edit::TextChange;
use keyway_config::plugin::Plugin;
use keyway_config::usage::uses;
use keyway_lint::readme;
use keyway_secret::printable;

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
    let plugins = arguments.selection.load_below()?;
    let updates = arguments.write || arguments.check;
    let (mut diagnostics, mut changed, mut text) = (Vec::new(), Vec::new(), String::new());
    for loaded in &plugins {
        context.read(loaded);
        let change = arguments.change(&loaded.plugin, &mut diagnostics);
        if let (Some(change), true) = (&change, arguments.write) {
            migrate::write_all(loaded, std::slice::from_ref(change))?;
        }
        changed.extend(change);
        if plugins.len() > 1 {
            let file = printable(&loaded.plugin.shown("README.md"));
            text.push_str(&format!("<!-- {file} -->\n"));
        }
        text.push_str(&format!("{}\n", readme::section(&loaded.plugin)));
    }
    let used = plugins.iter().flat_map(|loaded| uses(&loaded.plugin));
    let used: Vec<_> = used.collect();
    let mut changes = Changes::new(diagnostics).files(&changed);
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
        context.print(&text, exit)?;
    }
    context.print_aside(&changes.notes(context.verbosity));
    if context.verbosity != Verbosity::Quiet && updates && exit == Exit::Done {
        let lines = changed
            .iter()
            .map(|it| format!("wrote {}\n", printable(&it.file)));
        let lines: String = lines.collect();
        let lines = match lines.as_str() {
            "" => "nothing to do\n",
            lines => lines,
        };
        context.print_aside(lines);
    }
    Ok(exit)
}

impl Readme {
    /// Returns what would change in a plugin's README; what stands in the way is reported.
    fn change(&self, plugin: &Plugin, diagnostics: &mut Vec<Diagnostic>) -> Option<TextChange> {
        let update = readme::update(plugin);
        if let (Err(fault), true) = (&update, self.write || self.check) {
            let readme = plugin.snapshot.readme.as_ref();
            let file = readme.map_or("README", |r| r.path());
            let message = format!("`{file}` is left as it is: {fault}");
            let hint = "`keyway readme` prints the section to paste";
            diagnostics.push(finding(Code::ReadmeLeftAlone, message, hint));
        }
        let change = update.ok().flatten();
        if let (Some(change), true) = (&change, self.check) {
            let message = format!("`{}` is not up to date", change.file);
            let hint = "run `keyway readme --write`";
            diagnostics.push(finding(Code::ReadmeOutdated, message, hint));
        }
        change
    }
}

fn finding(code: Code, message: String, hint: &str) -> Diagnostic {
    Diagnostic::new(code, Severity::Error, message).with_hint(hint)
}
