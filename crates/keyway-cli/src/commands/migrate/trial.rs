//! What a migration leads to, tried against the servers before any file is changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use clap::Args;
use keyway::Error;
use keyway::examination::list_anything;
use keyway::load::Loaded;
use keyway_config::edit::TextChange;
use keyway_config::environment::Variables;
use keyway_secret::printable;

use crate::arguments::connect::{ConnectArgs, SignInPolicy, plan};
use crate::commands::block_on;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::waiting::{asking, waiting_for};

/// The flags of a migration that asks servers.
#[derive(Debug, Args)]
pub(super) struct Trying {
    /// Do not test the result against the servers
    #[arg(long)]
    pub(super) offline: bool,
    /// Approve the entries for this test only
    #[arg(long, conflicts_with = "offline")]
    pub(super) trust: bool,
}

/// A plugin as it will be.
pub(super) struct Trial<'a> {
    pub(super) before: &'a Loaded,
    pub(super) context: &'a CommandContext,
    /// Whether the person approved on the command line.
    pub(super) trust: bool,
}

impl Trial<'_> {
    /// Connects to each server with the new variables and lists something; returns what was found.
    ///
    /// What is not approved is not tried, and that is said: a program must not run, and a variable
    /// must not be sent, because of a migration.
    pub(super) fn of_variables(
        &self,
        changes: &[TextChange],
        (servers, values): (BTreeSet<&str>, Variables),
    ) -> Result<String, CliError> {
        let after = Arc::new(self.after(changes));
        block_on(async {
            let host = ConnectArgs::default().host(self.context, SignInPolicy::NEVER)?;
            let trusted = host.dangerous_approve_all();
            let quietly = if self.trust { &trusted } else { &host };
            let before = quietly.plugin(Arc::new(self.before.clone()));
            let tried = trusted.with_overrides(values).plugin(after);
            let mut text = String::new();
            for server in servers {
                let name = printable(server);
                let original =
                    plan(&before, Some(server)).and_then(|plan| Ok(plan.approved_before()?));
                if let Err(why) = original {
                    let why = printable(&why.to_string());
                    text.push_str(&format!("`{name}` was not tested: {why}\n"));
                    continue;
                }
                let ready = plan(&tried, Some(server))?.approved_before()?;
                let listing = list_anything(&ready);
                let found = waiting_for(self.context, asking(server), None, listing).await;
                let found = found.map_err(|error| refused(server, error.into()))?;
                text.push_str(&format!("`{name}` was tested: {}\n", found.summary()));
            }
            Ok(text)
        })
    }

    /// Asks a server whether the sign-in that the entry will rely on is there.
    pub(super) fn of_sign_in(
        &self,
        changes: &[TextChange],
        server: &str,
    ) -> Result<String, CliError> {
        let after = Arc::new(self.after(changes));
        let offered = block_on(async {
            let host = ConnectArgs::default().host(self.context, SignInPolicy::NEVER)?;
            let host = if self.trust {
                host.dangerous_approve_all()
            } else {
                host
            };
            let plan = plan(&host.plugin(after), Some(server))?;
            let approved = plan.approve().await?;
            let offered = approved.offers_oauth();
            let offered = waiting_for(self.context, asking(server), None, offered).await;
            offered.map_err(|error| {
                let server = server.to_owned();
                CliError::from(Error::SignIn { server, error })
            })
        });
        offered.map_err(|error| refused(server, error))?;
        let name = printable(server);
        Ok(format!(
            "`{name}` was asked: it offers sign-in with OAuth\n"
        ))
    }

    fn after(&self, changes: &[TextChange]) -> Loaded {
        let mut after = self.before.clone();
        for change in changes {
            after.set_text(&change.file, &change.after);
        }
        after
    }
}

fn refused(server: &str, error: CliError) -> CliError {
    CliError::NotMigrated {
        server: printable(server),
        source: Box::new(error),
    }
}
