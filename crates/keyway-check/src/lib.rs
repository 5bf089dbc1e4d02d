//! For linters in CI and editors: a check of files, plugins and whole repositories.
//!
//! A [`Check`] reads what a repository says about its checks, finds every host's files, runs the
//! rules of `keyway-lint`, drops what is suppressed, recorded in a [`Baseline`] or older than a
//! commit, and applies fixes. What is left is a [`Report`], which renders as text with the lines in
//! question, as JSON, as SARIF and as workflow commands of GitHub.
//!
//! Nothing of a plugin is run and nothing is sent. Source text is shown only through a mask, since
//! it may hold the very secret that a finding is about.

mod baseline;
mod bundles;
pub mod changes;
mod check;
pub mod diff;
mod earlier;
mod error;
mod file_names;
mod filter;
mod fixes;
mod folder;
pub mod migrate;
pub mod report;
pub mod schema;
mod settings;
mod targets;

pub use crate::baseline::{Baseline, NewFindings};
pub use crate::check::{BySettings, Check, CheckOptions, Checked, FixPolicy, KnownFindings, Rigor};
pub use crate::error::CheckError;
pub use crate::file_names::FileNames;
pub use crate::fixes::{Fixed, FixedFile};
pub use crate::folder::plugins_below;
pub use crate::report::{Format, Look, Report, Verbosity};
pub use crate::targets::{Input, Targets};
