//! A person: an issuer, and the subject that it vouches for.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use keyway_secret::{hex, printable};
use ring::digest::{Context, SHA256};
use thiserror::Error;

/// A person, by issuer and subject; never by an e-mail address, which can be given to another.
///
/// Shown as `issuer#subject`: no issuer has a `#` in it (RFC 8414 section 2), so two people never
/// have the same text. It has at most 511 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Person {
    issuer: Arc<str>,
    subject: Arc<str>,
}

/// A person whose token is good, without the token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedPerson {
    /// Who.
    pub person: Person,
    /// When the token ends, by the issuer's clock.
    pub expires_at: SystemTime,
    /// Whether the settings make this person an admin.
    pub is_admin: bool,
}

impl Person {
    /// Names a person.
    ///
    /// # Errors
    ///
    /// Returns which rule the names break.
    pub fn new(issuer: &str, subject: &str) -> Result<Self, PersonError> {
        let fits = |name: &str| !name.is_empty() && name.len() <= MAX_NAME;
        if !fits(issuer) || issuer.contains('#') || printable(issuer) != issuer {
            return Err(PersonError::Issuer);
        }
        if !fits(subject) {
            return Err(PersonError::SubjectLength);
        }
        // It is shown to admins, and a store must be able to hold it.
        if printable(subject) != subject {
            return Err(PersonError::SubjectCharacters);
        }
        Ok(Self {
            issuer: issuer.into(),
            subject: subject.into(),
        })
    }

    /// Returns the issuer, byte for byte.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the subject, byte for byte.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns a digest that no other person has, the same in every process and version.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut context = Context::new(&SHA256);
        context.update(b"keyway person 1");
        for part in [&self.issuer, &self.subject] {
            context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            context.update(part.as_bytes());
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        digest
    }

    /// Returns the account under which sign-ins of this person are stored: `person-` and the first
    /// 32 digits of the digest.
    #[must_use]
    pub fn account(&self) -> String {
        format!("person-{:.32}", hex::write(&self.digest()))
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.issuer, self.subject)
    }
}

/// Which rule the names of a person break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PersonError {
    /// The issuer is empty, too long, or holds a `#` or what cannot be shown.
    #[error(
        "the issuer is empty, longer than {MAX_NAME} bytes or holds a character that is not allowed"
    )]
    Issuer,
    /// The subject is empty or too long.
    #[error("the subject is empty or longer than {MAX_NAME} bytes")]
    SubjectLength,
    /// The subject holds a character that cannot be shown.
    #[error("the subject holds a character that cannot be shown")]
    SubjectCharacters,
}

/// Subjects have at most 255 characters (OpenID Connect Core section 2).
pub(crate) const MAX_NAME: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_people_never_have_the_same_text_digest_or_account() {
        let names = [
            ("https://idp.example", "ada"),
            ("https://idp.example", "adb"),
            ("https://idp.example/a", "da"),
            ("https://idp.example/", "ada"),
            ("https://idp.example", "#ada"),
            ("https://idp.example", "Ada"),
        ];
        let people = names.map(|(issuer, subject)| Person::new(issuer, subject).unwrap());
        for (index, one) in people.iter().enumerate() {
            for other in &people[index + 1..] {
                assert_ne!(one, other);
                assert_ne!(one.to_string(), other.to_string());
                assert_ne!(one.digest(), other.digest());
                assert_ne!(one.account(), other.account());
            }
        }
    }

    #[test]
    fn digest_and_text_stay_what_they_are() {
        let ada = Person::new("https://idp.example", "ada").unwrap();
        assert_eq!(ada.to_string(), "https://idp.example#ada");
        assert_eq!(ada.account(), "person-f026c58ec205fab91583c2ff9125d762");
    }

    #[test]
    fn names_that_cannot_be_shown_or_stored_are_no_person() {
        let longest = "a".repeat(255);
        let longer = "a".repeat(256);
        let person = |subject: &str| Person::new("https://idp.example", subject).map(|_| ());
        assert_eq!(person(&longest), Ok(()));
        assert_eq!(person(&longer), Err(PersonError::SubjectLength));
        assert_eq!(person(""), Err(PersonError::SubjectLength));
        for subject in ["a\0b", "a\nb", "a\u{202e}b", "a\u{200b}b"] {
            assert_eq!(
                person(subject),
                Err(PersonError::SubjectCharacters),
                "{subject:?}"
            );
        }
        assert_eq!(Person::new("", "ada").map(|_| ()), Err(PersonError::Issuer));
        assert_eq!(
            Person::new("https://a#b", "ada").map(|_| ()),
            Err(PersonError::Issuer)
        );
    }
}
