//! Where a team keeps what belongs to its people: in the vault of one machine, or in a database.

use std::fmt;
use std::sync::Arc;

use keyway::sign_in::Stores;
use keyway::store::{NamedValue, StoreError, ValueStore};
use keyway_people::Person;
use keyway_secret::{Secret, hex};
use keyway_vault::{Namespace, Vault};

/// The stores of each person and of the tenant. Making one must not block.
pub trait TeamStores: Send + Sync + fmt::Debug {
    /// Returns the stores of a person's sign-ins; `None` if they are in those of the host, by account.
    ///
    /// # Errors
    ///
    /// Returns why there are none.
    fn sign_ins(&self, person: &Person) -> Result<Option<Stores>, StoreError>;

    /// Says whether sign-ins of people are in stores of their own.
    fn keeps_sign_ins_apart(&self) -> bool;

    /// Returns the variables of a person, or of the tenant.
    ///
    /// # Errors
    ///
    /// Returns why there are none.
    fn variables(&self, person: Option<&Person>) -> Result<Arc<dyn ValueStore>, StoreError>;

    /// Returns the approvals of a person, or of the tenant; `None` for those of the host.
    ///
    /// # Errors
    ///
    /// Returns why there are none.
    fn approvals(&self, person: Option<&Person>)
    -> Result<Option<Arc<dyn ValueStore>>, StoreError>;
}

/// The vault of one machine: each person's values are in namespaces of their own.
#[derive(Debug)]
pub struct VaultStores(Arc<Vault>);

impl VaultStores {
    /// Keeps them in `vault`.
    #[must_use]
    pub const fn new(vault: Arc<Vault>) -> Self {
        Self(vault)
    }

    fn values(&self, kind: &str, person: &Person) -> Result<Arc<dyn ValueStore>, StoreError> {
        // As much of the digest as a name can hold.
        let name = format!("{kind}-{:.56}", hex::write(&person.digest()));
        self.kept(&name)
    }

    fn kept(&self, name: &str) -> Result<Arc<dyn ValueStore>, StoreError> {
        let namespace = Namespace::new(name).map_err(StoreError::from)?;
        let vault = Arc::clone(&self.0);
        Ok(Arc::new(VaultValues { vault, namespace }))
    }
}

impl TeamStores for VaultStores {
    fn sign_ins(&self, _: &Person) -> Result<Option<Stores>, StoreError> {
        Ok(None)
    }

    fn keeps_sign_ins_apart(&self) -> bool {
        false
    }

    fn variables(&self, person: Option<&Person>) -> Result<Arc<dyn ValueStore>, StoreError> {
        match person {
            Some(person) => self.values("env", person),
            // What `keyway env` stores.
            None => self.kept("env"),
        }
    }

    fn approvals(
        &self,
        person: Option<&Person>,
    ) -> Result<Option<Arc<dyn ValueStore>>, StoreError> {
        person
            .map(|person| self.values("trust", person))
            .transpose()
    }
}

/// The rows of one namespace.
#[derive(Debug)]
struct VaultValues {
    vault: Arc<Vault>,
    namespace: Namespace,
}

impl VaultValues {
    fn rows(&self) -> keyway_vault::Sealed<'_> {
        self.vault.sealed(self.namespace.clone())
    }
}

impl ValueStore for VaultValues {
    fn get(&self, name: &str) -> Result<Option<Secret<Vec<u8>>>, StoreError> {
        ValueStore::get(&self.rows(), name)
    }

    fn all(&self) -> Result<Vec<NamedValue>, StoreError> {
        ValueStore::all(&self.rows())
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        ValueStore::put(&self.rows(), name, value)
    }

    fn delete(&self, name: &str) -> Result<bool, StoreError> {
        ValueStore::delete(&self.rows(), name)
    }
}

#[cfg(test)]
mod tests {
    use keyway::store::conformance;
    use keyway::vault::{Folders, KeySources};
    use keyway_testkit::Folder;

    use super::*;

    #[test]
    fn values_of_people_in_a_vault_pass_the_conformance_cases() {
        let folder = Folder::new();
        let folders = Folders::below(folder.path());
        let vault = Vault::open(&folders, KeySources::default()).unwrap();
        let stores = VaultStores::new(Arc::new(vault));
        let person = |name| Person::new("https://idp.example", name).unwrap();
        let (ada, bob, amy) = (person("ada"), person("bob"), person("amy"));
        let of = |person| stores.variables(Some(person)).unwrap();
        conformance::value_is_listed_replaced_and_deleted_by_name(&of(&ada)).unwrap();
        conformance::values_of_one_owner_are_not_those_of_another([&of(&amy), &of(&bob)]).unwrap();
        let tenant = stores.variables(None).unwrap();
        conformance::values_of_one_owner_are_not_those_of_another([&tenant, &of(&bob)]).unwrap();
        let approvals = stores.approvals(Some(&ada)).unwrap().unwrap();
        conformance::of_values_stored_at_once_one_is_left_and_whole(&approvals).unwrap();
    }
}
