//! Arguments against a schema: every problem with its place.

use keyway_config::names::nearest_name;
use keyway_secret::printable;
use serde_json::{Map, Value};

use super::{DEPTH, SHOWN, Schema, plain, type_of};

/// Returns what is wrong with the arguments of a tool.
pub(super) fn problems(schema: Schema<'_>, arguments: &Map<String, Value>) -> Vec<String> {
    let mut check = Check {
        problems: Vec::new(),
        effort: EFFORT,
    };
    check.strangers(schema, arguments);
    let whole = Value::Object(arguments.clone());
    check.value(schema, &whole, &ArgumentPath::default(), 0);
    check.problems.truncate(SHOWN);
    check.problems
}

struct Check {
    problems: Vec<String>,
    effort: usize,
}

impl Check {
    fn value(&mut self, schema: Schema<'_>, value: &Value, place: &ArgumentPath, depth: usize) {
        let Some(left) = self.effort.checked_sub(1).filter(|_| depth < DEPTH) else {
            return;
        };
        self.effort = left;
        let schema = schema.resolved();
        if let Some(words) = schema.words() {
            if !words.iter().any(|word| same(word, value)) {
                self.report(place, &format!("must be {}", one_of(words)));
            }
            return;
        }
        let types = schema.types();
        if !types.is_empty() && !types.iter().any(|name| fits(name, value)) {
            self.report(place, &format!("must be {}", types_in_words(&types)));
            return;
        }
        let branches = schema.branches();
        if !branches.is_empty() && !branches.iter().any(|b| self.accepts(*b, value, depth)) {
            self.report(place, "fits none of the forms that the tool takes");
        }
        for here in schema
            .here
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.value(schema.at(here), value, place, depth + 1);
        }
        self.bounds(schema, value, place);
        match value {
            Value::Object(members) => self.members(schema, members, place, depth),
            Value::Array(elements) => {
                let Some(items) = schema.items() else { return };
                for (at, element) in elements.iter().enumerate() {
                    self.value(items, element, &place.element(at), depth + 1);
                }
            }
            _ => {}
        }
    }

    fn members(
        &mut self,
        schema: Schema<'_>,
        members: &Map<String, Value>,
        place: &ArgumentPath,
        depth: usize,
    ) {
        for name in schema.required() {
            if !members.contains_key(name) {
                self.report(&place.member(name), "is missing");
            }
        }
        for (name, value) in members {
            match schema.property(name) {
                Some(own) => self.value(own, value, &place.member(name), depth + 1),
                // At the top this was reported already.
                None if depth > 0 && is_closed(schema) => self.stranger(schema, name, place),
                None => {}
            }
        }
    }

    /// Reports arguments that the tool does not know.
    ///
    /// A schema that says nothing about them would let them pass, but a tool that ignores a
    /// mistyped argument does something else than was asked for.
    fn strangers(&mut self, schema: Schema<'_>, arguments: &Map<String, Value>) {
        let schema = schema.resolved();
        let is_open = match schema.here.get("additionalProperties") {
            Some(Value::Bool(open)) => *open,
            Some(_) => true,
            None => {
                let open = ["patternProperties", "anyOf", "oneOf", "allOf", "if"];
                let says_nothing = schema.here.get("properties").is_none();
                says_nothing || open.iter().any(|key| schema.here.get(key).is_some())
            }
        };
        if is_open {
            return;
        }
        for name in arguments
            .keys()
            .filter(|name| schema.property(name).is_none())
        {
            self.stranger(schema, name, &ArgumentPath::default());
        }
    }

    fn stranger(&mut self, schema: Schema<'_>, name: &str, place: &ArgumentPath) {
        let known = schema.properties();
        let near = nearest_name(name, known.iter().map(|property| property.name));
        let near = near.map(|near| format!("; did you mean `{}`?", printable(&near)));
        let words = format!("is not known{}", near.unwrap_or_default());
        self.report(&place.member(name), &words);
    }

    fn bounds(&mut self, schema: Schema<'_>, value: &Value, place: &ArgumentPath) {
        let number = |key: &str| schema.here.get(key).and_then(Value::as_f64);
        let (measured, least, most, what) = match value {
            Value::Number(value) => (value.as_f64(), "minimum", "maximum", ""),
            Value::String(text) => {
                let count = u32::try_from(text.chars().count()).map(f64::from);
                (count.ok(), "minLength", "maxLength", " characters")
            }
            Value::Array(elements) => {
                let count = u32::try_from(elements.len()).map(f64::from);
                (count.ok(), "minItems", "maxItems", " elements")
            }
            _ => return,
        };
        let Some(measured) = measured else { return };
        if let Some(least) = number(least).filter(|least| measured < *least) {
            self.report(place, &format!("must be at least {least}{what}"));
        }
        if let Some(most) = number(most).filter(|most| measured > *most) {
            self.report(place, &format!("must be at most {most}{what}"));
        }
    }

    /// Says whether a value fits, without a word about why not.
    fn accepts(&mut self, schema: Schema<'_>, value: &Value, depth: usize) -> bool {
        let mut inner = Self {
            problems: Vec::new(),
            effort: self.effort,
        };
        inner.value(schema, value, &ArgumentPath::default(), depth + 1);
        self.effort = inner.effort;
        inner.problems.is_empty()
    }

    fn report(&mut self, place: &ArgumentPath, words: &str) {
        let problem = format!("{} {words}", place.quoted());
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

fn is_closed(schema: Schema<'_>) -> bool {
    schema.here.get("additionalProperties") == Some(&Value::Bool(false))
}

/// Compares as JSON Schema does: 1 and 1.0 are the same number.
fn same(word: &Value, value: &Value) -> bool {
    match (word.as_f64(), value.as_f64()) {
        (Some(word), Some(value)) => word.to_bits() == value.to_bits(),
        _ => word == value,
    }
}

fn fits(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("integer", Value::Number(number)) => {
            let is_whole = |number: f64| number.fract().to_bits() == 0.0_f64.to_bits();
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(is_whole)
        }
        (name, value) => name == type_of(value),
    }
}

fn types_in_words(types: &[&str]) -> String {
    let words: Vec<String> = types
        .iter()
        .map(|name| match *name {
            "string" => "text".to_owned(),
            "integer" => "a whole number".to_owned(),
            "number" => "a number".to_owned(),
            "boolean" => "`true` or `false`".to_owned(),
            "array" => "a list".to_owned(),
            "object" => "a JSON object".to_owned(),
            "null" => "`null`".to_owned(),
            other => format!("`{}`", printable(other)),
        })
        .collect();
    words.join(" or ")
}

fn one_of(words: &[Value]) -> String {
    let listed: Vec<String> = words
        .iter()
        .take(SHOWN)
        .map(|word| format!("`{}`", plain(word)))
        .collect();
    let more = if words.len() > SHOWN { ", …" } else { "" };
    match listed.as_slice() {
        [only] => only.clone(),
        several => format!("one of {}{more}", several.join(", ")),
    }
}

/// Where in the arguments a value stands, as a person would write it.
#[derive(Debug, Clone, Default)]
struct ArgumentPath(String);

impl ArgumentPath {
    fn member(&self, name: &str) -> Self {
        if self.0.is_empty() {
            return Self(name.to_owned());
        }
        Self(format!("{}.{name}", self.0))
    }

    fn element(&self, at: usize) -> Self {
        Self(format!("{}[{at}]", self.0))
    }

    fn quoted(&self) -> String {
        if self.0.is_empty() {
            return "the arguments".to_owned();
        }
        format!("`{}`", printable(&self.0))
    }
}

/// How many values are looked at; what is left over counts as right.
const EFFORT: usize = 4_000;
