//! The command line as data: global flags and one variant per command.
//!
//! The flags of a command stand in its own file under `commands/`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::{
    call, check, client_metadata, completions, demo, docs, doctor, env, explain, install, login,
    logout, man, migrate, mtls, open, probe, readme, rotate, run, schema, serve, service, status,
    token, tools, trust, uninstall, vault,
};
use crate::debug::About;
use crate::help::WIDEST;

/// Checks and supplies credentials for MCP servers
#[derive(Debug, Parser)]
#[command(name = "keyway", version, max_term_width = WIDEST)]
#[command(propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// When to use colour; otherwise as in `config.toml`, otherwise `auto`
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<Color>,
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print notes as well
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Add what changes to this file, as JSON lines
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Write what happens to standard error: all of it, or what is about these topics
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "TOPICS",
        value_delimiter = ','
    )]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = EVERYTHING)]
    pub(crate) debug: Option<Vec<About>>,
    /// Add that to this file instead
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) debug_file: Option<PathBuf>,
}

const EVERYTHING: &str = "config,oauth,helper,transport";

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
    Demo(demo::Demo),
    Check(check::Check),
    Run(run::Run),
    Serve(serve::Serve),
    Service(service::Service),
    Open(open::Open),
    Token(token::Token),
    Env(env::Env),
    /// List the tools of a server
    Tools(tools::List),
    /// List the resources of a server
    Resources(tools::List),
    /// List the prompts of a server
    Prompts(tools::List),
    Call(call::Call),
    Read(call::Read),
    Login(login::Login),
    Logout(logout::Logout),
    Install(install::Install),
    Uninstall(uninstall::Uninstall),
    Probe(probe::Probe),
    Doctor(doctor::Doctor),
    Explain(explain::Explain),
    Mtls(mtls::Mtls),
    Trust(trust::Trust),
    Vault(vault::Vault),
    Migrate(migrate::Migrate),
    Rotate(rotate::Rotate),
    Readme(readme::Readme),
    Status(status::Status),
    Schema(schema::Schema),
    ClientMetadata(client_metadata::ClientMetadata),
    Completions(completions::Completions),
    Man(man::Man),
    Docs(docs::Docs),
}

impl Command {
    /// Says whether a command that gives up owes a script one JSON object.
    ///
    /// Those that are not named print theirs in any case, or have no such format.
    pub(crate) fn wants_json(&self) -> bool {
        let format = match self {
            Self::Tools(list) | Self::Resources(list) | Self::Prompts(list) => list.format,
            Self::Call(call) => call.format,
            Self::Read(read) => read.format,
            Self::Probe(probe) => probe.format,
            Self::Demo(demo) => demo.format,
            Self::Env(env) => env.format(),
            Self::Token(token) => token.format(),
            Self::Trust(trust) => trust.format(),
            Self::Doctor(doctor) => doctor.format,
            _ => return false,
        };
        format == tools::Format::Json
    }
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
