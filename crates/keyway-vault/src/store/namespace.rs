//! Kinds of entries.

use std::fmt;

use crate::error::VaultError;

/// A kind of entry, such as `trust` or `env`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Namespace(String);

impl Namespace {
    /// Names a kind of entry: 1 to 64 of lower-case letters, digits, `-` and `.`.
    ///
    /// # Errors
    ///
    /// Returns [`VaultError::InvalidName`] for any other text.
    pub fn new(name: &str) -> Result<Self, VaultError> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        if name.is_empty() || name.len() > LONGEST || !name.chars().all(allowed) {
            return Err(VaultError::invalid_name(name));
        }
        Ok(Self(name.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const LONGEST: usize = 64;
