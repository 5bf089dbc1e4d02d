//! Tokens that could not be committed: one sealed file each, committed by generation later.
//!
//! New sign-ins lie here as well, and are put in place of what was stored when they were written:
//! nothing, for the first one.
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
    origin: Origin,
    tokens: Tokens,
}

/// What tokens in the journal are the successors of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
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
}

impl Vault {
    /// Writes tokens to a file of their own, which is on disk when this returns.
    ///
    /// Of sign-ins over the same one the last counts: what a person does later is what they want.
    pub(super) fn write_journal(
        &self,
        grant: &GrantKey,
        origin: Origin,
        tokens: &Tokens,
    ) -> Result<(), VaultError> {
        let contents = self.read_scope("write its journal", |scope| {
            encode(scope, grant, origin, tokens)
        })?;
        let name = format!("{PREFIX}{}", KeyId::random()?);
        self.data().create(&name, &contents)?;
        if matches!(origin, Origin::SignIn(_)) {
            let is_earlier = |entry: &JournalEntry| entry.origin == origin;
            // One that stays is as good as this one, and only the second choice.
            self.forget_journaled(grant, Some(&name), is_earlier).ok();
        }
        Ok(())
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
        self.commit_journal_of(|entry| {
            (&entry.grant, entry.origin.generation()) == (grant, Some(generation))
        })
    }

    /// Commits what earlier processes left in the journal, as far as that is possible now; the rest
    /// stays for the next claim.
    pub fn commit_journaled(&self) {
        // That of no sign-in in particular has to succeed.
        self.commit_journal_of(|_| false).ok();
    }

    /// Commits what lies in the journal for a sign-in, and fails if that is not possible now.
    pub(super) fn commit_journal_for(&self, grant: &GrantKey) -> Result<(), VaultError> {
        self.commit_journal_of(|entry| entry.grant == *grant)
    }

    fn commit_journal_of(
        &self,
        must_succeed: impl Fn(&JournalEntry) -> bool,
    ) -> Result<(), VaultError> {
        for name in self.journal_files()? {
            let Some(entry) = self.read_journal(&name)? else {
                continue;
            };
            let (grant, tokens) = (&entry.grant, &entry.tokens);
            let committed = match entry.origin {
                Origin::Renewal(generation) => self.commit_once(grant, generation, tokens),
                Origin::SignIn(over) => self.put_over(grant, over, tokens),
            };
            match committed {
                Ok(_) => drop(self.data().remove(&name)),
                Err(error) if must_succeed(&entry) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Removes everything that lies in the journal for a sign-in.
    pub(super) fn clear_journal(&self, grant: &GrantKey) -> Result<(), VaultError> {
        self.forget_journaled(grant, None, |_| true)
    }

    fn forget_journaled(
        &self,
        grant: &GrantKey,
        but: Option<&str>,
        is_meant: impl Fn(&JournalEntry) -> bool,
    ) -> Result<(), VaultError> {
        for name in self.journal_files()? {
            if but == Some(name.as_str()) {
                continue;
            }
            let entry = self.read_journal(&name)?;
            if entry.is_some_and(|entry| entry.grant == *grant && is_meant(&entry)) {
                self.data().remove(&name)?;
            }
        }
        Ok(())
    }

    /// Lists which generations of which grants have a successor in the journal.
    pub(super) fn journaled(&self) -> Result<Vec<(GrantKey, Generation)>, VaultError> {
        let mut all = Vec::new();
        for name in self.journal_files()? {
            let Some(entry) = self.read_journal(&name)? else {
                continue;
            };
            let generation = entry.origin.generation();
            all.extend(generation.map(|generation| (entry.grant, generation)));
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
    origin: Origin,
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
    let sealed = key.seal(&plain, &context(grant, origin))?;

    let mut out = Vec::new();
    put(&mut out, Some(grant.profile().as_bytes()));
    put(&mut out, Some(grant.name().as_bytes()));
    let generation = origin.generation().map(|it| it.get().to_le_bytes());
    put(&mut out, generation.as_ref().map(|it| &it[..]));
    put(&mut out, Some(&sealed));
    Ok(out)
}

fn decode(scope: &Scope<'_>, contents: &[u8]) -> Option<JournalEntry> {
    let mut rest = contents;
    let profile = std::str::from_utf8(take(&mut rest)??).ok()?;
    let name = std::str::from_utf8(take(&mut rest)??).ok()?;
    let grant = GrantKey::parse(profile, name)?;
    let generation = match take(&mut rest)? {
        Some(bytes) => Some(Generation::new(number(bytes)?)),
        None => None,
    };
    let sealed = take(&mut rest)??;
    let key = scope.keys.index().key();
    // Which of the two it is, is told by what it is sealed for.
    let origins = [
        generation.map(Origin::Renewal),
        Some(Origin::SignIn(generation)),
    ];
    let (origin, plain) = origins.into_iter().flatten().find_map(|origin| {
        let plain = key.open(sealed, &context(&grant, origin)).ok()?;
        Some((origin, plain))
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
    if let Some(expires_at) = take(&mut rest)? {
        let expires_at = Timestamp::from_unix_millis(number(expires_at)?);
        tokens = tokens.with_lifetime(expires_at.since(scope.now().ok()?));
    }
    Some(JournalEntry {
        grant,
        origin,
        tokens,
    })
}

fn context(grant: &GrantKey, origin: Origin) -> Context {
    let kind = match origin {
        Origin::Renewal(_) => "journal",
        Origin::SignIn(_) => "journaled sign-in",
    };
    let context = Context::new(kind).text(grant.profile()).text(&grant.name());
    match origin.generation() {
        Some(generation) => context.number(generation.get().cast_unsigned()),
        None => context,
    }
}

const PREFIX: &str = "journal-";
/// Answers of token endpoints are at most 1 MiB, and details are small.
const MAX_FILE: u64 = 4 << 20;
