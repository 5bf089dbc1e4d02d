//! [`Secret`]: a value that can be used but not printed, compared or serialised by accident.
//!
//! Everything confidential is wrapped at the moment it is read and unwrapped at the moment it is
//! used; searching the workspace for `expose` lists those moments. What may be shown of text that
//! an untrusted party wrote is decided in [`printable`], and for commands in [`shell_word`].
//!
//! Beside it is what every crate that handles secrets needs, once: [`constant_time_eq`],
//! [`random`] values, [`hex`] digits and the [`Clock`].

mod clock;
mod constant_time;
pub mod header;
pub mod hex;
mod printable;
pub mod random;
mod shell;
mod wipe;

use std::fmt;

pub use self::clock::{BootTime, Clock, SystemClock};
pub use self::constant_time::constant_time_eq;
pub use self::printable::{escaped, hint_of, printable};
pub use self::shell::{escaped_word, server_argument, shell_word};
pub use self::wipe::Wipe;

/// A confidential value: no `Display`, no `==`, no serialisation, and wiped from memory when dropped.
#[derive(Clone)]
pub struct Secret<T: Wipe>(T);

impl<T: Wipe> Secret<T> {
    /// Wraps `value`; a copy that the caller keeps is not wiped.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value, for the place that uses it.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl Secret<String> {
    /// Says whether both hold the same text, in a time that depends on the lengths alone.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        constant_time_eq(self.0.as_bytes(), other.0.as_bytes())
    }
}

impl<T: Wipe> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<T: Wipe> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

impl<T: Wipe> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_the_same_only_if_every_byte_is() {
        let secret = |text: &str| Secret::new(text.to_owned());
        assert!(secret("abc").is_same_as(&secret("abc")));
        for other in ["abd", "xbc", "ab", "abcd", ""] {
            assert!(!secret("abc").is_same_as(&secret(other)), "{other}");
        }
    }

    #[test]
    fn debug_output_does_not_contain_the_value() {
        let secret = Secret::new("CANARY-7f3a".to_owned());
        let nested = format!("{:?} {:#?}", Some(&secret), vec![secret.clone()]);
        assert!(!nested.contains("CANARY"), "{nested}");
    }
}
