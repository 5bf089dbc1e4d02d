//! What is added to the failure of a program that ran confined.

use std::fmt;

/// That a program which failed ran confined: it may have missed what it was kept from, and the same
/// program works when it is run by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfinementNote {
    /// What it was kept from, as far as that is known; begins with "it ran confined".
    pub what: String,
    /// Which settings would let it have that.
    pub hint: String,
}

impl ConfinementNote {
    /// Says what a program was kept from and which settings would allow it.
    #[must_use]
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// Returns the words that follow those of the failure; nothing for a program that was not
    /// confined.
    #[must_use]
    pub fn after_failure(note: Option<&Self>) -> impl fmt::Display + '_ {
        Clause(note)
    }
}

struct Clause<'a>(Option<&'a ConfinementNote>);

impl fmt::Display for Clause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |note| write!(f, "; {}", note.what))
    }
}
