//! Finds out how servers are: from files and the vault alone, or by connecting to them.
//!
//! Either way the result is a [`Diagnosis`](crate::diagnosis::Diagnosis). No person is asked; what
//! is not approved is not run and not sent.

mod listing;
mod offline;
mod online;
mod rules;
mod skipped;
mod survey;

pub use self::listing::{Listing, list_anything, sign_in_with};
pub use self::offline::{Candidate, NO_SERVER, candidates};
pub use self::online::{OnlineCheck, examine};
pub use self::skipped::{SkippedEntry, skipped, why_skipped};
pub use self::survey::{Survey, Surveyed};

/// What to do where nothing better is known.
const REPORT: &str = "fix what the message names; if that is not yours to fix, report it with what this writes: keyway doctor --bundle report.tar";
