//! What `config.toml` and the entry say, in the engine's own terms. The person stands above the
//! entry.

use keyway_auth::oauth::{
    Assertion, AuthMethod, ClientOwner, ClientProof, ClientSettings, DpopRule, Endpoints,
    GrantKind, IdJag, KeptToken, PkceRule, ResourceRule, Settings, SigningKey,
};
#[cfg(feature = "stdio")]
use keyway_auth::ports::HelperRunner as _;
use keyway_auth::ports::Redirect;
use keyway_config::resolve::RemoteSpec;
use keyway_secret::Secret;
#[cfg(feature = "stdio")]
use keyway_transport::{ChildEnv, ChildKind, EnvRules, Helper, HelperCommand, HostEnv, Inherit};
use std::path::PathBuf;
use std::sync::Arc;

use super::Host;
use crate::connect::Target;
use crate::settings::{self, Dpop, Grant, SecretSource, ServerOAuth};
use crate::sign_in::{Accounts, endpoints, entry_text, resource};
#[cfg(feature = "stdio")]
use crate::timeouts::SECRET_COMMAND_TIMEOUT;

/// Puts together how to sign in to one server.
pub(super) fn settings(
    host: &Host,
    accounts: &Accounts,
    target: Target<'_>,
    remote: &RemoteSpec,
) -> Settings {
    let none = ServerOAuth::default();
    let own = own(accounts, target).unwrap_or(&none);
    let global = &accounts.settings.oauth;
    let text = |name: &str| entry_text(remote, name);
    let mut made = Settings::default();
    made.identity = accounts.identity.clone();
    made.client_metadata_url
        .clone_from(&global.client_metadata_url);
    made.client = text("clientId").map(|id| {
        let proof = match text("clientSecret") {
            Some(secret) => ClientProof::Secret(Secret::new(secret.to_owned())),
            None => ClientProof::Public,
        };
        ClientSettings::new(id.to_owned(), proof)
    });
    for (issuer, known) in &global.issuers {
        let told = known.dangerous_metadata_issuer.clone();
        made.issuer_exceptions
            .extend(told.map(|told| (issuer.clone(), told)));
        made.issuers
            .extend(client(host, &known.client).map(|client| (issuer.clone(), client)));
    }
    made.client = client(host, &own.client).or(made.client);
    made.issuer.clone_from(&own.issuer);
    let entry_scopes = (!remote.scopes.is_empty()).then(|| remote.scopes.clone());
    made.scopes = own.scopes.clone().or(entry_scopes);
    made.redirect = redirect(accounts, remote, text("redirectUri"));
    made.endpoints = endpoints(remote);
    made.resource = resource(Some(own), remote);
    if own.dangerous_assume_s256 || text("pkce") == Some("assume-s256") {
        made.pkce = PkceRule::AssumeS256;
    }
    let params = own.authorize_params.iter();
    made.authorize_params = params.map(|(k, v)| (k.clone(), v.clone())).collect();
    made.dpop = match own.dpop {
        Dpop::Always => DpopRule::Always,
        Dpop::Never => DpopRule::Never,
        _ => DpopRule::Auto,
    };
    made.refresh_scope = own.refresh_scope;
    made.grant = grant(host, accounts, target, own);
    made.client_shows_codes = accounts.client_shows_codes;
    made
}

/// Returns how to sign in at the identity provider of an entry; none if the entry is not signed in
/// to through one, or another program has the ID token.
pub(super) fn identity_provider(
    host: &Host,
    accounts: &Accounts,
    target: Target<'_>,
) -> Option<Settings> {
    let own = own(accounts, target)?;
    let provider = &own.identity_provider;
    if own.grant != Some(Grant::IdJag) || provider.id_token.is_some() {
        return None;
    }
    let issuer = provider.issuer.clone()?;
    let known = accounts.settings.oauth.issuers.get(&issuer)?;
    let mut made = Settings::default();
    made.identity = accounts.identity.clone();
    made.client = Some(client(host, &known.client)?);
    made.issuer_exceptions.extend(
        known
            .dangerous_metadata_issuer
            .clone()
            .map(|told| (issuer.clone(), told)),
    );
    made.redirect.port = known.callback_port;
    // With `offline_access`, where the provider offers that.
    made.scopes = Some(vec!["openid".to_owned()]);
    made.resource = ResourceRule::Omit;
    made.keep = KeptToken::Identity;
    if accounts.device {
        made.grant = GrantKind::Device;
    }
    made.endpoints = Endpoints::Issuer(issuer);
    Some(made)
}

/// Returns what the person says of one server.
fn own<'a>(accounts: &'a Accounts, target: Target<'_>) -> Option<&'a ServerOAuth> {
    let id = format!("{}:{}", target.plugin, target.spec.name);
    let own = accounts.settings.server(&id, target.host.source());
    own.map(|server| &server.oauth)
}

fn grant(host: &Host, accounts: &Accounts, target: Target<'_>, own: &ServerOAuth) -> GrantKind {
    match own.grant {
        Some(Grant::ClientCredentials) => GrantKind::ClientCredentials,
        Some(Grant::WorkloadIdentity) => match &own.workload_token {
            Some(source) => GrantKind::Workload(secret(host, source)),
            None => unavailable(),
        },
        Some(Grant::IdJag) => id_jag(host, accounts, target, own),
        // What needs no person is never replaced by what does, though a device was asked for.
        Some(Grant::Device) => GrantKind::Device,
        _ if accounts.device => GrantKind::Device,
        _ => GrantKind::AuthorizationCode,
    }
}

fn id_jag(host: &Host, accounts: &Accounts, target: Target<'_>, own: &ServerOAuth) -> GrantKind {
    let provider = &own.identity_provider;
    let endpoint = provider.token_endpoint.as_deref();
    let token_endpoint = endpoint.and_then(|text| text.parse().ok());
    let known = provider
        .issuer
        .as_ref()
        .and_then(|issuer| accounts.settings.oauth.issuers.get(issuer));
    let client = known.and_then(|known| client(host, &known.client));
    let id_token = match &provider.id_token {
        Some(source) => Some(secret(host, source)),
        None => host
            .identity_provider(accounts, target)
            .map(|provider| provider.identity()),
    };
    match (client, id_token) {
        (Some(client), Some(id_token)) => {
            let mut asking = IdJag::new(client, id_token);
            asking.issuer.clone_from(&provider.issuer);
            asking.token_endpoint = token_endpoint;
            GrantKind::IdJag(Box::new(asking))
        }
        _ => unavailable(),
    }
}

/// A machine's sign-in that lacks something fails, and is never replaced by a person's consent: an
/// administrator who withholds a client or an assertion has said no.
fn unavailable() -> GrantKind {
    GrantKind::Workload(Assertion::new(|| Box::pin(std::future::ready(None))))
}

/// Returns a client that was registered beforehand.
fn client(host: &Host, known: &settings::Client) -> Option<ClientSettings> {
    let proof = match (&known.private_key_file, &known.secret) {
        (Some(file), _) => ClientProof::Key(Arc::new(key(file, known)?)),
        (None, Some(source)) => ClientProof::SecretFrom(secret(host, source)),
        (None, None) => ClientProof::Public,
    };
    let mut client = ClientSettings::new(known.id.clone()?, proof);
    client.method = known.auth_method.map(method);
    let token_endpoint = known.token_endpoint.as_deref();
    client.owner = ClientOwner::Person {
        token_endpoint: token_endpoint.and_then(|text| text.parse().ok().map(Box::new)),
    };
    Some(client)
}

fn key(file: &PathBuf, known: &settings::Client) -> Option<SigningKey> {
    let pem = Secret::new(std::fs::read_to_string(file).ok()?);
    let algorithm = known.signing_algorithm.map(settings::Algorithm::as_str);
    let key = SigningKey::from_pem(&pem, algorithm).ok()?;
    Some(match &known.key_id {
        Some(id) => key.with_id(id.clone()),
        None => key,
    })
}

const fn method(method: settings::AuthMethod) -> AuthMethod {
    match method {
        settings::AuthMethod::ClientSecretBasic => AuthMethod::ClientSecretBasic,
        settings::AuthMethod::ClientSecretPost => AuthMethod::ClientSecretPost,
        settings::AuthMethod::PrivateKeyJwt => AuthMethod::PrivateKeyJwt,
        _ => AuthMethod::None,
    }
}

fn redirect(accounts: &Accounts, remote: &RemoteSpec, uri: Option<&str>) -> Redirect {
    let mut redirect = Redirect::default();
    redirect.uri = uri.and_then(|text| text.parse().ok());
    if let (None, Some(path)) = (&redirect.uri, &accounts.redirect_path) {
        // Without a port: the listener takes a free one, or that of the settings.
        let path = path.trim_start_matches('/');
        redirect.uri = format!("http://localhost/{path}").parse().ok();
    }
    let ports = accounts.settings.oauth.issuers.values();
    let configured = ports.filter_map(|issuer| issuer.callback_port).next();
    redirect.port = remote.callback_port.or(configured);
    redirect
}

/// Returns where a secret comes from, to be asked each time it is needed.
fn secret(host: &Host, source: &SecretSource) -> Assertion {
    match source {
        SecretSource::Env(name) => {
            let found = host
                .environment
                .iter()
                .find(|(key, _)| key.to_str() == Some(name));
            let value = found.and_then(|(_, value)| value.to_str());
            match value.filter(|value| !value.is_empty()) {
                Some(value) => Assertion::fixed(Secret::new(value.to_owned())),
                None => Assertion::new(|| Box::pin(std::future::ready(None))),
            }
        }
        SecretSource::File(path) => {
            let path = path.clone();
            Assertion::new(move || {
                let path = path.clone();
                Box::pin(async move { trimmed(Secret::new(std::fs::read(path).ok()?)) })
            })
        }
        #[cfg(not(feature = "stdio"))]
        SecretSource::Command(_) => Assertion::new(|| Box::pin(std::future::ready(None))),
        #[cfg(feature = "stdio")]
        SecretSource::Command(words) => {
            let (host, words) = (host.clone(), words.clone());
            Assertion::new(move || {
                let (host, words) = (host.clone(), words.clone());
                Box::pin(async move {
                    let printed = program(&host, words).run(SECRET_COMMAND_TIMEOUT).await;
                    trimmed(printed.ok()?)
                })
            })
        }
    }
}

#[cfg(feature = "stdio")]
/// The person's own program, in the person's own environment.
fn program(host: &Host, words: Vec<String>) -> Helper {
    let own = HostEnv::default();
    let mut rules = EnvRules::new(ChildKind::Helper, &own);
    rules.inherit = Inherit::DangerousEverything;
    let env = ChildEnv::build(host.environment.iter().cloned(), &rules);
    let command = HelperCommand::Words(words);
    let mut helper = Helper::new(host.programs.launcher.clone(), command, env, "/".into());
    helper.log.clone_from(&host.log);
    helper
}

/// Takes the line break off the end.
fn trimmed(bytes: Secret<Vec<u8>>) -> Option<Secret<String>> {
    let text = std::str::from_utf8(bytes.expose()).ok()?;
    let text = text.trim_end_matches(['\n', '\r']);
    (!text.is_empty()).then(|| Secret::new(text.to_owned()))
}
