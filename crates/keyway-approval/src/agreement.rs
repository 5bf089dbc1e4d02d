//! What a person agreed to, as the type that a store takes.

use crate::Question;
use crate::record::Approval;

/// A question that a person answered with a yes: the only thing that a store records.
///
/// It comes from an answer, or from an approval that covers the question already.
#[derive(Debug, Clone)]
pub struct Agreement(Question);

impl Agreement {
    pub(crate) const fn new(question: Question) -> Self {
        Self(question)
    }

    /// The same for the people of a gateway: programs of the entry may run for each of them.
    #[must_use]
    pub const fn for_people(mut self) -> Self {
        self.0.is_for_people = true;
        self
    }

    /// The same for a person who agrees beside an approval of admins: it ends with that.
    #[must_use]
    pub(crate) fn beside_admins(mut self, admins: &Approval) -> Self {
        self.0.beside_admins = admins.id().map(str::to_owned);
        self
    }

    /// Returns what was agreed to.
    #[must_use]
    pub const fn question(&self) -> &Question {
        &self.0
    }
}

impl Approval {
    /// Returns the agreement once more for the same question about files that were rewritten since;
    /// `None` if this approval does not cover it.
    #[must_use]
    pub fn renewed(&self, question: &Question) -> Option<Agreement> {
        let covers = self.covers(&question.digest);
        covers.then(|| Agreement::new(question.clone()))
    }
}
