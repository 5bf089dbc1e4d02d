//! Signing in, as a host does it: which sign-in belongs to which entry, where it is kept, and how a
//! person is asked.

mod attending;
mod consent;
mod engine;
mod runtime;
mod sign_in_gate;
mod stores;
mod turn;
mod vault;

use std::path::PathBuf;
use std::sync::Arc;

pub use keyway_auth::oauth::OAuth;
use keyway_auth::oauth::{Ports, Server};
use keyway_config::method::Method;
use keyway_config::resolve::{RemoteSpec, SpecEndpoint};
use keyway_store::GrantKey;
use keyway_transport::OAuthHttp;
use keyway_vault::Folders;
use url::Url;

pub use keyway_auth::AuthError;
pub use keyway_auth::oauth::{
    AccountPin, ClientIdentity, OAuthError, PromptPolicy, Revoked, SignIn, SignInCause, SignedOut,
    client_metadata, is_client_address,
};
pub use keyway_auth::ports::{ConsentQuestion, DeviceQuestion, Interaction, InteractionError};

pub use self::consent::{Loopback, Presenter, Typed};
pub use self::sign_in_gate::SignInGate;
pub use self::stores::Stores;
pub use self::vault::{InFlight, KeptVault, OpenVault};

pub(crate) use self::attending::look_after;
pub(crate) use self::runtime::SharedClock;
pub use self::runtime::TokioTasks;

use crate::connect::{Target, header_values};
use crate::host::Host;
use crate::settings;

/// What signing in needs of the process it runs in.
#[derive(Debug, Clone)]
pub struct Accounts {
    /// Where sign-ins are kept.
    pub stores: Stores,
    /// The vault behind the stores, if it is one.
    pub vault: Option<Arc<KeptVault>>,
    /// The person; absent where nobody may be asked.
    pub interaction: Option<Arc<dyn Interaction>>,
    /// Whether a request may wait for a person.
    pub asking: PromptPolicy,
    /// What people are shown at consent.
    pub identity: ClientIdentity,
    /// What the person decided.
    pub settings: Arc<settings::Settings>,
    /// Whose sign-ins.
    pub profile: String,
    /// Which of several accounts at one server.
    pub account: Option<String>,
    /// By a code on another device, whatever is configured.
    pub device: bool,
    /// The conversation that connections are for, if they are for one: it keeps to one account.
    pub whose: Option<AccountPin>,
}

impl Host {
    /// Returns the sign-in of an entry; none if it is not by OAuth.
    #[must_use]
    pub(crate) fn oauth(&self, target: Target<'_>) -> Option<OAuth> {
        let SpecEndpoint::Remote(remote) = &target.spec.endpoint else {
            return None;
        };
        let accounts = self.accounts.as_ref()?;
        if target.spec.method != Method::OAuth {
            return None;
        }
        let url: Url = remote.address.url().expose().parse().ok()?;
        let server = Server {
            name: target.spec.name.clone(),
            url: url.clone(),
            key: accounts.key(target.plugin, &target.spec.name, remote),
        };
        let ports = Ports {
            http: Arc::new(accounts.http(self, target, &url)?),
            clock: Arc::clone(&self.clock),
            tasks: Arc::clone(&self.tasks),
            grants: Arc::clone(&accounts.stores.grants),
            records: Arc::clone(&accounts.stores.registrations),
            documents: Arc::clone(&accounts.stores.documents),
            interaction: accounts.interaction.clone(),
            observer: self
                .events
                .for_plugin(target.plugin)
                .watch(&target.spec.name),
            account_pin: accounts.whose.clone(),
        };
        let settings = engine::settings(self, accounts, target, remote);
        let fixed = header_values(&remote.headers);
        Some(OAuth::new(server, settings, ports, accounts.asking, fixed))
    }
}

impl Host {
    /// Returns the way in for an entry; none if it is not by OAuth, or nobody can be asked.
    #[must_use]
    pub(crate) fn sign_in_gate(&self, target: Target<'_>) -> Option<SignInGate> {
        let accounts = self.accounts.as_ref()?;
        let SpecEndpoint::Remote(remote) = &target.spec.endpoint else {
            return None;
        };
        let name = [
            accounts.profile.as_str(),
            target.plugin,
            &target.spec.name,
            &vault::fingerprint(remote),
            accounts.account.as_deref().unwrap_or_default(),
        ];
        let name = name.join("\n");
        let oauth = self.oauth(target)?;
        let in_flight = accounts.vault.as_ref().map(|it| it.in_flight().clone());
        let lists = Arc::clone(&accounts.stores.tool_lists);
        let in_flight = in_flight.unwrap_or_default();
        Some(SignInGate::new(oauth, lists, in_flight, name))
    }
}

impl Accounts {
    /// The sign-ins of a profile in a vault, for a look at them: nobody is asked.
    #[must_use]
    pub fn of_vault(
        vault: &Arc<KeptVault>,
        settings: Arc<settings::Settings>,
        profile: &str,
        account: Option<String>,
    ) -> Self {
        Self {
            stores: Stores::of_vault(vault, profile, &ClientIdentity::default()),
            vault: Some(Arc::clone(vault)),
            interaction: None,
            identity: ClientIdentity::default(),
            asking: PromptPolicy::Never,
            settings,
            profile: profile.to_owned(),
            account,
            device: false,
            whose: None,
        }
    }

    /// Returns the client for what the server at `url` leads to.
    fn http(&self, host: &Host, target: Target<'_>, url: &Url) -> Option<OAuthHttp> {
        let id = format!("{}:{}", target.plugin, target.spec.name);
        let own = self.settings.server(&id);
        if own.is_some_and(|own| own.oauth.dangerous_private_issuer) {
            return OAuthHttp::dangerous_private(&host.http, url).ok();
        }
        Some(OAuthHttp::new(&host.http, url))
    }

    /// Names the sign-in of an entry.
    ///
    /// Another address, tenant header or account is another sign-in. What they are is hashed: it
    /// may come from a variable, and names are stored in the open. Issuer and client stand inside
    /// the sealed row, since they are not known before somebody signed in.
    #[must_use]
    pub fn key(&self, plugin: &str, server: &str, remote: &RemoteSpec) -> GrantKey {
        GrantKey::new(&self.profile)
            .plugin(plugin)
            .server(server)
            .resource(vault::fingerprint(remote))
            .account(self.account.as_deref().unwrap_or_default())
    }

    /// Returns what is known of the sign-in of an entry, without its tokens.
    ///
    /// # Errors
    ///
    /// Returns why the vault cannot be read.
    pub fn status(
        &self,
        plugin: &str,
        server: &str,
        remote: &RemoteSpec,
    ) -> Result<Option<SignIn>, keyway_vault::VaultError> {
        let grant = self.stores.grants.read(&self.key(plugin, server, remote))?;
        Ok(grant.as_ref().and_then(SignIn::of))
    }
}

/// Returns the file that holds sign-ins, which need not exist.
fn database(folders: &Folders) -> PathBuf {
    folders.data.join("vault.db")
}
