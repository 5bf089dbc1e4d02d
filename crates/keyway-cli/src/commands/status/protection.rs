//! What keeps the programs of servers from Keyway's files and processes, as it would be here.
//!
//! Found out by a launcher that shuts itself in and ends; no program of a plugin is started.

use keyway::Host;
use keyway::connect::{Isolation, Launcher};
use keyway::examination::Surveyed;
use keyway::settings::{Confinement, isolation as isolation_of};

use crate::arguments::connect;
use crate::commands::block_on;
use crate::error::CliError;
use crate::vault::folders;

/// Fills in the protection of every server that runs a program.
pub(super) fn look_up(servers: &mut [Surveyed<'_>], host: &Host) -> Result<(), CliError> {
    let mut known: Vec<(Confinement, String)> = Vec::new();
    for server in servers.iter_mut() {
        let Some(asked) = server.confinement(host) else {
            continue;
        };
        let words = match known.iter().find(|(confinement, _)| *confinement == asked) {
            Some((_, words)) => words.clone(),
            None => {
                let words = probe(&asked)?;
                known.push((asked, words.clone()));
                words
            }
        };
        server.diagnosis.protection = Some(words);
    }
    Ok(())
}

fn probe(asked: &Confinement) -> Result<String, CliError> {
    let mut of_process = connect::isolation();
    if let Ok(own) = folders() {
        of_process
            .hidden
            .extend([own.data, own.config, own.runtime]);
    }
    // A folder that is hidden would be made first, and looking makes nothing.
    of_process.hidden.retain(|folder| folder.exists());
    let isolation: Isolation = isolation_of(asked, &of_process);
    let level = block_on(async {
        Ok(match Launcher::current() {
            Ok(launcher) => launcher.probe(&isolation).await,
            Err(error) => Err(error),
        })
    })?;
    let mut words = match level {
        Ok(level) if level.ends_descendants() => level.to_string(),
        Ok(level) if level.has_control_group() => format!("{level}; {CONTROL_GROUP}"),
        Ok(level) => format!("{level}; {NO_NAMESPACE}"),
        Err(error) => format!("not known: {error}"),
    };
    if asked.dangerous_inherit_environment {
        words.push_str("; gets the whole environment, as configured");
    }
    Ok(words)
}

/// Where the kernel does not end what a program started by itself.
const CONTROL_GROUP: &str =
    "without a PID namespace, what a program starts is ended through its control group";
const NO_NAMESPACE: &str = "without a PID namespace or a control group, what a program starts is left \
    if its supervisor is killed";
