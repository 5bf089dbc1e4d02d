//! Files of plugins on disk: finding them, reading them within bounds, writing them safely.
//!
//! [`load`] turns a path into the documents of a plugin and a snapshot of the files that they speak
//! of; what the documents mean is decided in `keyway-config`. Nothing of a plugin is run, and `git`
//! is not either. What only tools for authors need, whole trees and writing, is behind the feature
//! `authoring`; unpacking bundles is behind `bundles`.

#[cfg(feature = "bundles")]
pub mod bundles;
pub mod config_files;
pub mod env_file;
pub mod error;
pub mod git;
pub mod load;
pub mod read;
pub mod regular_file;
pub mod stamps;
#[cfg(feature = "bundles")]
mod timeouts;
#[cfg(feature = "authoring")]
pub mod write;
