//! Arguments made from a schema: its defaults, and something that fits where it has none.

use serde_json::{Map, Value, json};

/// Returns a value for every property that has a default or is required.
///
/// `schemas` are the input schemas of the other tools: a tool that wants a schema gets the first.
#[must_use]
pub fn filled_in(schema: &Value, schemas: &[&Value]) -> Map<String, Value> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let filled = properties
        .into_iter()
        .flatten()
        .filter_map(|(name, property)| {
            if let Some(default) = property.get("default") {
                return Some((name.clone(), default.clone()));
            }
            // A form without defaults is answered as well, so that nothing is left open.
            let is_needed = required.is_empty() || required.contains(&name.as_str());
            is_needed.then(|| (name.clone(), fitting(name, property, schemas)))
        });
    filled.collect()
}

/// Returns a value that the property allows, as far as its type and its choices say.
fn fitting(name: &str, property: &Value, schemas: &[&Value]) -> Value {
    if let Some(fixed) = property.get("const") {
        return fixed.clone();
    }
    let choices = property.get("enum").and_then(Value::as_array);
    if let Some(first) = choices.and_then(|choices| choices.first()) {
        return first.clone();
    }
    let least = |otherwise: i64| property.get("minimum").cloned().unwrap_or(json!(otherwise));
    match (property.get("type").and_then(Value::as_str), schemas) {
        (Some("integer"), _) => least(1),
        (Some("number"), _) => least(2),
        (Some("boolean"), _) => json!(true),
        (Some("array"), _) => json!([]),
        (Some("object"), [first, ..]) if name == "schema" => (*first).clone(),
        (Some("object"), _) => json!(filled_in(property, schemas)),
        (Some("null"), _) => Value::Null,
        _ => json!("test"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_win_and_what_is_required_is_made_up() {
        let schema = json!({
            "type": "object",
            "required": ["text", "count", "yes", "choice"],
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer", "minimum": 7},
                "yes": {"type": "boolean"},
                "choice": {"type": "string", "enum": ["b", "a"]},
                "known": {"type": "string", "default": "d"},
                "left": {"type": "string"},
            }
        });
        let filled = filled_in(&schema, &[]);
        let expected =
            json!({"text": "test", "count": 7, "yes": true, "choice": "b", "known": "d"});
        assert_eq!(Value::Object(filled), expected);
    }

    #[test]
    fn a_tool_that_takes_a_schema_gets_one_as_it_was_listed() {
        let taken = json!({"$defs": {"x": {"$anchor": "y"}}, "type": "object"});
        let schema = json!({"required": ["schema"], "properties": {"schema": {"type": "object"}}});
        let filled = filled_in(&schema, &[&taken]);
        assert_eq!(filled.get("schema"), Some(&taken));
    }
}
