//! `keyway import`, `export` and `convert`: entries of one host's file for another host.
//!
//! A credential never moves: its place becomes a variable, in the way of the target. What the
//! target cannot say is reported, and an entry that would not work is left out.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use keyway_check::changes::{Changes, conversion_summary};
use keyway_check::diff::{TextKind, render_text_change};
use keyway_clients::clients::Client;
use keyway_clients::convert::{Converted, read_host_file};
use keyway_code::Exit;
use keyway_config::dialect::{CONTRACT, DIALECTS, Dialect};
use keyway_config::document::Document;
use keyway_config::portable::new_file;
use keyway_secret::printable;

use super::client_files::user_file;
use crate::arguments::selection::One;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Format;
use crate::report::Verbosity;

/// Copy the servers of another host's file into a plugin's `.mcp.json`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway import vs-code
  keyway import cursor ~/.cursor/mcp.json --write
  keyway import codex --server docs --into plugin/.mcp.json --write")]
pub(crate) struct Import {
    /// Host whose file is read
    #[arg(value_name = "HOST", value_parser = hosts(false))]
    host: String,
    /// File to read [default: the host's file of this project, or your own]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// File that gets the entries
    #[arg(long, value_name = "FILE", default_value = ".mcp.json")]
    into: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// Print a plugin's servers in the syntax of another host
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway export codex
  keyway export vs-code --into .vscode/mcp.json --write")]
pub(crate) struct Export {
    /// Host for which entries are written
    #[arg(value_name = "HOST", value_parser = hosts(true))]
    host: String,
    #[command(flatten)]
    selection: One,
    /// File that gets the entries [default: they are printed as a new file]
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Convert a host's file into the syntax of another host
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway convert cursor codex
  keyway convert claude-desktop vs-code FILE --into .vscode/mcp.json --write")]
pub(crate) struct Convert {
    /// Host whose file is read
    #[arg(value_name = "FROM", value_parser = hosts(false))]
    from: String,
    /// Host for which entries are written
    #[arg(value_name = "TO", value_parser = hosts(true))]
    to: String,
    /// File to read [default: the host's file of this project, or your own]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// File that gets the entries [default: they are printed as a new file]
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// What the three have in common.
#[derive(Debug, Args)]
struct Output {
    /// Only this server
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// Write the file instead of showing the change
    #[arg(long)]
    write: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// Runs `keyway import`.
pub(crate) fn import(arguments: &Import, context: &CommandContext) -> Result<Exit, CliError> {
    let document = document(&arguments.host, arguments.file.as_deref())?;
    let into = Some(arguments.into.as_path());
    finish((&[document], CONTRACT), into, &arguments.output, context)
}

/// Runs `keyway export`.
pub(crate) fn export(arguments: &Export, context: &CommandContext) -> Result<Exit, CliError> {
    let (mut loaded, files) = arguments.selection.load()?;
    context.read(&loaded);
    // A file stands for its own entries, not for all of its plugin's.
    let documents = &mut loaded.plugin.documents;
    documents.retain(|it| files.contains(&it.source.shared_path()));
    let target = dialect(&arguments.host)?;
    let into = arguments.into.as_deref();
    finish(
        (&loaded.plugin.documents, target),
        into,
        &arguments.output,
        context,
    )
}

/// Runs `keyway convert`.
pub(crate) fn run(arguments: &Convert, context: &CommandContext) -> Result<Exit, CliError> {
    let document = document(&arguments.from, arguments.file.as_deref())?;
    let target = dialect(&arguments.to)?;
    let into = arguments.into.as_deref();
    finish((&[document], target), into, &arguments.output, context)
}

fn hosts(written: bool) -> PossibleValuesParser {
    let hosts = DIALECTS
        .iter()
        .filter(move |it| !written || it.is_writable());
    PossibleValuesParser::new(hosts.map(|dialect| dialect.id))
}

fn dialect(id: &str) -> Result<&'static Dialect, CliError> {
    let what = "no such host";
    Dialect::by_id(id).ok_or(CliError::Usage { what })
}

/// Reads a host's file; whose it is was said, so its name does not matter.
fn document(host: &str, file: Option<&Path>) -> Result<Document, CliError> {
    let dialect = dialect(host)?;
    let path = match (file, dialect.project_file()) {
        (Some(file), _) => file.to_path_buf(),
        (None, Some(project)) if Path::new(project).is_file() => PathBuf::from(project),
        (None, project) => match (Client::by_name(dialect.id), project) {
            (Some(client), _) => user_file(client)?,
            (None, Some(project)) => PathBuf::from(project),
            (None, None) => {
                let what = "name the file: this host has none in a project";
                return Err(CliError::Usage { what });
            }
        },
    };
    Ok(read_host_file(dialect, &path)?)
}

fn finish(
    (documents, target): (&[Document], &'static Dialect),
    into: Option<&Path>,
    output: &Output,
    context: &CommandContext,
) -> Result<Exit, CliError> {
    let server = output.server.as_deref();
    let converted = Converted::new(documents, target, server, into)?;
    if output.write {
        converted.write()?;
    }
    print(&converted, target, output, context)
}

fn print(
    converted: &Converted,
    target: &'static Dialect,
    output: &Output,
    context: &CommandContext,
) -> Result<Exit, CliError> {
    let (all, change) = (&converted.conversion, converted.change.as_ref());
    let changes = Changes::of_conversion(all, change);
    let exit = changes.exit();
    if output.format == Format::Json {
        context.print(&changes.json(), exit)?;
        return Ok(exit);
    }
    let text = match change {
        None if all.entries.is_empty() => String::new(),
        None => new_file(target, &all.entries),
        Some(change) if output.write => format!("wrote {}\n", printable(&change.file)),
        Some(change) => render_text_change(change, TextKind::Document),
    };
    context.print(&text, exit)?;
    context.print_aside(&changes.notes(context.verbosity));
    if context.verbosity != Verbosity::Quiet {
        let is_shown_only = change.is_some() && !output.write;
        context.print_aside(&conversion_summary(all, is_shown_only));
    }
    Ok(exit)
}
