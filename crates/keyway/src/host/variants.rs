//! Hosts like another one that differ in one respect, for a connection of its own kind.

use std::sync::Arc;

use keyway_auth::ports::Interaction;
use keyway_config::environment::Variables;
use keyway_store::ValueStore;

#[cfg(all(feature = "callback", feature = "vault"))]
use super::VaultApprovals;
use super::{ApprovalStore, Host};
use crate::approval::PersonApprovals;
use crate::events::Events;
use crate::redaction_values::RedactionValues;
use crate::settings::Settings;
use crate::sign_in::{AccountPin, Accounts, PromptPolicy, Stores};
#[cfg(feature = "callback")]
use crate::sign_in::{Loopback, Presenter};
#[cfg(all(feature = "callback", feature = "vault"))]
use crate::vault::KeptVault;

impl Host {
    /// The same host with the settings and the approvals of some accounts.
    #[cfg(all(feature = "callback", feature = "vault"))]
    pub(crate) fn with_approvals_of(&self, accounts: &Accounts, vault: &Arc<KeptVault>) -> Self {
        let home = self.variables.home.clone();
        let store = VaultApprovals::new(Arc::clone(vault), accounts.profile(), home);
        let mut host = self.with_settings(&accounts.settings);
        host.approvals.store = Some(Arc::new(store));
        host
    }

    /// The same host, for which the person decided as in these settings.
    #[must_use]
    pub fn with_settings(&self, settings: &Arc<Settings>) -> Self {
        let mut host = self.clone();
        host.settings = Arc::clone(settings);
        host
    }

    /// The same host, which waits differently for a sign-in.
    #[must_use]
    pub fn with_asking(&self, asking: PromptPolicy) -> Self {
        self.with_accounts(|accounts| accounts.asking = asking)
    }

    /// The same host for connections of MCP clients: where no page can be opened, a call is answered
    /// with a code that the client shows to its person (RFC 8628), if the server offers one.
    #[must_use]
    pub fn with_codes_shown_by_clients(&self) -> Self {
        self.with_accounts(|accounts| accounts.client_shows_codes = true)
    }

    /// The same host with its sign-ins in other stores, as
    /// [`HostBuilder::sign_in_stores`](crate::HostBuilder::sign_in_stores).
    #[must_use]
    pub fn with_sign_in_stores(&self, stores: Stores) -> Self {
        self.with_accounts(|accounts| {
            accounts.stores = stores.counting(&accounts.in_flight, &self.clock);
        })
    }

    /// The same host, which asks for sign-ins by another port; `None`: it asks no person.
    #[must_use]
    pub fn with_interaction(&self, interaction: Option<Arc<dyn Interaction>>) -> Self {
        self.with_accounts(|accounts| accounts.interaction = interaction)
    }

    /// The same host, which shows consent pages by `presenter`, one question at a time.
    #[cfg(feature = "callback")]
    #[must_use]
    pub fn with_presenter(&self, presenter: Arc<dyn Presenter>) -> Self {
        self.with_accounts(|accounts| {
            let loopback = Loopback::new(presenter);
            #[cfg(feature = "vault")]
            let loopback = match &accounts.vault {
                Some(vault) => loopback.in_turn(Arc::clone(vault)),
                None => loopback,
            };
            accounts.interaction = Some(Arc::new(loopback));
        })
    }

    /// The same host for the connections of one session, which keeps to one account.
    #[must_use]
    pub fn with_account_pin(&self, pin: &AccountPin) -> Self {
        self.with_accounts(|accounts| accounts.account_pin = Some(pin.clone()))
    }

    /// The same host for a job without a person: it uses the sign-in of this account alone, and asks
    /// no person.
    #[must_use]
    pub fn with_service_account(&self, account: &str) -> Self {
        self.with_accounts(|accounts| {
            accounts.account = Some(account.to_owned());
            accounts.interaction = None;
            accounts.asking = PromptPolicy::Never;
        })
    }

    /// The same host for one server, recording what that server gets.
    #[must_use]
    pub fn with_redaction_values(&self, values: RedactionValues) -> Self {
        let mut host = self.clone();
        host.redaction_values = Some(values);
        host
    }

    /// The same host, which asks no person for an approval: what is not approved is refused.
    #[must_use]
    pub fn without_approval_prompt(&self) -> Self {
        let mut host = self.clone();
        host.approvals.prompt = None;
        host
    }

    /// The same host, which reports no events.
    #[must_use]
    pub fn without_events(&self) -> Self {
        let mut host = self.clone();
        host.events = Events::default();
        host
    }

    /// The same host, in which these values stand above all others.
    #[must_use]
    pub fn with_overrides(&self, overrides: Variables) -> Self {
        let mut host = self.clone();
        host.variables.overrides = overrides;
        host
    }

    /// The same host, which looks for variables in a store where it would look for them in the vault:
    /// after the environment and files.
    #[must_use]
    pub fn with_variables_kept_in(&self, store: Arc<dyn ValueStore>) -> Self {
        let mut host = self.clone();
        host.variables.stores = Some(Arc::new([store]));
        host
    }

    /// The same host, in which `${VAR}` comes from these stores and from nothing else: the first that
    /// has it, no environment, and no file.
    #[must_use]
    pub fn with_variables_of(&self, stores: impl IntoIterator<Item = Arc<dyn ValueStore>>) -> Self {
        let mut host = self.clone();
        host.variables = host.variables.only(stores.into_iter().collect());
        host
    }

    /// The same host with its approvals in another store.
    #[must_use]
    pub fn with_approval_store(&self, store: Arc<dyn ApprovalStore>) -> Self {
        let mut host = self.clone();
        host.approvals.store = Some(store);
        host
    }

    /// The same host for one of several people, whose approvals of values of their own stand beside those
    /// that it has.
    #[must_use]
    pub fn with_own_approvals(&self, own: Arc<dyn ApprovalStore>) -> Self {
        let mut host = self.clone();
        let shared = host.approvals.store.take();
        host.approvals.store =
            shared.map(|shared| Arc::new(PersonApprovals::new(shared, own)) as _);
        host
    }

    /// The same host for one of several people, with a folder of their own for the data of plugins: a
    /// program starts only where it can be kept from everything else.
    #[must_use]
    pub fn with_own_data(&self, name: &str) -> Self {
        let mut host = self.clone();
        let data = host.variables.data.take();
        host.variables.data = data.map(|data| data.join("people").join(name));
        #[cfg(feature = "stdio")]
        {
            host.programs.isolation.require = true;
        }
        host
    }

    /// The same host, in which everything is approved without asking.
    #[must_use]
    pub fn dangerous_approve_all(&self) -> Self {
        let mut host = self.clone();
        host.approvals.dangerous_all = true;
        host
    }

    fn with_accounts(&self, change: impl FnOnce(&mut Accounts)) -> Self {
        let mut host = self.clone();
        if let Some(accounts) = &mut host.accounts {
            change(accounts);
        }
        host
    }
}
