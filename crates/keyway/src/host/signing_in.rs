//! The sign-in of an entry, put together from the host's ports, its settings and the entry.

use std::path::Path;
use std::sync::Arc;

use keyway_approval::Owner;
use keyway_auth::oauth::{Endpoints, OAuth, Ports, Server, SignInStores};
use keyway_auth::ports::ExchangeCarrier;
use keyway_config::method::Method;
use keyway_config::resolve::{RemoteSpec, SpecEndpoint};
use keyway_store::GrantKey;
use keyway_transport::OAuthHttp;
use url::Url;

#[cfg(all(feature = "stdio", feature = "vault"))]
use super::Renewals;
use super::{Host, oauth_settings};
#[cfg(all(feature = "stdio", feature = "vault"))]
use crate::carrier::ProcessCarrier;
use crate::connect::{Target, header_values};
use crate::remembered_tools::RememberedTools;
use crate::runtime::CountedTasks;
use crate::sign_in::{Accounts, SignInGate, fingerprint};

impl Host {
    /// Returns the sign-in of an entry; none if it is not by OAuth.
    pub(super) fn oauth(&self, target: Target<'_>) -> Option<OAuth> {
        self.oauth_named(target, Accounts::key)
    }

    /// Returns the sign-in of an entry under the name that `name` gives it.
    pub(super) fn oauth_named(
        &self,
        target: Target<'_>,
        name: impl FnOnce(&Accounts, &str, &str, &Path, &RemoteSpec) -> GrantKey,
    ) -> Option<OAuth> {
        let SpecEndpoint::Remote(remote) = &target.spec.endpoint else {
            return None;
        };
        let accounts = self.accounts.as_ref()?;
        if target.spec.method != Method::OAuth {
            return None;
        }
        let url: Url = remote.address.url().expose().parse().ok()?;
        let root = target.host.source();
        let key = name(accounts, target.plugin, &target.spec.name, root, remote);
        let server = Server::new(target.spec.name.clone(), url.clone(), key);
        let ports = self.oauth_ports(accounts, target, &url)?;
        let settings = oauth_settings::settings(self, accounts, target, remote);
        let fixed = header_values(&remote.headers);
        Some(OAuth::new(server, settings, ports, accounts.asking, fixed))
    }

    /// Returns the sign-in at the identity provider that the sign-in of an entry goes through, if
    /// it is one of our own. All servers that go through a provider share it.
    pub(super) fn identity_provider(
        &self,
        accounts: &Accounts,
        target: Target<'_>,
    ) -> Option<OAuth> {
        let settings = oauth_settings::identity_provider(self, accounts, target)?;
        let Endpoints::Issuer(issuer) = &settings.endpoints else {
            return None;
        };
        let url: Url = issuer.parse().ok()?;
        let key = GrantKey::new(&accounts.profile)
            .server(IDENTITY_PROVIDER)
            .resource(issuer)
            .account(accounts.account.as_deref().unwrap_or_default());
        let server = Server::new(target.spec.name.clone(), url.clone(), key);
        let mut ports = self.oauth_ports(accounts, target, &url)?;
        // A session keeps to one account of its server; the provider's own names are others.
        ports.account_pin = None;
        let asking = accounts.asking;
        Some(OAuth::new(server, settings, ports, asking, Vec::new()))
    }

    fn oauth_ports(&self, accounts: &Accounts, target: Target<'_>, url: &Url) -> Option<Ports> {
        let http = Arc::new(self.oauth_http(accounts, target, url)?);
        let mut ports = self.stored_ports(accounts, http);
        ports.interaction.clone_from(&accounts.interaction);
        ports.observer = self.observer(target);
        ports.account_pin.clone_from(&accounts.account_pin);
        ports.carrier = self.carrier(accounts, target, url);
        Some(ports)
    }

    /// Returns the ports of an account's stores, by which no person is asked.
    pub(super) fn stored_ports(&self, accounts: &Accounts, http: Arc<OAuthHttp>) -> Ports {
        let stores = &accounts.stores;
        let sign_ins = SignInStores::new(
            Arc::clone(&stores.grants),
            Arc::clone(&stores.registrations),
            Arc::clone(&stores.documents),
        );
        let sign_ins = match &stores.issuers {
            Some(issuers) => sign_ins.with_issuers(Arc::clone(issuers)),
            None => sign_ins,
        };
        let tasks = Arc::new(CountedTasks {
            tasks: Arc::clone(&self.tasks),
            in_flight: accounts.in_flight.clone(),
        });
        let mut ports = Ports::new(http, Arc::clone(&self.clock), tasks, sign_ins);
        ports.traffic = Arc::clone(&self.refresh_traffic);
        ports
    }

    /// Returns the way in for an entry; none if it is not by OAuth, or no person can be asked.
    pub(super) fn sign_in_gate(&self, target: Target<'_>) -> Option<SignInGate> {
        self.oauth(target).map(SignInGate::new)
    }

    /// Returns what remembers the tools of an entry; none where nothing is kept.
    pub(super) fn remembered_tools(&self, target: Target<'_>) -> Option<RememberedTools> {
        let accounts = self.accounts.as_ref()?;
        let (endpoint, account) = match &target.spec.endpoint {
            SpecEndpoint::Remote(remote) => (fingerprint(remote), accounts.account.as_deref()),
            // Plugins of the same name are told apart by their folders.
            SpecEndpoint::Local(_) => {
                let owner = Owner::new(target.plugin, target.host.source());
                (owner.id().to_owned(), None)
            }
            _ => return None,
        };
        let name = [
            accounts.profile.as_str(),
            target.plugin,
            &target.spec.name,
            &endpoint,
            account.unwrap_or_default(),
        ];
        let lists = Arc::clone(&accounts.stores.tool_lists);
        let in_flight = accounts.in_flight.clone();
        Some(RememberedTools::new(lists, in_flight, name.join("\n")))
    }

    /// Returns the client for what the server at `url` leads to.
    fn oauth_http(&self, accounts: &Accounts, target: Target<'_>, url: &Url) -> Option<OAuthHttp> {
        if may_be_private(accounts, target) {
            return OAuthHttp::dangerous_private(&self.http, url).ok();
        }
        Some(OAuthHttp::new(&self.http, url))
    }

    /// Returns what renewals are handed to, if they are to outlive this process.
    #[cfg(all(feature = "stdio", feature = "vault"))]
    fn carrier(
        &self,
        accounts: &Accounts,
        target: Target<'_>,
        url: &Url,
    ) -> Option<Arc<dyn ExchangeCarrier>> {
        // Another process reaches the vault, and no other store.
        let is_detached = self.renewals == Renewals::Detached && !accounts.stores.is_apart;
        let vault = accounts.vault.as_ref().filter(|_| is_detached)?;
        let environment = self.environment.iter();
        let environment = environment.filter(|(name, _)| {
            let name = name.to_str();
            name.is_some_and(|name| NETWORK_VARIABLES.contains(&name))
        });
        Some(Arc::new(ProcessCarrier {
            launcher: self.programs.launcher.clone(),
            environment: environment.cloned().collect(),
            vault: Arc::clone(vault),
            client_name: accounts.identity.name.clone(),
            http: self.http.clone(),
            server: url.clone(),
            is_private: may_be_private(accounts, target),
        }))
    }

    #[cfg(not(all(feature = "stdio", feature = "vault")))]
    fn carrier(&self, _: &Accounts, _: Target<'_>, _: &Url) -> Option<Arc<dyn ExchangeCarrier>> {
        None
    }
}

/// Says whether the person allows the server to lead to less public addresses.
fn may_be_private(accounts: &Accounts, target: Target<'_>) -> bool {
    let id = format!("{}:{}", target.plugin, target.spec.name);
    let own = accounts.settings.server(&id, target.host.source());
    own.is_some_and(|own| own.oauth.dangerous_private_issuer)
}

/// What sign-ins at identity providers are stored under, in place of a server; they have no plugin.
const IDENTITY_PROVIDER: &str = "identity-provider";

/// The variables that decide which certificates are trusted and how names are looked up.
#[cfg(all(feature = "stdio", feature = "vault"))]
const NETWORK_VARIABLES: [&str; 5] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "RES_OPTIONS",
    "LOCALDOMAIN",
    "HOSTALIASES",
];
