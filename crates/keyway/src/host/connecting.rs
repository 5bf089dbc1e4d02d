//! From an approved target to a connection: which transport, which authorizer, which child.

use std::sync::Arc;
#[cfg(feature = "stdio")]
use std::time::Duration;

use keyway_auth::{Authorizer, Fixed, ServerEvent, ServerObserver, Topic};
#[cfg(feature = "stdio")]
use keyway_auth::{Dynamic, Renewal};
#[cfg(feature = "stdio")]
use keyway_config::declared::Refresh;
use keyway_config::declared::{Helper, Transport};
#[cfg(not(feature = "stdio"))]
use keyway_config::resolve::LocalSpec;
use keyway_config::resolve::{RemoteSpec, SpecEndpoint};
use keyway_mcp::session::OfferedEras;
#[cfg(feature = "stdio")]
use keyway_transport::HELPER_TIMEOUT;
use keyway_transport::{Connection, connect_http};

use super::Host;
use crate::connect::{
    ConnectError, Connected, ConnectionFingerprint, FingerprintContext, FingerprintKey, Target,
    fingerprint_of, header_values,
};
use crate::health::{self, Checked, Health};
use crate::observed_authorizer::{ObservedAuthorizer, sanitized};
#[cfg(feature = "stdio")]
use crate::runtime::SharedClock;
use crate::timeouts::HTTP_PROBE_TIMEOUT;
#[cfg(feature = "ws")]
use crate::timeouts::WS_PROBE_TIMEOUT;

impl Host {
    /// Connects to a server, or prepares to where the transport needs no handshake.
    ///
    /// # Errors
    ///
    /// Returns [`ConnectError::NotConfigured`] for an empty address.
    pub(super) async fn connect_target(
        &self,
        target: Target<'_>,
    ) -> Result<Connected, ConnectError> {
        let observer = self.observer(target);
        if let Some(values) = &self.redaction_values {
            values.note(target, &self.environment);
        }
        let connected = match &target.spec.endpoint {
            SpecEndpoint::Local(local) => self.start(local, target).await,
            SpecEndpoint::Remote(remote) => self.reach(remote, target).await,
            _ => Err(ConnectError::NotConfigured),
        };
        match connected {
            Ok(mut connected) => {
                connected.connection.watch = observer;
                Ok(connected)
            }
            Err(error) => {
                let code = error.code();
                observer.emit(ServerEvent::NotConnected { code });
                Err(error)
            }
        }
    }

    async fn reach(
        &self,
        remote: &RemoteSpec,
        target: Target<'_>,
    ) -> Result<Connected, ConnectError> {
        let observer = self.observer(target);
        for (name, value) in &remote.headers {
            observer.note(Topic::Transport, || {
                format!("header {name}: {}", sanitized(value))
            });
        }
        let oauth = match &remote.helper {
            None => self.oauth(target),
            Some(_) => None,
        };
        if let Some(oauth) = &oauth {
            oauth.attend();
        }
        let authorizer: Arc<dyn Authorizer> = match &oauth {
            Some(oauth) => ObservedAuthorizer::wrap(Arc::new(oauth.clone()), observer, false),
            None => self.authorizer(remote, target)?,
        };
        let authorizer = match &self.redaction_values {
            Some(values) => values.recording(authorizer, target.spec),
            None => authorizer,
        };
        let (connection, offer) = self.dial(remote, target.spec.transport, authorizer).await?;
        if let (Some(oauth), Some(accounts)) = (&oauth, &self.accounts) {
            let grants = accounts.stores.left_behind();
            let attendance = &accounts.attendance;
            attendance.look_after(oauth.clone(), grants, &connection.link);
        }
        Ok(Connected {
            connection,
            #[cfg(feature = "stdio")]
            level: None,
            offer,
            oauth,
        })
    }

    pub(super) async fn dial(
        &self,
        remote: &RemoteSpec,
        transport: Transport,
        authorizer: Arc<dyn Authorizer>,
    ) -> Result<(Connection, OfferedEras), ConnectError> {
        let url = remote.address.url();
        Ok(match transport {
            #[cfg(feature = "sse")]
            Transport::Sse => (
                keyway_transport::connect_sse(url, authorizer, &self.http).await?,
                OfferedEras::Legacy,
            ),
            #[cfg(not(feature = "sse"))]
            Transport::Sse => return Err(ConnectError::NotBuiltIn { feature: "sse" }),
            #[cfg(feature = "ws")]
            Transport::Ws => (
                keyway_transport::connect_ws(url, authorizer, &self.http).await?,
                OfferedEras::Both {
                    probe: WS_PROBE_TIMEOUT,
                },
            ),
            #[cfg(not(feature = "ws"))]
            Transport::Ws => return Err(ConnectError::NotBuiltIn { feature: "ws" }),
            // No remote entry has `stdio`.
            Transport::Http | Transport::Stdio => (
                connect_http(url, authorizer, &self.http)?,
                OfferedEras::Both {
                    probe: HTTP_PROBE_TIMEOUT,
                },
            ),
        })
    }

    /// Chooses the way of authenticating.
    pub(super) fn authorizer(
        &self,
        remote: &RemoteSpec,
        target: Target<'_>,
    ) -> Result<Arc<dyn Authorizer>, ConnectError> {
        let headers = header_values(&remote.headers);
        let authorizer: Arc<dyn Authorizer> = match (&remote.helper, self.oauth(target)) {
            (Some(helper), _) => self.helper_authorizer(helper, remote, target)?,
            (None, Some(oauth)) => Arc::new(oauth),
            (None, None) => Arc::new(Fixed::new(headers)),
        };
        let has_helper = remote.helper.is_some();
        Ok(ObservedAuthorizer::wrap(
            authorizer,
            self.observer(target),
            has_helper,
        ))
    }

    #[cfg(feature = "stdio")]
    fn helper_authorizer(
        &self,
        helper: &Helper,
        remote: &RemoteSpec,
        target: Target<'_>,
    ) -> Result<Arc<dyn Authorizer>, ConnectError> {
        let headers = header_values(&remote.headers);
        let renewal = match (helper.refresh, helper.ttl_ms) {
            (Refresh::Request, _) => Renewal::Request,
            (_, Some(ms)) => Renewal::After(Duration::from_millis(ms)),
            _ => Renewal::Connection,
        };
        let timeout = helper
            .timeout_ms
            .map_or(HELPER_TIMEOUT, Duration::from_millis);
        let runner = self.helper(helper, remote, target);
        Ok(Arc::new(Dynamic::new(
            runner,
            SharedClock(Arc::clone(&self.clock)),
            renewal,
            timeout.min(HELPER_TIMEOUT),
            headers,
        )))
    }

    #[cfg(not(feature = "stdio"))]
    fn helper_authorizer(
        &self,
        _: &Helper,
        _: &RemoteSpec,
        _: Target<'_>,
    ) -> Result<Arc<dyn Authorizer>, ConnectError> {
        Err(ConnectError::NotBuiltIn { feature: "stdio" })
    }

    #[cfg(not(feature = "stdio"))]
    async fn start(&self, _: &LocalSpec, _: Target<'_>) -> Result<Connected, ConnectError> {
        Err(ConnectError::NotBuiltIn { feature: "stdio" })
    }

    /// Asks a server's health address, and compares the server's clock with ours.
    pub(super) async fn health_and_clock(
        &self,
        target: Target<'_>,
    ) -> Result<Checked, ConnectError> {
        match &target.spec.endpoint {
            SpecEndpoint::Remote(remote) => {
                health::check(&self.http, remote, self.authorizer(remote, target)?).await
            }
            SpecEndpoint::Local(_) => Ok(Checked::of(Health::Local)),
            _ => Err(ConnectError::NotConfigured),
        }
    }

    /// Returns what a connection to `target` would depend on; `around` is what else decides about
    /// it in this process, such as how the network is reached.
    pub(super) fn fingerprint(
        &self,
        target: Target<'_>,
        around: &[&[u8]],
        key: &FingerprintKey,
    ) -> ConnectionFingerprint {
        let accounts = self.accounts.as_ref();
        let account = accounts.map(|accounts| {
            let account = accounts.account.as_deref();
            (accounts.profile.as_str(), account.unwrap_or_default())
        });
        let context = FingerprintContext {
            account,
            environment: &self.environment,
            around,
        };
        fingerprint_of(target, context, key)
    }

    pub(super) fn observer(&self, target: Target<'_>) -> ServerObserver {
        let events = self.events.for_plugin(target.plugin);
        events.watch(&target.spec.name)
    }
}
