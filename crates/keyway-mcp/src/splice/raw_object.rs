//! JSON objects as text: members are added, replaced and removed, and the rest stays as written.
//!
//! Only the object itself is taken apart; its values are never interpreted. Blanks between its
//! members are all that is lost when it is written back.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::quoted;

/// The members of one object, in order, names and values as written.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawObject<'a>(Vec<RawMember<'a>>);

#[derive(Debug, Clone)]
struct RawMember<'a> {
    /// With quotes and escapes.
    name: Cow<'a, str>,
    value: Cow<'a, str>,
}

impl<'a> RawObject<'a> {
    /// Takes an object apart; `None` if the text is something else.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns a value as written; of several with one name, the last.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|member| member.is_called(name));
        found.map(|member| &*member.value)
    }

    /// Returns every value of one name, as it stands in the text that was read.
    pub(super) fn all(self, name: &str) -> impl Iterator<Item = &'a str> {
        let found = self.0.into_iter().filter(move |it| it.is_called(name));
        found.filter_map(|member| match member.value {
            Cow::Borrowed(value) => Some(value),
            Cow::Owned(_) => None,
        })
    }

    /// Returns a value that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Returns a value that is an object, taken apart; nothing else has members.
    pub(crate) fn object(&self, name: &str) -> Option<RawObject<'_>> {
        RawObject::read(self.get(name)?)
    }

    /// Gives a member another value where it stands, or adds it at the end.
    ///
    /// `value` is JSON.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        match self.0.iter().position(|member| member.is_called(name)) {
            Some(place) => {
                let mut index = 0;
                self.0.retain(|member| {
                    index += 1;
                    index - 1 <= place || !member.is_called(name)
                });
                if let Some(member) = self.0.get_mut(place) {
                    member.value = value;
                }
            }
            None => self.0.push(RawMember {
                name: Cow::Owned(quoted(name)),
                value,
            }),
        }
    }

    /// Adds a member unless there is one of that name.
    pub(crate) fn set_default(&mut self, name: &str, value: impl Into<Cow<'a, str>>) {
        if self.get(name).is_none() {
            self.set(name, value);
        }
    }

    /// Takes a member out.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|member| !member.is_called(name));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names, without quotes and escapes, and the values as written.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        let pairs = self.0.iter();
        pairs.filter_map(|member| Some((member.plain_name()?, &*member.value)))
    }
}

/// Writes the object back.
impl fmt::Display for RawObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, member) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}", member.name, member.value)?;
        }
        f.write_str("}")
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<RawMember<'de>>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut raw_object = Vec::new();
                while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    raw_object.push(RawMember {
                        name: Cow::Borrowed(name.get()),
                        value: Cow::Borrowed(value.get()),
                    });
                }
                Ok(raw_object)
            }
        }
        deserializer.deserialize_map(InOrder).map(Self)
    }
}

impl RawMember<'_> {
    fn is_called(&self, name: &str) -> bool {
        self.plain_name().is_some_and(|plain| plain == name)
    }

    fn plain_name(&self) -> Option<Cow<'_, str>> {
        if self.name.contains('\\') {
            return serde_json::from_str(&self.name).ok().map(Cow::Owned);
        }
        let inside = self.name.strip_prefix('"')?.strip_suffix('"')?;
        Some(Cow::Borrowed(inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: &str = r#"{ "n" : 12345678901234567890123, "\u0061":{"z":1.50, "y":[ ]}, "e":"\u00e9" ,"n2":1e400}"#;

    #[test]
    fn names_and_values_are_written_back_as_they_were() {
        let raw_object = RawObject::read(ODD).unwrap();
        let expected =
            r#"{"n":12345678901234567890123,"\u0061":{"z":1.50, "y":[ ]},"e":"\u00e9","n2":1e400}"#;
        assert_eq!(raw_object.to_string(), expected);
        assert_eq!(RawObject::read(" {} ").unwrap().to_string(), "{}");
    }

    #[test]
    fn an_escaped_name_is_found_by_what_it_means() {
        let raw_object = RawObject::read(ODD).unwrap();
        assert_eq!(raw_object.get("a"), Some(r#"{"z":1.50, "y":[ ]}"#));
        assert_eq!(raw_object.object("a").unwrap().get("z"), Some("1.50"));
        assert_eq!(raw_object.text("e").as_deref(), Some("é"));
        let names: Vec<_> = raw_object
            .iter()
            .map(|(name, _)| name.into_owned())
            .collect();
        assert_eq!(names, ["n", "a", "e", "n2"]);
    }

    #[test]
    fn a_member_is_replaced_where_it_stands_and_a_new_one_comes_last() {
        let mut raw_object = RawObject::read(r#"{"a":1,"b":2,"a":3,"c":4}"#).unwrap();
        assert_eq!(raw_object.get("a"), Some("3"));
        raw_object.set("a", "[9]");
        raw_object.set("d\"", "5");
        raw_object.set_default("b", "0");
        assert_eq!(raw_object.to_string(), r#"{"a":[9],"b":2,"c":4,"d\"":5}"#);
    }

    #[test]
    fn a_removed_member_leaves_no_trace() {
        let mut raw_object = RawObject::read(r#"{"a":1,"b":2,"\u0061":3}"#).unwrap();
        raw_object.remove("a");
        assert_eq!(raw_object.to_string(), r#"{"b":2}"#);
        raw_object.remove("b");
        assert!(raw_object.is_empty());
    }

    #[test]
    fn text_other_than_an_object_has_no_members() {
        for text in ["[]", "null", "1", "\"{}\"", "{", "{1:2}", ""] {
            assert!(RawObject::read(text).is_none(), "{text}");
        }
    }
}
