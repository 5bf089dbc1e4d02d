//! Sign-ins that leave the vault for a database, one after the other.
//!
//! ```text
//!   good ── begin ──▶ under way ── arrived ──▶ arrived
//!    ▲                    │
//!    └──── take back ─────┘
//! ```
//!
//! `begin` takes the sign-in out of use and keeps its tokens in a sealed record, in one transaction:
//! from then on no process redeems its refresh token here. The record stays, with the tokens, also
//! when they have arrived: it says where they went, and is the copy of what this vault held.

use keyway_secret::Secret;
use keyway_store::{Generation, GrantKey, GrantSummary, Timestamp, Tokens};
use zeroize::Zeroizing;

use super::MovedGrant;
use crate::error::VaultError;
use crate::fields::{number, put, take};
use crate::grants;
use crate::seal::KeyId;
use crate::store::{Namespace, Scope, Sealed, Vault};

/// A sign-in that is on its way to a database, or has arrived there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Migration {
    /// The sign-in.
    pub grant: GrantKey,
    /// Names this one move, so that the database takes it once.
    pub transfer: String,
    /// The address of the database, without a password.
    pub destination: String,
    /// When it left, by the store's clock.
    pub at: Timestamp,
    /// What it held, with the time that is left of its access token.
    pub tokens: Tokens,
    /// Whether the database has it.
    pub has_arrived: bool,
    expires_at: Option<Timestamp>,
}

impl Vault {
    /// Lists all sign-ins, of all profiles, without unsealing a token.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if rows were added, removed or rolled back.
    pub fn all_grants(&self) -> Result<Vec<GrantSummary>, VaultError> {
        grants::all(self)
    }

    /// Takes a sign-in out of use, as it goes to the database at `destination`; `None` if there is no
    /// such sign-in.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Busy`] while another process renews it, and [`VaultError::Transfer`]
    /// if it has ended. It stays in use then.
    pub fn begin_migration(
        &self,
        grant: &GrantKey,
        destination: &str,
    ) -> Result<Option<Migration>, VaultError> {
        for _ in 0..super::grant::GENERATIONS {
            let Some(generation) = self.claim_to_move(grant)? else {
                return Ok(None);
            };
            let begun = self.write_scope("move a sign-in", |scope| {
                self.take_for_migration(scope, (grant, generation), destination)
            })?;
            self.free_reserve(grant);
            if begun.is_some() {
                self.erase_now_or_later();
                return Ok(begun);
            }
        }
        Err(VaultError::Busy)
    }

    fn take_for_migration(
        &self,
        scope: &Scope<'_>,
        (grant, generation): (&GrantKey, Generation),
        destination: &str,
    ) -> Result<Option<Migration>, VaultError> {
        let Some((mut tokens, expires_at)) = grants::take_out(scope, grant, generation)? else {
            return Ok(None);
        };
        let at = scope.now()?;
        tokens.lifetime = expires_at.map(|end| end.since(at));
        let migration = Migration {
            grant: grant.clone(),
            transfer: KeyId::random()?.to_string(),
            destination: destination.to_owned(),
            at,
            tokens,
            has_arrived: false,
            expires_at,
        };
        self.store_migration(scope, &migration)?;
        Ok(Some(migration))
    }

    /// Lists the sign-ins that left for a database.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if records were tampered with.
    pub fn migrations(&self) -> Result<Vec<Migration>, VaultError> {
        let all = self.migrated()?.read_all()?;
        let now = self.read_scope("read the clock", |scope| scope.now())?;
        let decode = |(index, record): (String, crate::store::Record)| {
            let grant = GrantKey::parse_index(&index)?;
            Migration::decode(grant, record.value.expose(), now)
        };
        Ok(all.into_iter().filter_map(decode).collect())
    }

    /// Notes that the database has a sign-in: its tokens are not handed out again.
    ///
    /// # Errors
    ///
    /// Returns why it cannot be noted; it can be asked for again.
    pub fn note_arrival(&self, migration: &Migration) -> Result<(), VaultError> {
        let mut arrived = migration.clone();
        arrived.has_arrived = true;
        self.write_scope("note the arrival of a sign-in", |scope| {
            self.store_migration(scope, &arrived)
        })
    }

    /// Puts a sign-in back that the database did not take.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Transfer`] if the person has signed in here since.
    pub fn take_back(&self, migration: &Migration) -> Result<(), VaultError> {
        let records = self.migrated()?;
        let index = migration.grant.index();
        self.write_scope("put a sign-in back", |scope| {
            if grants::is_good(scope, &migration.grant)? {
                return Err(crate::error::TransferFault::SignedIn.into());
            }
            let mut tokens = migration.tokens.clone();
            let now = scope.now()?;
            tokens.lifetime = migration.expires_at.map(|end| end.since(now));
            grants::put_in(scope, &migration.grant, &tokens)?;
            records.take_out(scope, &index).map(drop)
        })?;
        self.free_reserve(&migration.grant);
        Ok(())
    }

    /// Says to which database a sign-in went.
    pub(super) fn migrated_to(&self, grant: &GrantKey) -> Result<Option<MovedGrant>, VaultError> {
        let records = self.migrated()?;
        self.read_scope("read an entry", |scope| {
            let found = records.get_in(scope, &grant.index())?;
            let now = scope.now()?;
            let found =
                found.and_then(|found| Migration::decode(grant.clone(), found.value.expose(), now));
            Ok(found.map(|found| MovedGrant {
                fingerprint: found.destination,
                at: found.at,
                sealed: None,
            }))
        })
    }

    fn store_migration(&self, scope: &Scope<'_>, of: &Migration) -> Result<(), VaultError> {
        let records = self.migrated()?;
        records.put_in(scope, &of.grant.index(), &of.encode(), None)?;
        Ok(())
    }

    fn migrated(&self) -> Result<Sealed<'_>, VaultError> {
        Ok(self.sealed(Namespace::new("migrated")?))
    }
}

impl Migration {
    fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::new());
        let expires_at = self.expires_at.map(|at| at.unix_millis().to_le_bytes());
        let tokens = &self.tokens;
        let refresh = tokens.refresh.as_ref();
        put(&mut out, Some(self.transfer.as_bytes()));
        put(&mut out, Some(self.destination.as_bytes()));
        put(&mut out, Some(&self.at.unix_millis().to_le_bytes()));
        put(&mut out, self.has_arrived.then_some(&b"arrived"[..]));
        put(&mut out, Some(tokens.access.expose().as_bytes()));
        put(&mut out, refresh.map(|it| it.expose().as_bytes()));
        put(&mut out, tokens.details.as_ref().map(|it| &**it.expose()));
        put(&mut out, expires_at.as_ref().map(|it| &it[..]));
        out
    }

    fn decode(grant: GrantKey, mut rest: &[u8], now: Timestamp) -> Option<Self> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let transfer = text(take(&mut rest)??)?;
        let destination = text(take(&mut rest)??)?;
        let at = Timestamp::from_unix_millis(number(take(&mut rest)??)?);
        let has_arrived = take(&mut rest)?.is_some();
        let mut tokens = Tokens::new(Secret::new(text(take(&mut rest)??)?));
        tokens.refresh = match take(&mut rest)? {
            Some(refresh) => Some(Secret::new(text(refresh)?)),
            None => None,
        };
        tokens.details = take(&mut rest)?.map(|it| Secret::new(it.to_vec()));
        let expires_at = match take(&mut rest)? {
            Some(at) => Some(Timestamp::from_unix_millis(number(at)?)),
            None => None,
        };
        tokens.lifetime = expires_at.map(|end| end.since(now));
        rest.is_empty().then_some(Self {
            grant,
            transfer,
            destination,
            at,
            tokens,
            has_arrived,
            expires_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use keyway_store::{Claim, GrantStore as _};
    use std::time::Duration;

    use super::*;
    use crate::store::tests::Home;

    fn grant() -> GrantKey {
        GrantKey::new("default").server("s").resource("address")
    }

    fn tokens() -> Tokens {
        Tokens::new(Secret::new("access".to_owned()))
            .with_lifetime(Duration::from_secs(600))
            .with_refresh(Secret::new("the-refresh!".to_owned()))
            .with_details(Secret::new(b"details".to_vec()))
    }

    #[test]
    fn sign_in_that_left_is_redeemed_by_no_process_and_its_tokens_stay() {
        let home = Home::new();
        let vault = home.open();
        let seen = vault.put(&grant(), &tokens()).unwrap();
        let begun = vault.begin_migration(&grant(), "postgres://db/keyway");
        let begun = begun.unwrap().unwrap();
        let other = home.open();
        assert!(other.read(&grant()).unwrap().is_none());
        let claim = other.claim(&grant(), seen, Duration::from_secs(9)).unwrap();
        assert!(matches!(claim, Claim::Absent), "{claim:?}");
        // Another process continues after a crash, and later knows where it went.
        let [found] = &*other.migrations().unwrap() else {
            panic!("it is not recorded");
        };
        assert_eq!(found.transfer, begun.transfer);
        assert!(!found.has_arrived);
        other.note_arrival(found).unwrap();
        let [kept] = &*vault.migrations().unwrap() else {
            panic!("the original is gone");
        };
        assert!(kept.has_arrived);
        assert_eq!(
            kept.tokens.refresh.as_ref().unwrap().expose(),
            "the-refresh!"
        );
        assert_eq!(kept.tokens.details.as_ref().unwrap().expose(), b"details");
        let moved = vault.moved_grant(&grant()).unwrap().unwrap();
        assert_eq!(moved.fingerprint, "postgres://db/keyway");
        assert!(vault.verify().unwrap().problems.is_empty());
        for (path, bytes) in home.files() {
            let is_open = bytes.windows(12).any(|part| part == b"the-refresh!");
            assert!(!is_open, "{}", path.display());
        }
    }

    #[test]
    fn sign_in_that_was_not_taken_comes_back() {
        let home = Home::new();
        let vault = home.open();
        vault.put(&grant(), &tokens()).unwrap();
        let begun = vault.begin_migration(&grant(), "postgres://db/keyway");
        vault.take_back(&begun.unwrap().unwrap()).unwrap();
        let read = vault.read(&grant()).unwrap().unwrap();
        assert_eq!(read.access.expose(), "access");
        let left = read.expires_at.unwrap().since(read.now);
        assert!(left > Duration::from_secs(500) && left <= Duration::from_secs(600));
        assert!(vault.migrations().unwrap().is_empty());
        assert!(vault.moved_grant(&grant()).unwrap().is_none());
    }
}
