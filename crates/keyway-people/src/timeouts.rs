//! All time-outs, intervals and lifetimes of this crate.

use std::time::Duration;

/// By how much the clocks of an issuer and of this machine may differ.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_secs(60);
/// How long the metadata and the keys of an issuer may take together.
pub(crate) const KEYS_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an issuer may take for each step of a sign-in in a browser.
pub(crate) const BROWSER_SIGN_IN_TIMEOUT: Duration = Duration::from_secs(20);
/// After this the keys of an issuer are fetched again when one is next used, which does not wait
/// for it: a key that the issuer withdrew counts no longer than that.
pub(crate) const KEYS_LIFETIME: Duration = Duration::from_secs(600);
/// Between two fetches that a key leads to which is not known.
pub(crate) const UNKNOWN_KEY_PAUSE: Duration = Duration::from_secs(60);
/// Between two fetches from an issuer that does not answer.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_secs(5);
