//! What is for those who operate the gateway: metrics, and the admin port.

use std::fmt;
use std::sync::Arc;

use http::header::ORIGIN;
use http::{Method, StatusCode};
use keyway_auth::oauth::RefreshTraffic;
use keyway_dashboard::Dashboard;
use keyway_transport::{Inbound, Peer, Reply};

use super::families::{Family, of_renewals};
use super::guard::{self, Door};
use super::{Gateway, reply};

/// What else is measured, and who asks where.
#[derive(Default)]
pub(super) struct Operating {
    /// What was counted of renewals.
    traffic: Option<Arc<RefreshTraffic>>,
    /// What the store says of itself.
    measures: Option<Box<dyn Fn() -> Vec<Family> + Send + Sync>>,
    /// Whether there is a port for this apart from that of clients.
    has_admin_port: bool,
}

impl fmt::Debug for Operating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operating")
            .field("has_admin_port", &self.has_admin_port)
            .finish_non_exhaustive()
    }
}

impl Gateway {
    /// Shows in the metrics what is counted of renewals.
    #[must_use]
    pub fn measuring(mut self, traffic: Arc<RefreshTraffic>) -> Self {
        self.operating.traffic = Some(traffic);
        self
    }

    /// Shows in the metrics what `measures` returns, which must not wait.
    #[must_use]
    pub(crate) fn with_measures(
        mut self,
        measures: impl Fn() -> Vec<Family> + Send + Sync + 'static,
    ) -> Self {
        self.operating.measures = Some(Box::new(measures));
        self
    }

    /// Says whether there is an admin port: the dashboard is there then, and not at the port for
    /// clients.
    #[must_use]
    pub const fn with_admin_port(mut self, has_admin_port: bool) -> Self {
        self.operating.has_admin_port = has_admin_port;
        self
    }

    /// Returns the dashboard for a request at the port for clients or the socket.
    pub(super) fn dashboard_at(&self, door: Door, peer: Peer) -> Option<&Arc<Dashboard>> {
        // What is for the person of this machine stays on it.
        let is_here =
            door == Door::Local && (!self.operating.has_admin_port || peer == Peer::SameUser);
        self.dashboard.as_ref().filter(|_| is_here)
    }

    /// Says whether a request at the port for clients or the socket may ask for the metrics: where
    /// people come in, that port is for them alone.
    pub(super) fn has_metrics_at(&self, door: Door, peer: Peer) -> bool {
        door == Door::Local && (self.people.is_none() || peer == Peer::SameUser)
    }

    /// Answers a request at the admin port.
    pub(crate) async fn answer_admin(&self, request: Inbound) -> Reply {
        let path = request.uri.path();
        let head = (&request.uri, &request.headers);
        let door = guard::door(request.peer, head, None);
        // From another machine it is asked by whatever name that has for this one. No page asks.
        let is_remote = request.peer == Peer::Remote && !request.headers.contains_key(ORIGIN);
        if door != Some(Door::Local) && !is_remote {
            return reply::forbidden();
        }
        if request.method != Method::GET && !(door.is_some() && Dashboard::is_own(path)) {
            return reply::wrong_method();
        }
        match path {
            "/healthz" => reply::plain(StatusCode::OK, "ok\n"),
            "/readyz" => self.readiness.reply(),
            "/metrics" => self.answer_metrics(&request).await,
            path => match &self.dashboard {
                Some(dashboard) if door.is_some() && Dashboard::is_own(path) => {
                    if request.method == Method::GET {
                        self.looks.look().await;
                    }
                    dashboard.answer(request).await
                }
                _ => reply::plain(StatusCode::NOT_FOUND, "not found\n"),
            },
        }
    }

    /// Answers with all metrics, if the request may see what concerns all servers.
    pub(super) async fn answer_metrics(&self, request: &Inbound) -> Reply {
        match self.principal(request).await {
            Ok(principal) if principal.opens_all() => {
                let text = reply::plain(StatusCode::OK, "");
                text.body(self.metrics_text())
            }
            Ok(_) => reply::token_too_narrow(),
            Err(refusal) => refusal,
        }
    }

    fn metrics_text(&self) -> String {
        let mut text = self.metrics.text(self.session_count());
        let traffic = self.operating.traffic.as_ref();
        let renewals = traffic.map(|traffic| of_renewals(&traffic.counts()));
        let store = self.operating.measures.as_ref().map(|measure| measure());
        for family in renewals.into_iter().chain(store).flatten() {
            family.write(&mut text);
        }
        text
    }
}
