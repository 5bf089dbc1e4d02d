//! `keyway open`: the dashboard of the running gateway, in the browser.

use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use clap::Args;
use keyway_code::Exit;
use keyway_secret::Secret;

use crate::browser::Browser;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::timeouts::DASHBOARD_LINK_TIMEOUT;
use crate::vault::folders;

/// Open the dashboard of the running gateway in the browser
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway open
  keyway open --print")]
pub(crate) struct Open {
    /// Print the link instead of opening it; it works once, within five minutes
    #[arg(long)]
    print: bool,
    /// Socket of the gateway [default: the one that `keyway serve` uses]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Command that opens pages [default: `BROWSER`, else config.toml, else the desktop's browser]
    #[arg(long, value_name = "COMMAND", conflicts_with = "print")]
    browser: Option<String>,
}

/// Runs the command.
pub(crate) fn run(open: &Open, context: &CommandContext) -> Result<Exit, CliError> {
    let folder = folders()?.runtime;
    let usual = folder.join("gateway.sock");
    let link = link(open.socket.as_ref().unwrap_or(&usual))?;
    let browser = if open.print {
        None
    } else {
        let named = open.browser.clone().or_else(ProcessEnvironment::browser);
        let kept = context.settings()?.defaults.browser.clone();
        Browser::find(named.or(kept).as_deref())
    };
    if !browser.is_some_and(|browser| browser.open_privately(&folder, &link)) {
        context.print(&format!("{}\n", link.expose()), Exit::Done)?;
    }
    Ok(Exit::Done)
}

/// Asks a gateway of our own user for a link.
pub(super) fn link(socket: &Path) -> Result<Secret<String>, CliError> {
    let asked = ask(socket).map_err(|source| CliError::NoGateway {
        path: socket.to_owned(),
        source,
    })?;
    asked.ok_or_else(|| CliError::NoGateway {
        path: socket.to_owned(),
        source: io::Error::other("it has no dashboard"),
    })
}

fn ask(socket: &Path) -> io::Result<Option<Secret<String>>> {
    // A socket of another user could lead anywhere.
    let owner = std::fs::symlink_metadata(socket)?.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(DASHBOARD_LINK_TIMEOUT))?;
    stream.set_write_timeout(Some(DASHBOARD_LINK_TIMEOUT))?;
    stream.write_all(REQUEST)?;
    let mut answer = String::new();
    stream.take(MOST_BYTES).read_to_string(&mut answer)?;
    let answer = Secret::new(answer);
    let text = answer.expose();
    let body = text.split_once("\r\n\r\n");
    let body = body.filter(|_| text.starts_with("HTTP/1.1 200 "));
    let link = body.map(|(_, body)| body.trim().to_owned());
    // Whatever it is, a browser gets nothing but a page of this machine.
    let link = link.filter(|link| link.starts_with("http://127.0.0.1:"));
    Ok(link.map(Secret::new))
}

const REQUEST: &[u8] =
    b"POST /dashboard/link HTTP/1.1\r\nHost: keyway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const MOST_BYTES: u64 = 16 * 1024;
