//! Sign-ins of a copy of the vault that the vault itself has got beyond.
//!
//! A refresh token that was replaced since the copy was made must not be sent again: a server that
//! sees it twice revokes the whole sign-in.

use std::collections::BTreeMap;

use keyway_store::{Generation, GrantKey};

use crate::error::VaultError;
use crate::seal::KeyId;
use crate::store::{Scope, Vault};

use super::{list, row};

/// How far a vault got.
pub(crate) struct Known {
    vault: KeyId,
    generations: BTreeMap<String, Generation>,
    /// The last generation of any sign-in, those that were ended included.
    last: Option<Generation>,
}

impl Known {
    fn is_beyond(&self, index: &str, generation: Generation) -> bool {
        match self.generations.get(index) {
            Some(known) => *known > generation,
            None => self.last.is_some_and(|last| last >= generation),
        }
    }
}

/// Finds out how far a vault got, what lies in its journal included.
pub(crate) fn known(vault: &Vault) -> Result<Known, VaultError> {
    // Commits all of the journal; that of no sign-in in particular has to succeed.
    vault.commit_journal(&GrantKey::new(""), Generation::new(0))?;
    let read = |scope: &Scope<'_>| {
        let (all, _) = list::summaries(scope)?;
        Ok((all, scope.revision(row::NAMESPACE)?))
    };
    let (all, last) = vault.read_scope("list sign-ins", read)?;
    let generations = all.into_iter().map(|it| (it.grant.index(), it.generation));
    Ok(Known {
        vault: vault.name(),
        generations: generations.collect(),
        last,
    })
}

/// Marks the sign-ins of a copy that are outdated as in need of a new sign-in; returns their names.
///
/// The generations of another vault say nothing about those of this one.
///
/// What lies in the journal counts as well: tokens of a later generation prove that there was one,
/// where the vault itself is lost.
pub(crate) fn mark_outdated(
    copy: &Vault,
    known: Option<&Known>,
) -> Result<Vec<String>, VaultError> {
    let known = known.filter(|known| copy.name() == known.vault);
    let journaled = copy.journaled()?;
    copy.write_scope("mark sign-ins", |scope| {
        let mut outdated = Vec::new();
        for summary in list::summaries(scope)?.0 {
            let grant = &summary.grant;
            let is_beyond = |known: &Known| known.is_beyond(&grant.index(), summary.generation);
            let is_outdated = known.is_some_and(is_beyond)
                || journaled
                    .iter()
                    .any(|(of, from)| of == grant && *from > summary.generation);
            if !is_outdated {
                continue;
            }
            scope
                .tx
                .execute(
                    "UPDATE grants SET needs_reauth = 1 WHERE profile = ?1 AND name = ?2",
                    [grant.profile(), &grant.name()],
                )
                .map_err(VaultError::database("mark sign-ins"))?;
            outdated.push(row::what(grant));
        }
        Ok(outdated)
    })
}
