//! Signing in, as a host does it: which sign-in belongs to which entry, where it is kept, and how a
//! person is asked.

mod attending;
mod binding;
#[cfg(feature = "callback")]
mod consent;
mod remembered_grants;
mod sign_in_gate;
mod stores;
#[cfg(all(feature = "callback", feature = "vault"))]
mod turn;

use std::path::Path;
use std::sync::Arc;

use blake2::{Blake2b256, Digest as _};
#[cfg(feature = "vault")]
use keyway_auth::oauth::replaced_tokens_record;
use keyway_config::resolve::RemoteSpec;
#[cfg(feature = "vault")]
use keyway_store::GrantStore as _;
use keyway_store::{ChangeFeed, GrantKey, OneTimeStore, StoreError};
#[cfg(feature = "vault")]
use keyway_vault::{MovedGrant, Namespace};

pub use keyway_auth::AuthError;
pub use keyway_auth::oauth::{
    AccountPin, CheckedTokens, ClientIdentity, GivenTokens, OAuth, OAuthError, PromptPolicy,
    Revoked, SignIn, SignInCause, SignInPreview, SignedOut, UnstoredRenewal, UnstoredSignIn,
    client_metadata, is_client_address, required_scopes,
};
pub use keyway_auth::ports::{
    ConsentQuestion, DeviceQuestion, ForeignPage, Interaction, InteractionError,
};

#[cfg(feature = "callback")]
pub use self::consent::{Loopback, Presenter, Typed};
pub use self::sign_in_gate::SignInGate;
pub use self::stores::Stores;

pub(crate) use self::attending::Attendance;
pub(crate) use self::binding::{endpoints, entry_text, resource};

use crate::in_flight::InFlight;
use crate::settings;
#[cfg(feature = "vault")]
use crate::vault::{KeptVault, Registrations};

/// What signing in needs of the process it runs in.
#[derive(Debug, Clone)]
pub struct Accounts {
    /// Where sign-ins are kept.
    pub(crate) stores: Stores,
    /// The vault of this machine, which holds the stores unless they are apart.
    #[cfg(feature = "vault")]
    pub(crate) vault: Option<Arc<KeptVault>>,
    /// What the process must not end in the middle of.
    pub(crate) in_flight: InFlight,
    /// The person; absent where no person may be asked.
    pub(crate) interaction: Option<Arc<dyn Interaction>>,
    /// Whether a request may wait for a person.
    pub(crate) asking: PromptPolicy,
    /// What people are shown at consent.
    pub(crate) identity: ClientIdentity,
    /// The path of the address that a browser sign-in comes back to.
    pub(crate) redirect_path: Option<String>,
    /// What the person decided.
    pub(crate) settings: Arc<settings::Settings>,
    pub(crate) profile: String,
    /// The account to use if several are signed in.
    pub(crate) account: Option<String>,
    /// Sign in by a code on another device, whatever is configured.
    pub(crate) device: bool,
    /// Clients show a code to their person where no page can be opened.
    pub(crate) client_shows_codes: bool,
    /// Looks after the sign-ins of connections.
    pub(crate) attendance: Attendance,
    /// The session that connections are for, if they are for one: it keeps to one account.
    pub(crate) account_pin: Option<AccountPin>,
}

impl Accounts {
    /// The sign-ins of a profile in a vault, for a look at them: no person is asked.
    #[cfg(feature = "vault")]
    #[must_use]
    pub fn of_vault(
        vault: &Arc<KeptVault>,
        settings: Arc<settings::Settings>,
        profile: &str,
        account: Option<String>,
    ) -> Self {
        let stores = Stores::of_vault(vault, profile, &ClientIdentity::default());
        Self {
            attendance: Attendance::default(),
            stores,
            in_flight: vault.in_flight().clone(),
            vault: Some(Arc::clone(vault)),
            interaction: None,
            identity: ClientIdentity::default(),
            redirect_path: None,
            asking: PromptPolicy::Never,
            settings,
            profile: profile.to_owned(),
            account,
            device: false,
            client_shows_codes: false,
            account_pin: None,
        }
    }

    /// Returns the vault of this machine, which also holds the sign-ins unless other stores were
    /// given.
    #[cfg(feature = "vault")]
    #[must_use]
    pub const fn vault(&self) -> Option<&Arc<KeptVault>> {
        self.vault.as_ref()
    }

    /// Returns what tells of sign-ins and sign-outs by others, if the store is not the vault: of that
    /// one the files show it.
    ///
    /// # Errors
    ///
    /// Returns why the store tells of nothing.
    pub fn change_feed(&self) -> Result<Option<Box<dyn ChangeFeed>>, StoreError> {
        self.stores
            .is_apart
            .then(|| self.stores.grants.change_feed())
            .transpose()
    }

    /// Returns where sign-ins wait that a browser has to finish.
    #[must_use]
    pub fn one_time_store(&self) -> Arc<dyn OneTimeStore> {
        Arc::clone(&self.stores.one_time)
    }

    /// Returns the profile that the sign-ins belong to.
    #[must_use]
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// Names the sign-in of an entry. Blocks: for an entry that says how to sign in, the store is
    /// looked at.
    ///
    /// Another address, tenant header or account is another sign-in, and so is one as another
    /// client, at other endpoints, for another resource, or by a grant that the person set for the
    /// plugin at `root`. The name that a plugin gives itself alone reaches no sign-in. What all that
    /// is, is hashed: it may come from a variable, and names are stored in the open. The issuer that a
    /// server names stands inside the sealed row, since it is not known before the sign-in.
    #[must_use]
    pub fn key(&self, plugin: &str, server: &str, root: &Path, remote: &RemoteSpec) -> GrantKey {
        let unbound = self.unbound_key(plugin, server, remote);
        let own = self.settings.server(&format!("{plugin}:{server}"), root);
        let binding = binding::binding(own.map(|own| &own.oauth), remote);
        let name = binding.name();
        if name.is_empty() {
            return unbound;
        }
        let bound = unbound.clone().client(name);
        let grants = &self.stores.grants;
        // Sign-ins of earlier versions have no binding in their name, and stay where they are.
        if matches!(grants.read(&bound), Ok(None))
            && let Ok(Some(earlier)) = grants.read(&unbound)
            && binding.is_of(&earlier)
        {
            return unbound;
        }
        bound
    }

    /// Names the sign-in of an entry of which a part that decides is not known any more, because its
    /// variable is gone: whichever there is for the server at this address, to end it. Blocks.
    pub(crate) fn any_key(
        &self,
        plugin: &str,
        server: &str,
        root: &Path,
        remote: &RemoteSpec,
    ) -> GrantKey {
        let key = self.key(plugin, server, root, remote);
        let grants = &self.stores.grants;
        if matches!(grants.read(&key), Ok(Some(_))) {
            return key;
        }
        let listed = grants.list(&self.profile).unwrap_or_default();
        let mut keys = listed.into_iter().map(|listed| listed.grant);
        let unbound = self.unbound_key(plugin, server, remote);
        let found = keys.find(|it| it.clone().client("") == unbound);
        found.unwrap_or(key)
    }

    fn unbound_key(&self, plugin: &str, server: &str, remote: &RemoteSpec) -> GrantKey {
        GrantKey::new(&self.profile)
            .plugin(plugin)
            .server(server)
            .resource(fingerprint(remote))
            .account(self.account.as_deref().unwrap_or_default())
    }

    /// Names what is noted of an entry beside its sign-in: its list of tools, and that it is open.
    pub(crate) fn record_name(&self, plugin: &str, server: &str, remote: &RemoteSpec) -> String {
        let name = [
            self.profile.as_str(),
            plugin,
            server,
            &fingerprint(remote),
            self.account.as_deref().unwrap_or_default(),
        ];
        name.join("\n")
    }

    /// Says whether the server answered without a sign-in when it was last connected to.
    #[must_use]
    pub fn is_known_open(&self, plugin: &str, server: &str, remote: &RemoteSpec) -> bool {
        let name = open_record(&self.record_name(plugin, server, remote));
        self.stores.tool_lists.get(&name).is_some()
    }

    /// Notes whether a server answers without a sign-in; only a convenience, so that what cannot be
    /// stored is not stored. Blocks.
    pub(crate) fn note_open(&self, name: &str, is_open: bool) {
        let (lists, name) = (&self.stores.tool_lists, open_record(name));
        if lists.get(&name).is_some() == is_open {
            return;
        }
        let _unstored = if is_open {
            lists.put(&name, b"open")
        } else {
            lists.delete(&name)
        };
    }

    /// Returns what is known of a sign-in ([`Self::key`]), without its tokens.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be read.
    pub fn status(&self, key: &GrantKey) -> Result<Option<SignIn>, StoreError> {
        let grant = self.stores.grants.read(key)?;
        Ok(grant.as_ref().and_then(SignIn::of).map(|mut found| {
            found.required_scopes = required_scopes(&*self.stores.registrations, key);
            #[cfg(feature = "vault")]
            {
                found.unstored = self.unstored(key);
            }
            found
        }))
    }
}

#[cfg(feature = "vault")]
impl Accounts {
    /// Returns where a sign-in went that was moved to another vault; `None` if there is one here.
    ///
    /// # Errors
    ///
    /// Returns why the store cannot be read.
    pub fn moved(&self, key: &GrantKey) -> Result<Option<MovedGrant>, StoreError> {
        let vault = match &self.vault {
            Some(vault) => vault.existing()?,
            None => None,
        };
        let Some(vault) = vault else {
            return Ok(None);
        };
        if vault.read(key)?.is_some() {
            return Ok(None);
        }
        if let Some(moved) = vault.moved_grant(key)? {
            return Ok(Some(moved));
        }
        // It was moved by an earlier version.
        Ok(vault.moved_grant(&key.clone().client(""))?)
    }

    /// Finds a process that has a new sign-in in memory alone. What cannot be read says nothing.
    #[must_use]
    pub fn unstored_sign_in(&self, key: &GrantKey) -> Option<UnstoredSignIn> {
        let vault = self.vault.as_ref()?.existing().ok()??;
        let process = vault.unstored_sign_in(key)?;
        Some(UnstoredSignIn::of(process))
    }

    /// Finds a process that holds new tokens in memory. What cannot be read says nothing.
    fn unstored(&self, key: &GrantKey) -> Option<UnstoredRenewal> {
        let vault = self.vault.as_ref()?.existing().ok()??;
        let found = vault.renewal_under_way(key).ok()??;
        UnstoredRenewal::of(found.process, found.age)
    }

    /// Returns where the vault keeps what belongs to a sign-in and moves with it.
    pub(crate) fn beside(&self, key: &GrantKey) -> Result<(Namespace, String), StoreError> {
        let owner = stores::owner(&self.profile, &self.identity);
        let name = replaced_tokens_record(key);
        Ok(Registrations::place(&owner, &name)?)
    }
}

fn open_record(name: &str) -> String {
    format!("open\n{name}")
}

/// Names an address together with the headers that go with it, and gives neither away.
pub(crate) fn fingerprint(remote: &RemoteSpec) -> String {
    let mut hash = Blake2b256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    add(remote.address.url().expose());
    let mut headers: Vec<_> = remote.headers.iter().collect();
    headers.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (name, value) in headers {
        add(&name.to_ascii_lowercase());
        add(value.value().expose());
    }
    let hash = hash.finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
