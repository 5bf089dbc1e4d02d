//! What a file means, to compare it with what it meant before a change.

use keyway_config::json::{Node, Value};

/// A value without its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// `null`, a switch, a number or a text, with a letter that tells them apart.
    Scalar(char, String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Meaning {
    pub(super) fn of(node: &Node) -> Self {
        match &node.value {
            Value::Bool(flag) => Self::Scalar('b', flag.to_string()),
            Value::Number(text) => Self::Scalar('n', text.clone()),
            Value::String(text) => Self::Scalar('s', text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::Object(object) => {
                let members = object.members.iter();
                let members = members.map(|it| (it.key.clone(), Self::of(&it.value)));
                Self::Map(members.collect())
            }
            _ => Self::Scalar('0', String::new()),
        }
    }

    /// Leaves an entry out, and every object around it that is then empty.
    pub(super) fn without(self, keys: &[String], name: &str) -> Option<Self> {
        let left = match (self, keys.split_first()) {
            (Self::Map(members), Some((key, rest))) => {
                let members = members.into_iter().filter_map(|(own, value)| {
                    let value = if own == *key {
                        value.without(rest, name)?
                    } else {
                        value
                    };
                    Some((own, value))
                });
                Self::Map(members.collect())
            }
            (Self::Map(mut members), None) => {
                members.retain(|(own, _)| own != name);
                Self::Map(members)
            }
            (Self::List(mut items), None) => {
                items.retain(|item| item.name() != Some(name));
                Self::List(items)
            }
            (other, _) => other,
        };
        let is_empty = match &left {
            Self::Map(members) => members.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Scalar(kind, _) => *kind == '0',
        };
        (!is_empty).then_some(left)
    }

    fn name(&self) -> Option<&str> {
        let Self::Map(members) = self else {
            return None;
        };
        members.iter().find_map(|(key, value)| match value {
            Self::Scalar('s', text) if key == "name" => Some(text.as_str()),
            _ => None,
        })
    }
}
