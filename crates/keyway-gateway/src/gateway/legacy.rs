//! Clients from 2025-03-26 to 2025-11-25: a session starts with `initialize` and has one upstream
//! connection at a time.

use std::convert::Infallible;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, StatusCode};
use keyway_secret::{Secret, random};
use keyway_transport::{Envelope, Reply};
use tokio::sync::oneshot;

use super::Gateway;
use super::client_message::{ClientMessage, asked, prefers_events, takes_events};
use super::client_session::{ClientSession, SessionOwner};
use super::event_streams::Priming;
use super::exchange::{Exchange, OnDisconnect};
use super::principal::Principal;
use super::reply::{self, LAST_EVENT_ID, NO_SESSION, SESSION_ID, VERSION};
use super::routes::Route;
use super::session_store::SessionKind;
use super::upstream_connection::{CloseOnDrop, Delivery};
use keyway_mcp::jsonrpc::INVALID_REQUEST;
use keyway_mcp::version::{LEGACY, NEWEST_LEGACY};

impl Gateway {
    /// Serves a message of a legacy client.
    pub(super) async fn legacy(&self, message: &ClientMessage, envelope: &Envelope<'_>) -> Reply {
        let id = envelope.id();
        let refuse = |status, code, what: &str| reply::refusal(status, id.as_ref(), code, what);
        let Some(session_id) = message.headers.get(SESSION_ID) else {
            return match envelope.method.as_deref() {
                Some("initialize") if id.is_some() => self.initialize(message, envelope).await,
                _ => refuse(
                    StatusCode::BAD_REQUEST,
                    INVALID_REQUEST,
                    "a session begins with `initialize`, and every later request must carry its id",
                ),
            };
        };
        if !has_known_version(&message.headers) {
            let what = "unknown MCP-Protocol-Version";
            return refuse(StatusCode::BAD_REQUEST, INVALID_REQUEST, what);
        }
        let found = self.client_or_take_over(session_id, &message.principal, &message.route);
        let Some((client, _)) = found.await else {
            return refuse(
                StatusCode::NOT_FOUND,
                NO_SESSION,
                "there is no such session",
            );
        };
        let Some(connection) = client.connection_for(&self.router, envelope).await else {
            return refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended");
        };
        let Some(asked) = asked(envelope, &message.headers) else {
            let connection = client.observe_notification(envelope, connection);
            let sent = connection.send_notification(message.frame.clone()).await;
            return match sent {
                Ok(()) => Reply::new(StatusCode::ACCEPTED),
                Err(_) => refuse(StatusCode::NOT_FOUND, NO_SESSION, "the session has ended"),
            };
        };
        if let Err(refused) = self.admit_named(message, envelope, &connection) {
            return refused.reply(id.as_ref());
        }
        let deliveries = match connection.register(&asked) {
            Ok(deliveries) => deliveries,
            Err(refused) => return refused.reply(&asked.id),
        };
        let exchange = Exchange::new(connection, asked.id, OnDisconnect::Continue, deliveries)
            .takes_events(asked.takes_events)
            .prefers_events(prefers_events(&message.headers))
            .priming(priming(&message.headers))
            .observed_by(message.recorder.clone())
            .holding(message.permits.clone());
        exchange.send(message.frame.clone()).await;
        exchange.reply().await
    }

    async fn initialize(&self, message: &ClientMessage, envelope: &Envelope<'_>) -> Reply {
        let busy = || reply::plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions\n");
        let Some(asked) = asked(envelope, &message.headers) else {
            return busy();
        };
        if let Err(shortage) = self.sessions.may_start(&message.principal, &message.route) {
            return shortage.reply();
        }
        let owner = SessionOwner::of(&message.principal, &message.route);
        let Ok((connection, mut deliveries)) = owner
            .open_connection(&self.router, &message.frame, &asked)
            .await
        else {
            return busy();
        };
        // The client may go away before there is a session.
        let close_on_drop = CloseOnDrop::new(Arc::clone(&connection));
        // Nothing that a server says before has to be known before the session is.
        let answer = loop {
            match deliveries.recv().await {
                Some(Delivery::Interim(_)) => {}
                Some(Delivery::Response(frame, code)) => break Some((frame, code)),
                None => break None,
            }
        };
        let Some((frame, code)) = answer else {
            return reply::plain(StatusCode::BAD_GATEWAY, "no answer\n");
        };
        if let Some(recorder) = &message.recorder {
            recorder.answered(&frame, code);
        }
        let body = reply::message(StatusCode::OK, frame.bytes().clone());
        let is_accepted = code.is_none() && frame.envelope().is_ok_and(|it| it.result.is_some());
        if !is_accepted {
            return body;
        }
        let client = ClientSession::start(connection, owner, &message.frame);
        client.initialized_with(&frame);
        let id = self.session_id(&client, &message.principal, &message.route);
        let kind = SessionKind::Streamable(client);
        let id = self.sessions.insert(
            id,
            (&message.principal, message.route.clone()),
            kind,
            &self.router.closing,
        );
        match id.and_then(|id| HeaderValue::from_str(id.expose()).ok()) {
            Some(mut id) => {
                close_on_drop.keep();
                id.set_sensitive(true);
                body.header(SESSION_ID, id)
            }
            None => busy(),
        }
    }

    /// Opens the stream for what belongs to no request, or takes up any that broke off.
    pub(super) async fn listen(
        &self,
        principal: &Principal,
        route: &Route,
        headers: &HeaderMap,
    ) -> Reply {
        let Some(id) = headers.get(SESSION_ID) else {
            return reply::wrong_method();
        };
        if !takes_events(headers) {
            let what = "the client must accept text/event-stream\n";
            return reply::plain(StatusCode::NOT_ACCEPTABLE, what);
        }
        let found = self.client_or_take_over(id, principal, route).await;
        let Some((client, origin)) = found else {
            return reply::plain(StatusCode::NOT_FOUND, "there is no such session\n");
        };
        // What was said on a stream elsewhere is not known here: it goes on with what comes.
        let last = headers
            .get(LAST_EVENT_ID)
            .filter(|_| origin == Origin::Here);
        let Some(last) = last else {
            return reply::events(client.connection().listen(priming(headers)));
        };
        let resumed = last
            .to_str()
            .ok()
            .and_then(|it| client.connection().resume(it));
        resumed.map_or_else(
            || reply::plain(StatusCode::BAD_REQUEST, "the stream is no longer known\n"),
            reply::events,
        )
    }

    /// Ends a session.
    pub(super) async fn end(
        &self,
        principal: &Principal,
        route: &Route,
        headers: &HeaderMap,
    ) -> Reply {
        let Some(id) = headers.get(SESSION_ID) else {
            return reply::wrong_method();
        };
        match self.client(id, principal, route) {
            Some(client) => {
                self.sessions.remove(id.to_str().unwrap_or_default());
                // Aside: a client that does not wait for the answer must not keep its server open,
                // which nothing else would close any more.
                let (done, closed) = oneshot::channel::<Infallible>();
                self.router.closing.spawn(async move {
                    client.close().await;
                    drop(done);
                });
                let _done = closed.await;
                Reply::new(StatusCode::NO_CONTENT)
            }
            None => reply::plain(StatusCode::NOT_FOUND, "there is no such session\n"),
        }
    }

    /// Makes the id of a session: sealed, where there is a key and it fits.
    fn session_id(
        &self,
        client: &ClientSession,
        principal: &Principal,
        route: &Route,
    ) -> Option<Secret<String>> {
        let sealed = self.session_key.as_ref().and_then(|key| {
            let session = client.sealed()?;
            key.seal(&session, principal.id(), route)
        });
        sealed.or_else(|| random::token().ok())
    }

    /// Finds a session, and takes over one of another replica.
    async fn client_or_take_over(
        &self,
        id: &HeaderValue,
        principal: &Principal,
        route: &Route,
    ) -> Option<(Arc<ClientSession>, Origin)> {
        if let Some(client) = self.client(id, principal, route) {
            return Some((client, Origin::Here));
        }
        let id = id.to_str().ok()?;
        let sealed = self.session_key.as_ref()?.open(id, principal.id(), route)?;
        if self.sessions.has_ended(id) || self.sessions.may_start(principal, route).is_err() {
            return None;
        }
        let owner = SessionOwner::of(principal, route);
        let client = ClientSession::take_over(sealed, owner, &self.router).await?;
        let kind = SessionKind::Streamable(Arc::clone(&client));
        let own_id = Some(Secret::new(id.to_owned()));
        let closing = &self.router.closing;
        let stored = self
            .sessions
            .insert(own_id, (principal, route.clone()), kind, closing);
        if stored.is_none() {
            // Another request of the client was faster, or there is no room.
            client.close().await;
            let there = self.sessions.streamable(id, principal, route)?;
            return Some((there, Origin::Elsewhere));
        }
        Some((client, Origin::Elsewhere))
    }

    fn client(
        &self,
        id: &HeaderValue,
        principal: &Principal,
        route: &Route,
    ) -> Option<Arc<ClientSession>> {
        self.sessions
            .streamable(id.to_str().ok()?, principal, route)
    }
}

/// Where a session was until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Here,
    /// At another replica, or here before a restart.
    Elsewhere,
}

/// Without the header a client of 2025-03-26 is assumed (2025-11-25, "Protocol Version Header").
fn has_known_version(headers: &HeaderMap) -> bool {
    let sent = headers.get(VERSION);
    sent.is_none_or(|sent| LEGACY.iter().any(|version| sent == version))
}

/// Empty events are known since 2025-11-25.
fn priming(headers: &HeaderMap) -> Priming {
    match headers.get(VERSION) {
        Some(sent) if sent == NEWEST_LEGACY => Priming::Event,
        _ => Priming::None,
    }
}
