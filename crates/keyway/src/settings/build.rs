//! Checked values to settings, and the rules that concern several keys at once.

mod gateway;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use keyway_approval::{SandboxMechanism, SandboxProfile};
use keyway_secret::Secret;

use self::gateway::{admin_address, limit, people, public_address};
use super::keys::ANY;
use super::tree::{Found, Table, is_address};
use super::words::{Algorithm, AuthMethod, ColorChoice, Dpop, Grant, ToolRule};
use super::{
    Around, Client, ClientCertificate, Confinement, Defaults, IdentityProvider, Issuer, Network,
    RefreshRate, RefreshScope, Resource, SecretSource, ServerConfinement, ServerOAuth,
    ServerSettings, Settings, VaultSettings, WrappingKeySettings,
};

/// Puts the settings together.
pub(super) fn settings(found: &mut Found<'_>, around: Around<'_>) -> Settings {
    let mut settings = Settings::default();
    for mut table in found.take(&["defaults"]) {
        settings.defaults = defaults(&mut table, found);
    }
    for mut table in found.take(&["sandbox"]) {
        settings.sandbox.all = confinement(&mut table, found, (&Confinement::default(), around));
    }
    let all = settings.sandbox.all.clone();
    for mut table in found.take(&["sandbox", "servers", ANY]) {
        let confinement = confinement(&mut table, found, (&all, around));
        if let Some(source) = source(&mut table, found, around) {
            let own = ServerConfinement::new(source, confinement);
            settings.sandbox.servers.insert(table.name, own);
        }
    }
    for mut table in found.take(&["network"]) {
        settings.network = network(&mut table, found, around);
    }
    for mut table in found.take(&["oauth"]) {
        settings.oauth.client_metadata_url = table.text("client_metadata_url");
        settings.oauth.refreshes = refreshes(&mut table);
    }
    for mut table in found.take(&["oauth", "issuers", ANY]) {
        let issuer = issuer(&mut table, found, around);
        settings.oauth.issuers.insert(table.name, issuer);
    }
    for mut table in found.take(&["servers", ANY, "oauth"]) {
        let oauth = server(&mut table, found, around);
        if let Some(source) = source(&mut table, found, around) {
            let own = ServerSettings { source, oauth };
            settings.servers.insert(table.name, own);
        }
    }
    for mut table in found.take(&["gateway"]) {
        settings.gateway.idle_minutes = table.minutes("idle_minutes");
        settings.gateway.keep_running = table.texts("keep_running").unwrap_or_default();
        settings.gateway.admin = admin_address(&mut table, found);
        settings.gateway.public = public_address(&mut table, found, around);
    }
    for mut table in found.take(&["gateway", "people"]) {
        let people = people(&mut table, found);
        if settings.gateway.public.is_none() {
            let message = "it needs `public_url` in `[gateway]`: tokens are for that address";
            found.refuse(&table, message.to_owned());
        }
        settings.gateway.people = Some(people);
    }
    for mut table in found.take(&["gateway", "limits", "client"]) {
        settings.gateway.limits.client = limit(&mut table);
    }
    for mut table in found.take(&["gateway", "limits", "server"]) {
        settings.gateway.limits.server = limit(&mut table);
    }
    for mut table in found.take(&["vault"]) {
        settings.vault = vault(&mut table, found, around);
    }
    for mut table in found.take(&["vault", "key"]) {
        let given = &settings.vault.key;
        if given.file.is_some() || given.command.is_some() {
            let message = "`key_file` or `key_command` in `[vault]` says the same";
            found.refuse(&table, message.to_owned());
        }
        settings.vault.key = wrapping_key(&mut table, found, around);
    }
    for mut table in found.take(&["vault", "previous_key"]) {
        settings.vault.previous_key = Some(wrapping_key(&mut table, found, around));
    }
    for mut table in found.take(&["policies", ANY]) {
        let tools = tool_rules(&mut table, found);
        let policy = settings.policies.entry(table.name).or_default();
        policy.tools = tools;
    }
    for mut table in found.take(&["policies", ANY, "clients", ANY]) {
        let tools = tool_rules(&mut table, found);
        let policy = settings.policies.entry(table.above).or_default();
        policy.clients.insert(table.name, tools);
    }
    settings
}

fn vault(table: &mut Table, found: &mut Found<'_>, around: Around<'_>) -> VaultSettings {
    let mut settings = VaultSettings {
        address: table.text("address"),
        tenant: table.text("tenant"),
        password_file: file(table, "password_file", around),
        password_command: table.text("password_command").map(Secret::new),
        key: WrappingKeySettings {
            file: file(table, "key_file", around),
            command: table.text("key_command").map(Secret::new),
            ..WrappingKeySettings::default()
        },
        previous_key: None,
        ca_file: file(table, "ca_file", around),
        connections: table.count("connections"),
    };
    if settings
        .connections
        .is_some_and(|most| !CONNECTIONS.contains(&most))
    {
        let message = "`connections` must be a number from 2 to 64";
        found.refuse(table, message.to_owned());
        settings.connections = None;
    }
    if settings.password_file.is_some() && settings.password_command.is_some() {
        found.refuse(table, either("password_file", "password_command"));
    }
    if settings.key.file.is_some() && settings.key.command.is_some() {
        found.refuse(table, either("key_file", "key_command"));
    }
    settings
}

fn wrapping_key(
    table: &mut Table,
    found: &mut Found<'_>,
    around: Around<'_>,
) -> WrappingKeySettings {
    let settings = WrappingKeySettings {
        file: file(table, "file", around),
        command: table.text("command").map(Secret::new),
        pkcs11_module: file(table, "pkcs11_module", around),
        pkcs11_token: table.text("pkcs11_token"),
        transit_url: table.text("transit_url"),
        name: table.text("name"),
        secret_file: file(table, "secret_file", around),
        secret_command: table.text("secret_command").map(Secret::new),
        ca_file: file(table, "ca_file", around),
    };
    let holders = [
        settings.file.is_some(),
        settings.command.is_some(),
        settings.pkcs11_module.is_some(),
        settings.transit_url.is_some(),
    ];
    if holders.into_iter().filter(|is_set| *is_set).count() != 1 {
        let message = "set exactly one of `file`, `command`, `pkcs11_module` and `transit_url`";
        found.refuse(table, message.to_owned());
    }
    if settings.secret_file.is_some() && settings.secret_command.is_some() {
        found.refuse(table, either("secret_file", "secret_command"));
    }
    settings
}

fn tool_rules(table: &mut Table, found: &mut Found<'_>) -> BTreeMap<String, ToolRule> {
    let named = table.map("tools").unwrap_or_default().into_iter();
    let mut rules = BTreeMap::new();
    for (tool, word) in named {
        match ToolRule::from_word(&word) {
            Some(rule) => {
                rules.insert(tool, rule);
            }
            None => {
                let words = ToolRule::WORDS.join("`, `");
                found.refuse(table, format!("a rule of `tools` is one of `{words}`"));
            }
        }
    }
    rules
}

/// Returns where the plugin is that a table is about.
fn source(table: &mut Table, found: &mut Found<'_>, around: Around<'_>) -> Option<PathBuf> {
    let source = file(table, "source", around);
    if source.is_none() {
        let message = "it needs `source`, the folder of the plugin: another plugin may give itself \
                       the same name";
        found.refuse(table, message.to_owned());
    }
    source
}

fn defaults(table: &mut Table, found: &mut Found<'_>) -> Defaults {
    let defaults = Defaults {
        profile: table.text("profile"),
        account: table.text("account"),
        browser: table.text("browser"),
        color: word(table, "color", ColorChoice::from_word),
        quiet: table.flag("quiet").unwrap_or_default(),
        verbose: table.flag("verbose").unwrap_or_default(),
    };
    if defaults.quiet && defaults.verbose {
        found.refuse(table, either("quiet", "verbose"));
    }
    defaults
}

fn confinement(
    table: &mut Table,
    found: &mut Found<'_>,
    (otherwise, around): (&Confinement, Around<'_>),
) -> Confinement {
    let inherits = table.flag("inherit_environment");
    let network = table.flag("network");
    let mut files = |key: &str, otherwise: &[PathBuf]| match table.texts(key) {
        Some(paths) => paths.iter().map(|path| located(path, around)).collect(),
        None => otherwise.to_vec(),
    };
    let mut confinement = otherwise.clone();
    confinement.grants = files("grants", &otherwise.grants);
    let is_wide = |grant: &PathBuf| around.home.is_some_and(|home| home.starts_with(grant));
    let has_home = confinement.grants.iter().any(is_wide);
    confinement.read_only_grants = files("read_only_grants", &otherwise.read_only_grants);
    if let Some(network) = network {
        confinement.offline = !network;
    }
    if let Some(require) = table.flag("require") {
        confinement.require = require;
    }
    if let Some(profile) = word(table, "profile", SandboxProfile::from_word) {
        confinement.profile = profile;
    }
    if let Some(mechanism) = word(table, "mechanism", SandboxMechanism::from_word) {
        confinement.mechanism = mechanism;
    }
    if let Some(inherits) = inherits {
        confinement.dangerous_inherit_environment = inherits;
    }
    if has_home && confinement.grants != otherwise.grants {
        found.refuse(table, WHOLE_HOME.to_owned());
    }
    confinement
}

fn network(table: &mut Table, found: &mut Found<'_>, around: Around<'_>) -> Network {
    let roots = table.texts("roots").unwrap_or_default();
    let certificate = file(table, "client_certificate", around);
    let key = file(table, "client_key", around);
    let client_certificate = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(ClientCertificate { certificate, key }),
        (None, None) => None,
        _ => {
            let message = "`client_certificate` and `client_key` go together".to_owned();
            found.refuse(table, message);
            None
        }
    };
    Network {
        proxy: table.text("proxy").map(Secret::new),
        no_proxy: table.texts("no_proxy").unwrap_or_default(),
        roots: roots.iter().map(|path| located(path, around)).collect(),
        client_certificate,
    }
}

fn issuer(table: &mut Table, found: &mut Found<'_>, around: Around<'_>) -> Issuer {
    if !is_address(&table.name) {
        let message = "an issuer is an `https` address".to_owned();
        found.refuse(table, message);
    }
    Issuer {
        client: client(table, found, around),
        refreshes: refreshes(table),
        callback_port: table.port("callback_port"),
        dangerous_metadata_issuer: table.text("metadata_issuer"),
    }
}

fn refreshes(table: &mut Table) -> RefreshRate {
    RefreshRate {
        per_second: table.count("refreshes_per_second"),
        burst: table.count("refresh_burst"),
    }
}

fn client(table: &mut Table, found: &mut Found<'_>, around: Around<'_>) -> Client {
    let secret = secret(
        table,
        found,
        ["client_secret_env", "client_secret_command", ""],
        around,
    );
    let client = Client {
        id: table.text("client_id"),
        secret,
        private_key_file: file(table, "private_key_file", around),
        key_id: table.text("key_id"),
        signing_algorithm: word(table, "signing_algorithm", Algorithm::from_word),
        auth_method: word(table, "auth_method", AuthMethod::from_word),
        token_endpoint: table.text("token_endpoint"),
    };
    let has_credential = client.secret.is_some() || client.private_key_file.is_some();
    if has_credential && client.id.is_none() {
        found.refuse(
            table,
            "a credential of a client needs `client_id`".to_owned(),
        );
    }
    let needs = match client.auth_method {
        Some(AuthMethod::PrivateKeyJwt) if client.private_key_file.is_none() => {
            Some("`private_key_file`")
        }
        Some(AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost)
            if client.secret.is_none() =>
        {
            Some("`client_secret_env` or `client_secret_command`")
        }
        _ => None,
    };
    if let Some(needs) = needs {
        found.refuse(table, format!("this `auth_method` needs {needs}"));
    }
    client
}

fn server(table: &mut Table, found: &mut Found<'_>, around: Around<'_>) -> ServerOAuth {
    let resource = table.text("resource").map(|text| match text.as_str() {
        "omit" => Resource::Omit,
        _ => Resource::Use(text),
    });
    let oauth = ServerOAuth {
        grant: word(table, "grant", Grant::from_word),
        issuer: table.text("issuer"),
        client: client(table, found, around),
        scopes: table.texts("scopes"),
        resource,
        authorize_params: table.map("authorize_params").unwrap_or_default(),
        dangerous_assume_s256: table.text("pkce").is_some(),
        refresh_scope: match table.text("refresh_scope") {
            Some(_) => RefreshScope::Granted,
            None => RefreshScope::Omitted,
        },
        dangerous_private_issuer: table.flag("private_issuer").unwrap_or_default(),
        dpop: word(table, "dpop", Dpop::from_word).unwrap_or_default(),
        identity_provider: IdentityProvider {
            issuer: table.text("idp_issuer"),
            token_endpoint: table.text("idp_token_endpoint"),
            id_token: secret(
                table,
                found,
                ["id_token_env", "id_token_command", ""],
                around,
            ),
        },
        workload_token: secret(table, found, ["", "jwt_command", "jwt_file"], around),
    };
    let reserved = oauth
        .authorize_params
        .keys()
        .find(|name| RESERVED.contains(&name.as_str()));
    if let Some(name) = reserved {
        found.refuse(
            table,
            format!("`authorize_params` may not contain `{name}`, which Keyway sets"),
        );
    }
    let needs = match oauth.grant {
        Some(Grant::IdJag)
            if oauth.identity_provider.id_token.is_none()
                && oauth.identity_provider.issuer.is_none() =>
        {
            Some("`idp_issuer`, `id_token_env` or `id_token_command`")
        }
        Some(Grant::WorkloadIdentity) if oauth.workload_token.is_none() => {
            Some("`jwt_file` or `jwt_command`")
        }
        _ => None,
    };
    if let Some(needs) = needs {
        found.refuse(table, format!("this `grant` needs {needs}"));
    }
    oauth
}

/// Takes a value that must not stand in the file: of a variable, a program or a file, one at most.
fn secret(
    table: &mut Table,
    found: &mut Found<'_>,
    [env, command, path]: [&str; 3],
    around: Around<'_>,
) -> Option<SecretSource> {
    let given = [
        (env, table.text(env).map(SecretSource::Env)),
        (command, table.texts(command).map(SecretSource::Command)),
        (path, file(table, path, around).map(SecretSource::File)),
    ];
    let mut given = given
        .into_iter()
        .filter_map(|(key, source)| Some((key, source?)));
    let (first, source) = given.next()?;
    if let Some((second, _)) = given.next() {
        found.refuse(table, either(first, second));
    }
    Some(source)
}

fn either(one: &str, other: &str) -> String {
    format!("only one of `{one}` and `{other}` may be set")
}

/// The parser let only known words through.
fn word<T>(table: &mut Table, key: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    read(&table.text(key)?)
}

fn file(table: &mut Table, key: &str, around: Around<'_>) -> Option<PathBuf> {
    Some(located(&table.text(key)?, around))
}

fn located(path: &str, around: Around<'_>) -> PathBuf {
    let of_home = path.strip_prefix('~');
    let of_home = of_home.filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let (base, rest) = match of_home {
        Some(rest) => (around.home, rest.trim_start_matches('/')),
        None => (around.folder, path),
    };
    // Without the slash that an empty rest leaves.
    let joined = base.map(|base| base.join(rest).components().collect());
    joined.unwrap_or_else(|| PathBuf::from(path))
}

/// Below, a call that waits for the database keeps all others from it; above, few replicas use up
/// the 100 connections that a server takes by default.
const CONNECTIONS: RangeInclusive<u32> = 2..=64;

/// What is said of a grant that would undo the confinement.
const WHOLE_HOME: &str = "`grants` may not have your whole home, or a folder around it: a program that \
                          writes files of your shell leaves its confinement; name the folders that \
                          it needs, or use `read_only_grants`";

/// Parameters of the authorization request that a setting may not override.
const RESERVED: &[&str] = &[
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "redirect_uri",
    "request",
    "request_uri",
    "resource",
    "response_mode",
    "response_type",
    "scope",
    "state",
];
