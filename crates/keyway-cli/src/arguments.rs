//! The command line as data: global flags and one variant per command.
//!
//! The flags of a command stand in its own file under `commands/`.

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::{
    call, check, completions, docs, man, migrate, readme, run, schema, status, tools, trust,
};

/// Checks and supplies credentials for MCP servers
#[derive(Debug, Parser)]
#[command(name = "keyway", version, max_term_width = 100)]
#[command(propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Global {
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN"
    )]
    pub(crate) color: Color,
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print notes as well
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(check::Check),
    Run(run::Run),
    /// List the tools of a server
    Tools(tools::List),
    /// List the resources of a server
    Resources(tools::List),
    /// List the prompts of a server
    Prompts(tools::List),
    Call(call::Call),
    Read(call::Read),
    Trust(trust::Trust),
    Migrate(migrate::Migrate),
    Readme(readme::Readme),
    Status(status::Status),
    Schema(schema::Schema),
    Completions(completions::Completions),
    Man(man::Man),
    Docs(docs::Docs),
}

/// Returns every command that is shown, those with commands of their own before these.
///
/// `program` must be built.
pub(crate) fn visible(program: &clap::Command) -> Vec<&clap::Command> {
    let mut found = Vec::new();
    for command in program.get_subcommands().filter(|c| !c.is_hide_set()) {
        found.push(command);
        found.extend(visible(command));
    }
    found
}
