//! The command line as data: global flags and one variant per command.
//!
//! The flags of a command stand in its own file under `commands/`.

use std::ops::Deref;
use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands::{
    call, check, client_metadata, complete, completions, demo, docs, doctor, env, explain, help,
    install, login, logout, man, migrate, mtls, open, probe, readme, rotate, run, schema, serve,
    service, status, token, tools, trust, uninstall, vault,
};
use crate::debug::About;
use crate::help::WIDEST;

/// Sign in to MCP servers once and share the connections with every client
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
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// When to use color [default: `color` in config.toml, else auto]
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<Color>,
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also print notes
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Append events to FILE as JSON Lines
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Log to standard error: everything, or only these topics
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "TOPICS",
        value_delimiter = ','
    )]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = EVERYTHING)]
    pub(crate) debug: Option<Vec<About>>,
    /// Append the log to FILE instead
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) debug_file: Option<PathBuf>,
}

const EVERYTHING: &str = "config,oauth,helper,transport";

/// When to use color.
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
    /// List the tools of servers
    #[command(after_help = "\
Examples:
  keyway tools docs
  keyway tools
  keyway tools docs --format json")]
    Tools(Later<tools::List>),
    /// List the resources of servers
    #[command(after_help = "\
Examples:
  keyway resources docs")]
    Resources(Later<tools::List>),
    /// List the prompts of servers
    #[command(after_help = "\
Examples:
  keyway prompts docs")]
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
    Help(Later<help::Help>),
    #[command(name = "__complete", hide = true)]
    Complete(Later<complete::Complete>),
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

/// Keeps a flag that means nothing to a command, for scripts that give it, out of the help.
pub(crate) fn hidden(flag: clap::Arg) -> clap::Arg {
    flag.hide(true)
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
