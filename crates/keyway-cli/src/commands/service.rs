//! `keyway service`: the gateway as a service of the person's own session.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use keyway::load::{Loaded, Loader};
use keyway_check::diff::TextKind;
use keyway_clients::service::{Service as Unit, ServiceFiles, ServiceManager, ServiceState};
use keyway_code::Exit;
use keyway_config::usage;
use keyway_secret::printable;
use serde::Serialize;

use super::client_files::{absolute, difference};
use super::confirmation::{Consent, lines};
use super::vault::Format;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::report::Verbosity;
use crate::vault::{folders, open_vault};
use keyway_terminal::Table;

/// Run the gateway as a user service that starts with the first client
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  keyway service install ~/plugins/wiki
  keyway service status")]
pub(crate) struct Service {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show and write the service's files, then enable it
    #[command(after_help = "\
Examples:
  keyway service install ~/plugins/wiki --dry-run")]
    Install(Install),
    /// Show whether the service is installed, enabled and answering
    #[command(after_help = "\
Examples:
  keyway service status")]
    Status {
        /// Output format
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: Format,
    },
    /// Disable the service and remove its files
    #[command(after_help = "\
Examples:
  keyway service uninstall")]
    Uninstall {
        #[command(flatten)]
        consent: Consent,
    },
}

#[derive(Debug, Args)]
struct Install {
    /// Plugin folders or files [default: this folder, or the nearest above it in the repository]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The same as PATH
    #[arg(long, value_name = "PATH")]
    config: Vec<PathBuf>,
    /// Loopback address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5399")]
    listen: SocketAddr,
    /// Use the approvals and sign-ins of this profile
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    #[command(flatten)]
    consent: Consent,
}

/// Runs the command.
pub(crate) fn run(arguments: &Service, context: &CommandContext) -> Result<Exit, CliError> {
    match &arguments.action {
        Action::Install(install) => install.run(context),
        Action::Status { format } => status(context, *format),
        Action::Uninstall { consent } => uninstall(context, consent),
    }
}

impl Install {
    fn run(&self, context: &CommandContext) -> Result<Exit, CliError> {
        let plugins = self.load()?;
        let manager = manager()?;
        let files = ServiceFiles::read(&manager, &self.unit(&plugins)?)?;
        let shown = diff(&files);
        if shown.is_empty() {
            context.print_aside("the files are up to date\n");
        } else if !self.consent.agreed(context, &shown)? {
            return Ok(self.consent.refused());
        }
        // Makes the socket's folder, for this user alone, before another process does.
        drop(open_vault()?);
        let written = files.write()?;
        context.print(&lines("wrote", &written), Exit::Done)?;
        if let Err(error) = manager.switch_on() {
            context.print_aside(NO_SESSION);
            return Err(error.into());
        }
        if context.verbosity != Verbosity::Quiet {
            context.print_aside(&variables(&plugins));
            context.print_aside(manager.without_login());
        }
        let state = manager.state();
        context.print_aside(&format!("{}\n", state.sentence()));
        Ok(match state {
            ServiceState::Answers => Exit::Done,
            _ => Exit::Failed,
        })
    }

    fn load(&self) -> Result<Vec<Loaded>, CliError> {
        let loader = Loader::default().home(ProcessEnvironment::home());
        let paths = self.paths();
        if paths.is_empty() {
            return Ok(vec![loader.discover(Path::new("."))?]);
        }
        let loaded = paths.into_iter().map(|path| Ok(loader.load(path)?));
        loaded.collect()
    }

    fn paths(&self) -> Vec<&PathBuf> {
        self.paths.iter().chain(&self.config).collect()
    }

    fn unit(&self, plugins: &[Loaded]) -> Result<Unit, CliError> {
        let program = ProcessEnvironment::program().ok_or(CliError::Usage {
            what: "the path of this program cannot be found",
        })?;
        if !self.listen.ip().is_loopback() || self.listen.port() == 0 {
            return Err(CliError::Usage {
                what: "a service listens on a port of 127.0.0.1 or [::1]",
            });
        }
        let given = self.paths();
        let paths: Result<Vec<String>, CliError> = if given.is_empty() {
            let roots = plugins.iter().map(|loaded| absolute(&loaded.plugin.root));
            roots.collect()
        } else {
            given.into_iter().map(|path| absolute(path)).collect()
        };
        let socket = socket()?.into_os_string().into_string();
        let socket = socket.map_err(|_| CliError::Usage {
            what: "the path of the runtime folder is not UTF-8",
        })?;
        let mut unit = Unit::new(absolute(&program)?, self.listen, socket);
        if let Some(profile) = &self.profile {
            unit.options
                .extend(["--profile".to_owned(), profile.clone()]);
        }
        unit.plugins = paths?;
        unit.has_both_families = has_other_family(self.listen.ip());
        unit.environment = ProcessEnvironment::of_places();
        Ok(unit)
    }
}

/// Returns the service manager of this machine.
fn manager() -> Result<ServiceManager, CliError> {
    let home = ProcessEnvironment::home().ok_or(keyway::Error::NoHome)?;
    let config = ProcessEnvironment::config_home();
    Ok(ServiceManager::here(&home, config, socket()?))
}

fn socket() -> Result<PathBuf, CliError> {
    Ok(folders()?.runtime.join("gateway.sock"))
}

/// Shows what would change; empty if nothing would.
fn diff(files: &ServiceFiles) -> String {
    let mut shown = String::new();
    for (path, there, content) in files.changes() {
        // If it were masked, the person could not see what would be started.
        let ours: Vec<String> = content.lines().map(str::to_owned).collect();
        shown.push_str(&difference(&path, (there, content), TextKind::Prose, &ours));
    }
    shown
}

/// Says whether the machine has the loopback address of the other family.
fn has_other_family(address: IpAddr) -> bool {
    let other = match address {
        IpAddr::V4(_) => "[::1]:0",
        IpAddr::V6(_) => "127.0.0.1:0",
    };
    TcpListener::bind(other).is_ok()
}

/// Says which variables a service has to be given, since it has no shell to take them from.
fn variables(plugins: &[Loaded]) -> String {
    let servers = plugins.iter().flat_map(|loaded| loaded.plugin.servers());
    let mut names: Vec<&str> = servers
        .flat_map(|(_, server)| usage::names(server))
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let mut text = "A service has no shell to take variables from; store them for it:\n".to_owned();
    for name in names {
        text.push_str(&format!("  keyway env set {}\n", printable(name)));
    }
    text
}

fn uninstall(context: &CommandContext, consent: &Consent) -> Result<Exit, CliError> {
    let manager = manager()?;
    let found = manager.installed()?;
    if found.is_empty() {
        context.print_aside("the service is not installed\n");
        return Ok(Exit::Done);
    }
    let shown = lines("removes", &found);
    if !consent.agreed(context, &shown)? {
        return Ok(consent.refused());
    }
    remove(context, &found)?;
    Ok(Exit::Done)
}

/// Returns the files of the service that are there.
pub(super) fn installed() -> Result<Vec<PathBuf>, CliError> {
    Ok(manager()?.installed()?)
}

/// Stops the service and removes its files. Without a session there is nothing that could be
/// stopped by its manager, and the files go all the same.
pub(super) fn remove(context: &CommandContext, found: &[PathBuf]) -> Result<(), CliError> {
    if found.is_empty() {
        return Ok(());
    }
    let manager = manager()?;
    if let Err(error) = manager.switch_off() {
        let error = printable(&error.to_string());
        context.print_aside(&format!("note: {error}; removing the files anyway\n"));
    }
    for path in found {
        std::fs::remove_file(path).map_err(|source| CliError::Generate {
            path: path.clone(),
            source,
        })?;
    }
    manager.look_again();
    context.print(&lines("removed", found), Exit::Done)
}

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u8,
    diagnostics: [(); 0],
    service: &'a str,
    files: Vec<String>,
    reason: String,
}

fn status(context: &CommandContext, format: Format) -> Result<Exit, CliError> {
    let manager = manager()?;
    let found = manager.installed()?;
    let state = if found.is_empty() {
        ServiceState::Absent
    } else {
        manager.state()
    };
    let paths: Vec<String> = found
        .iter()
        .map(|path| printable(&path.to_string_lossy()))
        .collect();
    let exit = match state {
        ServiceState::Answers | ServiceState::Absent => Exit::Done,
        _ => Exit::Failed,
    };
    let text = match format {
        Format::Json => {
            let report = Report {
                schema_version: 1,
                diagnostics: [],
                service: state.word(),
                files: paths,
                reason: state.sentence(),
            };
            let json = serde_json::to_string(&report);
            format!("{}\n", json.unwrap_or_default())
        }
        Format::Human => {
            let mut table = Table::new(["SERVICE", "STATE"]);
            table.push(["keyway".to_owned(), state.word().to_owned()]);
            for path in paths {
                table.push([path, "installed".to_owned()]);
            }
            context.render(&table)
        }
    };
    context.print(&text, exit)?;
    if format == Format::Human {
        context.print_aside(&format!("{}\n", state.sentence()));
    }
    Ok(exit)
}

const NO_SESSION: &str = "the files are written, and the service starts with your next session; `keyway service uninstall` removes them\n";
