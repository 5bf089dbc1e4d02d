//! The levers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::confidential::Confidential;

/// How the rig behaves; the default is how a good server does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// How long an access token lives, in seconds; `None` leaves `expires_in` out, and it lives on.
    pub expires_in: Option<u64>,
    /// How long the token endpoint takes to answer after it has decided.
    #[serde(with = "milliseconds")]
    pub token_delay: Duration,
    /// How the next answer of the token endpoint gets to the client; those after it are whole.
    pub token_delivery: Delivery,
    /// The token endpoint answers this status and decides nothing.
    pub token_status: Option<u16>,
    /// The MCP server refuses every token.
    pub rejects_all: bool,
    /// What the metadata names as issuer in place of the truth.
    pub issuer: Option<String>,
    /// What the metadata of the resource names in place of the truth.
    pub resource: Option<String>,
    /// Where a challenge says that the metadata of the resource is.
    pub resource_metadata: Option<String>,
    /// The authorization endpoint in place of the true one.
    pub authorization_endpoint: Option<String>,
    /// Paths that lead to the same path on the second port, with the status that says so.
    pub redirects: BTreeMap<String, u16>,
    /// How long a refresh token that was redeemed may come again.
    #[serde(with = "milliseconds")]
    pub grace: Duration,
    /// What the person at the consent page does.
    pub consent: Consent,
    /// Whether the redirect names the issuer (RFC 9207), and whether the metadata says that it
    /// does.
    pub iss: Iss,
    /// Whether the MCP server knows the protocol of 2026-07-28.
    pub modern: bool,
    /// The account in the identity token of the token endpoint; `None` gives no identity token.
    pub account: Option<String>,
    /// The scope without which the MCP server refuses.
    pub wants_scope: Option<String>,
    /// Scopes that are granted besides those that were asked for.
    pub more_scopes: Option<String>,
    /// Offers device codes, and wants this many seconds between two polls; `None` does not offer
    /// them.
    pub device: Option<u64>,
    /// What a revocation ends.
    pub revocation: Revocation,
    /// Answers revocations with this status, and revokes nothing.
    pub revocation_status: Option<u16>,
    /// Whether it exchanges ID tokens for assertions, as an identity provider does, and redeems
    /// assertions.
    pub assertions: Assertions,
    /// Clients that were registered beforehand, by identifier. All others register themselves and
    /// have no secret.
    pub clients: BTreeMap<String, Confidential>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            expires_in: Some(3600),
            token_delay: Duration::ZERO,
            token_delivery: Delivery::Whole,
            token_status: None,
            rejects_all: false,
            issuer: None,
            resource: None,
            resource_metadata: None,
            authorization_endpoint: None,
            redirects: BTreeMap::new(),
            grace: Duration::ZERO,
            consent: Consent::Approves,
            iss: Iss::Named,
            modern: true,
            account: None,
            wants_scope: None,
            more_scopes: None,
            device: None,
            revocation: Revocation::Family,
            revocation_status: None,
            assertions: Assertions::Unknown,
            clients: BTreeMap::new(),
        }
    }
}

/// What becomes of requests for identity assertions (RFC 8693) and of requests with one (RFC 7523).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Assertions {
    /// Such grants are not known here.
    #[default]
    Unknown,
    /// Who signed in here gets an assertion for any audience; one of any rig is redeemed.
    Granted,
    /// The administrator says no.
    Refused,
}

/// What a revocation ends (RFC 7009 section 2.1 leaves it open).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Revocation {
    /// All tokens of the sign-in that the token came from.
    #[default]
    Family,
    /// The token alone.
    Token,
    /// The grant of the person to the client: all tokens of all of its sign-ins.
    Grant,
}

/// How an answer gets to the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Delivery {
    /// All at once.
    #[default]
    Whole,
    /// The connection is closed without an answer.
    Lost,
    /// The connection is closed after this many bytes.
    Cut(usize),
    /// In pieces, over this time in milliseconds.
    Dripping(u64),
}

/// What the person at the consent page does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Consent {
    /// Agrees at once.
    Approves,
    /// Says no.
    Denies,
    /// Looks at the page and does nothing.
    Thinks,
}

/// Whether an answer names its issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Iss {
    /// It does.
    Named,
    /// It does not, as with most servers.
    Absent,
}

/// Times as whole milliseconds, which a person can type.
mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.as_millis().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
