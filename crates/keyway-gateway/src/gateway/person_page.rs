//! What a page tells a person of the entries that they use.

use keyway::approval::Question;

/// What an entry needs of a person, as a page shows it. No value is in it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PersonEntry {
    /// Its variables, in the order of its fields.
    pub variables: Vec<PersonVariable>,
    /// What the person has to agree to, if their own values lead elsewhere than the admins approved.
    pub question: Option<Question>,
}

/// A variable of an entry.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PersonVariable {
    /// Its name in the entry.
    pub name: String,
    /// Under which it is stored: what one plugin asks for is not for another.
    pub stored_name: String,
    /// Where it goes, in words.
    pub fields: Vec<String>,
    /// Whose value counts.
    pub set_by: SetBy,
}

/// Who set a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetBy {
    /// The person.
    Person,
    /// An admin, for all.
    Tenant,
    /// No one set it, and the entry has a default.
    Default,
    /// No one set it, and there is no default.
    NotSet,
}

/// What a person has to do before a server works for them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PersonNeed {
    /// What, as a sentence without its full stop.
    pub(crate) words: String,
    /// On which page.
    pub(crate) page: String,
}

/// Where people set variables.
pub(crate) const OWN_PAGE: &str = "/oauth/variables";
