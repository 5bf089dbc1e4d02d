//! The manifests: what the vault holds, under seal, so that nothing is taken back unnoticed.
//!
//! A sealed row proves that the vault wrote it, not that it is the last one written. So what was
//! written last is listed, in three levels, each sealed together with a counter:
//!
//! ```text
//!   root        namespace → counter of its directory     one row
//!   directory   bucket → counter of the bucket           one row per namespace
//!   bucket      key → generation of its row              up to 256 rows per namespace
//! ```
//!
//! A keyed hash of the key says which bucket lists it. Reading a row opens root, directory and one
//! bucket, writing it seals the same three again, all in the row's own transaction: with 10,000 rows
//! a bucket lists 40 of them, and no operation on one row depends on the number of rows otherwise.
//!
//! A change increments the directory's counter, which then is the generation of the row, and the
//! counter of the bucket. It is never used twice, so a (key, generation) pair stands for exactly one
//! value, and a (bucket, counter) pair for one content. A process that writes to the file without
//! its key can therefore only put back root, directories, buckets and rows all together: the whole
//! vault as it was at some moment.

mod contents;
mod entries;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::VaultError;
use crate::seal::Context;
use crate::{Damage, Generation};

use super::Scope;
use super::data_key::DataKey;

use self::entries::{Directory, Entries};

pub(crate) use self::contents::Contents;

/// Where the manifests list one key: its bucket, and the directory and root that vouch for it.
///
/// It is read and changed within one transaction; another change in between would be overwritten.
#[derive(Debug)]
pub(crate) struct Listing<'a> {
    namespace: &'a str,
    key: &'a str,
    root: Entries,
    directory: Directory,
    number: u8,
    bucket: Entries,
}

impl Listing<'_> {
    /// Returns the generation that the row of the key must have.
    pub(crate) fn expected(&self) -> Option<Generation> {
        self.bucket.get(self.key)
    }

    /// Compares a row with what was last written.
    pub(crate) fn check(
        &self,
        found: Option<Generation>,
        what: impl FnOnce() -> String,
    ) -> Result<(), VaultError> {
        compare(self.expected(), found).map_err(|how| VaultError::corrupt(what(), how))
    }

    /// Enters a new generation of the key.
    pub(crate) fn advance(mut self, scope: &Scope<'_>) -> Result<Generation, VaultError> {
        let counter = self.directory.counter + 1;
        self.bucket.insert(self.key, counter);
        self.save(scope, counter)?;
        Ok(Generation::new(counter))
    }

    /// Strikes the key off the list.
    pub(crate) fn forget(mut self, scope: &Scope<'_>) -> Result<(), VaultError> {
        let counter = self.directory.counter + 1;
        self.bucket.remove(self.key);
        self.save(scope, counter)
    }

    fn save(mut self, scope: &Scope<'_>, counter: i64) -> Result<(), VaultError> {
        let index = &scope.keys.index;
        self.bucket.counter = counter;
        save_bucket(scope.tx, index, self.namespace, self.number, &self.bucket)?;
        self.directory.counter = counter;
        self.directory
            .set(self.number, (!self.bucket.is_empty()).then_some(counter));
        save_directory(scope.tx, index, self.namespace, &self.directory)?;
        self.root.counter += 1;
        self.root.insert(self.namespace, counter);
        save_root(scope.tx, index, &self.root)
    }
}

impl Scope<'_> {
    /// Reads the part of the manifests that lists `key`.
    pub(crate) fn listing<'k>(
        &self,
        namespace: &'k str,
        key: &'k str,
    ) -> Result<Listing<'k>, VaultError> {
        let (root, directory) = self.directory(namespace)?;
        let number = number(&self.keys.index, namespace, key)?;
        let bucket = self.bucket(namespace, number, directory.get(number))?;
        Ok(Listing {
            namespace,
            key,
            root,
            directory,
            number,
            bucket,
        })
    }

    /// Returns the counter of a namespace, which every change in it increments.
    pub(crate) fn revision(&self, namespace: &str) -> Result<Option<Generation>, VaultError> {
        Ok(self.root()?.get(namespace))
    }

    /// Lists the namespaces that were ever used.
    pub(crate) fn namespaces(&self) -> Result<Vec<String>, VaultError> {
        Ok(self.root()?.keys().map(str::to_owned).collect())
    }

    /// Begins the lists of a vault that has none.
    pub(crate) fn begin_lists(&self) -> Result<(), VaultError> {
        initialise(self.tx, &self.keys.index)
    }

    /// Lists the rows of a namespace in place of what was listed before, under a counter of at
    /// least `counter`.
    pub(crate) fn list_again<'k>(
        &self,
        namespace: &str,
        rows: impl IntoIterator<Item = (&'k str, Generation)>,
        counter: i64,
    ) -> Result<(), VaultError> {
        let mut all = Entries::default();
        all.counter = counter;
        for (key, generation) in rows {
            all.counter = all.counter.max(generation.get());
            all.insert(key, generation.get());
        }
        rebuild(self.tx, &self.keys.index, namespace, &all)?;
        let mut root = self.root()?;
        root.counter += 1;
        root.insert(namespace, all.counter);
        save_root(self.tx, &self.keys.index, &root)
    }

    fn root(&self) -> Result<Entries, VaultError> {
        load_root(self.tx, &self.keys.index)
    }

    /// Reads the directory of a namespace and checks it against the root.
    fn directory(&self, namespace: &str) -> Result<(Entries, Directory), VaultError> {
        let root = self.root()?;
        let found = load_directory(self.tx, &self.keys.index, namespace)?;
        let counter = found.as_ref().map(|it| Generation::new(it.counter));
        compare(root.get(namespace), counter)
            .map_err(|how| VaultError::corrupt(what(namespace), how))?;
        Ok((root, found.unwrap_or_default()))
    }

    /// Reads a bucket and checks it against what the directory says of it.
    fn bucket(
        &self,
        namespace: &str,
        number: u8,
        expected: Option<i64>,
    ) -> Result<Entries, VaultError> {
        let found = load_bucket(self.tx, &self.keys.index, namespace, number)?;
        let counter = found.as_ref().map(|it| Generation::new(it.counter));
        compare(expected.map(Generation::new), counter)
            .map_err(|how| VaultError::corrupt(what_part(namespace), how))?;
        Ok(found.unwrap_or_default())
    }
}

/// Writes the root of an empty vault.
pub(super) fn initialise(connection: &Connection, index: &DataKey) -> Result<(), VaultError> {
    save_root(connection, index, &Entries::default())
}

/// Brings the manifests of schemas 1 and 2, one per namespace, to the present form.
///
/// One that does not open stays as it is, so that its namespace is reported as damaged, as before,
/// and the others can be used.
pub(super) fn split_into_buckets(scope: &Scope<'_>) -> Result<(), VaultError> {
    let index = &scope.keys.index;
    let root = load_root(scope.tx, index)?;
    for namespace in root.keys() {
        let old = load(scope.tx, index, namespace, &whole_context(namespace));
        let old = match old {
            Ok(Some(old)) if root.get(namespace) == Some(Generation::new(old.counter)) => old,
            Ok(_) | Err(VaultError::Corrupt { .. }) => continue,
            Err(error) => return Err(error),
        };
        rebuild(scope.tx, index, namespace, &old)?;
    }
    Ok(())
}

/// Writes directory and buckets of a namespace from a list of all of it.
fn rebuild(
    connection: &Connection,
    index: &DataKey,
    namespace: &str,
    all: &Entries,
) -> Result<(), VaultError> {
    let mut buckets = std::collections::BTreeMap::<u8, Entries>::new();
    for (key, generation) in all.iter() {
        let bucket = buckets.entry(number(index, namespace, key)?).or_default();
        bucket.counter = all.counter;
        bucket.insert(key, generation);
    }
    let mut directory = Directory::new(all.counter);
    for (number, bucket) in &buckets {
        directory.set(*number, Some(bucket.counter));
        save_bucket(connection, index, namespace, *number, bucket)?;
    }
    save_directory(connection, index, namespace, &directory)
}

fn compare(expected: Option<Generation>, found: Option<Generation>) -> Result<(), Damage> {
    match (expected, found) {
        (expected, found) if expected == found => Ok(()),
        (Some(_), None) => Err(Damage::Missing),
        (None, Some(_)) => Err(Damage::Unexpected),
        _ => Err(Damage::RolledBack),
    }
}

/// Returns the bucket that lists a key. It takes the vault's key to choose keys that share one.
fn number(index: &DataKey, namespace: &str, key: &str) -> Result<u8, VaultError> {
    let context = Context::new("bucket number").text(namespace).text(key);
    let [first, ..] = index.key().mac(&context)?;
    Ok(first)
}

fn load_root(connection: &Connection, index: &DataKey) -> Result<Entries, VaultError> {
    load(connection, index, ROOT, &whole_context(ROOT))?
        .ok_or_else(|| VaultError::corrupt(what(ROOT), Damage::Missing))
}

fn save_root(connection: &Connection, index: &DataKey, root: &Entries) -> Result<(), VaultError> {
    let context = whole_context(ROOT)(root.counter);
    let sealed = index.key().seal(&root.encode(), &context)?;
    save(connection, ROOT, root.counter, &sealed)
}

fn load_directory(
    connection: &Connection,
    index: &DataKey,
    namespace: &str,
) -> Result<Option<Directory>, VaultError> {
    load_sealed(connection, namespace)?
        .map(|(counter, sealed)| {
            let context = directory_context(namespace, counter);
            let opened = open(index, &sealed, &context, || what(namespace))?;
            Directory::decode(counter, opened.expose())
                .ok_or_else(|| VaultError::corrupt(what(namespace), Damage::UnknownFormat))
        })
        .transpose()
}

fn save_directory(
    connection: &Connection,
    index: &DataKey,
    namespace: &str,
    directory: &Directory,
) -> Result<(), VaultError> {
    let context = directory_context(namespace, directory.counter);
    let sealed = index.key().seal(&directory.encode(), &context)?;
    save(connection, namespace, directory.counter, &sealed)
}

fn load_bucket(
    connection: &Connection,
    index: &DataKey,
    namespace: &str,
    number: u8,
) -> Result<Option<Entries>, VaultError> {
    let row: Option<(i64, Vec<u8>)> = connection
        .prepare_cached("SELECT counter, sealed FROM buckets WHERE namespace = ?1 AND bucket = ?2")
        .and_then(|mut query| {
            let row = query.query_row(params![namespace, number], counted);
            row.optional()
        })
        .map_err(VaultError::database(READ))?;
    let Some((counter, sealed)) = row else {
        return Ok(None);
    };
    let context = bucket_context(namespace, number, counter);
    let opened = open(index, &sealed, &context, || what_part(namespace))?;
    Entries::decode(counter, opened.expose())
        .map(Some)
        .ok_or_else(|| VaultError::corrupt(what_part(namespace), Damage::UnknownFormat))
}

/// Writes a bucket; an empty one is removed, and the directory then lists none.
fn save_bucket(
    connection: &Connection,
    index: &DataKey,
    namespace: &str,
    number: u8,
    bucket: &Entries,
) -> Result<(), VaultError> {
    if bucket.is_empty() {
        let delete = "DELETE FROM buckets WHERE namespace = ?1 AND bucket = ?2";
        let deleted = connection.execute(delete, params![namespace, number]);
        return deleted.map(drop).map_err(VaultError::database(WRITE));
    }
    let context = bucket_context(namespace, number, bucket.counter);
    let sealed = index.key().seal(&bucket.encode(), &context)?;
    connection
        .execute(
            "INSERT INTO buckets (namespace, bucket, counter, sealed) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (namespace, bucket) DO UPDATE SET counter = ?3, sealed = ?4",
            params![namespace, number, bucket.counter, sealed],
        )
        .map(drop)
        .map_err(VaultError::database(WRITE))
}

fn load(
    connection: &Connection,
    index: &DataKey,
    namespace: &str,
    context: &dyn Fn(i64) -> Context,
) -> Result<Option<Entries>, VaultError> {
    load_sealed(connection, namespace)?
        .map(|(counter, sealed)| {
            let opened = open(index, &sealed, &context(counter), || what(namespace))?;
            Entries::decode(counter, opened.expose())
                .ok_or_else(|| VaultError::corrupt(what(namespace), Damage::UnknownFormat))
        })
        .transpose()
}

fn load_sealed(
    connection: &Connection,
    namespace: &str,
) -> Result<Option<(i64, Vec<u8>)>, VaultError> {
    connection
        .prepare_cached("SELECT counter, sealed FROM manifests WHERE namespace = ?1")
        .and_then(|mut query| query.query_row([namespace], counted).optional())
        .map_err(VaultError::database(READ))
}

fn counted(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn save(
    connection: &Connection,
    namespace: &str,
    counter: i64,
    sealed: &[u8],
) -> Result<(), VaultError> {
    connection
        .execute(
            "INSERT INTO manifests (namespace, counter, sealed) VALUES (?1, ?2, ?3)
             ON CONFLICT (namespace) DO UPDATE SET counter = ?2, sealed = ?3",
            params![namespace, counter, sealed],
        )
        .map(drop)
        .map_err(VaultError::database(WRITE))
}

fn open(
    index: &DataKey,
    sealed: &[u8],
    context: &Context,
    what: impl FnOnce() -> String,
) -> Result<keyway_secret::Secret<Vec<u8>>, VaultError> {
    let opened = index.key().open(sealed, context);
    opened.map_err(|how| VaultError::corrupt(what(), how))
}

/// The seal of the root; in schemas 1 and 2 of the manifest of a namespace as well.
fn whole_context(namespace: &str) -> impl Fn(i64) -> Context {
    move |counter| {
        Context::new("manifest")
            .text(namespace)
            .number(counter.cast_unsigned())
    }
}

fn directory_context(namespace: &str, counter: i64) -> Context {
    Context::new("directory")
        .text(namespace)
        .number(counter.cast_unsigned())
}

fn bucket_context(namespace: &str, number: u8, counter: i64) -> Context {
    Context::new("bucket")
        .text(namespace)
        .number(number.into())
        .number(counter.cast_unsigned())
}

fn what(namespace: &str) -> String {
    if namespace == ROOT {
        "the vault's list of contents".to_owned()
    } else {
        format!("the list of contents of `{namespace}`")
    }
}

fn what_part(namespace: &str) -> String {
    format!("a part of the list of contents of `{namespace}`")
}

/// The root stands under a name that no namespace can have.
const ROOT: &str = "";
const READ: &str = "read a manifest";
const WRITE: &str = "write a manifest";
