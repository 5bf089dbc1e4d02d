//! `keyway migrate oauth`: an entry with a fixed credential becomes one that signs in.

use clap::Args;
use keyway_check::changes::Changes;
use keyway_check::diff::{TextKind, render_text_change};
use keyway_check::migrate;
use keyway_check::migrate::report::oauth_summary;
use keyway_code::{Code, Exit};
use keyway_lint::migrate::Selection;
use keyway_lint::migrate::oauth::plan;

use super::trial::{Trial, Trying};
use super::{Target, require_server, written};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::report::Format;
use crate::report::Verbosity;

/// Reduce an entry to `type` and `url`, so that Keyway signs in with OAuth
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway migrate oauth docs
  keyway migrate oauth docs --write")]
pub(crate) struct OAuth {
    #[command(flatten)]
    target: Target,
    /// Write the changes instead of showing them
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    trying: Trying,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// Runs the command.
pub(super) fn run(arguments: &OAuth, context: &CommandContext) -> Result<Exit, CliError> {
    let (loaded, files, server) = arguments.target.load()?;
    context.read(&loaded);
    let server = server.ok_or(CliError::Usage {
        what: "name the server: keyway migrate oauth SERVER",
    })?;
    let scope = Selection::new(&loaded.plugin, &files, Some(&server));
    require_server(&scope)?;
    let plan = plan(&scope);
    let exit = Changes::new(plan.diagnostics.clone()).exit();
    // Of several entries of that name all are changed, or none.
    let is_possible = exit == Exit::Done;
    let mut text = String::new();
    let mut asked = String::new();
    if is_possible && !arguments.trying.offline && !plan.documents.is_empty() {
        let trial = Trial {
            before: &loaded,
            context,
            trust: arguments.trying.trust,
        };
        asked = trial.of_sign_in(&plan.documents, &server)?;
    }
    let mut diagnostics = plan.diagnostics.clone();
    if !asked.is_empty() {
        diagnostics.retain(|finding| finding.code != Code::OauthNotChecked);
    }
    let changes = Changes::new(diagnostics).files(&plan.documents);
    if arguments.write && is_possible {
        text = written(&migrate::write_all(&loaded, &plan.documents)?);
    } else if is_possible {
        let documents = plan.documents.iter();
        text = documents
            .map(|change| render_text_change(change, TextKind::Document))
            .collect();
    }
    if arguments.format == Format::Json {
        context.print(&changes.json(), exit)?;
        return Ok(exit);
    }
    context.print(&text, exit)?;
    context.print_aside(&changes.notes(context.verbosity));
    if context.verbosity != Verbosity::Quiet && is_possible {
        context.print_aside(&asked);
        context.print_aside(&oauth_summary(&plan, arguments.write));
    }
    Ok(exit)
}
