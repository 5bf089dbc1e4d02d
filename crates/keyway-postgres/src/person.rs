//! Whose data it is.

use keyway_store::seal::Context;

use crate::error::PostgresError;

/// A person of a tenant, or the tenant itself for what its people share.
///
/// Every row names both, every seal is bound to both, and the database shows a query only rows of
/// the person that it names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Person {
    tenant: String,
    person: String,
}

impl Person {
    /// Names a person: by issuer and subject, never by something that can be given to another.
    ///
    /// # Errors
    ///
    /// Returns [`PostgresError::InvalidName`] if either is empty, longer than 512 bytes or holds a
    /// null character, which PostgreSQL cannot store.
    pub fn new(
        tenant: impl Into<String>,
        person: impl Into<String>,
    ) -> Result<Self, PostgresError> {
        let person = person.into();
        check(&person)?;
        let mut all = Self::shared(tenant)?;
        all.person = person;
        Ok(all)
    }

    /// Names what the people of a tenant share: client registrations, cached documents.
    ///
    /// # Errors
    ///
    /// As [`Person::new`].
    pub fn shared(tenant: impl Into<String>) -> Result<Self, PostgresError> {
        let tenant = tenant.into();
        check(&tenant)?;
        let person = String::new();
        Ok(Self { tenant, person })
    }

    /// Tells whether it is a tenant, and no person of it.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.person.is_empty()
    }

    pub(crate) fn tenant(&self) -> &str {
        &self.tenant
    }

    pub(crate) fn person(&self) -> &str {
        &self.person
    }

    /// Starts the place of a sealed value: no value of one person opens as another's.
    pub(crate) fn place(&self, domain: &'static str) -> Context {
        Context::new(domain).text(&self.tenant).text(&self.person)
    }

    /// Names the person in notifications, which every session of the database can read.
    pub(crate) fn topic(&self) -> String {
        topic(&self.place("postgres person"))
    }
}

/// Writes the digest of a place as text.
pub(crate) fn topic(place: &Context) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(64);
    for byte in place.digest() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn check(name: &str) -> Result<(), PostgresError> {
    if name.is_empty() || name.len() > LONGEST || name.contains('\0') {
        return Err(PostgresError::invalid_name(name));
    }
    Ok(())
}

const LONGEST: usize = 512;
