//! Stores an [`AuthMethod`] by its registered name.
//!
//! Not an implementation of serde's traits, which would be part of the public surface.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};

use super::settings::AuthMethod;

pub(super) fn serialize<S: Serializer>(method: &AuthMethod, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(method.as_str())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<AuthMethod, D::Error> {
    let name = String::deserialize(from)?;
    AuthMethod::parse(&name).ok_or_else(|| D::Error::custom("not a method of authentication"))
}
