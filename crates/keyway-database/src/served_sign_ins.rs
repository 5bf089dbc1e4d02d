//! The port through which the database learns what a gateway serves.

use std::fmt;

use keyway::sign_in::Stores;
use keyway_auth::oauth::OAuth;

/// The servers of a gateway that people sign in to.
pub trait ServedSignIns: Send + Sync + fmt::Debug {
    /// Returns the sign-ins of all servers that are served and approved, in these stores. May block: it
    /// reads plugins, and the stores.
    fn sign_ins(&self, stores: Stores) -> Vec<OAuth>;
}
