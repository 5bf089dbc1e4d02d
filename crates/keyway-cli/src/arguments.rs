//! The command line as data: global flags and one variant per command.
//!
//! The flags of a command stand in its own file under `commands/`.

use std::ops::Deref;
use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand, ValueEnum};

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
    Demo(Later<demo::Demo>),
    Check(Later<check::Check>),
    Run(Later<run::Run>),
    Serve(Later<serve::Serve>),
    Service(Later<service::Service>),
    Open(Later<open::Open>),
    Token(Later<token::Token>),
    Env(Later<env::Env>),
    /// List the tools of a server
    Tools(Later<tools::List>),
    /// List the resources of a server
    Resources(Later<tools::List>),
    /// List the prompts of a server
    Prompts(Later<tools::List>),
    Call(Later<call::Call>),
    Read(Later<call::Read>),
    Login(Later<login::Login>),
    Logout(Later<logout::Logout>),
    Install(Later<install::Install>),
    Uninstall(Later<uninstall::Uninstall>),
    Probe(Later<probe::Probe>),
    Doctor(Later<doctor::Doctor>),
    Explain(Later<explain::Explain>),
    Mtls(Later<mtls::Mtls>),
    Trust(Later<trust::Trust>),
    Vault(Later<vault::Vault>),
    Migrate(Later<migrate::Migrate>),
    Rotate(Later<rotate::Rotate>),
    Readme(Later<readme::Readme>),
    Status(Later<status::Status>),
    Schema(Later<schema::Schema>),
    ClientMetadata(Later<client_metadata::ClientMetadata>),
    Completions(Later<completions::Completions>),
    Man(Later<man::Man>),
    Docs(Later<docs::Docs>),
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

/// The flags of a command, which are only looked at when it is the one that was given.
#[derive(Debug)]
pub(crate) struct Later<T>(T);

impl<T> Deref for Later<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Later<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Later<T> {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.defer(|command| described_as_before(T::augment_args, command))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command.defer(|command| described_as_before(T::augment_args_for_update, command))
    }
}

/// Adds flags to a command; what it was said to be for, it stays.
fn described_as_before(
    flags: fn(clap::Command) -> clap::Command,
    command: clap::Command,
) -> clap::Command {
    let about = command.get_about().cloned();
    let command = flags(command);
    match about {
        Some(about) => command.about(about),
        None => command,
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
