//! Entries that run `mcp-remote`: finding them, offering to replace them, moving what they hold.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use keyway::Host;
use keyway_check::diff::TextKind;
use keyway_clients::install::{
    ClientFile, Home, Installation, OwnEntry, Recognised, Remote, entry_name, recognise,
};
use keyway_clients::own_entries::run_command;
use keyway_secret::printable;

use super::{Install, approvals};
use crate::arguments::own_plugin;
use crate::commands::client_files::{data_folder, difference, is_same_file, this_program};
use crate::commands::confirmation::ask;
use crate::commands::env;
use crate::context::CommandContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::report::Verbosity;

/// The bridges of a client's file.
#[derive(Debug)]
pub(super) struct Bridges {
    found: Vec<(String, Remote)>,
    unsupported: Vec<(String, String)>,
    client: &'static str,
    home: Option<Home>,
    variables: Vec<String>,
    servers: Vec<String>,
}

impl Bridges {
    /// Looks through a file.
    pub(super) fn find(file: &ClientFile) -> Result<Self, CliError> {
        let mut bridges = Self {
            found: Vec::new(),
            unsupported: Vec::new(),
            client: file.client().name,
            home: None,
            variables: Vec::new(),
            servers: Vec::new(),
        };
        for entry in file.entries()? {
            match recognise(&entry) {
                Recognised::Remote(remote) => bridges.found.push((entry.name, remote)),
                Recognised::Unsupported { option } => {
                    bridges.unsupported.push((entry.name, option));
                }
                _ => {}
            }
        }
        Ok(bridges)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Keeps those that the person wants replaced, and says what else there is.
    pub(super) fn offer(
        &mut self,
        context: &CommandContext,
        arguments: &Install,
    ) -> Result<(), CliError> {
        if context.verbosity != Verbosity::Quiet {
            for (name, option) in &self.unsupported {
                let (name, option) = (printable(name), printable(option));
                context.print_aside(&format!(
                    "`{name}` runs a bridge with `{option}`, which Keyway does not have; keeping it\n"
                ));
            }
        }
        if arguments.instead.mcp_remote {
            return Ok(());
        }
        let asks = io::stdin().is_terminal() && !arguments.consent.yes;
        let client = self.client;
        self.found.retain(|(name, _)| {
            let name = printable(name);
            if asks {
                let question = format!("`{name}` runs `mcp-remote`. Replace it with Keyway?");
                return ask(context, &question);
            }
            if context.verbosity != Verbosity::Quiet {
                context.print_aside(&format!(
                    "`{name}` runs `mcp-remote`; `keyway install {client} --mcp-remote` replaces it\n"
                ));
            }
            false
        });
        Ok(())
    }

    /// Puts entries of ours in their place.
    pub(super) fn replace(
        &mut self,
        work: &mut Installation,
        plugin: Option<&Path>,
    ) -> Result<(), CliError> {
        if self.found.is_empty() {
            return Ok(());
        }
        let folder = match plugin {
            Some(path) if path.is_dir() => path.to_owned(),
            Some(_) => {
                let what = "`--mcp-remote` takes the folder of a plugin for `--config`";
                return Err(CliError::Usage { what });
            }
            None => data_folder()?.join(own_plugin::NAME),
        };
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let root = folder.clone().into_os_string().into_string();
        let root = root.map_err(|_| CliError::Usage {
            what: "the path of the folder is not UTF-8",
        })?;
        let mut home = Home::open(&folder)?;
        if is_same_file(&home.document().0, work.file().path()) {
            let what = super::OWN_FILE;
            return Err(CliError::Usage { what });
        }
        for (name, remote) in &self.found {
            let adopted = home.adopt(&entry_name(name), remote, &ProcessEnvironment)?;
            let command = run_command(this_program()?, root.clone(), Some(&adopted.server));
            work.replace(name, &OwnEntry::Run(command))?;
            self.variables.extend(adopted.variables);
            self.servers.push(adopted.server);
        }
        self.home = Some(home);
        Ok(())
    }

    /// Shows what would be written to the plugin folder; of values only the names.
    pub(super) fn diff(&self) -> String {
        let Some(home) = &self.home else {
            return String::new();
        };
        let mut text = String::new();
        for name in &self.variables {
            text.push_str(&format!("the value of `{name}` goes to the vault\n"));
        }
        let (path, before, after) = home.document();
        text.push_str(&difference(&path, (before, after), TextKind::Document, &[]));
        text
    }

    /// Writes the plugin folder.
    pub(super) fn write(&self) -> Result<Vec<PathBuf>, CliError> {
        match &self.home {
            Some(home) => {
                env::keep_all(&home.values())?;
                Ok(home.write()?)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Says what is left to the person.
    pub(super) fn advice(&self) -> String {
        let mut text = String::new();
        if !self.variables.is_empty() {
            let names = self.variables.join("`, `");
            text.push_str(&format!(
                "the values of `{names}` were written down in the client's file, and still are in its backup: get new ones from the issuer\n"
            ));
        }
        text
    }

    /// Says what has to be approved, once the plugin folder is written.
    pub(super) fn approvals(&self, host: &Host) -> Result<String, CliError> {
        let Some(home) = &self.home else {
            return Ok(String::new());
        };
        let plugin = host.load(home.folder())?;
        approvals(&plugin, &self.servers, None)
    }
}
