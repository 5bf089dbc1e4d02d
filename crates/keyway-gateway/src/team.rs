//! A gateway for the people of a team.

use std::sync::Arc;

use keyway::Host;
use keyway::store::StoreError;
use keyway_vault::Vault;

use crate::database::Database;
use crate::gateway::{Gateway, SessionKey};
use crate::lazy_server::PersonStores;
use crate::people::{IssuerError, People};

/// Lets the people of the settings in, who sign in to servers in their own browsers where the host
/// keeps what lies between two steps of that.
///
/// # Errors
///
/// Returns which rule the name of an issuer breaks.
pub fn with_people(gateway: Gateway, host: &Host) -> Result<Gateway, IssuerError> {
    let people = People::of(&host.settings().gateway, host.http())?.map(Arc::new);
    let store = host.accounts().map(|accounts| accounts.one_time_store());
    Ok(match (people, store) {
        (Some(people), Some(store)) => gateway.with_people_and_consent(people, store),
        (Some(people), None) => gateway.with_people(people),
        (None, _) => gateway,
    })
}

/// Returns the key of session ids: of the database, if gateways share one, and otherwise of the vault;
/// `None` if it cannot be kept there.
///
/// # Errors
///
/// Returns why the database gives none now.
pub fn session_key(
    vault: &Vault,
    database: Option<&Database>,
) -> Result<Option<SessionKey>, StoreError> {
    match database {
        Some(database) => database.session_key().map(Some),
        None => Ok(SessionKey::kept_in(vault)),
    }
}

/// Makes the stores of each person in a database.
#[must_use]
pub fn person_stores(database: &Database) -> PersonStores {
    let database = database.clone();
    PersonStores::new(move |person| database.person_stores(person.issuer(), person.subject()))
}
