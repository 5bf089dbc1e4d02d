//! A server that is approved and resolved: connecting to it, and what else it can be asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keyway::connect::{
    ConnectError, Connected, Host, Likeness, LikenessKey, Target, TransportError,
};
use keyway::events::Events;
use keyway::health::{Checked, Health};
use keyway::settings::Confinement;
use keyway::sign_in::{AuthError, Door, OAuth, SignIn};
use keyway::trust::Files;
use keyway_config::declared::Transport;
use keyway_config::environment::HostVariables;
use keyway_config::resolve::{ServerSpec, SpecEndpoint};
use keyway_mcp::session::{DEFAULT_TIMEOUT, Handler, Session as Conversation};

use super::client_info;
use super::error::{ReachError, Said};
use super::tail::Tail;
use crate::error::CliError;

/// A server that is approved and resolved.
#[derive(Debug, Clone)]
pub(crate) struct Ready {
    /// The server.
    pub(crate) spec: ServerSpec,
    /// The variables without which a sign-out cannot show who the client is.
    pub(crate) missing: Vec<String>,
    pub(super) host: HostVariables,
    pub(super) grants: Vec<String>,
    pub(super) files: Option<Files>,
    pub(super) confinement: Confinement,
    pub(super) plugin: String,
    pub(super) events: Events,
}

impl Ready {
    /// Returns how long to wait for a result: as asked for, as in the entry, or as usual.
    pub(crate) fn timeout(&self, seconds: Option<u64>) -> Duration {
        let entry = self.spec.timeout_ms.map(Duration::from_millis);
        let asked = seconds.map(Duration::from_secs);
        asked.or(entry).unwrap_or(DEFAULT_TIMEOUT)
    }

    /// Connects, or prepares to where the transport needs no greeting.
    pub(crate) async fn connect(&self, host: &Host) -> Result<Connected, CliError> {
        Ok(host.connect(self.target()).await?)
    }

    /// Returns the sign-in of this server; none if it is not by OAuth.
    pub(crate) fn oauth(&self, host: &Host) -> Option<OAuth> {
        host.oauth(self.target())
    }

    /// Returns the way in for who serves this server to a client.
    pub(crate) fn door(&self, host: &Host) -> Option<Door> {
        host.door(self.target())
    }

    /// Returns what is kept of its sign-in.
    pub(crate) fn sign_in(&self, host: &Host) -> Result<Option<SignIn>, CliError> {
        let (Some(accounts), SpecEndpoint::Remote(remote)) = (&host.accounts, &self.spec.endpoint)
        else {
            return Ok(None);
        };
        let kept = accounts.status(&self.plugin, &self.spec.name, remote);
        Ok(kept.map_err(ReachError::from)?)
    }

    /// Returns what a connection would depend on; `around` is what else counts in this process.
    pub(crate) fn likeness(&self, host: &Host, around: &[&[u8]], key: &LikenessKey) -> Likeness {
        host.likeness(self.target(), around, key)
    }

    /// Returns the name of its plugin.
    pub(crate) fn plugin(&self) -> &str {
        &self.plugin
    }

    /// Returns the files that run.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let files = self.files.iter().flat_map(Files::paths);
        files.map(Path::to_owned).collect()
    }

    /// Says whether the files that run are still those that were approved.
    fn verify(&self) -> Result<(), CliError> {
        let verified = self.files.as_ref().map_or(Ok(()), Files::verify);
        verified.map_err(|file| ConnectError::from(TransportError::Changed { file }).into())
    }

    fn target(&self) -> Target<'_> {
        Target {
            plugin: &self.plugin,
            spec: &self.spec,
            host: &self.host,
            grants: &self.grants,
            files: self.files.as_ref(),
            confinement: self.confinement,
        }
    }

    /// Asks the server's health address.
    pub(crate) async fn health(&self, host: &Host) -> Result<Health, CliError> {
        Ok(host.health(self.target()).await?)
    }

    /// The same, with how far the server's clock is from ours.
    pub(crate) async fn health_and_clock(&self, host: &Host) -> Result<Checked, CliError> {
        Ok(host.health_and_clock(self.target()).await?)
    }

    /// Finds out whether the server offers a sign-in by OAuth.
    pub(crate) async fn offers_oauth(&self, host: &Host) -> Result<(), AuthError> {
        host.offers_oauth(self.target()).await
    }

    /// Returns the same server, spoken to in another way.
    pub(crate) fn with_transport(&self, transport: Transport) -> Self {
        let mut other = self.clone();
        other.spec.transport = transport;
        if let SpecEndpoint::Remote(remote) = &mut other.spec.endpoint
            && let Some(address) = remote.address.over(transport)
        {
            remote.address = address;
        }
        other
    }

    /// Connects and greets the server.
    pub(crate) async fn converse(
        &self,
        host: &Host,
        handler: Arc<dyn Handler>,
    ) -> Result<Conversation, CliError> {
        let tail = Tail::default();
        let Connected {
            connection, offer, ..
        } = self.connect(&tail.listen(host)).await?;
        let opened = Conversation::open(connection, client_info(), handler, offer).await;
        // By now a script has been read by whatever runs it.
        if let Err(changed) = self.verify() {
            self.events.failed(&self.spec.name, changed.code());
            return Err(changed);
        }
        match opened {
            Ok(conversation) => Ok(conversation),
            Err(error) => {
                let said = Said {
                    withheld: host.withheld(self.target()),
                    lines: tail.lines().await,
                };
                Err(ReachError::start(&self.spec, said, error).into())
            }
        }
    }
}
