//! The part of JSON Schema that tools are described with: which values a tool takes.
//!
//! Keywords that are not known here allow everything: the server has the last word. A schema comes
//! from a peer, so that depth and effort are bounded, and messages never quote a value.

mod check;
mod pairs;

use keyway_secret::printable;
use serde_json::{Map, Value};

pub use self::pairs::{PairError, typed_arguments, usage};

/// A schema, or a part of one.
#[derive(Debug, Clone, Copy)]
pub struct Schema<'a> {
    root: &'a Value,
    here: &'a Value,
}

impl<'a> Schema<'a> {
    /// Takes a whole schema.
    #[must_use]
    pub const fn new(root: &'a Value) -> Self {
        Self { root, here: root }
    }

    /// Returns what is wrong with the arguments; nothing if they may be sent.
    #[must_use]
    pub fn check(self, arguments: &Map<String, Value>) -> Vec<String> {
        check::problems(self, arguments)
    }

    /// Returns the properties that are described, with those that must be there first.
    #[must_use]
    pub fn properties(self) -> Vec<Property<'a>> {
        let schema = self.resolved();
        let required = schema.required();
        let described = schema.here.get("properties").and_then(Value::as_object);
        let mut properties: Vec<Property<'a>> = described
            .into_iter()
            .flatten()
            .map(|(name, here)| Property {
                name,
                schema: schema.at(here),
                is_required: required.contains(&name.as_str()),
            })
            .collect();
        properties.sort_by_key(|property| !property.is_required);
        properties
    }

    /// Returns the schema of one property.
    #[must_use]
    pub fn property(self, name: &str) -> Option<Self> {
        let schema = self.resolved();
        let here = schema.here.get("properties")?.get(name)?;
        Some(schema.at(here))
    }

    /// Returns the schema of the elements of an array.
    #[must_use]
    pub fn items(self) -> Option<Self> {
        let schema = self.resolved();
        Some(schema.at(schema.here.get("items")?))
    }

    /// Returns the types that a value may have; empty if nothing is said.
    #[must_use]
    pub fn types(self) -> Vec<&'a str> {
        let mut types = Vec::new();
        let mut effort = BRANCHES;
        if !self.collect_types(&mut types, &mut effort) {
            return Vec::new();
        }
        types
    }

    /// Adds the types of this schema; `false` if it allows any, or if that is too hard to tell.
    fn collect_types(self, types: &mut Vec<&'a str>, effort: &mut usize) -> bool {
        let Some(left) = effort.checked_sub(1) else {
            return false;
        };
        *effort = left;
        let schema = self.resolved();
        let own: Vec<&'a str> = match schema.here.get("type") {
            Some(Value::String(one)) => vec![one.as_str()],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => match schema.words() {
                Some(words) => words.iter().map(|word| type_of(word)).collect(),
                None => {
                    let branches = schema.branches();
                    let is_told = |branch: &Self| branch.collect_types(types, effort);
                    return !branches.is_empty() && branches.iter().all(is_told);
                }
            },
        };
        for name in &own {
            if !types.contains(name) {
                types.push(name);
            }
        }
        !own.is_empty()
    }

    /// Returns the values that are allowed, where they are listed.
    #[must_use]
    pub fn words(self) -> Option<&'a [Value]> {
        let schema = self.resolved();
        if let Some(constant) = schema.here.get("const") {
            return Some(std::slice::from_ref(constant));
        }
        Some(schema.here.get("enum")?.as_array()?.as_slice())
    }

    /// Reads a value as the type that is asked for; one that does not parse stays text, and is a
    /// problem when it is checked.
    #[must_use]
    pub fn coerced(self, text: &str) -> Value {
        self.coerced_within(text, DEPTH)
    }

    /// A schema may be its own element.
    fn coerced_within(self, text: &str, depth: usize) -> Value {
        let Some(depth) = depth.checked_sub(1) else {
            return Value::from(text);
        };
        let types = self.types();
        let is = |name: &str| types.contains(&name);
        if types.is_empty() {
            return guessed(text);
        }
        let parsed = serde_json::from_str::<Value>(text).ok();
        let fitting = parsed.filter(|value| match value {
            Value::Null => is("null"),
            Value::Bool(_) => is("boolean"),
            Value::Number(_) => is("number") || is("integer"),
            Value::Array(_) => is("array"),
            Value::Object(_) => is("object"),
            // Text is taken as it was typed, quotation marks included.
            Value::String(_) => false,
        });
        match fitting {
            Some(value) => value,
            None if is("array") && !is("string") => {
                let items = self.items();
                let inner = |items: Self| items.coerced_within(text, depth);
                Value::Array(vec![items.map_or_else(|| guessed(text), inner)])
            }
            None => Value::from(text),
        }
    }

    /// Returns what a person is told about it.
    #[must_use]
    pub fn description(self) -> Option<&'a str> {
        // What stands beside a reference is about this use of it.
        let own = self.here.get("description");
        own.or_else(|| self.resolved().here.get("description"))?
            .as_str()
    }

    /// Returns the value that counts where none is given.
    #[must_use]
    pub fn default(self) -> Option<&'a Value> {
        let own = self.here.get("default");
        own.or_else(|| self.resolved().here.get("default"))
    }

    fn required(self) -> Vec<&'a str> {
        let required = self.here.get("required").and_then(Value::as_array);
        required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    fn branches(self) -> Vec<Self> {
        let listed = ["anyOf", "oneOf"].iter().find_map(|key| self.here.get(key));
        let listed = listed.and_then(Value::as_array);
        listed
            .into_iter()
            .flatten()
            .map(|here| self.at(here))
            .collect()
    }

    const fn at(self, here: &'a Value) -> Self {
        Self {
            root: self.root,
            here,
        }
    }

    /// Follows `$ref` inside the same schema; any other is left alone.
    fn resolved(self) -> Self {
        let mut schema = self;
        for _ in 0..DEPTH {
            let target = schema.here.get("$ref").and_then(Value::as_str);
            let target = target.and_then(|target| target.strip_prefix('#'));
            match target.and_then(|pointer| self.root.pointer(pointer)) {
                Some(here) => schema = schema.at(here),
                None => break,
            }
        }
        schema
    }
}

/// A property that a schema describes.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Property<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it takes.
    pub schema: Schema<'a>,
    /// Whether it must be there.
    pub is_required: bool,
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Reads a value of which nothing is said: JSON counts as JSON, and all else as text.
#[must_use]
pub fn guessed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Writes a value as a person would type it.
#[must_use]
pub fn plain(word: &Value) -> String {
    match word {
        Value::String(text) => printable(text),
        other => printable(&other.to_string()),
    }
}

/// How deep schemas are followed.
const DEPTH: usize = 32;
/// How many alternatives are looked at to find the types of one value.
const BRANCHES: usize = 16;
/// How many problems, or words of a list, are told.
const SHOWN: usize = 12;

#[cfg(test)]
mod tests;
