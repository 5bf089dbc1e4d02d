//! All that the manifests list of one namespace, for going through all of its rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::Generation;
use crate::error::VaultError;
use crate::store::Scope;
use crate::store::data_key::DataKey;

use super::{compare, number};

/// The list of contents of a namespace, as far as it can be read.
#[derive(Debug)]
pub(crate) struct Contents<'a> {
    namespace: &'a str,
    index: &'a DataKey,
    /// What was written last, and whether its row was seen.
    listed: BTreeMap<String, (Generation, bool)>,
    damaged: BTreeSet<u8>,
    problems: Vec<VaultError>,
}

impl Contents<'_> {
    /// Notes that there is a row, and compares it with what was last written.
    ///
    /// A row whose part of the list is damaged passes: that part is one of the problems.
    pub(crate) fn see(
        &mut self,
        key: &str,
        found: Generation,
        what: impl FnOnce() -> String,
    ) -> Result<(), VaultError> {
        let expected = self.listed.get_mut(key).map(|(generation, seen)| {
            *seen = true;
            *generation
        });
        if expected.is_none() && self.is_unknown(key)? {
            return Ok(());
        }
        compare(expected, Some(found)).map_err(|how| VaultError::corrupt(what(), how))
    }

    /// Returns what is listed, as far as the list opens.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.listed.keys().map(String::as_str)
    }

    /// Says whether the part that would list `key` is damaged.
    pub(crate) fn is_unknown(&self, key: &str) -> Result<bool, VaultError> {
        if self.damaged.is_empty() {
            return Ok(false);
        }
        Ok(self
            .damaged
            .contains(&number(self.index, self.namespace, key)?))
    }

    /// Returns the keys without a row, and which parts of the list are damaged.
    pub(crate) fn finish(self) -> (Vec<String>, Vec<VaultError>) {
        let unseen = |(key, (_, seen)): (String, (Generation, bool))| (!seen).then_some(key);
        let missing = self.listed.into_iter().filter_map(unseen).collect();
        (missing, self.problems)
    }
}

impl Scope<'_> {
    /// Reads all that is listed of a namespace.
    pub(crate) fn contents<'a>(&'a self, namespace: &'a str) -> Result<Contents<'a>, VaultError> {
        let (_, directory) = self.directory(namespace)?;
        let mut contents = Contents {
            namespace,
            index: &self.keys.index,
            listed: BTreeMap::new(),
            damaged: BTreeSet::new(),
            problems: Vec::new(),
        };
        for (number, counter) in directory.iter() {
            match self.bucket(namespace, number, Some(counter)) {
                Ok(bucket) => {
                    let listed = bucket
                        .iter()
                        .map(|(key, it)| (key.to_owned(), (Generation::new(it), false)));
                    contents.listed.extend(listed);
                }
                Err(problem @ VaultError::Corrupt { .. }) => {
                    contents.damaged.insert(number);
                    contents.problems.push(problem);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(contents)
    }
}
