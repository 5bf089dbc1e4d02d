//! A sign-in between its row and its tokens.

use keyway_secret::Secret;
use keyway_store::seal::Context;
use keyway_store::{Damage, Fingerprint, Generation, GrantKey, Tokens};

use crate::error::PostgresError;
use crate::person::Person;
use crate::person_keys::PersonKey;
use crate::records::millis;

/// The row of a sign-in: whose it is, and which.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) person: Person,
    pub(super) grant: GrantKey,
    pub(super) id: Vec<u8>,
}

impl Place {
    pub(super) fn new(person: &Person, grant: &GrantKey) -> Result<Self, PostgresError> {
        grant.check()?;
        let named = person.place("postgres grant id").text(&grant.index());
        Ok(Self {
            person: person.clone(),
            grant: grant.clone(),
            id: named.digest().to_vec(),
        })
    }

    /// Where a value stands: nothing opens in another row, generation or column.
    fn column(&self, generation: Generation, column: &'static str) -> Context {
        self.person
            .place("postgres grant")
            .text(&self.grant.index())
            .number(generation.get().cast_unsigned())
            .text(column)
    }

    pub(super) fn open(
        &self,
        (key, generation): (&PersonKey, Generation),
        column: &'static str,
        sealed: &[u8],
    ) -> Result<Secret<Vec<u8>>, PostgresError> {
        key.open(sealed, self.column(generation, column))
            .map_err(|how| PostgresError::corrupt(format!("the {column} of a sign-in"), how))
    }

    pub(super) fn open_text(
        &self,
        of: (&PersonKey, Generation),
        column: &'static str,
        sealed: &[u8],
    ) -> Result<Secret<String>, PostgresError> {
        let bytes = self.open(of, column, sealed)?;
        let text = String::from_utf8(bytes.expose().clone());
        text.map(Secret::new).map_err(|_| {
            PostgresError::corrupt(format!("the {column} of a sign-in"), Damage::UnknownFormat)
        })
    }

    /// Names a refresh token within its sign-in, in every generation alike.
    pub(super) fn fingerprint(
        &self,
        key: &PersonKey,
        refresh: &Secret<String>,
    ) -> Result<Fingerprint, PostgresError> {
        let context = self
            .person
            .place("postgres fingerprint")
            .text(&self.grant.index())
            .text(refresh.expose());
        Ok(Fingerprint::new(key.key.mac(&context)?))
    }
}

/// Tokens as a row keeps them.
#[derive(Debug)]
pub(super) struct SealedTokens {
    pub(super) generation: i64,
    pub(super) key_id: Vec<u8>,
    pub(super) access: Vec<u8>,
    pub(super) refresh: Option<Vec<u8>>,
    pub(super) details: Option<Vec<u8>>,
    pub(super) fingerprint: Option<Vec<u8>>,
    /// In milliseconds, from the moment of storing by the database's clock.
    pub(super) lifetime: Option<i64>,
}

impl SealedTokens {
    pub(super) fn new(
        place: &Place,
        generation: Generation,
        key: &PersonKey,
        tokens: &Tokens,
    ) -> Result<Self, PostgresError> {
        let seal = |column, plain: &[u8]| key.seal(plain, place.column(generation, column));
        let refresh = tokens.refresh.as_ref();
        let details = tokens.details.as_ref();
        let fingerprint = refresh.map(|it| place.fingerprint(key, it)).transpose()?;
        Ok(Self {
            generation: generation.get(),
            key_id: key.id.as_bytes().to_vec(),
            access: seal(ACCESS, tokens.access.expose().as_bytes())?,
            refresh: refresh
                .map(|it| seal(REFRESH, it.expose().as_bytes()))
                .transpose()?,
            details: details.map(|it| seal(DETAILS, it.expose())).transpose()?,
            fingerprint: fingerprint.map(|it| it.as_bytes().to_vec()),
            lifetime: tokens.lifetime.map(millis),
        })
    }
}

pub(super) const ACCESS: &str = "access token";
pub(super) const REFRESH: &str = "refresh token";
pub(super) const DETAILS: &str = "details";
