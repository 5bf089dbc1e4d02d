//! Tokens that could not be committed: one sealed file each, committed by generation later.
//!
//! A refreshed token that is in no file is lost with its process, and the sign-in with it. So what
//! the database cannot take (a full disk, a lock that stays) is written beside it. Every process
//! that is about to claim commits these files first: redeeming the old token while its
//! successor lies here would make the server revoke both.

use std::fs::File;
use std::io::Read as _;

use keyway_secret::Secret;
use keyway_store::{Generation, GrantKey, Timestamp, Tokens};
use zeroize::Zeroizing;

use crate::error::VaultError;
use crate::fields::{number, put, take};
use crate::seal::{Context, KeyId};
use crate::store::{Scope, Vault};

/// One file, taken apart.
struct JournalEntry {
    grant: GrantKey,
    generation: Generation,
    tokens: Tokens,
}

impl Vault {
    /// Writes tokens to a file of their own, which is on disk when this returns.
    pub(super) fn write_journal(
        &self,
        grant: &GrantKey,
        generation: Generation,
        tokens: &Tokens,
    ) -> Result<(), VaultError> {
        let contents = self.read_scope("write its journal", |scope| {
            encode(scope, grant, generation, tokens)
        })?;
        let name = format!("{PREFIX}{}", KeyId::random()?);
        self.data().create(&name, &contents).map(drop)
    }

    /// Commits what lies in the journal.
    ///
    /// Fails if a file may hold the successor of this generation and cannot be committed now: then
    /// nothing may be redeemed. What belongs to other grants stays for their next claim, and a file
    /// that does not open was not written by this vault, or is damaged.
    pub(super) fn commit_journal(
        &self,
        grant: &GrantKey,
        generation: Generation,
    ) -> Result<(), VaultError> {
        for name in self.journal_files()? {
            let Some(entry) = self.read_journal(&name)? else {
                continue;
            };
            let JournalEntry {
                grant: of,
                generation: from,
                tokens,
            } = entry;
            match self.commit_once(&of, from, &tokens) {
                Ok(_) => drop(self.data().remove(&name)),
                Err(error) if (&of, from) == (grant, generation) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Commits what earlier processes left in the journal, as far as that is possible now; the rest
    /// stays for the next claim.
    pub fn commit_journaled(&self) {
        // That of no sign-in in particular has to succeed.
        let nothing = (GrantKey::new(""), Generation::new(0));
        self.commit_journal(&nothing.0, nothing.1).ok();
    }

    /// Lists which generations of which grants have a successor in the journal.
    pub(super) fn journaled(&self) -> Result<Vec<(GrantKey, Generation)>, VaultError> {
        let mut all = Vec::new();
        for name in self.journal_files()? {
            let entry = self.read_journal(&name)?;
            all.extend(entry.map(|entry| (entry.grant, entry.generation)));
        }
        Ok(all)
    }

    fn journal_files(&self) -> Result<Vec<String>, VaultError> {
        let folder = self.data_folder();
        let failed = |source| VaultError::file("list", folder, source);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_str().filter(|name| name.starts_with(PREFIX));
            names.extend(name.map(str::to_owned));
        }
        Ok(names)
    }

    fn read_journal(&self, name: &str) -> Result<Option<JournalEntry>, VaultError> {
        let Some(file) = self.data().open_file(name)? else {
            return Ok(None);
        };
        let mut contents = Vec::new();
        let path = self.data_folder().join(name);
        File::from(file)
            .take(MAX_FILE)
            .read_to_end(&mut contents)
            .map_err(|source| VaultError::file("read", &path, source))?;
        self.read_scope("read its journal", |scope| Ok(decode(scope, &contents)))
    }
}

/// Where the entry stands comes first, in the open, as it does in the table; the tokens are sealed.
fn encode(
    scope: &Scope<'_>,
    grant: &GrantKey,
    generation: Generation,
    tokens: &Tokens,
) -> Result<Vec<u8>, VaultError> {
    let expires_at = match tokens.lifetime {
        Some(lifetime) => Some(scope.now()?.after(lifetime).unix_millis().to_le_bytes()),
        None => None,
    };
    let mut plain = Zeroizing::new(Vec::new());
    put(&mut plain, Some(tokens.access.expose().as_bytes()));
    let refresh = tokens.refresh.as_ref();
    put(&mut plain, refresh.map(|it| it.expose().as_bytes()));
    put(&mut plain, tokens.details.as_ref().map(|it| &**it.expose()));
    put(&mut plain, expires_at.as_ref().map(|it| &it[..]));
    let key = scope.keys.index().key();
    let sealed = key.seal(&plain, &context(grant, generation))?;

    let mut out = Vec::new();
    put(&mut out, Some(grant.profile().as_bytes()));
    put(&mut out, Some(grant.name().as_bytes()));
    put(&mut out, Some(&generation.get().to_le_bytes()));
    put(&mut out, Some(&sealed));
    Ok(out)
}

fn decode(scope: &Scope<'_>, contents: &[u8]) -> Option<JournalEntry> {
    let mut rest = contents;
    let profile = std::str::from_utf8(take(&mut rest)??).ok()?;
    let name = std::str::from_utf8(take(&mut rest)??).ok()?;
    let grant = GrantKey::parse(profile, name)?;
    let generation = Generation::new(number(take(&mut rest)??)?);
    let sealed = take(&mut rest)??;
    let key = scope.keys.index().key();
    let plain = key.open(sealed, &context(&grant, generation)).ok()?;

    let mut rest: &[u8] = plain.expose();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok().map(Secret::new);
    let mut tokens = Tokens::new(text(take(&mut rest)??)?);
    if let Some(refresh) = take(&mut rest)? {
        tokens = tokens.with_refresh(text(refresh)?);
    }
    if let Some(details) = take(&mut rest)? {
        tokens = tokens.with_details(Secret::new(details.to_vec()));
    }
    if let Some(expires_at) = take(&mut rest)? {
        let expires_at = Timestamp::from_unix_millis(number(expires_at)?);
        tokens = tokens.with_lifetime(expires_at.since(scope.now().ok()?));
    }
    Some(JournalEntry {
        grant,
        generation,
        tokens,
    })
}

fn context(grant: &GrantKey, generation: Generation) -> Context {
    Context::new("journal")
        .text(grant.profile())
        .text(&grant.name())
        .number(generation.get().cast_unsigned())
}

const PREFIX: &str = "journal-";
/// Answers of token endpoints are at most 1 MiB, and details are small.
const MAX_FILE: u64 = 4 << 20;
