//! The admin port: the dashboard, metrics and health, apart from the port for clients.
//!
//! On this machine it is as closed as the port for clients: requests name this machine and come from
//! no foreign page. Beyond this machine it answers `/healthz`, `/readyz` and, with a token,
//! `/metrics`, under a certificate; the dashboard stays on this machine, at a port of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use keyway::settings::GatewaySettings;
use keyway_auth::BoxFuture;
use keyway_dashboard::Dashboard;
use keyway_transport::{Inbound, Listener, Reply, Service, serve};
use tokio::task::AbortHandle;

use crate::gateway::Gateway;
use crate::public_listener::{self, PublicListenError};

/// The admin port, listened on.
#[derive(Debug)]
pub struct AdminPort {
    listeners: Vec<Listener>,
    /// For this machine.
    port: u16,
}

/// An admin port that answers until this is dropped.
#[derive(Debug)]
pub struct AdminServing(AbortHandle);

impl Drop for AdminServing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Listens where the command line says, or else the settings; `None` if neither does.
///
/// Must be called inside a runtime.
///
/// # Errors
///
/// Returns [`PublicListenError::NotProtected`] for an address beyond this machine without a
/// certificate; otherwise why nothing can be listened on.
pub fn listen(
    address: Option<SocketAddr>,
    settings: &GatewaySettings,
) -> Result<Option<AdminPort>, PublicListenError> {
    let Some(address) = address.or(settings.admin) else {
        return Ok(None);
    };
    let loopback = |address| {
        Listener::loopback(address).map_err(|source| PublicListenError::Admin { address, source })
    };
    let listeners = if address.ip().is_loopback() {
        vec![loopback(address)?]
    } else {
        // Proxies in front of clients are not what asks for metrics: a certificate is needed.
        let public = settings.public.as_ref().filter(|it| it.tls.is_some());
        let Some(public) = public else {
            return Err(PublicListenError::NotProtected { address });
        };
        let mut public = public.clone();
        public.trusted_proxies.clear();
        vec![
            loopback(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?,
            public_listener::listen(address, &public)?,
        ]
    };
    let port = listeners.iter().find_map(Listener::port);
    Ok(Some(AdminPort {
        listeners,
        port: port.unwrap_or_else(|| address.port()),
    }))
}

impl AdminPort {
    /// Returns the port at which it is reached on this machine.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Answers until the result is dropped, which is later than the port for clients is closed:
    /// `/readyz` says so meanwhile. Must be called inside a runtime.
    #[must_use]
    pub fn serve(self, gateway: &Arc<Gateway>, dashboard: &Dashboard) -> AdminServing {
        dashboard.opens_at(self.port);
        self.serve_gateway(gateway)
    }

    pub(crate) fn serve_gateway(self, gateway: &Arc<Gateway>) -> AdminServing {
        let service = Arc::new(AdminService(Arc::clone(gateway)));
        let serving = serve(self.listeners, service, std::future::pending());
        AdminServing(tokio::spawn(serving).abort_handle())
    }
}

/// Answers at the admin port.
#[derive(Debug)]
struct AdminService(Arc<Gateway>);

impl Service for AdminService {
    fn answer(self: Arc<Self>, request: Inbound) -> BoxFuture<'static, Reply> {
        Box::pin(async move { self.0.answer_admin(request).await })
    }
}
