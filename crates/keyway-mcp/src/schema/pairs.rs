//! `key=value` as typed, to arguments of the types that the tool's schema asks for.

use serde_json::{Map, Value};
use thiserror::Error;

use super::{Property, Schema, guessed, plain};

/// Why words are no arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PairError {
    /// There is no `=`.
    #[error("arguments are written `key=value`")]
    NoPair,
    /// A key stands twice that is no list.
    #[error("an argument is given twice, and the tool takes no list there")]
    Twice,
}

/// Turns what was typed into arguments; without a schema, JSON counts as JSON and all else as text.
///
/// A key that stands several times makes a list where the schema wants one.
///
/// # Errors
///
/// Returns what is wrong with the first word that cannot be used.
pub fn typed_arguments(
    words: &[String],
    schema: Option<Schema<'_>>,
) -> Result<Map<String, Value>, PairError> {
    let mut map = Map::new();
    for word in words {
        let Some((key, text)) = word.split_once('=') else {
            return Err(PairError::NoPair);
        };
        let own = schema.and_then(|schema| schema.property(key));
        let value = own.map_or_else(|| guessed(text), |schema| schema.coerced(text));
        match (map.get_mut(key), value) {
            (None, value) => {
                map.insert(key.to_owned(), value);
            }
            (Some(Value::Array(before)), Value::Array(more)) => before.extend(more),
            _ => return Err(PairError::Twice),
        }
    }
    Ok(map)
}

/// Writes how the arguments of a tool are given: `a=NUMBER [b=NUMBER]`.
#[must_use]
pub fn usage(schema: Schema<'_>) -> String {
    let properties = schema.properties();
    let shown = properties.iter().take(SHOWN).map(parameter);
    let more = properties.len().checked_sub(SHOWN).filter(|more| *more > 0);
    let more = more.map(|more| format!("… ({more} more)"));
    shown.chain(more).collect::<Vec<_>>().join(" ")
}

fn parameter(property: &Property<'_>) -> String {
    let types = property.schema.types();
    let value = match (property.schema.words(), types.first().copied()) {
        (Some(words), _) if words.len() <= SHOWN => {
            let words: Vec<String> = words.iter().map(plain).collect();
            words.join("|")
        }
        (_, Some("integer")) => "INTEGER".to_owned(),
        (_, Some("number")) => "NUMBER".to_owned(),
        (_, Some("boolean")) => "true|false".to_owned(),
        (_, Some("array" | "object")) => "JSON".to_owned(),
        _ => "TEXT".to_owned(),
    };
    let pair = format!("{}={value}", property.name);
    if property.is_required {
        return pair;
    }
    format!("[{pair}]")
}

/// How many parameters, or words of one, a usage line shows.
const SHOWN: usize = 12;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "mode": {"enum": ["fast", "slow"]},
                "count": {"type": "integer"},
                "ratio": {"type": ["number", "null"]},
                "deep": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "sizes": {"type": "array", "items": {"$ref": "#/$defs/size"}},
                "filter": {"type": "object"},
                "text": {"type": "string"},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "any": {}
            },
            "required": ["text", "count"],
            "$defs": {"size": {"type": "number"}}
        })
    }

    fn value(word: &str) -> Value {
        let schema = schema();
        let map = typed_arguments(&[word.to_owned()], Some(Schema::new(&schema))).unwrap();
        map.into_iter().next().unwrap().1
    }

    #[test]
    fn a_value_gets_the_type_that_the_schema_asks_for() {
        for (word, expected) in [
            ("text=5", json!("5")),
            ("text=true", json!("true")),
            ("text=\"x\"", json!("\"x\"")),
            ("text=a=b", json!("a=b")),
            ("count=5", json!(5)),
            ("count=five", json!("five")),
            (
                "count=12345678901234567890",
                json!(12_345_678_901_234_567_890_u64),
            ),
            ("ratio=null", json!(null)),
            ("ratio=0.5", json!(0.5)),
            ("deep=true", json!(true)),
            ("deep=1", json!("1")),
            ("tags=5", json!(["5"])),
            ("tags=[\"a\",\"b\"]", json!(["a", "b"])),
            ("sizes=5", json!([5])),
            ("filter={\"a\":1}", json!({"a": 1})),
            ("mode=fast", json!("fast")),
            ("either=5", json!(5)),
            ("either=x", json!("x")),
            ("any=5", json!(5)),
            ("any=x", json!("x")),
            ("unknown=5", json!(5)),
        ] {
            assert_eq!(value(word), expected, "{word}");
        }
    }

    #[test]
    fn a_list_is_given_word_by_word_and_nothing_else_twice() {
        let schema = schema();
        let typed = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            typed_arguments(&words, Some(Schema::new(&schema)))
        };
        let map = typed(&["tags=a", "tags=b", "tags=[\"c\"]"]).unwrap();
        assert_eq!(map["tags"], json!(["a", "b", "c"]));
        assert_eq!(typed(&["text=a", "text=b"]), Err(PairError::Twice));
        assert_eq!(typed(&["text"]), Err(PairError::NoPair));
    }

    #[test]
    fn the_usage_line_shows_what_must_be_there_first() {
        let line = usage(Schema::new(&schema()));
        assert_eq!(
            line,
            "count=INTEGER text=TEXT [any=TEXT] [deep=true|false] \
             [either=TEXT] [filter=JSON] [mode=fast|slow] [ratio=NUMBER] [sizes=JSON] [tags=JSON]"
        );
    }
}
