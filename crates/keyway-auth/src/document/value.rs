//! The kinds of members that a document may have, decoded only as far as the caller asks.

use std::fmt;

use keyway_secret::Secret;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;

use super::{MAX_ITEM, MAX_ITEMS, MAX_MEMBERS};

/// The members in order, repeated ones included, which a map would hide.
///
/// At most one more than allowed; the rest is only checked to be JSON.
pub(super) struct Members<'a>(pub(super) Vec<(String, &'a RawValue)>);

/// One member.
pub(super) enum Value {
    Null,
    Flag(bool),
    Number(Number),
    Text(Secret<String>),
    List(List),
    Object,
}

/// An array, as far as it may be one of strings.
pub(super) enum List {
    Texts(Vec<Secret<String>>),
    TooMany,
    TooLong,
    Mixed,
}

/// Returns a number that is not negative, without its fraction.
pub(super) fn whole_number(number: &Number) -> Option<u64> {
    if let Some(whole) = number.as_u64() {
        return Some(whole);
    }
    let number = number.as_f64()?;
    // The cast takes the fraction off, and stops at the largest number there is.
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}

/// Returns the number that digits stand for, or the largest there is if they are too many; digits
/// behind a point are left out.
pub(super) fn whole_digits(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(whole) && is_number(fraction)).then(|| whole.parse().unwrap_or(u64::MAX))
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = map.next_key()? {
            if members.len() > MAX_MEMBERS {
                map.next_value::<IgnoredAny>()?;
            } else {
                members.push((name, map.next_value()?));
            }
        }
        Ok(Members(members))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        let number = Number::from_f64(number);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom("not finite"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(Secret::new(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut texts = Vec::new();
        while let Some(item) = items.next_element()? {
            let list = match item {
                Self::Value::Text(_) if texts.len() == MAX_ITEMS => List::TooMany,
                Self::Value::Text(text) if text.expose().len() > MAX_ITEM => List::TooLong,
                Self::Value::Text(text) => {
                    texts.push(text);
                    continue;
                }
                _ => List::Mixed,
            };
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::List(list));
        }
        Ok(Value::List(List::Texts(texts)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Object)
    }
}
