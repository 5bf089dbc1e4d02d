//! `config.toml`: what only the person may decide, never a plugin (contract §9).
//!
//! [`Settings::parse`] turns text into settings and diagnostics; it reads no file and no variable.
//! [`load`] reads the file of a folder, if no other user can write to it. Which keys there are
//! stands in one table, [`SECTIONS`], which the parser and the reference in `docs/` are made from.

#[cfg(feature = "settings-file")]
mod build;
mod confinement;
#[cfg(feature = "settings-file")]
mod file;
mod keys;
mod limits;
#[cfg(feature = "settings-file")]
mod names;
#[cfg(feature = "settings-file")]
mod parse;
mod people;
#[cfg(feature = "settings-file")]
mod read;
#[cfg(feature = "settings-file")]
mod tree;
mod words;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keyway_secret::Secret;

use keyway_approval::is_from;
pub use keyway_approval::{
    Confinement, Sandbox, SandboxMechanism, SandboxProfile, ServerConfinement,
};
pub use keyway_auth::oauth::{RefreshLimit, RefreshLimits, RefreshScope};

pub(crate) use self::confinement::inherit;
#[cfg(feature = "stdio")]
pub use self::confinement::isolation;
#[cfg(feature = "settings-file")]
pub use self::file::{FILE_NAME, SettingsError, load};
pub use self::keys::{Key, Kind, SECTIONS, Section};
pub use self::limits::{Limit, LimitSettings, RefreshRate};
#[cfg(feature = "settings-file")]
pub use self::names::names;
#[cfg(feature = "settings-file")]
pub use self::parse::Parsed;
pub use self::people::{ClaimSetting, PeopleSettings, PublicAddress, TlsFiles};
#[cfg(feature = "settings-file")]
pub use self::read::{SettingsRefusal, read};
pub use self::words::{Algorithm, AuthMethod, ColorChoice, Dpop, Grant, ToolRule};

/// Everything that a person decided; by default nothing.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// `[defaults]`: flags that count where none is given.
    pub defaults: Defaults,
    /// `[sandbox]`: what children are kept from.
    pub sandbox: Sandbox,
    /// `[network]`: proxies, roots and the client certificate.
    pub network: Network,
    /// `[oauth]`: what concerns authorization servers.
    pub oauth: OAuth,
    /// `[servers."plugin:server"]`: what concerns one server, by its whole id.
    pub servers: BTreeMap<String, ServerSettings>,
    /// `[gateway]`: how long programs run, and who may use it from where.
    pub gateway: GatewaySettings,
    /// `[vault]`: the database that keeps sign-ins.
    pub vault: VaultSettings,
    /// `[policies."plugin:server"]`: which tools clients of the gateway may see and call.
    pub policies: BTreeMap<String, ToolPolicy>,
}

/// The database that keeps sign-ins in place of this machine's vault.
///
/// Command lines may hold a password, so they are never printed.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct VaultSettings {
    /// The address of the database, without a password.
    pub address: Option<String>,
    /// Whose sign-ins they are.
    pub tenant: Option<String>,
    /// The file that holds the password.
    pub password_file: Option<PathBuf>,
    /// The command line that prints the password.
    pub password_command: Option<Secret<String>>,
    /// The key that wraps the keys of people's data.
    pub key: WrappingKeySettings,
    /// `[vault.previous_key]`: the one that did so far, while it is being changed.
    pub previous_key: Option<WrappingKeySettings>,
    /// The certificates that the database is verified against.
    pub ca_file: Option<PathBuf>,
    /// How many connections are made at most, 2 to 64.
    pub connections: Option<u32>,
}

/// Where a wrapping key is: in a file, with a command, in a PKCS#11 token, or in Transit of Vault or
/// OpenBao.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WrappingKeySettings {
    /// The file that holds the key.
    pub file: Option<PathBuf>,
    /// The command line that prints the key.
    pub command: Option<Secret<String>>,
    /// The library of the PKCS#11 token's vendor.
    pub pkcs11_module: Option<PathBuf>,
    /// The label of the PKCS#11 token.
    pub pkcs11_token: Option<String>,
    /// The address at which Transit is mounted.
    pub transit_url: Option<String>,
    /// The name of the key in the token or in Transit.
    pub name: Option<String>,
    /// The file that holds the PIN of the token, or the token for Transit.
    pub secret_file: Option<PathBuf>,
    /// The command line that prints it.
    pub secret_command: Option<Secret<String>>,
    /// The certificates that Transit is verified against.
    pub ca_file: Option<PathBuf>,
}

/// How long the gateway keeps the programs of stdio servers, and who may use it from where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewaySettings {
    /// After how many minutes without a request a program ends; 0 for never.
    pub idle_minutes: Option<u16>,
    /// The whole ids of servers whose programs do not end.
    pub keep_running: Vec<String>,
    /// Where it is looked after, apart from clients.
    pub admin: Option<SocketAddr>,
    /// Where it is reached from other machines; `None` for this machine alone.
    pub public: Option<PublicAddress>,
    /// `[gateway.people]`: which people may use it; `None` for none.
    pub people: Option<PeopleSettings>,
    /// `[gateway.limits.client]` and `[gateway.limits.server]`: how much clients may ask.
    pub limits: LimitSettings,
}

impl GatewaySettings {
    /// Returns after how long without a request the program of a server ends, by its whole id;
    /// `None` for never.
    #[must_use]
    pub fn idle_timeout(&self, id: &str) -> Option<Duration> {
        let minutes = self.idle_minutes.unwrap_or(IDLE_MINUTES);
        let is_kept = minutes == 0 || self.keep_running.iter().any(|kept| kept == id);
        (!is_kept).then(|| Duration::from_secs(60 * u64::from(minutes)))
    }
}

/// As long as a session lasts that has neither a request nor a stream: a program that remembers
/// something is not lost earlier than it would be with its session.
const IDLE_MINUTES: u16 = 30;

/// Which tools of one server clients may see and call.
///
/// Unlike other tables, it names no source: it only takes away, so that another plugin of the same
/// name gains nothing by it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolPolicy {
    /// For every client: rules by the name of a tool; `*` is for all that are not named.
    pub tools: BTreeMap<String, ToolRule>,
    /// The same for one client, by the name of its gateway token; they come before the others.
    pub clients: BTreeMap<String, BTreeMap<String, ToolRule>>,
}

/// What paths in the file are relative to.
#[cfg(feature = "settings-file")]
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Around<'a> {
    /// The folder of the file.
    pub folder: Option<&'a Path>,
    /// The person's home, for paths that begin with `~`.
    pub home: Option<&'a Path>,
}

impl Settings {
    /// Returns the settings for one server by its id, `plugin:server`, if they are about the plugin
    /// at `root`.
    #[must_use]
    pub fn server(&self, id: &str, root: &Path) -> Option<&ServerSettings> {
        let own = self.servers.get(id)?;
        is_from(root, &own.source).then_some(own)
    }
}

/// Defaults for flags that neither the command line nor the environment sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defaults {
    /// `--profile`.
    pub profile: Option<String>,
    /// `--account`.
    pub account: Option<String>,
    /// `--browser`.
    pub browser: Option<String>,
    /// `--color`.
    pub color: Option<ColorChoice>,
    /// `--quiet`.
    pub quiet: bool,
    /// `--verbose`.
    pub verbose: bool,
}

/// How the network is reached.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Network {
    /// The proxy for what the environment names none for; its address may hold a password.
    pub proxy: Option<Secret<String>>,
    /// Hosts, domains and networks that are reached directly.
    pub no_proxy: Vec<String>,
    /// Files of additional root certificates to trust.
    pub roots: Vec<PathBuf>,
    /// The certificate for servers that ask for one.
    pub client_certificate: Option<ClientCertificate>,
}

/// Two files in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientCertificate {
    /// The certificate, then those that lead to a root.
    pub certificate: PathBuf,
    /// Its key, not encrypted.
    pub key: PathBuf,
}

/// What concerns authorization servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OAuth {
    /// Where the person hosts the document that `keyway client-metadata` prints; its address is
    /// the client id.
    pub client_metadata_url: Option<String>,
    /// How many renewals at once an issuer is asked for that is not named below.
    pub refreshes: RefreshRate,
    /// Clients that were registered beforehand, and exceptions, by issuer.
    pub issuers: BTreeMap<String, Issuer>,
}

impl OAuth {
    /// Returns how many token requests renewals send to each issuer.
    #[must_use]
    pub fn refresh_limits(&self) -> RefreshLimits {
        let usual = self.refreshes;
        let named = self.issuers.iter();
        let named = named.map(|(name, issuer)| (name.clone(), issuer.refreshes.limit(usual)));
        RefreshLimits::new(usual.limit(RefreshRate::default()), named.collect())
    }
}

/// What is known of one authorization server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Issuer {
    /// The client that was registered there.
    pub client: Client,
    /// How many renewals at once it is asked for.
    pub refreshes: RefreshRate,
    /// The port of the callback that was registered.
    pub callback_port: Option<u16>,
    /// The `issuer` that its metadata state although it is not the identifier used, which
    /// RFC 8414 §3.3 forbids.
    pub dangerous_metadata_issuer: Option<String>,
}

/// A client that was registered beforehand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Client {
    /// Its identifier.
    pub id: Option<String>,
    /// Where its secret comes from.
    pub secret: Option<SecretSource>,
    /// The file of the key that signs its assertions, in PEM.
    pub private_key_file: Option<PathBuf>,
    /// The key's name in the client's key set.
    pub key_id: Option<String>,
    /// How assertions are signed.
    pub signing_algorithm: Option<Algorithm>,
    /// How the client authenticates.
    pub auth_method: Option<AuthMethod>,
    /// The only token endpoint that it goes to where an entry names one itself.
    pub token_endpoint: Option<String>,
}

/// Where a value comes from that must not stand in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretSource {
    /// A variable of the environment.
    Env(String),
    /// What a program prints, without the line break at its end; no shell is involved.
    Command(Vec<String>),
    /// What a file holds, read again each time.
    File(PathBuf),
}

/// What concerns one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSettings {
    /// The folder of its plugin, or one above it.
    pub source: PathBuf,
    /// `[servers."plugin:server".oauth]`.
    pub oauth: ServerOAuth,
}

/// How one server is signed in to; each stands above what its entry says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerOAuth {
    /// How a token is obtained.
    pub grant: Option<Grant>,
    /// The authorization server, where the server names several or none.
    pub issuer: Option<String>,
    /// The client for this server, whatever its authorization server is.
    pub client: Client,
    /// What is asked for.
    pub scopes: Option<Vec<String>>,
    /// Which `resource` (RFC 8707) is named.
    pub resource: Option<Resource>,
    /// More parameters of the authorization request.
    pub authorize_params: BTreeMap<String, String>,
    /// Send a challenge by S256 although the metadata do not say that it is understood.
    pub dangerous_assume_s256: bool,
    /// The authorization server may have a private address although the server has a public one.
    pub dangerous_private_issuer: bool,
    /// Whether a refresh names the scopes.
    pub refresh_scope: RefreshScope,
    /// Whether tokens are bound to a key (RFC 9449).
    pub dpop: Dpop,
    /// The identity provider for [`Grant::IdJag`].
    pub identity_provider: IdentityProvider,
    /// The token of the workload for [`Grant::WorkloadIdentity`].
    pub workload_token: Option<SecretSource>,
}

/// Where an identity assertion comes from ([`Grant::IdJag`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdentityProvider {
    /// Its identifier; a client for it may stand below [`OAuth::issuers`].
    pub issuer: Option<String>,
    /// Where the ID token is exchanged.
    pub token_endpoint: Option<String>,
    /// Where the ID token comes from; otherwise from a sign-in of our own.
    pub id_token: Option<SecretSource>,
}

/// Which `resource` is named in requests to the authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resource {
    /// This one.
    Use(String),
    /// None, for authorization servers that refuse the parameter.
    Omit,
}

#[cfg(test)]
#[cfg(feature = "settings-file")]
mod tests;
