//! How the key of the vault is protected, and what the vault tells of servers if it opens without
//! asking a person.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use keyway::hand_outs::{HandOut, HandOuts};
use keyway::vault::KeptVault;
use keyway::vault::{Folders, SourceKind, Vault, VaultError};
use keyway_secret::printable;
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::environment::ProcessEnvironment;
use crate::error::CliError;
use crate::vault::unasked_sources;

/// What can be told of the vault without its key.
#[derive(Serialize)]
pub(super) struct VaultReport {
    /// Where its key comes from.
    key_source: &'static str,
    /// What that is worth, in words.
    protection: String,
    /// Why approvals and sign-ins are not told, as a code.
    closed: Option<&'static str>,
    /// The servers whose access tokens clients may have.
    #[serde(serialize_with = "as_objects")]
    handed_out: Vec<HandOut>,
}

fn as_objects<S: Serializer>(all: &[HandOut], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(|it| {
        let since = it.since().duration_since(UNIX_EPOCH).unwrap_or_default();
        json!({
            "plugin": it.plugin, "server": it.server, "origin": it.origin,
            "since": since.as_secs(),
        })
    }))
}

impl VaultReport {
    /// Looks at the vault; `None` if there is none, and none is made.
    pub(super) fn look() -> Result<Option<Self>, CliError> {
        let Some(folders) = ProcessEnvironment::folders() else {
            return Ok(None);
        };
        let found = Vault::inspect(&folders)?;
        Ok(found.map(|found| Self {
            key_source: found.protection.source.as_str(),
            protection: found.protection.to_string(),
            closed: None,
            handed_out: Vec::new(),
        }))
    }

    /// Opens the vault; `None` if that takes a person.
    pub(super) fn open(&mut self) -> Result<Option<Arc<KeptVault>>, CliError> {
        let Some(folders) = ProcessEnvironment::folders() else {
            return Ok(None);
        };
        let kept = Arc::new(opener(folders)?);
        match kept.get() {
            Ok(vault) => {
                self.handed_out = HandOuts::new(&vault)?.list()?;
                Ok(Some(kept))
            }
            Err(error) if takes_a_person(&error) => {
                self.closed = Some(error.code().as_str());
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Says it in a line or two.
    pub(super) fn in_words(&self) -> String {
        let mut text = format!("\nvault: {}\n", printable(&self.protection));
        if self.closed.is_some() {
            text.push_str("its key was not asked for, so approvals and sign-ins are not shown\n");
        }
        if !self.handed_out.is_empty() {
            text.push_str("\naccess tokens that are handed to clients:\n");
        }
        for it in &self.handed_out {
            let (plugin, server) = (printable(&it.plugin), printable(&it.server));
            let origin = printable(&it.origin);
            text.push_str(&format!(
                "  {plugin}:{server}: for {origin}; `keyway headers {server} --no-direct` ends it\n"
            ));
        }
        text
    }
}

fn opener(folders: Folders) -> Result<KeptVault, CliError> {
    let sources = unasked_sources()?;
    let at = folders.clone();
    let open = move || Vault::open(&at, sources.clone());
    Ok(KeptVault::new(folders, Box::new(open)))
}

/// Says whether the vault would open if a person were asked.
const fn takes_a_person(error: &VaultError) -> bool {
    matches!(
        error,
        VaultError::KeyringLocked
            | VaultError::KeySourceUnavailable {
                recorded: SourceKind::Passphrase
            }
    )
}
