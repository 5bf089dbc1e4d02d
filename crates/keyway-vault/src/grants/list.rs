//! Going through all grants: for a list, for the claims of the dead, for verification.

use std::collections::BTreeSet;

use keyway_store::{
    Damage, Fingerprint, Generation, GrantKey, GrantSummary, OrphanedClaim, OwnerId, Timestamp,
};

use crate::error::VaultError;
use crate::store::{Contents, Scope};

use super::row::{self, NAMESPACE, Row};

/// Lists all grants, and what does not agree with the list of contents.
pub(super) fn summaries(
    scope: &Scope<'_>,
) -> Result<(Vec<GrantSummary>, Vec<VaultError>), VaultError> {
    let failed = || VaultError::database("list sign-ins");
    let mut statement = scope
        .tx
        .prepare(
            "SELECT profile, name, generation, access_expires_at, needs_reauth,
             refresh IS NOT NULL FROM grants ORDER BY profile, name",
        )
        .map_err(failed())?;
    let rows: Vec<Option<GrantSummary>> = statement
        .query_map([], summary)
        .and_then(Iterator::collect)
        .map_err(failed())?;
    let mut contents = scope.contents(NAMESPACE)?;
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for row in rows {
        let Some(summary) = row else {
            problems.push(VaultError::corrupt("a sign-in", Damage::Unexpected));
            continue;
        };
        let index = summary.grant.index();
        let what = || row::what(&summary.grant);
        problems.extend(contents.see(&index, summary.generation, what).err());
        all.push(summary);
    }
    let (missing, damaged) = contents.finish();
    problems.extend(damaged);
    let lost = |index: String| VaultError::corrupt(named(&index), Damage::Missing);
    problems.extend(missing.into_iter().map(lost));
    Ok((all, problems))
}

fn summary(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<GrantSummary>> {
    let (profile, name): (String, String) = (row.get(0)?, row.get(1)?);
    let Some(grant) = GrantKey::parse(&profile, &name) else {
        return Ok(None);
    };
    let expires_at: Option<i64> = row.get(3)?;
    Ok(Some(
        GrantSummary::new(grant, Generation::new(row.get(2)?))
            .with_expiry(expires_at.map(Timestamp::from_unix_millis))
            .with_state(row::state(row.get(4)?))
            .with_refreshable(row.get(5)?),
    ))
}

/// Lists all claims, whether their owners live or not.
pub(super) fn claims(scope: &Scope<'_>) -> Result<Vec<OrphanedClaim>, VaultError> {
    let failed = || VaultError::database("list claims");
    let mut statement = scope
        .tx
        .prepare(
            "SELECT profile, name, generation, claim_owner, claim_fingerprint, claimed_at
             FROM grants WHERE claim_epoch IS NOT NULL",
        )
        .map_err(failed())?;
    let rows = statement.query_map([], claim).map_err(failed())?;
    rows.filter_map(Result::transpose)
        .collect::<Result<_, _>>()
        .map_err(failed())
}

fn claim(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<OrphanedClaim>> {
    let (profile, name): (String, String) = (row.get(0)?, row.get(1)?);
    let owner: String = row.get(3)?;
    let grant = GrantKey::parse(&profile, &name);
    let Some(grant) = grant else {
        return Ok(None);
    };
    Ok(Some(OrphanedClaim::new(
        grant,
        Generation::new(row.get(2)?),
        OwnerId::new(owner),
        Fingerprint::new(row.get(4)?),
        Timestamp::from_unix_millis(row.get(5)?),
    )))
}

/// Opens every sealed column of every grant; returns how many there are and what is wrong.
pub(crate) fn examine(scope: &Scope<'_>) -> Result<(usize, Vec<VaultError>), VaultError> {
    let (all, mut problems) = summaries(scope)?;
    for GrantSummary { grant, .. } in &all {
        problems.extend(open_row(scope, grant, None).err());
    }
    Ok((all.len(), problems))
}

/// Opens every sealed column of a grant that the list of contents does not speak against; tells its
/// generation and the name of its data key.
pub(crate) fn open_row(
    scope: &Scope<'_>,
    grant: &GrantKey,
    contents: Option<&mut Contents<'_>>,
) -> Result<Option<(Generation, Vec<u8>)>, VaultError> {
    let Some(row) = Row::load_unchecked(scope, grant)? else {
        return Ok(None);
    };
    if let Some(contents) = contents {
        contents.see(&grant.index(), row.generation, || row::what(grant))?;
    }
    let key = scope.load_data_key(&row.data_key)?;
    row.open_access(grant, &key)?;
    row.open_refresh(grant, &key)?;
    row.open_details(grant, &key)?;
    Ok(Some((row.generation, row.data_key)))
}

/// Lists the [index](GrantKey::index) of every row that has one.
pub(crate) fn indexes(scope: &Scope<'_>) -> Result<BTreeSet<String>, VaultError> {
    let failed = || VaultError::database("list sign-ins");
    let mut statement = scope
        .tx
        .prepare("SELECT profile, name FROM grants")
        .map_err(failed())?;
    let names = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let names: Vec<(String, String)> = names.and_then(Iterator::collect).map_err(failed())?;
    let index = |(profile, name): (String, String)| Some(GrantKey::parse(&profile, &name)?.index());
    Ok(names.into_iter().filter_map(index).collect())
}

/// Names a grant by its [index](GrantKey::index).
pub(crate) fn named(index: &str) -> String {
    match GrantKey::parse_index(index) {
        Some(grant) => row::what(&grant),
        None => "a sign-in".to_owned(),
    }
}
