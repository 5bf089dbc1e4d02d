//! `keyway logs`: what the programs of a server printed beside the protocol.

use clap::Args;
use keyway::Error;
use keyway::error::LoadError;
use keyway_code::Exit;
use tokio::time::sleep;

use crate::arguments::connect::{ConnectArgs, SignInPolicy, server_name};
use crate::arguments::hidden;
use crate::arguments::server::ServerArg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::timeouts::LOG_LOOK_INTERVAL;

/// Show what a server's programs printed, redacted
///
/// Standard error of local servers and helpers, from every process of yours; at most 2 MiB a server.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway logs docs
  keyway logs docs -f")]
#[command(mut_arg("browser", hidden))]
pub(crate) struct Logs {
    #[command(flatten)]
    server: ServerArg,
    /// Print new lines as they come, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Print the last N lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    lines: usize,
    #[command(flatten)]
    reach: ConnectArgs,
}

/// Runs the command.
pub(crate) fn run(arguments: &Logs, context: &CommandContext) -> Result<Exit, CliError> {
    let host = arguments.reach.host(context, SignInPolicy::NEVER)?;
    let (plugin, server) = arguments.server.load(&host, &arguments.reach)?;
    let name = server_name(&plugin, server.as_deref())?;
    let log = plugin.log(&name).ok_or(Error::NoHome)?;
    // Begun before the first lines are read, so that none is missed in between.
    let mut follower = log.follow();
    let unreadable = |source| {
        let path = log.path().display().to_string();
        CliError::from(Error::from(LoadError::Unreadable { path, source }))
    };
    let print = |lines: Vec<String>| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        context.print(&text, Exit::Done)
    };
    let lines = log.last_lines(arguments.lines).map_err(unreadable)?;
    if lines.is_empty() {
        context.print_aside(&format!("note: `{name}` has printed nothing so far\n"));
    }
    print(lines)?;
    if !arguments.follow {
        return Ok(Exit::Done);
    }
    super::block_on(async {
        loop {
            sleep(LOG_LOOK_INTERVAL).await;
            print(follower.new_lines().map_err(unreadable)?)?;
        }
    })
}
