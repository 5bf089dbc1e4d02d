//! Tokens that could not be committed, sealed in files of their own until the database is back.
//!
//! A file is written whole, synced, and removed only after the database has what it holds. Replicas
//! of one machine can share the folder; one on another machine cannot see it.

use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keyway_secret::Secret;
use keyway_store::seal::{Context, KeyId};
use keyway_store::{Generation, GrantKey, Tokens};

use crate::error::PostgresError;
use crate::person::Person;
use crate::person_keys::PersonKey;

/// What a file says in the open: where its tokens belong.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) person: Person,
    pub(crate) grant: GrantKey,
    pub(crate) generation: Generation,
    pub(crate) key_id: Vec<u8>,
    sealed: Vec<u8>,
}

/// Writes tokens, durably.
pub(crate) fn write(
    folder: &Path,
    (person, grant, generation): (&Person, &GrantKey, Generation),
    key: &PersonKey,
    tokens: &Tokens,
) -> Result<(), PostgresError> {
    let mut plain = Vec::new();
    put(&mut plain, Some(tokens.access.expose().as_bytes()));
    let refresh = tokens.refresh.as_ref();
    put(&mut plain, refresh.map(|it| it.expose().as_bytes()));
    put(&mut plain, tokens.details.as_ref().map(|it| &**it.expose()));
    // The time until then is not known: by the only clock that counts, which is away.
    put(&mut plain, tokens.lifetime.map(|_| &b"expired"[..]));
    let plain = Secret::new(plain);
    let sealed = key.seal(plain.expose(), place(person, grant, generation))?;

    let mut out = Vec::new();
    put(&mut out, Some(person.tenant().as_bytes()));
    put(&mut out, Some(person.person().as_bytes()));
    put(&mut out, Some(grant.index().as_bytes()));
    put(&mut out, Some(&generation.get().to_le_bytes()));
    put(&mut out, Some(key.id.as_bytes()));
    put(&mut out, Some(&sealed));
    let name = format!("{PREFIX}{}", KeyId::random()?);
    create(folder, &name, &out).map_err(|source| PostgresError::Journal {
        source: Some(source),
    })
}

fn create(folder: &Path, name: &str, contents: &[u8]) -> io::Result<()> {
    // Under another name until it is whole: half of it is never read.
    let (half, whole) = (folder.join(format!(".{name}")), folder.join(name));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&half)?;
    file.write_all(contents)?;
    file.sync_all()?;
    std::fs::rename(half, whole)?;
    std::fs::File::open(folder)?.sync_all()
}

/// Lists what waits; files that are not ours or are damaged are left alone.
pub(crate) fn list(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for found in std::fs::read_dir(folder)? {
        let found = found?;
        let name = found.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            entries.extend(read(found.path()));
        }
    }
    Ok(entries)
}

fn read(path: PathBuf) -> Option<Entry> {
    let mut contents = Vec::new();
    let file = std::fs::File::open(&path).ok()?;
    file.take(MAX_FILE).read_to_end(&mut contents).ok()?;
    let mut rest = contents.as_slice();
    let mut text = || {
        std::str::from_utf8(take(&mut rest)??)
            .ok()
            .map(str::to_owned)
    };
    let (tenant, person) = (text()?, text()?);
    let grant = GrantKey::parse_index(&text()?)?;
    let generation = i64::from_le_bytes(take(&mut rest)??.try_into().ok()?);
    let key_id = take(&mut rest)??.to_vec();
    let sealed = take(&mut rest)??.to_vec();
    let person = if person.is_empty() {
        Person::shared(tenant)
    } else {
        Person::new(tenant, person)
    };
    Some(Entry {
        path,
        person: person.ok()?,
        grant,
        generation: Generation::new(generation),
        key_id,
        sealed,
    })
}

impl Entry {
    /// Opens the tokens; `None` if they are damaged.
    pub(crate) fn open(&self, key: &PersonKey) -> Option<Tokens> {
        let place = place(&self.person, &self.grant, self.generation);
        let plain = key.open(&self.sealed, place).ok()?;
        let mut rest: &[u8] = plain.expose();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok().map(Secret::new);
        let mut tokens = Tokens::new(text(take(&mut rest)??)?);
        if let Some(refresh) = take(&mut rest)? {
            tokens = tokens.with_refresh(text(refresh)?);
        }
        if let Some(details) = take(&mut rest)? {
            tokens = tokens.with_details(Secret::new(details.to_vec()));
        }
        if take(&mut rest)?.is_some() {
            tokens = tokens.with_lifetime(Duration::ZERO);
        }
        Some(tokens)
    }

    /// Removes the file, whose tokens are stored or replaced.
    pub(crate) fn remove(&self) {
        // If it stays, it is superseded the next time it is read.
        drop(std::fs::remove_file(&self.path));
    }
}

fn place(person: &Person, grant: &GrantKey, generation: Generation) -> Context {
    person
        .place("postgres journal")
        .text(&grant.index())
        .number(generation.get().cast_unsigned())
}

/// Appends a field with its length before it.
fn put(out: &mut Vec<u8>, field: Option<&[u8]>) {
    let length = field.map_or(ABSENT, |field| u32::try_from(field.len()).unwrap_or(ABSENT));
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(field.unwrap_or_default());
}

/// Takes a field off the front; the outer `None` is a file that ends too early.
fn take<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let (length, after) = rest.split_first_chunk()?;
    *rest = after;
    let length = u32::from_le_bytes(*length);
    if length == ABSENT {
        return Some(None);
    }
    let (field, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(Some(field))
}

const PREFIX: &str = "journal-";
const ABSENT: u32 = u32::MAX;
/// Answers of token endpoints are at most 1 MiB, and details are small.
const MAX_FILE: u64 = 4 << 20;
