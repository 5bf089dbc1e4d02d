//! One data key per person, wrapped in the database, unwrapped once and kept in memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use keyway_secret::Secret;
use keyway_store::Damage;
use keyway_store::seal::{Context, Key, KeyId};

use crate::error::{PostgresError, WrapError};
use crate::key_wrapper::{KeyWrapper, Wrappers};
use crate::person::Person;
use crate::sessions::Sessions;

/// The key of a person's data.
#[derive(Clone, Debug)]
pub(crate) struct PersonKey {
    pub(crate) id: KeyId,
    pub(crate) key: Key,
}

impl PersonKey {
    /// Seals a value for its place, which names the person, the row, the column and this key.
    pub(crate) fn seal(&self, plain: &[u8], place: Context) -> Result<Vec<u8>, PostgresError> {
        Ok(self.key.seal(plain, &place.bytes(self.id.as_bytes()))?)
    }

    pub(crate) fn open(&self, sealed: &[u8], place: Context) -> Result<Secret<Vec<u8>>, Damage> {
        self.key.open(sealed, &place.bytes(self.id.as_bytes()))
    }
}

/// The keys that were needed so far.
#[derive(Debug)]
pub(crate) struct PersonKeys {
    wrappers: Wrappers,
    /// Never held across an await or a call to the wrapper.
    known: Mutex<HashMap<Person, PersonKey>>,
}

impl PersonKeys {
    pub(crate) fn new(wrappers: Wrappers) -> Self {
        Self {
            wrappers,
            known: Mutex::default(),
        }
    }

    pub(crate) const fn wrappers(&self) -> &Wrappers {
        &self.wrappers
    }

    /// Returns the key that a row names.
    pub(crate) async fn named(
        &self,
        sessions: &Sessions,
        person: &Person,
        id: &[u8],
    ) -> Result<PersonKey, PostgresError> {
        if let Some(known) = self.cached(person)
            && known.id.as_bytes() == id
        {
            return Ok(known);
        }
        // Another replica may have signed the person out and in again.
        match self.load(sessions, person).await? {
            Some(key) if key.id.as_bytes() == id => Ok(key),
            _ => Err(damaged(Damage::Missing)),
        }
    }

    /// Returns the key of a person, and makes one for a person who has none.
    pub(crate) async fn current(
        &self,
        sessions: &Sessions,
        person: &Person,
    ) -> Result<PersonKey, PostgresError> {
        for _ in 0..TRIES {
            if let Some(found) = self.load(sessions, person).await? {
                return Ok(found);
            }
            // Another replica may be faster, whose key counts then; or the wrapping key was just
            // changed.
            self.make(sessions, person).await?;
        }
        let found = self.load(sessions, person).await?;
        found.ok_or_else(|| damaged(Damage::Missing))
    }

    /// Stores a new key for a person who has none, wrapped by the key that counts now.
    async fn make(&self, sessions: &Sessions, person: &Person) -> Result<(), PostgresError> {
        let sql = "SELECT wrapper FROM keyway.store";
        let rows = sessions.query("read the wrapping key", None, sql, &[]);
        let rows = rows.await?;
        let row = rows.first().ok_or(PostgresError::ForeignSchema)?;
        let wrapper = self.wrappers.named(row.get(0))?;
        let new = PersonKey {
            id: KeyId::random()?,
            key: Key::random()?,
        };
        let wrapped = wrap(wrapper, person, &new)?;
        sessions
            .query(
                "store a person's key",
                Some(person),
                MAKE,
                &[
                    &person.tenant(),
                    &person.person(),
                    &new.id.as_bytes().as_slice(),
                    &wrapper.id().as_bytes().as_slice(),
                    &wrapped,
                ],
            )
            .await
            .map(drop)
    }

    /// Returns a key without asking the database, if it was needed before.
    pub(crate) fn cached(&self, person: &Person) -> Option<PersonKey> {
        self.lock().get(person).cloned()
    }

    pub(crate) fn forget(&self, person: &Person) {
        self.lock().remove(person);
    }

    async fn load(
        &self,
        sessions: &Sessions,
        person: &Person,
    ) -> Result<Option<PersonKey>, PostgresError> {
        let rows = sessions
            .query(
                "read a person's key",
                Some(person),
                "SELECT key_id, wrapper, wrapped FROM keyway.person_keys
                 WHERE tenant = $1 AND person = $2",
                &[&person.tenant(), &person.person()],
            )
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let id = KeyId::from_slice(row.get(0)).ok_or_else(|| damaged(Damage::UnknownFormat))?;
        // A wrapper that is away stops no person whose key is known.
        if let Some(known) = self.cached(person).filter(|known| known.id == id) {
            return Ok(Some(known));
        }
        let wrapper = self.wrappers.named(row.get(1))?;
        let key = unwrap(wrapper, person, id, row.get(2))?;
        let mut known = self.lock();
        // Any other is as good: no order has to be kept, and all at once would all need the wrapper.
        if known.len() >= MOST_KNOWN
            && let Some(other) = known.keys().next().cloned()
        {
            known.remove(&other);
        }
        known.insert(person.clone(), key.clone());
        drop(known);
        Ok(Some(key))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Person, PersonKey>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wraps a key for one person.
pub(crate) fn wrap(
    wrapper: &dyn KeyWrapper,
    person: &Person,
    key: &PersonKey,
) -> Result<Vec<u8>, PostgresError> {
    let bytes = Secret::new(*key.key.expose());
    let wrapped = wrapper.wrap(&bytes, &purpose(person, &key.id));
    wrapped.map_err(|source| PostgresError::WrapperAway { source })
}

/// Unwraps the key of one person.
pub(crate) fn unwrap(
    wrapper: &dyn KeyWrapper,
    person: &Person,
    id: KeyId,
    wrapped: &[u8],
) -> Result<PersonKey, PostgresError> {
    let opened = wrapper.unwrap(wrapped, &purpose(person, &id));
    let opened = opened.map_err(|source| match source {
        WrapError::Rejected => damaged(Damage::Altered),
        source @ WrapError::Away(_) => PostgresError::WrapperAway { source },
    })?;
    let key = Key::from_bytes(opened.expose());
    Ok(PersonKey { id, key })
}

/// Names what a wrapped key is for, so that keys swapped between people do not open.
fn purpose(person: &Person, id: &KeyId) -> [u8; 32] {
    person
        .place("postgres person key")
        .bytes(id.as_bytes())
        .digest()
}

fn damaged(how: Damage) -> PostgresError {
    PostgresError::corrupt("the key of a person", how)
}

/// About 10 MB.
const MOST_KNOWN: usize = 50_000;
/// How often another replica, or a change of the wrapping key, may come first.
const TRIES: usize = 4;
/// Only while the wrapping key is still the one that was used: a change of it waits for this
/// transaction, and finds the row.
const MAKE: &str = "INSERT INTO keyway.person_keys (tenant, person, key_id, wrapper, wrapped)
    SELECT $1, $2, $3, $4::bytea, $5
    FROM (SELECT 1 FROM keyway.store WHERE wrapper = $4 FOR SHARE) same
    ON CONFLICT DO NOTHING";
