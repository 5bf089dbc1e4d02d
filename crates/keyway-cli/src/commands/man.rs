//! `keyway man`: the manual page.

use clap::Args;
use clap_mangen::Man as Page;
use keyway_code::Exit;

use crate::arguments::visible;
use crate::context::CommandContext;
use crate::error::CliError;

/// Print a manual page as roff
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway man | man -l -
  keyway man login | man -l -")]
pub(crate) struct Man {
    /// Command [default: the page of `keyway` itself]
    command: Option<String>,
}

/// Prints the page.
pub(crate) fn run(arguments: &Man, context: &CommandContext) -> Result<Exit, CliError> {
    let name = match &arguments.command {
        Some(command) => format!("keyway-{command}.1"),
        None => "keyway.1".to_owned(),
    };
    let page = pages(context).into_iter().find(|(file, _)| *file == name);
    let what = "no such command; `keyway help --all` lists them";
    let (_, page) = page.ok_or(CliError::Usage { what })?;
    context.print(&page, Exit::Done)?;
    Ok(Exit::Done)
}

/// Returns every page under its file name.
pub(crate) fn pages(context: &CommandContext) -> Vec<(String, String)> {
    let mut program = (context.program)();
    program.build();
    let all = std::iter::once(&program).chain(visible(&program));
    all.map(|command| page(command.clone())).collect()
}

fn page(command: clap::Command) -> (String, String) {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let file = format!("{name}.1");
    let version = env!("CARGO_PKG_VERSION");
    // No date: pages of one version are the same whenever they are made. The generator would leave
    // out an empty one, and the version would stand in its place.
    let header = format!(
        ".TH {} 1 \"\" \"keyway {version}\" \"Keyway Manual\"\n",
        name.to_uppercase()
    );
    let mut text = Vec::new();
    // Writing into memory does not fail.
    drop(Page::new(command).date("").render(&mut text));
    let text = String::from_utf8_lossy(&text);
    let lines = text.split_inclusive('\n');
    let lines = lines.map(|line| {
        if line.starts_with(".TH ") {
            &header
        } else {
            line
        }
    });
    (file, lines.collect())
}
