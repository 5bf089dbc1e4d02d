//! What a person manages on the dashboard beside single servers: gateway tokens, servers of their own,
//! and the entries of Keyway in clients' files. All of it is what the commands do, by the same library.
//!
//! Everything here reads and writes files or the vault, so that callers run it where blocking is fine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use keyway::variables::{KeepError, KeptVariables};
use keyway::vault::Vault;
use keyway_clients::clients::Client;
use keyway_clients::install::{InstallError, Installation, OwnEntry, Restoration};
use keyway_clients::new_server::NewServer;
use keyway_clients::own_entries::{OWN_PLUGIN, run_command};
use keyway_clients::survey::{EntryKind, EntryScope, Machine, SurveyedClient, SurveyedEntry};
use keyway_secret::{Clock as _, Secret, SystemClock, printable};
use keyway_vault::VaultError;
use thiserror::Error;

use crate::backend::ServerId;
use keyway_policy::TokenUses;
use keyway_policy::{GatewayToken, IssueError, TokenScope, TokenStore};

/// Tokens, servers of the person's own, and clients' files.
#[derive(Debug)]
pub struct Administration {
    vault: Arc<Vault>,
    uses: Arc<TokenUses>,
    data: PathBuf,
    program: String,
    machine: Machine<'static>,
}

/// A token that a person asks for.
#[derive(Debug, Clone)]
pub(crate) enum WantedToken {
    /// For a client; without a list it opens every server.
    Client {
        name: String,
        servers: Option<Vec<TokenScope>>,
    },
    /// For a job without a person: one server, with the sign-in of one account.
    Service {
        name: String,
        server: ServerId,
        account: String,
    },
}

/// Why a server was not added.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum AddError {
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error(transparent)]
    Keep(#[from] KeepError),
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// A client of this machine, and what Keyway wrote into its file.
#[derive(Debug)]
pub(crate) struct ClientView {
    pub(crate) client: &'static Client,
    pub(crate) file: String,
    /// The entries of ours, by name, each with what is wrong with it.
    pub(crate) ours: Vec<(String, Option<&'static str>)>,
    /// How many entries it has that are not ours.
    pub(crate) others: usize,
    /// Why its file cannot be read.
    pub(crate) problem: Option<String>,
}

impl Administration {
    /// Manages what is in `vault` and in Keyway's folder for `data`; entries of clients start
    /// `program`, by its absolute path.
    #[must_use]
    pub fn new(
        vault: Arc<Vault>,
        uses: Arc<TokenUses>,
        (data, program): (PathBuf, String),
        machine: Machine<'static>,
    ) -> Self {
        Self {
            vault,
            uses,
            data,
            program,
            machine,
        }
    }

    /// Returns every gateway token with its last use.
    pub(crate) fn tokens(&self) -> Result<Vec<(GatewayToken, Option<SystemTime>)>, VaultError> {
        let tokens = TokenStore::new(&self.vault)?.list()?.into_iter();
        let used = tokens.map(|token| {
            let last = self.uses.last(&token);
            (token, last)
        });
        Ok(used.collect())
    }

    /// Issues a token, which the caller shows once.
    pub(crate) fn issue(&self, wanted: &WantedToken) -> Result<Secret<String>, IssueError> {
        let (store, now) = (TokenStore::new(&self.vault)?, SystemClock.wall());
        match wanted {
            WantedToken::Client { name, servers } => store.issue(name, servers.clone(), now),
            WantedToken::Service {
                name,
                server,
                account,
            } => store.issue_service(name, (&server.plugin, &server.name), account, now),
        }
    }

    /// Revokes a token; says whether there was one.
    pub(crate) fn revoke(&self, name: &str) -> Result<bool, VaultError> {
        TokenStore::new(&self.vault)?.revoke(name)
    }

    /// Adds a server to the person's own plugin, as `keyway add` does; it is not approved thereby.
    pub(crate) fn add(&self, server: &NewServer) -> Result<(), AddError> {
        server.add(&self.data.join(OWN_PLUGIN), |values| {
            let kept = KeptVariables::new(&self.vault)?;
            for (name, value) in values {
                kept.set(name, value, SystemClock.wall())?;
            }
            Ok(())
        })
    }

    /// Returns the clients that are found here.
    pub(crate) fn clients(&self) -> Vec<ClientView> {
        let found = self.machine.survey().into_iter();
        let here = found.filter(|it| it.is_here || !it.entries.is_empty());
        here.map(|it| client_view(&it)).collect()
    }

    /// Returns one client, found here or not.
    pub(crate) fn client(&self, name: &str) -> Option<ClientView> {
        let client = Client::by_name(name)?;
        Some(client_view(&self.machine.look_at(client)))
    }

    /// Works out what a client's file would be with entries for servers, each with the root of its
    /// plugin. Nothing is written.
    pub(crate) fn installation(
        &self,
        client: &'static Client,
        servers: &[(PathBuf, String)],
    ) -> Result<Installation, InstallError> {
        let file = (client.user)(&self.machine.homes);
        let mut work = Installation::open(client, file, &self.data)?;
        for (root, server) in servers {
            let root = std::path::absolute(root).unwrap_or_else(|_| root.clone());
            let root = root.to_string_lossy().into_owned();
            let command = run_command(self.program.clone(), root, Some(server));
            work.put((server, &OwnEntry::Run(command)), false)?;
        }
        Ok(work)
    }

    /// Takes entries of ours out of a client's file, one by its name or all, and restores what they
    /// replaced. Returns how many files changed, and why entries stay.
    pub(crate) fn undo(
        &self,
        client: &Client,
        entry: Option<&str>,
    ) -> Result<(usize, Vec<String>), InstallError> {
        let file = (client.user)(&self.machine.homes);
        let plan = Restoration::plan(&self.data, |receipt| {
            receipt.file == file && entry.is_none_or(|entry| receipt.name == entry)
        })?;
        let mut plan = plan.keeping_servers();
        let kept = plan.kept().iter().map(ToString::to_string).collect();
        let written = plan.write(&self.data.join(OWN_PLUGIN))?;
        Ok((written.len(), kept))
    }
}

fn client_view(found: &SurveyedClient) -> ClientView {
    // Those that the page writes and takes out: the person's own file.
    let of_user = || {
        found
            .entries
            .iter()
            .filter(|it| it.scope == EntryScope::User)
    };
    let is_ours = |it: &&SurveyedEntry| matches!(it.kind, EntryKind::Keyway);
    let ours = of_user().filter(is_ours).map(|it| {
        let wrong = match (&it.broken, &it.shadowed_by) {
            (Some(_), _) => Some("does not work: its program or its plugin is gone"),
            (None, Some(_)) => Some("another entry of the same name takes precedence"),
            (None, None) => None,
        };
        (it.name.clone(), wrong)
    });
    ClientView {
        client: found.client,
        file: shown(&found.user_file),
        ours: ours.collect(),
        others: of_user().filter(|it| !is_ours(it)).count(),
        problem: found.problems.first().map(ToString::to_string),
    }
}

/// Writes a path as a page shows it.
pub(crate) fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}
