//! Why a literal cannot move to a variable, in words, and what to do instead.

use keyway_config::dialect::Dialect;

use crate::migrate::names::NameFault;

/// Why a literal stays where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::migrate) enum Obstacle {
    /// The file is another host's.
    Foreign(&'static str),
    /// The file lies in the folder of a host that is not known.
    UnknownHost,
    /// The host of the file replaces nothing there.
    NotReplaced(&'static Dialect),
    /// The host takes the name of a variable in this field, and the file is not edited there.
    ByHand(&'static str),
    /// The file is a person's own, and no `.env` belongs beside it.
    OwnFile,
    /// The folder is a host's own, and no `.env` belongs into it.
    HostFolder,
    /// Readers disagree about what the file says.
    BadFile,
    /// The entry breaks the grammar.
    BadEntry,
    /// Variables are not filled in here.
    NotExpanded,
    /// It stands in a comment and nowhere else, so that no variable would ever be filled in.
    InComment,
    /// A variable stands inside of it.
    Mixed,
    /// The dollar sign in front would turn the reference into text.
    BehindDollar,
    /// A variable in the host must not be a credential.
    InHost,
    /// What the address means by it is not certain.
    Encoded,
    /// No line of an env file can hold it.
    Unwritable,
    /// `.env` is in version control.
    EnvTracked,
    /// `.env` is a link.
    EnvLink,
    /// There is no name for it.
    Name(NameFault),
}

impl Obstacle {
    /// Says why, in a form that follows a colon.
    pub(in crate::migrate) fn why(&self) -> String {
        let why = match self {
            Self::Foreign(host) => {
                return format!("the file is laid out for {host}, whose variables differ");
            }
            Self::NotReplaced(dialect) => {
                return format!("{} fills in no variable there", dialect.name);
            }
            Self::UnknownHost => {
                "it is not known which program reads the file, nor how it writes variables"
            }
            Self::ByHand(key) => {
                return format!("its host takes the name of a variable in `{key}`");
            }
            Self::OwnFile => "the file is your own, and no `.env` belongs beside it",
            Self::HostFolder => "the folder is its host's own, and no `.env` belongs into it",
            Self::Name(NameFault::OtherLine(name)) => {
                return format!("`.env` has another value for `{name}`");
            }
            Self::Name(NameFault::OtherDefault(name)) => {
                return format!("`{name}` has another default elsewhere");
            }
            Self::Name(NameFault::Reserved(name)) => {
                return format!("`{name}` is reserved for the host");
            }
            Self::BadFile => "the file is not JSON that every reader understands alike",
            Self::BadEntry => "the entry is not loaded as it is",
            Self::NotExpanded => "variables are not filled in here",
            Self::InComment => "what is not an entry has no variables",
            Self::Mixed => "a part of it is a variable already",
            Self::BehindDollar => "the `$` in front of it would make a variable plain text",
            Self::InHost => "a credential must not be part of a host name",
            Self::Encoded => "how it is encoded in the address is not certain",
            Self::Unwritable => "`.env` cannot take a line for it",
            Self::EnvTracked => "`.env` is in version control",
            Self::EnvLink => "`.env` is a link, and what it leads to may not be ignored",
        };
        why.to_owned()
    }

    /// Says what to do instead.
    pub(in crate::migrate) const fn hint(&self) -> &'static str {
        match self {
            Self::Foreign(_) => "write the variable by hand in the way of that host",
            Self::NotReplaced(_) => {
                "`keyway adopt --programs` puts the value into the vault and an entry of Keyway in its place, in your own files; of a shared file, move the entry to a plugin with `keyway import`"
            }
            Self::UnknownHost => "write the variable by hand in the way of that program",
            Self::ByHand(_) => "move it there by hand",
            Self::OwnFile | Self::HostFolder => {
                "set the variable to that value in your shell, then run this again"
            }
            Self::BadFile | Self::BadEntry => "`keyway check` says what is wrong; fix that first",
            Self::NotExpanded => "pass it by `headers` or `env`, where variables are filled in",
            Self::InComment => "delete it there, after noting it elsewhere if it is still in use",
            Self::Mixed | Self::BehindDollar => "put the whole value into one variable by hand",
            Self::InHost => "pass it by `headers`",
            Self::Encoded => "pass it by `headers`, or put it into a variable by hand",
            Self::Unwritable => "look for an open quote in `.env`, or set the variable by hand",
            Self::EnvTracked => {
                "take it out with `git rm --cached .env`, or set the variables in the shell"
            }
            Self::EnvLink => "put a file in its place, or set the variables in the shell",
            Self::Name(NameFault::OtherLine(_)) => {
                "remove or rename the line in `.env`, whichever of the two is the right value"
            }
            Self::Name(_) => "rename the variable by hand",
        }
    }
}
