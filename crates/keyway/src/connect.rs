//! Resolved servers to connections: which transport, which authorizer, which child.

mod fingerprint;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use keyway_auth::{Authorizer, Dynamic, Fixed, Renewal, ServerEvent, Topic};
use keyway_code::Code;
use keyway_config::declared::{
    Helper as DeclaredHelper, HelperCommand as Declared, Refresh, Transport,
};
use keyway_config::environment::HostVariables;
use keyway_config::resolve::{LocalSpec, RemoteSpec, Resolved, ServerSpec, SpecEndpoint};
use keyway_secret::{Secret, printable};
use keyway_transport::{
    ChildEnv, ChildKind, EnvRules, HELPER_TIMEOUT, Helper, HelperCommand, HostEnv, IsolationLevel,
    Log, Program, StdioServer, Verify, connect_http, connect_sse, connect_ws,
};
use thiserror::Error;

pub use keyway_auth::{AuthError, BoxFuture, HelperFault, HttpRefusal};
pub use keyway_transport::{
    ChildStream, ClientIdentity, Connection, HttpClient, HttpSettings, Isolation, Launcher,
    ProxySettings, RootCertificates, TransportError, harden_self,
};

pub use self::fingerprint::{ConnectionFingerprint, FingerprintKey};
use crate::approval::{Files, shown};
use crate::host::Host;
use crate::settings::Confinement;
use crate::sign_in::{SharedClock, look_after};
use crate::watched::{Watched, sanitized};
use keyway_mcp::session::OfferedEras;

/// One server to connect to, approved and resolved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The name of its plugin.
    pub plugin: &'a str,
    /// The server.
    pub spec: &'a ServerSpec,
    /// The host's own variables for its plugin.
    pub host: &'a HostVariables,
    /// More variables that the person granted.
    pub grants: &'a [String],
    /// The files of the plugin that it runs, as they were when it was approved.
    pub files: Option<&'a Files>,
    /// How its programs are confined.
    pub confinement: Confinement,
}

impl Target<'_> {
    /// Compares the files with those that were approved, right before and right after a start.
    fn verify(self) -> Option<Verify> {
        let files = self.files?.clone();
        Some(Arc::new(move || files.verify()))
    }
}

/// Why no connection was even tried.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is empty.
    #[error("the server is not configured: its `url` is empty")]
    NotConfigured,
    /// The connection failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

impl ConnectError {
    /// Returns the code used in every format.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NotConfigured => Code::NotConfigured,
            Self::Transport(error) => error.code(),
        }
    }
}

/// A connection with what was found out on the way.
#[derive(Debug)]
pub struct Connected {
    /// The connection.
    pub connection: Connection,
    /// How the process is isolated; `None` for a remote server.
    pub level: Option<IsolationLevel>,
    /// Which protocol eras to offer.
    pub offer: OfferedEras,
}

impl Host {
    /// Connects to a server, or prepares to where the transport needs no greeting.
    ///
    /// # Errors
    ///
    /// Returns [`ConnectError::NotConfigured`] for an empty address.
    pub(crate) async fn connect_target(
        &self,
        target: Target<'_>,
    ) -> Result<Connected, ConnectError> {
        let watch = self
            .events
            .for_plugin(target.plugin)
            .watch(&target.spec.name);
        self.note_values(target);
        let connected = match &target.spec.endpoint {
            SpecEndpoint::Local(local) => self.start(local, target).await,
            SpecEndpoint::Remote(remote) => self.reach(remote, target).await,
            _ => Err(ConnectError::NotConfigured),
        };
        match connected {
            Ok(mut connected) => {
                connected.connection.watch = watch;
                Ok(connected)
            }
            Err(error) => {
                let code = error.code();
                watch.emit(ServerEvent::NotConnected { code });
                Err(error)
            }
        }
    }

    async fn start(
        &self,
        local: &LocalSpec,
        target: Target<'_>,
    ) -> Result<Connected, ConnectError> {
        let declared = exposed(&target.spec.env);
        let host = host_env(target);
        let env = self.child_env(ChildKind::Server, &declared, target, &host);
        let folder = local.cwd.as_ref().map_or_else(
            || target.host.plugin_root.clone(),
            |cwd| target.host.plugin_root.join(cwd.value().expose()),
        );
        let server = StdioServer {
            label: local.command.to_string(),
            program: Program {
                command: program_path(local.command.value(), &target.host.plugin_root),
                args: local.args.iter().map(|arg| arg.value().clone()).collect(),
                env,
                folder,
                isolation: self.isolation_for(target),
            },
            secrets: declared.into_iter().map(|(_, value)| value).collect(),
            log: self.child_log(&target.spec.name, Topic::Transport),
            verify: target.verify(),
        };
        let watch = self
            .events
            .for_plugin(target.plugin)
            .watch(&target.spec.name);
        watch.note(Topic::Transport, || {
            let names = server.program.env.names();
            let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
            let (label, names) = (&server.label, names.join(", "));
            format!("starting `{label}` with the variables {names}")
        });
        let (connection, level) = server.open(&self.launcher).await?;
        watch.note(Topic::Transport, || format!("started; isolation: {level}"));
        let offer = OfferedEras::Both { probe: STDIO_PROBE };
        Ok(Connected {
            connection,
            level: Some(level),
            offer,
        })
    }

    async fn reach(
        &self,
        remote: &RemoteSpec,
        target: Target<'_>,
    ) -> Result<Connected, ConnectError> {
        let watch = self
            .events
            .for_plugin(target.plugin)
            .watch(&target.spec.name);
        for (name, value) in &remote.headers {
            watch.note(Topic::Transport, || {
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
            Some(oauth) => Watched::wrap(Arc::new(oauth.clone()), watch, false),
            None => self.authorizer(remote, target),
        };
        let authorizer = match &self.supplied {
            Some(supplied) => supplied.watching(authorizer, target.spec),
            None => authorizer,
        };
        let url = remote.address.url();
        let (connection, offer) = match target.spec.transport {
            Transport::Sse => (
                connect_sse(url, authorizer, &self.http).await?,
                OfferedEras::Legacy,
            ),
            Transport::Ws => (
                connect_ws(url, authorizer, &self.http).await?,
                OfferedEras::Both { probe: WS_PROBE },
            ),
            _ => (
                connect_http(url, authorizer, &self.http)?,
                OfferedEras::Both { probe: HTTP_PROBE },
            ),
        };
        if let Some(oauth) = oauth {
            look_after(oauth, &connection.link);
        }
        Ok(Connected {
            connection,
            level: None,
            offer,
        })
    }

    /// Chooses the way of authenticating.
    pub(crate) fn authorizer(
        &self,
        remote: &RemoteSpec,
        target: Target<'_>,
    ) -> Arc<dyn Authorizer> {
        let watch = self
            .events
            .for_plugin(target.plugin)
            .watch(&target.spec.name);
        let authorizer = self.plain_authorizer(remote, target);
        Watched::wrap(authorizer, watch, remote.helper.is_some())
    }

    fn plain_authorizer(&self, remote: &RemoteSpec, target: Target<'_>) -> Arc<dyn Authorizer> {
        let headers = header_values(&remote.headers);
        let Some(helper) = &remote.helper else {
            return match self.oauth(target) {
                Some(oauth) => Arc::new(oauth),
                None => Arc::new(Fixed::new(headers)),
            };
        };
        let renewal = match (helper.refresh, helper.ttl_ms) {
            (Refresh::Request, _) => Renewal::Request,
            (_, Some(ms)) => Renewal::After(Duration::from_millis(ms)),
            _ => Renewal::Connection,
        };
        let timeout = helper
            .timeout_ms
            .map_or(HELPER_TIMEOUT, Duration::from_millis);
        let runner = self.helper(helper, remote, target);
        Arc::new(Dynamic::new(
            runner,
            SharedClock(Arc::clone(&self.clock)),
            renewal,
            timeout.min(HELPER_TIMEOUT),
            headers,
        ))
    }

    fn helper(&self, helper: &DeclaredHelper, remote: &RemoteSpec, target: Target<'_>) -> Helper {
        let declared = exposed(&target.spec.env);
        let host = HostEnv {
            server_name: Some(target.spec.name.clone()),
            server_url: Some(remote.template.as_str().to_owned()),
            ..host_env(target)
        };
        let filled = |field: &keyway_config::declared::Field| shown(&field.template, target.host);
        let command = match &helper.command {
            Declared::Shell(field) => HelperCommand::Shell(field.template.as_str().to_owned()),
            Declared::Words(words) => HelperCommand::Words(words.iter().map(filled).collect()),
            Declared::Program(field) => HelperCommand::Program(filled(field)),
        };
        Helper {
            launcher: self.launcher.clone(),
            command,
            env: self.child_env(ChildKind::Helper, &declared, target, &host),
            folder: target.host.plugin_root.clone(),
            root: Some(target.host.plugin_root.clone()),
            isolation: self.isolation_for(target),
            secrets: declared.into_iter().map(|(_, value)| value).collect(),
            log: self.child_log(&target.spec.name, Topic::Helper),
            verify: target.verify(),
        }
    }

    pub(crate) fn child_env(
        &self,
        reader: ChildKind,
        declared: &[(String, Secret<String>)],
        target: Target<'_>,
        host: &HostEnv,
    ) -> ChildEnv {
        let rules = EnvRules {
            reader,
            inherit: target.confinement.inherit(),
            declared,
            granted: target.grants,
            host,
        };
        ChildEnv::build(self.environment.iter().cloned(), &rules)
    }

    /// Returns where lines go that a program prints beside the protocol: to the host's log, and to
    /// whoever reads notes about the topic (contract §6).
    fn child_log(&self, server: &str, topic: Topic) -> Option<Log> {
        if !self.events.wants(topic) {
            return self.log.clone();
        }
        let (events, inner) = (self.events.clone(), self.log.clone());
        let server = server.to_owned();
        Some(Arc::new(move |stream, line| {
            let from = match stream {
                ChildStream::Error => "stderr",
                _ => "stdout",
            };
            events.note(topic, Some(&server), || {
                format!("{from}: {}", printable(line))
            });
            if let Some(log) = &inner {
                log(stream, line);
            }
        }))
    }

    fn isolation_for(&self, target: Target<'_>) -> Isolation {
        let mut isolation = target.confinement.isolation(&self.isolation);
        isolation.granted.push(target.host.plugin_root.clone());
        isolation.granted.push(target.host.plugin_data.clone());
        isolation
    }
}

/// Prepares a connection by Streamable HTTP that carries no credential of its own: the client's
/// certificate is all there is.
///
/// # Errors
///
/// Returns [`ConnectError::Transport`] for an address that may not be reached.
pub fn connect_plain(
    url: &Secret<String>,
    client: &HttpClient,
) -> Result<Connection, ConnectError> {
    let authorizer = Arc::new(Fixed::new(Vec::new()));
    Ok(connect_http(url, authorizer, client)?)
}

/// A path is relative to the plugin; a bare name is looked up in `PATH`.
fn program_path(command: &Secret<String>, root: &Path) -> Secret<String> {
    let text = command.expose();
    if text.contains('/') && !text.starts_with('/') {
        return Secret::new(root.join(text).to_string_lossy().into_owned());
    }
    command.clone()
}

pub(crate) fn host_env(target: Target<'_>) -> HostEnv {
    let some = |path: &PathBuf| (!path.as_os_str().is_empty()).then(|| path.clone());
    HostEnv {
        plugin_root: some(&target.host.plugin_root),
        plugin_data: some(&target.host.plugin_data),
        project_dir: some(&target.host.project_dir),
        ..HostEnv::default()
    }
}

pub(crate) fn exposed(pairs: &[(String, Resolved)]) -> Vec<(String, Secret<String>)> {
    pairs
        .iter()
        .map(|(name, value)| (name.clone(), value.value().clone()))
        .collect()
}

/// Turns resolved headers into wire form; what resolving let through always fits.
pub(crate) fn header_values(headers: &[(String, Resolved)]) -> Vec<(HeaderName, HeaderValue)> {
    let convert = |(name, value): &(String, Resolved)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        let mut value = HeaderValue::from_str(value.value().expose().trim()).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    };
    headers.iter().filter_map(convert).collect()
}

const HTTP_PROBE: Duration = Duration::from_secs(30);

/// Old servers may not answer a question that they do not know.
const WS_PROBE: Duration = Duration::from_secs(3);
const STDIO_PROBE: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
