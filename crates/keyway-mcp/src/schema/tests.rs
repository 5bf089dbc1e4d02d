//! Arguments held against schemas: what fits, and what is said where it does not.

use serde_json::json;

use super::*;

fn problems(schema: &Value, arguments: &Value) -> Vec<String> {
    Schema::new(schema).check(arguments.as_object().unwrap())
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "message": {"type": "string", "maxLength": 5},
            "count": {"type": "integer", "minimum": 1, "maximum": 10},
            "mode": {"enum": ["fast", "slow"]},
            "place": {"$ref": "#/$defs/place"},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            "who": {"oneOf": [{"type": "string"}, {"type": "object", "required": ["id"]}]}
        },
        "required": ["message"],
        "$defs": {
            "place": {
                "type": "object",
                "properties": {"latitude": {"type": "number"}},
                "required": ["latitude"],
                "additionalProperties": false
            }
        }
    })
}

#[test]
fn arguments_that_fit_are_not_complained_about() {
    for arguments in [
        json!({"message": "hello"}),
        json!({"message": "hello", "count": 3, "mode": "slow", "tags": ["a"]}),
        json!({"message": "hello", "count": 3.0, "place": {"latitude": 1}, "who": "me"}),
        json!({"message": "hello", "who": {"id": 1, "more": 2}}),
    ] {
        assert_eq!(problems(&schema(), &arguments), [""; 0], "{arguments}");
    }
}

#[test]
fn each_problem_is_named_with_its_place_and_without_its_value() {
    for (arguments, expected) in [
        (json!({}), "`message` is missing"),
        (
            json!({"message": "x", "coutn": 1}),
            "`coutn` is not known; did you mean `count`?",
        ),
        (json!({"message": "x", "zzz": 1}), "`zzz` is not known"),
        (json!({"message": 7}), "`message` must be text"),
        (
            json!({"message": "CANARY"}),
            "`message` must be at most 5 characters",
        ),
        (
            json!({"message": "x", "count": "CANARY"}),
            "`count` must be a whole number",
        ),
        (
            json!({"message": "x", "count": 1.5}),
            "`count` must be a whole number",
        ),
        (
            json!({"message": "x", "count": 0}),
            "`count` must be at least 1",
        ),
        (
            json!({"message": "x", "count": 11}),
            "`count` must be at most 10",
        ),
        (
            json!({"message": "x", "mode": "CANARY"}),
            "`mode` must be one of `fast`, `slow`",
        ),
        (
            json!({"message": "x", "place": {}}),
            "`place.latitude` is missing",
        ),
        (
            json!({"message": "x", "place": {"latitude": 1, "latitud": 2}}),
            "`place.latitud` is not known; did you mean `latitude`?",
        ),
        (
            json!({"message": "x", "tags": ["a", 1]}),
            "`tags[1]` must be text",
        ),
        (
            json!({"message": "x", "tags": ["a", "b", "c"]}),
            "`tags` must be at most 2 elements",
        ),
        (
            json!({"message": "x", "who": 5}),
            "`who` must be text or a JSON object",
        ),
        (
            json!({"message": "x", "who": {"name": "CANARY"}}),
            "`who` fits none of the forms that the tool takes",
        ),
    ] {
        assert_eq!(problems(&schema(), &arguments), [expected], "{arguments}");
    }
}

#[test]
fn a_tool_that_takes_anything_gets_anything() {
    for schema in [
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}),
        json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {}}}),
        json!({"properties": {"b": {"anyOf": [{"type": "number"}, {}]}, "c": {}}}),
        json!({"$ref": "https://elsewhere.example/schema"}),
        json!({"type": "object", "properties": {"b": {"type": "string", "format": "unheard-of"}, "c": true}, "additionalProperties": true}),
    ] {
        assert_eq!(
            problems(&schema, &json!({"b": "x", "c": 1})),
            [""; 0],
            "{schema}"
        );
    }
}

#[test]
fn a_schema_that_leads_nowhere_ends() {
    let endless = json!({"$ref": "#", "properties": {"a": {"$ref": "#"}}});
    assert!(problems(&endless, &json!({"a": {"a": 1}})).is_empty());
    let branches: Vec<Value> = (0..40).map(|_| json!({"$ref": "#/$defs/x"})).collect();
    let wide = json!({
        "properties": {"a": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {"anyOf": branches, "allOf": branches, "required": ["no"]}}
    });
    let began = std::time::Instant::now();
    let _whatever = problems(&wide, &json!({"a": {}}));
    assert!(began.elapsed() < keyway_testkit::PATIENCE);
    let hostile = json!({"properties": {"a": {"enum": ["\u{1b}]0;x\u{7}"]}}});
    assert!(!problems(&hostile, &json!({"a": 1}))[0].contains('\u{1b}'));
}

#[test]
fn a_list_of_itself_is_read_to_an_end() {
    let schema = json!({"type": "array", "items": {"$ref": "#"}});
    assert!(Schema::new(&schema).coerced("x").is_array());
}
