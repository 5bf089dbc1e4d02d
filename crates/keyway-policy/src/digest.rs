//! What a tool is, in one digest: its name, its input schema and its annotations.

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest as _};
use keyway_secret::hex;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// The digest of a tool as its server describes it.
///
/// Names and order of members are the same to every reader of JSON, so that they count by value;
/// titles and descriptions do not count.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToolDigest([u8; 32]);

/// A tool of a list, as far as policies are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedTool {
    pub(crate) name: String,
    pub(crate) digest: ToolDigest,
}

impl ListedTool {
    /// Reads a tool. `None` if it has no name, or says something twice: readers of JSON do not agree
    /// which of both counts, and a client might take another one than its digest is of.
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Described<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
            #[serde(borrow, rename = "inputSchema")]
            schema: Option<&'a RawValue>,
            #[serde(borrow)]
            annotations: Option<&'a RawValue>,
        }
        // A member that is written twice is an error here.
        let tool: Described<'_> = serde_json::from_str(raw.get()).ok()?;
        let mut hasher = Blake2b::<U32>::new();
        hasher.update(b"keyway tool 1\0");
        let parts = [
            Some(Value::from(&*tool.name).to_string()),
            canonical(tool.schema)?,
            canonical(tool.annotations)?,
        ];
        for part in parts {
            let part = part.unwrap_or_default();
            hasher.update(u64::try_from(part.len()).unwrap_or_default().to_be_bytes());
            hasher.update(part.as_bytes());
        }
        Some(Self {
            name: tool.name.into_owned(),
            digest: ToolDigest(hasher.finalize().into()),
        })
    }
}

impl ToolDigest {
    /// Returns the digest of a tool, as its server describes it, if it has this name.
    #[must_use]
    pub fn named(raw: &RawValue, name: &str) -> Option<Self> {
        let tool = ListedTool::read(raw)?;
        (tool.name == name).then_some(tool.digest)
    }

    /// Computes the digest of a tool as its server describes it; `None` if it has no name, or says
    /// something twice.
    #[must_use]
    pub fn of(tool: &RawValue) -> Option<Self> {
        ListedTool::read(tool).map(|tool| tool.digest)
    }

    /// Reads a digest as it is displayed.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        hex::read(text).map(Self)
    }
}

/// Writes JSON in the one form that all texts of the same value have. The outer `None`: it cannot be
/// read, or says something twice.
fn canonical(raw: Option<&RawValue>) -> Option<Option<String>> {
    let Some(raw) = raw else {
        return Some(None);
    };
    // Its maps are in the order of the alphabet.
    let Unambiguous(value) = serde_json::from_str(raw.get()).ok()?;
    Some(Some(value.to_string()))
}

/// JSON in which no object, however deep, has a member twice.
struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnambiguousVisitor).map(Self)
    }
}

struct UnambiguousVisitor;

impl<'de> Visitor<'de> for UnambiguousVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Unambiguous(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some((name, Unambiguous(value))) = members.next_entry::<String, _>()? {
            if all.insert(name, value).is_some() {
                return Err(A::Error::custom("a member is written twice"));
            }
        }
        Ok(all.into())
    }
}

impl fmt::Display for ToolDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ToolDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolDigest({self})")
    }
}

/// How the digests of several tools are stored: each as it is displayed.
pub(super) mod stored {
    use std::collections::BTreeMap;

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::ToolDigest;

    type Digests = Option<BTreeMap<String, ToolDigest>>;
    type Texts = Option<BTreeMap<String, String>>;

    pub(in super::super) fn serialize<S: Serializer>(
        digests: &Digests,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text = |(tool, digest): (&String, &ToolDigest)| (tool.clone(), digest.to_string());
        let texts: Texts = digests
            .as_ref()
            .map(|digests| digests.iter().map(text).collect());
        texts.serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Digests, D::Error> {
        let Some(texts) = Texts::deserialize(deserializer)? else {
            return Ok(None);
        };
        let read = texts
            .into_iter()
            .map(|(tool, text)| Some((tool, ToolDigest::read(&text)?)));
        let digests: Digests = read.collect();
        digests
            .map(Some)
            .ok_or_else(|| D::Error::custom("not a digest"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<ToolDigest> {
        ToolDigest::of(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn what_a_tool_takes_and_claims_decides_and_its_description_does_not() {
        let tool = of(r#"{"name":"a","inputSchema":{"x":1,"y":[2]},"annotations":{"t":true}}"#);
        let same = r#"{"description":"new","annotations":{ "t":true },"inputSchema":{"y":[2],"x":1},"name":"\u0061"}"#;
        assert_eq!(tool, of(same));
        for other in [
            r#"{"name":"A","inputSchema":{"x":1,"y":[2]},"annotations":{"t":true}}"#,
            r#"{"name":"a","inputSchema":{"x":1,"y":[3]},"annotations":{"t":true}}"#,
            r#"{"name":"a","inputSchema":{"x":1,"y":[2]},"annotations":{"t":false}}"#,
            r#"{"name":"a","inputSchema":{"x":1,"y":[2]}}"#,
            r#"{"name":"a","annotations":{"t":true}}"#,
            r#"{"name":"a"}"#,
            r#"{"name":"a","inputSchema":{},"annotations":{"x":1,"y":[2],"t":true}}"#,
        ] {
            assert!(of(other).is_some(), "{other}");
            assert_ne!(tool, of(other), "{other}");
        }
    }

    #[test]
    fn a_tool_that_says_something_twice_has_no_digest() {
        for text in [
            r#"{"name":"a","name":"b"}"#,
            r#"{"name":"a","inputSchema":{},"inputSchema":{"x":1}}"#,
            r#"{"name":"a","na\u006de":"b"}"#,
            r#"{"annotations":{},"name":"a","annotations":{}}"#,
            r#"{"name":"a","inputSchema":{"x":1,"x":1}}"#,
            r#"{"name":"a","inputSchema":{"y":[{"z":{"x":1,"\u0078":2}}]}}"#,
            r#"{"name":"a","annotations":{"readOnlyHint":false,"readOnlyHint":true}}"#,
            r#"{"inputSchema":{}}"#,
            r#"{"name":1}"#,
            "[]",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    /// Digests are stored: those of earlier versions are the same.
    #[test]
    fn every_kind_of_json_is_written_as_it_is_parsed() {
        let text =
            r#"{"z":[null,true,-1,18446744073709551615,1.50,1e3,"\u00fc\n",{},[]],"a":{"b":-0.0}}"#;
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let parsed: Value = serde_json::from_str(text).unwrap();
        assert_eq!(canonical(Some(&raw)), Some(Some(parsed.to_string())));
    }

    #[test]
    fn a_digest_is_read_as_it_is_displayed() {
        let digest = of(r#"{"name":"a"}"#).unwrap();
        assert_eq!(ToolDigest::read(&digest.to_string()), Some(digest));
        for text in ["", "00", &"g".repeat(64), &"ü".repeat(32)] {
            assert_eq!(ToolDigest::read(text), None, "{text}");
        }
    }
}
