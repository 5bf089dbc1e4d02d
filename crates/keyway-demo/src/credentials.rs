//! The credentials of one demo: random, in memory, and handed to the session as variables.

use keyway_config::environment::{Environment as _, Variables};
use keyway_secret::{Secret, random};
use ring::digest::{SHA256, digest};

use crate::error::DemoError;

/// The token of `search`.
pub(crate) const TOKEN: &str = "DEMO_TOKEN";
/// The key of `tenant`.
pub(crate) const API_KEY: &str = "DEMO_API_KEY";
/// The tenant that `tenant` is to show data of.
pub(crate) const TENANT: &str = "DEMO_TENANT";
/// The id of the key that requests to `signed` are signed with.
pub(crate) const SIGNING_KEY: &str = "DEMO_SIGNING_KEY";
/// The secret that requests to `signed` are signed with.
pub(crate) const SIGNING_SECRET: &str = "DEMO_SIGNING_SECRET";
/// The token of `live`.
pub(crate) const LIVE_TOKEN: &str = "DEMO_LIVE_TOKEN";
/// The token of `events`.
pub(crate) const EVENTS_TOKEN: &str = "DEMO_EVENTS_TOKEN";
/// The password of `local`.
pub(crate) const PASSWORD: &str = "DEMO_PASSWORD";

/// The variables of one demo.
#[derive(Debug, Clone)]
pub(crate) struct Credentials(Variables);

impl Credentials {
    /// Makes new ones.
    pub(crate) fn new() -> Result<Self, DemoError> {
        let mut pairs = vec![(TENANT, "acme".to_owned())];
        for name in [
            TOKEN,
            API_KEY,
            SIGNING_KEY,
            SIGNING_SECRET,
            LIVE_TOKEN,
            EVENTS_TOKEN,
            PASSWORD,
        ] {
            pairs.push((name, secret().ok_or(DemoError::NoRandomness)?));
        }
        Ok(Self(Variables::from_pairs(pairs)))
    }

    /// Returns one of them.
    pub(crate) fn get(&self, name: &'static str) -> Result<Secret<String>, DemoError> {
        self.0.get(name).ok_or(DemoError::Variable { name })
    }

    /// Returns all of them as the shell of a person would have them.
    pub(crate) const fn variables(&self) -> &Variables {
        &self.0
    }
}

/// Makes a secret; its beginning says where it is from.
pub(crate) fn secret() -> Option<String> {
    Some(format!("{PREFIX}{}", random_hex()?))
}

/// Makes a value of 192 random bits.
pub(crate) fn random_hex() -> Option<String> {
    random::bytes::<24>().ok().map(|bytes| hexadecimal(&bytes))
}

/// Returns what a secret can be recognised by, and not be made from.
pub(crate) fn fingerprint(secret: &str) -> String {
    hexadecimal(digest(&SHA256, secret.as_bytes()).as_ref())
}

/// Writes bytes in lower-case hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every secret of a demo begins like this, so that one that got out can be found.
const PREFIX: &str = "demosecret_";
