//! One row of the table of grants: reading it, and sealing and opening its columns.

use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::{Damage, Fingerprint, Generation, GrantKey, GrantState, Timestamp, Tokens};
use rusqlite::{OptionalExtension as _, params};

use crate::error::VaultError;
use crate::seal::Context;
use crate::store::{DataKey, Listing, Scope};

use super::uptime::Uptime;

/// A row as it stands in the table.
pub(super) struct Row {
    pub(super) generation: Generation,
    pub(super) data_key: Vec<u8>,
    access: Vec<u8>,
    pub(super) expires_at: Option<Timestamp>,
    refresh: Option<Vec<u8>>,
    details: Vec<u8>,
    pub(super) state: GrantState,
    pub(super) claim: Option<ClaimRow>,
    pub(super) interrupted: u32,
    pub(super) lost_answers: u32,
    /// Until when the authorization server asked to wait.
    pub(super) postponed: Option<Uptime>,
}

/// A claim as it stands in the table.
pub(super) struct ClaimRow {
    pub(super) owner: String,
    pub(super) from: Timestamp,
    pub(super) lifetime: Duration,
    /// When it began; absent for a claim that an earlier version made.
    pub(super) uptime: Option<Uptime>,
}

impl Row {
    /// Reads a row and checks it against the list of contents.
    pub(super) fn load(scope: &Scope<'_>, grant: &GrantKey) -> Result<Option<Self>, VaultError> {
        let index = grant.index();
        Self::load_listed(scope, &listing(scope, &index)?, grant)
    }

    /// As [`Row::load`], for callers that change the list of contents as well.
    pub(super) fn load_listed(
        scope: &Scope<'_>,
        listing: &Listing<'_>,
        grant: &GrantKey,
    ) -> Result<Option<Self>, VaultError> {
        let row = Self::load_unchecked(scope, grant)?;
        let found = row.as_ref().map(|row| row.generation);
        listing.check(found, || what(grant))?;
        Ok(row)
    }

    pub(super) fn load_unchecked(
        scope: &Scope<'_>,
        grant: &GrantKey,
    ) -> Result<Option<Self>, VaultError> {
        scope
            .tx
            .prepare_cached(
                "SELECT generation, data_key, access, access_expires_at, refresh, details,
                 needs_reauth, interrupted, claim_owner, claimed_at, claimed_until, claim_boot,
                 claimed_uptime, lost_answers, postponed_boot, postponed_uptime
                 FROM grants WHERE profile = ?1 AND name = ?2",
            )
            .and_then(|mut query| {
                let row = query.query_row([grant.profile(), &grant.name()], Self::from_sql);
                row.optional()
            })
            .map_err(VaultError::database("read a sign-in"))
    }

    fn from_sql(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let moment = |boot, millis| -> rusqlite::Result<Option<Uptime>> {
            Ok(match (row.get(boot)?, row.get(millis)?) {
                (Some(boot), Some(millis)) => Some(Uptime { boot, millis }),
                _ => None,
            })
        };
        let claim = match (row.get(8)?, row.get(9)?, row.get(10)?) {
            (Some(owner), Some(from), Some(until)) => {
                let [from, until] = [from, until].map(Timestamp::from_unix_millis);
                Some(ClaimRow {
                    owner,
                    from,
                    lifetime: until.since(from),
                    uptime: moment(11, 12)?,
                })
            }
            _ => None,
        };
        Ok(Self {
            generation: Generation::new(row.get(0)?),
            data_key: row.get(1)?,
            access: row.get(2)?,
            expires_at: row
                .get::<_, Option<i64>>(3)?
                .map(Timestamp::from_unix_millis),
            refresh: row.get(4)?,
            details: row.get(5)?,
            state: state(row.get(6)?),
            interrupted: row.get(7)?,
            claim,
            lost_answers: row.get(13)?,
            postponed: moment(14, 15)?,
        })
    }

    pub(super) const fn refreshable(&self) -> bool {
        self.refresh.is_some()
    }

    pub(super) fn open_access(
        &self,
        grant: &GrantKey,
        key: &DataKey,
    ) -> Result<Secret<String>, VaultError> {
        let column = ColumnContext {
            grant,
            generation: self.generation,
            key,
        };
        column.open_text(&self.access, column.access(self.expires_at))
    }

    pub(super) fn open_refresh(
        &self,
        grant: &GrantKey,
        key: &DataKey,
    ) -> Result<Option<Secret<String>>, VaultError> {
        let column = ColumnContext {
            grant,
            generation: self.generation,
            key,
        };
        self.refresh
            .as_ref()
            .map(|sealed| column.open_text(sealed, column.named(REFRESH)))
            .transpose()
    }

    pub(super) fn open_details(
        &self,
        grant: &GrantKey,
        key: &DataKey,
    ) -> Result<Secret<Vec<u8>>, VaultError> {
        let column = ColumnContext {
            grant,
            generation: self.generation,
            key,
        };
        column.open(&self.details, &column.named(DETAILS))
    }
}

/// Writes a new generation, in place of any other, without a claim and in good standing.
pub(super) fn write(
    scope: &Scope<'_>,
    column: &ColumnContext<'_>,
    tokens: &Tokens,
) -> Result<(), VaultError> {
    let expires_at = match tokens.lifetime {
        Some(lifetime) => Some(scope.now()?.after(lifetime)),
        None => None,
    };
    let seal = |plain: &[u8], context: &Context| column.key.key().seal(plain, context);
    let access = seal(
        tokens.access.expose().as_bytes(),
        &column.access(expires_at),
    )?;
    let refresh = tokens
        .refresh
        .as_ref()
        .map(|refresh| seal(refresh.expose().as_bytes(), &column.named(REFRESH)))
        .transpose()?;
    let details = tokens
        .details
        .as_ref()
        .map_or(&[][..], |details| details.expose());
    scope
        .tx
        .execute(
            "INSERT OR REPLACE INTO grants (profile, name, generation, data_key, access,
             access_expires_at, refresh, details) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                column.grant.profile(),
                column.grant.name(),
                column.generation.get(),
                column.key.id().as_bytes(),
                access,
                expires_at.map(|at| at.unix_millis()),
                refresh,
                seal(details, &column.named(DETAILS))?,
            ],
        )
        .map(drop)
        .map_err(VaultError::database("keep a sign-in"))
}

/// Everything that a sealed column is bound to: its associated data contains all of it.
pub(super) struct ColumnContext<'a> {
    pub(super) grant: &'a GrantKey,
    pub(super) generation: Generation,
    pub(super) key: &'a DataKey,
}

impl ColumnContext<'_> {
    fn named(&self, column: &'static str) -> Context {
        Context::new("grant")
            .text(self.grant.profile())
            .text(&self.grant.name())
            .number(self.generation.get().cast_unsigned())
            .text(column)
            .bytes(self.key.id().as_bytes())
    }

    fn access(&self, expires_at: Option<Timestamp>) -> Context {
        let context = self.named(ACCESS);
        match expires_at {
            Some(at) => context.number(at.unix_millis().cast_unsigned()),
            None => context,
        }
    }

    fn open(&self, sealed: &[u8], context: &Context) -> Result<Secret<Vec<u8>>, VaultError> {
        self.key
            .key()
            .open(sealed, context)
            .map_err(|how| VaultError::corrupt(what(self.grant), how))
    }

    fn open_text(&self, sealed: &[u8], context: Context) -> Result<Secret<String>, VaultError> {
        let bytes = self.open(sealed, &context)?;
        std::str::from_utf8(bytes.expose())
            .map(|text| Secret::new(text.to_owned()))
            .map_err(|_| VaultError::corrupt(what(self.grant), Damage::UnknownFormat))
    }
}

/// Names a refresh token such that only holders of the grant's data key can compare it.
pub(super) fn fingerprint(
    key: &DataKey,
    refresh: &Secret<String>,
) -> Result<Fingerprint, VaultError> {
    let context = Context::new("fingerprint").text(refresh.expose());
    Ok(Fingerprint::new(key.key().mac(&context)?))
}

/// Reads the part of the list of contents that has the grant of this [index](GrantKey::index).
pub(super) fn listing<'a>(scope: &Scope<'_>, index: &'a str) -> Result<Listing<'a>, VaultError> {
    scope.listing(NAMESPACE, index)
}

pub(super) const fn state(needs_reauth: bool) -> GrantState {
    if needs_reauth {
        GrantState::NeedsReauth
    } else {
        GrantState::Good
    }
}

pub(super) fn what(grant: &GrantKey) -> String {
    let name = format!("{}:{}", grant.plugin_name(), grant.server_name());
    format!("the sign-in to `{}`", keyway_secret::printable(&name))
}

const ACCESS: &str = "access";
const REFRESH: &str = "refresh";
const DETAILS: &str = "details";
/// No namespace of records can have this name: it begins with a capital letter.
pub(crate) const NAMESPACE: &str = "Grants";
pub(crate) const END_CLAIM: &str = "UPDATE grants SET claim_epoch = NULL, claim_owner = NULL,
    claim_fingerprint = NULL, claimed_at = NULL, claimed_until = NULL, claim_boot = NULL,
    claimed_uptime = NULL";
