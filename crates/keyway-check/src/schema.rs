//! The contract as a JSON Schema (2020-12) for editors, made from the tables in [`keyway_config::fields`].
//!
//! An editor offers the contract's own names and accepts other hosts' spellings of them. It marks a
//! field exactly where `unknown-field` does with `--pedantic`, so that a typing error is seen while it
//! is made, and no real file turns red without a reason. What needs more than kinds is left to `keyway check`.
//!
//! Spellings of other hosts are not `deprecated`: VS Code's service takes a deprecated branch for one
//! that does not match.

use keyway_config::declared::{TYPE_ALIASES, Transport};
use keyway_config::fields::{
    ENTRY, FieldKind, FieldSpec, HELPER, OAUTH, OAUTH_ENDPOINTS, URL_SPELLINGS,
};
use keyway_config::schema_id::SCHEMA_ID;
use serde_json::{Map, Value, json};

use crate::report::json::to_text;

/// Returns the schema as it stands in `schema/mcp.schema.json`.
#[must_use]
pub fn text() -> String {
    to_text(&schema())
}

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "MCP servers of a plugin",
        "description": "Servers by name, under `mcpServers` or at the top of the file",
        "type": "object",
        "properties": {
            "$schema": {
                "description": "Which version of the contract the file follows; compared, never fetched",
                "type": "string",
                "examples": [SCHEMA_ID],
            },
            "mcpServers": { "$ref": "#/$defs/servers" },
        },
        "if": { "required": ["mcpServers"] },
        "else": { "$ref": "#/$defs/bare" },
        "$defs": {
            "servers": servers(),
            "bare": bare(),
            "name": name(),
            "note": { "description": "A note for people; skipped" },
            "entry": entry(),
            "oauth": oauth(),
            "helper": helper(),
            "value": value(),
            "header": header(),
        },
    })
}

/// The value of `mcpServers`, in which everything but a note must be an entry.
fn servers() -> Value {
    json!({
        "description": "Servers by name",
        "type": "object",
        "propertyNames": { "$ref": "#/$defs/name" },
        "properties": { "$schema": { "$ref": "#/$defs/note" } },
        "patternProperties": { NOTES: { "$ref": "#/$defs/note" } },
        "additionalProperties": { "$ref": "#/$defs/entry" },
    })
}

/// A file without `mcpServers`, in which values that are not objects are skipped.
fn bare() -> Value {
    json!({
        "propertyNames": { "$ref": "#/$defs/name" },
        "properties": { "$schema": true },
        "patternProperties": { NOTES: { "$ref": "#/$defs/note" } },
        "additionalProperties": {
            "if": { "type": "object" },
            "then": { "$ref": "#/$defs/entry" },
        },
    })
}

fn name() -> Value {
    json!({
        "description": "1 to 128 characters, no control characters",
        "anyOf": [
            { "pattern": NOTES },
            {
                "minLength": 1,
                "maxLength": 128,
                "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
            },
        ],
    })
}

fn entry() -> Value {
    let mut properties = properties(ENTRY);
    for key in URL_SPELLINGS {
        let spelling = json!({
            "description": "Deprecated, another host's word: write `url`",
            "type": "string",
            NOT_OFFERED: true,
        });
        properties.insert((*key).to_owned(), spelling);
    }
    let spellings = URL_SPELLINGS.iter().chain(&["url"]);
    let has_url: Vec<Value> = spellings.map(|key| json!({ "required": [key] })).collect();
    let has_command = json!({ "required": ["command"] });
    json!({
        "description": "A server: `url` for one to connect to, `command` for one to start. A field \
                        that begins with `_` is a note",
        "type": "object",
        "properties": properties,
        "patternProperties": { NOTE_FIELDS: { "$ref": "#/$defs/note" } },
        "additionalProperties": false,
        "oneOf": [
            { "title": "remote", "anyOf": has_url },
            { "title": "local", "required": ["command"] },
        ],
        "allOf": [
            { "if": has_type(Transport::is_local), "then": has_command },
            { "if": has_type(|found| !found.is_local()), "then": { "not": has_command } },
        ],
    })
}

/// Matches entries whose `type` says one of these transports under any of its names.
///
/// A pattern and not a list: VS Code's service also offers what stands in a condition.
fn has_type(wanted: impl Fn(Transport) -> bool) -> Value {
    let words: Vec<&str> = type_words()
        .filter(|(_, transport)| wanted(*transport))
        .map(|(word, _)| word)
        .collect();
    let says = json!({ "pattern": one_of(&words), NOT_OFFERED: true });
    json!({ "properties": { "type": says }, "required": ["type"] })
}

fn one_of(words: &[&str]) -> String {
    format!("^({})$", words.join("|"))
}

/// Returns every word for a transport, other hosts' included.
fn type_words() -> impl Iterator<Item = (&'static str, Transport)> {
    let own = Transport::ALL.iter().map(|found| (found.as_str(), *found));
    own.chain(TYPE_ALIASES.iter().copied())
}

fn oauth() -> Value {
    let [authorization, token] = OAUTH_ENDPOINTS;
    json!({
        "description": "Settings for automatic OAuth; usually absent",
        "type": "object",
        "properties": properties(OAUTH),
        "patternProperties": { NOTE_FIELDS: { "$ref": "#/$defs/note" } },
        "additionalProperties": false,
        "dependentRequired": { authorization: [token], token: [authorization] },
    })
}

fn helper() -> Value {
    json!({
        "description": "A program without a shell, and when to run it again",
        "type": "object",
        "properties": properties(HELPER),
        "required": ["command"],
        "patternProperties": { NOTE_FIELDS: { "$ref": "#/$defs/note" } },
        "additionalProperties": false,
    })
}

fn value() -> Value {
    json!({
        "description": "Text with `${VAR}` or `${VAR:-default}`. A number or a boolean is read as \
                        text, but not by every host",
        "type": ["string", "number", "boolean"],
    })
}

fn header() -> Value {
    json!({
        "description": "Text with `${VAR}` or `${VAR:-default}`; a number is written in quotes",
        "type": "string",
    })
}

fn properties(fields: &[FieldSpec]) -> Map<String, Value> {
    let described = fields.iter().map(|field| {
        let mut schema = of_kind(field.kind);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), field.meaning.into());
            if field.kind == FieldKind::Note {
                schema.insert(NOT_OFFERED.to_owned(), true.into());
            }
        }
        (field.name.to_owned(), schema)
    });
    described.collect()
}

fn of_kind(kind: FieldKind) -> Value {
    match kind {
        FieldKind::Template | FieldKind::Address => json!({ "type": "string" }),
        FieldKind::Reference => json!({ "type": "string", "pattern": REFERENCE }),
        FieldKind::Choice(words) => json!({ "enum": words }),
        FieldKind::Transport => json!({ "anyOf": transports() }),
        FieldKind::Program => json!({ "anyOf": [{ "type": "string" }, command_array()] }),
        FieldKind::CommandLine => json!({ "type": "array", "items": text_value(), "minItems": 1 }),
        FieldKind::List => json!({ "type": "array", "items": text_value() }),
        FieldKind::Map => json!({ "type": "object", "additionalProperties": text_value() }),
        FieldKind::Headers => json!({
            "type": "object",
            "additionalProperties": { "$ref": "#/$defs/header" },
        }),
        FieldKind::Milliseconds => json!({ "type": "integer", "minimum": 0 }),
        FieldKind::Port => json!({ "type": "integer", "minimum": 1, "maximum": u16::MAX }),
        FieldKind::Flag => json!({ "type": "boolean" }),
        FieldKind::Helper => {
            json!({ "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/helper" }] })
        }
        FieldKind::OAuth => {
            json!({ "anyOf": [{ "$ref": "#/$defs/oauth" }, { "type": "boolean" }] })
        }
        FieldKind::Words => {
            json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": text_value() }] })
        }
        _ => json!({}),
    }
}

/// The contract's words as constants, which editors offer; other hosts' as patterns, which they do not.
fn transports() -> Vec<Value> {
    let own = Transport::ALL.iter().map(
        |transport| json!({ "const": transport.as_str(), "description": transport.meaning() }),
    );
    let others = Transport::ALL.iter().filter_map(|transport| {
        let aliases = TYPE_ALIASES.iter().filter(|(_, found)| found == transport);
        let words: Vec<&str> = aliases.map(|(word, _)| *word).collect();
        let description = format!("Deprecated: write `{}`", transport.as_str());
        let alias = json!({
            "type": "string",
            "pattern": one_of(&words),
            "description": description,
        });
        (!words.is_empty()).then_some(alias)
    });
    own.chain(others).collect()
}

fn command_array() -> Value {
    json!({
        "description": "Deprecated: write the program as `command` and the others as `args`",
        "type": "array",
        "items": text_value(),
        "minItems": 1,
    })
}

fn text_value() -> Value {
    json!({ "$ref": "#/$defs/value" })
}

/// Keys that are notes for people, where servers stand.
const NOTES: &str = "^_";

/// The same inside an entry.
const NOTE_FIELDS: &str = "^[_$]";

/// Keeps a field out of the completions of editors on VS Code's JSON service; others ignore it.
const NOT_OFFERED: &str = "doNotSuggest";

/// One variable, without a default.
const REFERENCE: &str = r"^\$\{(env:)?[A-Za-z_][A-Za-z0-9_]*\}$";
