//! What a demo needs of the process it runs in.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use keyway::connect::Isolation;
use keyway::events::Events;
use keyway::sign_in::Presenter;

use crate::clock::DemoClock;

/// What a demo needs of the process it runs in.
pub struct Settings {
    /// The program that is launcher, headers helper and stdio server.
    pub binary: PathBuf,
    /// The person's environment, of which children get little.
    pub environment: Vec<(OsString, OsString)>,
    /// What children are kept from anyway; what the demo keeps is added.
    pub isolation: Isolation,
    /// Shows the consent page.
    pub presenter: Arc<dyn Presenter>,
    /// How long an access token of `docs` lives; whole seconds.
    pub token_life: Duration,
    /// Where events go.
    pub events: Events,
    /// What time it is for programs that the demo starts.
    pub now: fn() -> SystemTime,
    /// What time it is for `docs` and for the host: decides when a token expires.
    pub clock: Arc<DemoClock>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment holds what the person has in it.
        f.debug_struct("Settings")
            .field("binary", &self.binary)
            .field("token_life", &self.token_life)
            .finish_non_exhaustive()
    }
}
