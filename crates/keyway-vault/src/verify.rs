//! Opening everything once, to find what is damaged before it is needed.

use std::collections::BTreeSet;

use crate::Damage;
use crate::error::VaultError;
use crate::grants;
use crate::store::{Namespace, Scope, Sealed, Vault};

/// What [`Vault::verify`] found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Verification {
    /// How many sealed entries there are.
    pub entries: usize,
    /// How many sign-ins there are.
    pub grants: usize,
    /// What is wrong, one item per damaged value; empty if all is well.
    pub problems: Vec<VaultError>,
}

impl Vault {
    /// Opens every stored value and compares all of it with the lists of contents.
    ///
    /// Changes nothing.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::Corrupt`] if a list of contents itself cannot be opened; what is
    /// wrong with single values is part of the answer.
    pub fn verify(&self) -> Result<Verification, VaultError> {
        self.read_scope("be verified", |scope| {
            let mut problems = pages(scope)?;
            let mut entries = 0;
            let mut names: BTreeSet<String> = scope.namespaces()?.into_iter().collect();
            names.extend(column(scope, "SELECT DISTINCT namespace FROM records")?);
            // The grants are stored under a name that is not a namespace.
            for namespace in names.iter().filter_map(|name| Namespace::new(name).ok()) {
                let examined = Sealed::new(self, namespace).examine(scope)?;
                entries += examined.rows;
                problems.extend(examined.problems);
            }
            let (grants, wrong) = grants::examine(scope)?;
            problems.extend(wrong);
            problems.extend(stray_keys(scope)?);
            Ok(Verification {
                entries,
                grants,
                problems,
            })
        })
    }
}

/// Has SQLite check its own structures.
fn pages(scope: &Scope<'_>) -> Result<Vec<VaultError>, VaultError> {
    let sound = column(scope, "PRAGMA integrity_check(1)")? == ["ok"];
    let damaged = || VaultError::corrupt("the database file", Damage::Altered);
    Ok(if sound { Vec::new() } else { vec![damaged()] })
}

/// Finds data keys that nothing stored refers to.
fn stray_keys(scope: &Scope<'_>) -> Result<Vec<VaultError>, VaultError> {
    let stray = column(
        scope,
        "SELECT hex(id) FROM data_keys WHERE id NOT IN (SELECT data_key FROM records)
         AND id NOT IN (SELECT data_key FROM grants) AND id NOT IN (SELECT index_key FROM header)",
    )?;
    let problem = |_| VaultError::corrupt("a data key", Damage::Unexpected);
    Ok(stray.into_iter().map(problem).collect())
}

fn column(scope: &Scope<'_>, query: &str) -> Result<Vec<String>, VaultError> {
    let failed = || VaultError::database("be verified");
    let mut statement = scope.tx.prepare(query).map_err(failed())?;
    let rows = statement
        .query_map([], |row| row.get(0))
        .map_err(failed())?;
    rows.collect::<Result<_, _>>().map_err(failed())
}
