//! Moving a sign-in out of a vault and into one.

use keyway_secret::Secret;
use keyway_store::{Claim, Generation, GrantKey, GrantStore as _, Timestamp, Tokens};
use zeroize::Zeroizing;

use super::seal::{PrivateKey, seal};
use super::{SealedGrant, TransferKey};
use crate::error::{TransferFault, VaultError};
use crate::fields::{number, put, take};
use crate::grants;
use crate::seal::KeyId;
use crate::store::{Namespace, Scope, Sealed, Vault};
use crate::timeouts::{MOVE_CLAIM_LIFETIME, MOVE_LIFETIME};

/// What is to be moved.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Move<'a> {
    /// The sign-in.
    pub grant: &'a GrantKey,
    /// A record that belongs to it and goes with it: where it is kept.
    pub beside: Option<(Namespace, String)>,
}

impl<'a> Move<'a> {
    /// Moves a sign-in alone.
    #[must_use]
    pub const fn new(grant: &'a GrantKey) -> Self {
        let beside = None;
        Self { grant, beside }
    }

    /// Adds a record that goes with it.
    #[must_use]
    pub fn with_record(mut self, namespace: Namespace, key: String) -> Self {
        self.beside = Some((namespace, key));
        self
    }
}

/// A sign-in that left a vault.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MovedGrant {
    /// The fingerprint of the key that it was sealed for, or the address of the database that has it.
    pub fingerprint: String,
    /// When it left, by the store's clock.
    pub at: Timestamp,
    /// What the other vault imports; `None` once it has expired.
    pub sealed: Option<SealedGrant>,
}

/// What is sealed.
struct Contents {
    id: KeyId,
    resource: String,
    tokens: Tokens,
    expires_at: Option<Timestamp>,
    beside: Option<Secret<Vec<u8>>>,
}

impl Vault {
    /// Returns the public half of this vault's key pair for moved sign-ins, made if there is none.
    ///
    /// # Errors
    ///
    /// Returns why the vault cannot be read or written.
    pub fn transfer_key(&self) -> Result<TransferKey, VaultError> {
        if let Some(key) = self.private_key()? {
            return Ok(key.public());
        }
        let new = PrivateKey::random()?;
        let records = self.records(KEYS)?;
        let put = |scope: &Scope<'_>| {
            // Another process may have been first.
            if records.get_in(scope, PRIVATE)?.is_none() {
                records.put_in(scope, PRIVATE, &*new.to_bytes(), None)?;
            }
            Ok(())
        };
        self.write_scope("make a key pair", put)?;
        let key = self.private_key()?;
        key.map(|key| key.public()).ok_or(VaultError::Crypto {
            action: "make a key pair",
        })
    }

    /// Seals a sign-in for the vault with the key `to`, and deletes it here, in one transaction;
    /// `None` if there is no such sign-in.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Busy`] while another process renews it, and [`VaultError::Transfer`]
    /// if it has ended. It stays here then.
    pub fn move_grant(
        &self,
        what: &Move<'_>,
        to: &TransferKey,
    ) -> Result<Option<MovedGrant>, VaultError> {
        let grant = what.grant;
        for _ in 0..GENERATIONS {
            let Some(generation) = self.claim_to_move(grant)? else {
                return Ok(None);
            };
            let moved = self.write_scope("move a sign-in", |scope| {
                let Some(tokens) = grants::take_out(scope, grant, generation)? else {
                    return Ok(None);
                };
                let beside = match &what.beside {
                    Some((namespace, key)) => {
                        Sealed::new(self, namespace.clone()).take_out(scope, key)?
                    }
                    None => None,
                };
                let (tokens, expires_at) = tokens;
                let contents = Contents {
                    id: KeyId::random()?,
                    resource: grant.resource_uri().to_owned(),
                    tokens,
                    expires_at,
                    beside,
                };
                let now = scope.now()?;
                let end = now.after(MOVE_LIFETIME);
                let sealed = seal(&contents.encode(), to, end.unix_millis())?;
                let moved = MovedGrant {
                    fingerprint: to.fingerprint(),
                    at: now,
                    sealed: Some(sealed),
                };
                let records = self.records(MOVED)?;
                records.put_in(scope, &grant.index(), &moved.encode(end), None)?;
                Ok(Some(moved))
            })?;
            self.free_reserve(grant);
            if moved.is_some() {
                self.erase_now_or_later();
                return Ok(moved);
            }
        }
        Err(VaultError::Busy)
    }

    /// Says where a sign-in went, if it was moved.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if the record of it was tampered with.
    pub fn moved_grant(&self, grant: &GrantKey) -> Result<Option<MovedGrant>, VaultError> {
        let records = self.records(MOVED)?;
        let moved = self.read_scope("read an entry", |scope| {
            let found = records.get_in(scope, &grant.index())?;
            let now = scope.now()?;
            Ok(found.and_then(|found| MovedGrant::decode(found.value.expose(), now)))
        })?;
        // The last move counts.
        let migrated = self.migrated_to(grant)?;
        let later = |migrated: &MovedGrant| moved.as_ref().is_none_or(|it| it.at <= migrated.at);
        Ok(match migrated {
            Some(migrated) if later(&migrated) => Some(migrated),
            _ => moved,
        })
    }

    /// Stores a sign-in that another vault sealed for this one, under the name `grant`, and the
    /// record that came with it at `beside`.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Transfer`]; nothing is stored then.
    pub fn import_grant(
        &self,
        sealed: &SealedGrant,
        grant: &GrantKey,
        beside: Option<&(Namespace, String)>,
    ) -> Result<(), VaultError> {
        grant.check()?;
        let key = self.private_key()?.ok_or(TransferFault::OtherKey)?;
        let (opened, end) = key.open(sealed)?;
        let contents = Contents::decode(opened.expose()).ok_or(TransferFault::NotSealed)?;
        if contents.resource != grant.resource_uri() {
            return Err(TransferFault::OtherServer.into());
        }
        let imported = self.records(IMPORTED)?;
        self.write_scope("import a sign-in", |scope| {
            let now = scope.now()?;
            if now.unix_millis() >= end {
                return Err(TransferFault::Ended.into());
            }
            let id = contents.id.to_string();
            if imported.get_in(scope, &id)?.is_some() {
                return Err(TransferFault::ImportedBefore.into());
            }
            if grants::is_good(scope, grant)? {
                return Err(TransferFault::SignedIn.into());
            }
            // For as long as the clock could be set back, and the seal be taken for a new one.
            imported.put_in(scope, &id, b"", None)?;
            let mut tokens = contents.tokens.clone();
            tokens.lifetime = contents.expires_at.map(|end| end.since(now));
            grants::put_in(scope, grant, &tokens)?;
            if let (Some((namespace, key)), Some(value)) = (beside, &contents.beside) {
                let records = Sealed::new(self, namespace.clone());
                records.put_in(scope, key, value.expose(), None)?;
            }
            Ok(())
        })?;
        self.free_reserve(grant);
        Ok(())
    }

    /// Makes sure that no other process redeems the refresh token while it moves; tells the
    /// generation that is to move.
    pub(super) fn claim_to_move(&self, grant: &GrantKey) -> Result<Option<Generation>, VaultError> {
        let Some(stored) = self.read(grant)? else {
            return Ok(None);
        };
        match self.claim(grant, stored.generation, MOVE_CLAIM_LIFETIME)? {
            Claim::Held { .. } => Err(VaultError::Busy),
            Claim::NeedsReauth => Err(TransferFault::NeedsReauth.into()),
            Claim::Absent => Ok(None),
            Claim::Moved { generation } => Ok(Some(generation)),
            _ => Ok(Some(stored.generation)),
        }
    }

    fn private_key(&self) -> Result<Option<PrivateKey>, VaultError> {
        let found = self.records(KEYS)?.get(PRIVATE)?;
        Ok(found.and_then(|found| PrivateKey::from_bytes(found.value.expose())))
    }

    fn records(&self, namespace: &str) -> Result<Sealed<'_>, VaultError> {
        Ok(self.sealed(Namespace::new(namespace)?))
    }
}

impl Contents {
    fn encode(&self) -> Zeroizing<Vec<u8>> {
        let Self {
            id,
            resource,
            tokens,
            expires_at,
            beside,
        } = self;
        let mut out = Zeroizing::new(Vec::new());
        let expires_at = expires_at.map(|at| at.unix_millis().to_le_bytes());
        let refresh = tokens.refresh.as_ref();
        put(&mut out, Some(id.as_bytes()));
        put(&mut out, Some(resource.as_bytes()));
        put(&mut out, Some(tokens.access.expose().as_bytes()));
        put(&mut out, refresh.map(|it| it.expose().as_bytes()));
        put(&mut out, tokens.details.as_ref().map(|it| &**it.expose()));
        put(&mut out, expires_at.as_ref().map(|it| &it[..]));
        put(&mut out, beside.as_ref().map(|it| &**it.expose()));
        out
    }

    fn decode(mut rest: &[u8]) -> Option<Self> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let id = KeyId::from_slice(take(&mut rest)??)?;
        let resource = text(take(&mut rest)??)?;
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
        let beside = take(&mut rest)?.map(|it| Secret::new(it.to_vec()));
        rest.is_empty().then_some(Self {
            id,
            resource,
            tokens,
            expires_at,
            beside,
        })
    }
}

impl MovedGrant {
    fn encode(&self, end: Timestamp) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, Some(self.fingerprint.as_bytes()));
        put(&mut out, Some(&self.at.unix_millis().to_le_bytes()));
        put(&mut out, Some(&end.unix_millis().to_le_bytes()));
        put(&mut out, self.sealed.as_ref().map(|it| &*it.0));
        out
    }

    fn decode(mut rest: &[u8], now: Timestamp) -> Option<Self> {
        let fingerprint = String::from_utf8(take(&mut rest)??.to_vec()).ok()?;
        let at = Timestamp::from_unix_millis(number(take(&mut rest)??)?);
        let end = Timestamp::from_unix_millis(number(take(&mut rest)??)?);
        let sealed = take(&mut rest)?.map(|it| SealedGrant(it.to_vec()));
        Some(Self {
            fingerprint,
            at,
            sealed: sealed.filter(|_| now < end),
        })
    }
}

const KEYS: &str = "transfer-keys";
const PRIVATE: &str = "private";
const MOVED: &str = "moved";
const IMPORTED: &str = "imported";
/// How often the sign-in may be renewed by others meanwhile before it is given up.
pub(super) const GENERATIONS: usize = 3;

/// Seals a sign-in with an end of the test's choice.
#[cfg(test)]
pub(super) fn sealed_until(
    tokens: &Tokens,
    grant: &GrantKey,
    to: &TransferKey,
    end: i64,
) -> SealedGrant {
    let contents = Contents {
        id: KeyId::random().unwrap(),
        resource: grant.resource_uri().to_owned(),
        tokens: tokens.clone(),
        expires_at: None,
        beside: None,
    };
    seal(&contents.encode(), to, end).unwrap()
}
