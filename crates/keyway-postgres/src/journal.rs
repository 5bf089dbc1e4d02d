//! Tokens that could not be committed, sealed in files of their own until the database is back.
//!
//! A file is written whole, synced, and removed only after the database has what it holds. Replicas
//! of one machine can share the folder; one on another machine cannot see it.
//!
//! New sign-ins lie here as well, and are put in place of what was stored when they were written:
//! nothing, for the first one.

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
    /// What was stored when they were written.
    pub(crate) generation: Option<Generation>,
    pub(crate) key_id: Vec<u8>,
    sealed: Vec<u8>,
}

/// What tokens in the journal are the successors of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// They were redeemed for the refresh token of this generation.
    Renewal(Generation),
    /// A person signed in while this generation, or none, was stored.
    SignIn(Option<Generation>),
}

impl Origin {
    const fn generation(self) -> Option<Generation> {
        match self {
            Self::Renewal(generation) => Some(generation),
            Self::SignIn(over) => over,
        }
    }

    /// The time until tokens expire is not known: it would be by the only clock that counts, which
    /// is away. So they count as expired, unless nothing could renew them: then until refused.
    const fn is_expired(self, tokens: &Tokens) -> bool {
        let is_renewable = matches!(self, Self::Renewal(_)) || tokens.refresh.is_some();
        tokens.lifetime.is_some() && is_renewable
    }
}

/// Writes tokens, durably; returns where.
pub(crate) fn write(
    folder: &Path,
    (person, grant, origin): (&Person, &GrantKey, Origin),
    key: &PersonKey,
    tokens: &Tokens,
) -> Result<PathBuf, PostgresError> {
    let mut plain = Vec::new();
    put(&mut plain, Some(tokens.access.expose().as_bytes()));
    let refresh = tokens.refresh.as_ref();
    put(&mut plain, refresh.map(|it| it.expose().as_bytes()));
    put(&mut plain, tokens.details.as_ref().map(|it| &**it.expose()));
    let expired = origin.is_expired(tokens).then_some(&b"expired"[..]);
    put(&mut plain, expired);
    let plain = Secret::new(plain);
    let sealed = key.seal(plain.expose(), place(person, grant, origin))?;

    let mut out = Vec::new();
    put(&mut out, Some(person.tenant().as_bytes()));
    put(&mut out, Some(person.person().as_bytes()));
    put(&mut out, Some(grant.index().as_bytes()));
    let generation = origin.generation().map(|it| it.get().to_le_bytes());
    put(&mut out, generation.as_ref().map(|it| &it[..]));
    put(&mut out, Some(key.id.as_bytes()));
    put(&mut out, Some(&sealed));
    let name = format!("{PREFIX}{}", KeyId::random()?);
    create(folder, &name, &out).map_err(|source| PostgresError::Journal {
        source: Some(source),
    })
}

fn create(folder: &Path, name: &str, contents: &[u8]) -> io::Result<PathBuf> {
    // Under another name until it is whole: half of it is never read.
    let (half, whole) = (folder.join(format!(".{name}")), folder.join(name));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&half)?;
    file.write_all(contents)?;
    file.sync_all()?;
    std::fs::rename(half, &whole)?;
    std::fs::File::open(folder)?.sync_all()?;
    Ok(whole)
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
    let generation = match take(&mut rest)? {
        Some(bytes) => Some(Generation::new(i64::from_le_bytes(bytes.try_into().ok()?))),
        None => None,
    };
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
        generation,
        key_id,
        sealed,
    })
}

impl Entry {
    /// Opens the tokens; `None` if they are damaged.
    pub(crate) fn open(&self, key: &PersonKey) -> Option<(Origin, Tokens)> {
        // Which of the two it is, is told by what it is sealed for.
        let origins = [
            self.generation.map(Origin::Renewal),
            Some(Origin::SignIn(self.generation)),
        ];
        let (origin, plain) = origins.into_iter().flatten().find_map(|origin| {
            let place = place(&self.person, &self.grant, origin);
            Some((origin, key.open(&self.sealed, place).ok()?))
        })?;
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
        Some((origin, tokens))
    }

    /// Removes the file, whose tokens are stored or replaced.
    pub(crate) fn remove(&self) {
        // If it stays, it is superseded the next time it is read.
        drop(std::fs::remove_file(&self.path));
    }
}

fn place(person: &Person, grant: &GrantKey, origin: Origin) -> Context {
    let kind = match origin {
        Origin::Renewal(_) => "postgres journal",
        Origin::SignIn(_) => "postgres journaled sign-in",
    };
    let place = person.place(kind).text(&grant.index());
    match origin.generation() {
        Some(generation) => place.number(generation.get().cast_unsigned()),
        None => place,
    }
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
