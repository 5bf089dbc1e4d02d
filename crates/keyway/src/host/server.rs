//! What an approved server can do: connect, sign in, say how it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use keyway_approval::program_start::runs_package;
use keyway_auth::oauth::{CheckedTokens, OAuth, SignIn};
use keyway_auth::{AuthError, Authorizer, Credential, Fixed};
use keyway_code::Code;
use keyway_config::declared::Transport;
use keyway_config::method::Method;
use keyway_config::resolve::{ServerSpec, SpecEndpoint};
use keyway_mcp::session::{DEFAULT_TIMEOUT, Handler, NoHandler, Session, SessionError};
use keyway_mcp::timeouts::PACKAGE_START_TIMEOUT;
use keyway_transport::{AuthorizedClient, TransportError};
use tokio::time::timeout;

use super::Host;
use super::approved::Approved;
use super::child_lines::ChildLines;
use super::error::{ChildOutput, Error};
use super::plan::Plan;
use crate::approval::Files;
use crate::connect::{
    ConnectError, Connected, ConnectionFingerprint, FingerprintKey, Target, header_values,
};
use crate::env_filter::withheld;
use crate::health::{Checked, Health};
use crate::remembered_tools::RememberedTools;
use crate::sign_in::SignInGate;
use crate::timeouts::OPEN_PROBE_TIMEOUT;

impl Approved<Plan> {
    /// Returns the plan.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the name of the plugin.
    #[must_use]
    pub fn plugin(&self) -> &str {
        self.plan.plugin()
    }

    /// Returns the name of the server.
    #[must_use]
    pub fn server(&self) -> &str {
        self.plan.server()
    }

    /// Returns how the server is authenticated to.
    #[must_use]
    pub fn method(&self) -> Method {
        self.spec.method
    }

    /// Returns the entry, filled in.
    #[must_use]
    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// Returns the host.
    #[must_use]
    pub const fn host(&self) -> &Host {
        self.plan.host()
    }

    /// The same under a host that differs in some respect: how it asks, which account it uses.
    #[must_use]
    pub fn on(&self, host: &Host) -> Self {
        let mut other = self.clone();
        other.plan = self.plan.on(host);
        other
    }

    /// The same server, spoken to over another transport at the same address.
    #[must_use]
    pub fn with_transport(&self, transport: Transport) -> Self {
        let mut spec = ServerSpec::clone(&self.spec);
        spec.transport = transport;
        if let SpecEndpoint::Remote(remote) = &mut spec.endpoint
            && let Some(address) = remote.address.over(transport)
        {
            remote.address = address;
        }
        let mut other = self.clone();
        other.spec = Arc::new(spec);
        other
    }

    /// Returns how long to wait for a result: as asked for, as in the entry, or as usual.
    #[must_use]
    pub fn timeout(&self, asked: Option<Duration>) -> Duration {
        let entry = self.spec.timeout_ms.map(Duration::from_millis);
        asked.or(entry).unwrap_or(DEFAULT_TIMEOUT)
    }

    /// Returns how long the first answer is waited for: a package runner may fetch its program first.
    #[must_use]
    pub fn start_limit(&self) -> Duration {
        match self.runs_package() {
            true => PACKAGE_START_TIMEOUT,
            false => DEFAULT_TIMEOUT,
        }
    }

    fn runs_package(&self) -> bool {
        let SpecEndpoint::Local(local) = &self.spec.endpoint else {
            return false;
        };
        let words = std::iter::once(&local.command).chain(&local.args);
        let words: Vec<&str> = words.map(|word| word.template().as_str()).collect();
        runs_package(&words)
    }

    /// The same when its program may start: package runners start a few at a time. For those who
    /// limit what follows, and must not count the wait.
    #[cfg(all(feature = "callback", feature = "vault"))]
    pub(crate) async fn in_turn(&self) -> Self {
        #[cfg(feature = "stdio")]
        if self.runs_package() {
            let mut host = self.host().clone();
            host.programs.package_starts = host.programs.package_starts.reserve().await;
            return self.on(&host);
        }
        self.clone()
    }

    /// Connects and initializes a session. A server that asks the client for something is told that
    /// this client has no such capability.
    ///
    /// Dropping the session ends it; a server that was started here is killed with its process group.
    ///
    /// Cancel safety: dropping the future ends the connection, and kills a child.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unusable`] if there is nothing to connect to, [`Error::Talk`] if there is no
    /// connection or the server does not answer as MCP wants.
    pub async fn connect(&self) -> Result<Session, Error> {
        self.connect_with(Arc::new(NoHandler)).await
    }

    /// The same with a handler for what the server asks of the client.
    ///
    /// Cancel safety: as [`Self::connect`].
    ///
    /// # Errors
    ///
    /// As [`Self::connect`].
    pub async fn connect_with(&self, handler: Arc<dyn Handler>) -> Result<Session, Error> {
        let lines = ChildLines::default();
        let host = lines.listen(self.host());
        let connected = match host.connect_target(self.target()).await {
            Ok(connected) => connected,
            Err(error) => {
                let output = self.output(&host, &lines).await;
                return Err(Error::not_connected(&self.spec, output, error));
            }
        };
        let Connected {
            connection,
            offer,
            oauth,
            ..
        } = connected;
        let offer = (offer, self.start_limit());
        let opened = Session::open_within(connection, host.client.clone(), handler, offer).await;
        // By now a script has been read by whatever runs it.
        if let Err(changed) = self.verify() {
            let events = host.events.for_plugin(self.plugin());
            events.failed(self.server(), changed.code());
            return Err(changed);
        }
        self.note_openness(oauth, opened.as_ref().err()).await;
        match opened {
            Ok(session) => Ok(session),
            Err(error) if self.lacks_store(&error) => {
                Err(self.not_connected(ConnectError::NotBuiltIn { feature: "vault" }))
            }
            Err(error) => {
                let output = self.output(&host, &lines).await;
                Err(Error::start(&self.spec, output, error))
            }
        }
    }

    /// Returns what is known of a program that may have ended.
    async fn output(&self, host: &Host, lines: &ChildLines) -> ChildOutput {
        ChildOutput {
            withheld: withheld(&host.environment, self.target()),
            lines: lines.lines().await,
        }
    }

    fn not_connected(&self, error: ConnectError) -> Error {
        Error::not_connected(&self.spec, ChildOutput::default(), error)
    }

    /// Notes that the server answered without a sign-in, or that it wants one: `keyway status` asks
    /// no server, and would take every one that may want a sign-in for one that does.
    async fn note_openness(&self, oauth: Option<OAuth>, error: Option<&SessionError>) {
        let Some(oauth) = oauth else {
            return;
        };
        // A server that got a token is known to have a sign-in: that costs no look at the store.
        let has_token = |credential: Arc<Credential>| {
            let mut headers = credential.expose().iter();
            headers.any(|(name, _)| name == AUTHORIZATION)
        };
        if error.is_none() && oauth.cached().is_some_and(has_token) {
            return;
        }
        let is_open = match error {
            None => !oauth.is_signed_in().await.unwrap_or(true),
            Some(error) if error.code() == Code::SignInRequired => false,
            Some(_) => return,
        };
        self.remember_open(is_open).await;
    }

    /// Notes whether the server answers without a sign-in.
    pub(super) async fn remember_open(&self, is_open: bool) {
        let (Some(accounts), SpecEndpoint::Remote(remote)) =
            (self.host().accounts.clone(), &self.spec.endpoint)
        else {
            return;
        };
        let name = accounts.record_name(self.plugin(), self.server(), remote);
        let noting = tokio::task::spawn_blocking(move || accounts.note_open(&name, is_open));
        // The store is behind a port and may be slow; nothing that follows depends on it.
        drop(noting.await);
    }

    /// Connects, or prepares to where the transport needs no handshake, and returns frames.
    ///
    /// Dropping the connection kills a server that was started here.
    ///
    /// Cancel safety: dropping the future drops the connection.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unusable`] or [`Error::Talk`].
    pub async fn open(&self) -> Result<Connected, Error> {
        let connected = self.host().connect_target(self.target()).await;
        connected.map_err(|error| self.not_connected(error))
    }

    /// Prepares a client that sends HTTP requests of the host's own to the server, with the server's
    /// credential: to its origin and nowhere else. Nothing is sent yet.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let service = keyway_testkit::Upstream::start(|request| {
    /// #     let is_known = request.header("x-api-key") == Some("k-1");
    /// #     keyway_testkit::Answer::empty(if is_known { 204 } else { 401 })
    /// # });
    /// # let entry = format!(
    /// #     r#"{{"mcpServers": {{"docs": {{"type": "http", "url": "{}",
    /// #         "headers": {{"X-Api-Key": "${{DOCS_KEY}}"}}}}}}}}"#,
    /// #     service.url("/mcp")
    /// # );
    /// # let plugin = keyway_testkit::Folder::new().file(".mcp.json", entry);
    /// # let variables = keyway::config::environment::Variables::from_pairs([("DOCS_KEY", "k-1")]);
    /// # let host = keyway::Host::builder().overrides(variables).without_vault().build()?;
    /// let server = host.load(plugin.path())?.plan("docs")?.dangerous_approve_unasked()?;
    /// let client = server.authorized_client()?;
    /// let answer = client.send(http::Request::get("/files/1").body(Default::default())?).await?;
    /// assert_eq!(answer.status(), 204);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unusable`] if the entry has no address, and [`Error::Talk`] if it must not be
    /// reached.
    pub fn authorized_client(&self) -> Result<AuthorizedClient, Error> {
        let failed = |error| self.not_connected(ConnectError::Transport(error));
        let authorizer = self.authorizer()?;
        match &self.spec.endpoint {
            SpecEndpoint::Remote(remote) => {
                let url = remote.address.url();
                AuthorizedClient::new(&self.host().http, url, authorizer).map_err(failed)
            }
            _ => Err(self.not_connected(ConnectError::NotConfigured)),
        }
    }

    /// Returns what a request to the server is authenticated by.
    pub(crate) fn authorizer(&self) -> Result<Arc<dyn Authorizer>, Error> {
        match &self.spec.endpoint {
            SpecEndpoint::Remote(remote) => {
                let authorizer = self.host().authorizer(remote, self.target());
                authorizer.map_err(|error| self.not_connected(error))
            }
            _ => Err(self.not_connected(ConnectError::NotConfigured)),
        }
    }

    /// Connects with tokens that are not stored, and initializes a session.
    ///
    /// Cancel safety: as [`Self::connect`].
    ///
    /// # Errors
    ///
    /// As [`Self::connect`], and [`Error::SignIn`] if the token cannot be sent.
    pub async fn connect_with_tokens(&self, tokens: &CheckedTokens) -> Result<Session, Error> {
        let SpecEndpoint::Remote(remote) = &self.spec.endpoint else {
            return Err(self.not_connected(ConnectError::NotConfigured));
        };
        let authorization = tokens.authorization().map_err(|error| Error::SignIn {
            server: self.server().to_owned(),
            error: error.into(),
        })?;
        let mut headers = header_values(&remote.headers);
        headers.push((AUTHORIZATION, authorization));
        let host = self.host();
        let authorizer = Arc::new(Fixed::new(headers));
        let dialled = host.dial(remote, self.spec.transport, authorizer).await;
        let (connection, offer) = dialled.map_err(|error| self.not_connected(error))?;
        let opened = Session::open(connection, host.client.clone(), Arc::new(NoHandler), offer);
        opened.await.map_err(|error| Error::talk(&self.spec, error))
    }

    /// Returns the sign-in of this server; none if it is not by OAuth.
    #[must_use]
    pub fn oauth(&self) -> Option<OAuth> {
        self.host().oauth(self.target())
    }

    /// Returns the way to sign in for a program that serves this server to clients.
    #[must_use]
    pub fn sign_in_gate(&self) -> Option<SignInGate> {
        self.host().sign_in_gate(self.target())
    }

    /// Returns what remembers the tools of this server for clients that come while it is not there;
    /// none where nothing is kept.
    #[must_use]
    pub fn remembered_tools(&self) -> Option<RememberedTools> {
        self.host().remembered_tools(self.target())
    }

    /// Says whether the server can be talked to as it is: it needs no sign-in, or has one.
    ///
    /// Cancel safety: nothing is lost.
    pub async fn is_open(&self) -> bool {
        let Some(oauth) = self.oauth() else {
            return true;
        };
        match oauth.is_signed_in().await {
            Ok(true) => true,
            // The client waits meanwhile; a server that is slower is shown as not there yet.
            Ok(false) => match timeout(OPEN_PROBE_TIMEOUT, oauth.wants_sign_in()).await {
                Ok(wants) => !wants,
                Err(_) => false,
            },
            Err(_) => false,
        }
    }

    /// Returns what is stored of its sign-in, without tokens.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Store`] if the store cannot be read.
    pub fn stored_sign_in(&self) -> Result<Option<SignIn>, Error> {
        let (Some(accounts), SpecEndpoint::Remote(remote)) =
            (&self.host().accounts, &self.spec.endpoint)
        else {
            return Ok(None);
        };
        let root = self.target().host.source();
        let key = accounts.key(self.plugin(), self.server(), root, remote);
        Ok(accounts.status(&key)?)
    }

    /// Returns what a connection depends on; `around` is what else counts in this process.
    #[must_use]
    pub fn fingerprint(&self, around: &[&[u8]], key: &FingerprintKey) -> ConnectionFingerprint {
        self.host().fingerprint(self.target(), around, key)
    }

    /// Returns the files of the plugin that run.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let question = self.plan.question();
        let files = question.into_iter().flat_map(|it| it.files.paths());
        files.map(Path::to_owned).collect()
    }

    /// Asks the server's health address.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unusable`] if there is nothing to ask, and [`Error::Talk`] if there is no
    /// credential to ask with.
    ///
    /// Cancel safety: as [`Self::health_and_clock`].
    pub async fn health(&self) -> Result<Health, Error> {
        Ok(self.health_and_clock().await?.health)
    }

    /// The same, with how far the server's clock is from ours.
    ///
    /// # Errors
    ///
    /// As [`Self::health`].
    ///
    /// Cancel safety: the request is given up and nothing is kept of its answer. A renewal of an
    /// OAuth token that it started continues; a helper that it started is killed.
    pub async fn health_and_clock(&self) -> Result<Checked, Error> {
        let checked = self.host().health_and_clock(self.target()).await;
        checked.map_err(|error| self.not_connected(error))
    }

    /// Finds out whether the server offers a sign-in by OAuth.
    ///
    /// # Errors
    ///
    /// Returns what a sign-in would fail with.
    ///
    /// Cancel safety: the requests that find it out continue in a task of their own; only the
    /// result is lost.
    pub async fn offers_oauth(&self) -> Result<(), AuthError> {
        self.host().offers_oauth(self.target()).await
    }

    /// Says whether a server wants a sign-in that this build could not store, and the host has no
    /// store of its own.
    fn lacks_store(&self, error: &SessionError) -> bool {
        let is_refused = matches!(
            error,
            SessionError::Transport(TransportError::Refused { status: 401, .. })
        );
        cfg!(not(feature = "vault"))
            && is_refused
            && self.method() == Method::OAuth
            && self.host().accounts.is_none()
    }

    /// Compares the files that run with those that were approved.
    fn verify(&self) -> Result<(), Error> {
        let files = self.plan.question().map(|question| &question.files);
        let verified = files.map_or(Ok(()), Files::verify_named);
        verified.map_err(|file| self.not_connected(TransportError::Changed { file }.into()))
    }

    pub(super) fn target(&self) -> Target<'_> {
        Target {
            plugin: self.plan.plugin(),
            spec: &self.spec,
            host: self.plan.variables().host_variables(),
            grants: &self.grants,
            files: self.plan.question().map(|question| &question.files),
            confinement: &self.confinement,
        }
    }
}
