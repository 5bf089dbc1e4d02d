//! Parameters of tools that a server wants repeated in headers: the `x-mcp-header` annotation.
//!
//! Learned from the lists of tools that pass by (2026-07-28, "Custom Headers from Tool Parameters").
//! A tool that is annotated wrongly is taken out of the list, as the specification demands.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use bytes::BytesMut;
use http::{HeaderMap, HeaderName, HeaderValue};
use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::header_value;
use crate::frame::{Frame, FrameError};
use crate::responses::range_in;

/// What is known of the tools of one server.
///
/// The lock is held for one list or one call. Calls only read, and one that meets a page of a list
/// as it is learned sees the tools before or after that page.
#[derive(Debug, Default)]
pub struct ToolHeaders(RwLock<HashMap<String, Vec<Annotation>>>);

/// A tool that was taken out of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dropped {
    pub(super) tool: String,
    pub(super) why: &'static str,
}

/// One parameter and its header.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Annotation {
    header: HeaderName,
    path: Vec<String>,
}

impl ToolHeaders {
    /// Learns from the answer to `tools/list`, and returns it without the tools that are invalid.
    ///
    /// # Errors
    ///
    /// Returns [`FrameError`] if taking tools out made no message.
    pub(super) fn learn(
        &self,
        frame: Frame,
        from_start: bool,
    ) -> Result<(Frame, Vec<Dropped>), FrameError> {
        if from_start {
            self.write().clear();
        }
        if memmem::find(frame.bytes(), ANNOTATION.as_bytes()).is_none() {
            return Ok((frame, Vec::new()));
        }
        let Some(tools) = tools_of(&frame) else {
            return Ok((frame, Vec::new()));
        };
        let mut dropped = Vec::new();
        let mut cut = Vec::new();
        for (index, tool) in tools.iter().enumerate() {
            match annotations_of(tool) {
                Ok((name, annotations)) => {
                    self.write().insert(name, annotations);
                }
                Err(reason) => {
                    dropped.push(reason);
                    cut.push(index);
                }
            }
        }
        if cut.is_empty() {
            return Ok((frame, dropped));
        }
        let places: Vec<_> = tools
            .iter()
            .map(|tool| range_in(frame.bytes(), tool))
            .collect();
        let kept = without(&frame, &places, &cut)?;
        Ok((kept, dropped))
    }

    /// Learns from an answer to `tools/list`, of which `from_start` says that it is the first page.
    pub fn note(&self, answer: &Frame, from_start: bool) {
        // What is wrong with a tool is for its caller to find out.
        drop(self.learn(answer.clone(), from_start));
    }

    /// Says whether the headers of a call of `tool` repeat its arguments as the tool demands.
    ///
    /// `arguments` is asked for only if the tool demands anything.
    pub fn agree(
        &self,
        tool: &str,
        arguments: impl FnOnce() -> Option<Value>,
        headers: &HeaderMap,
    ) -> bool {
        if !self.knows(tool) {
            return true;
        }
        let arguments = arguments().unwrap_or_default();
        let expected = self.headers(tool, &arguments);
        expected.iter().all(|(name, value)| {
            let told = headers.get(name).and_then(header_value::decode);
            told.is_some() && told == header_value::decode(value)
        })
    }

    /// Says whether calls of `tool` need headers.
    pub(super) fn knows(&self, tool: &str) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(tool).is_some_and(|all| !all.is_empty())
    }

    /// Returns the headers for a call of `tool` with `arguments`.
    pub(super) fn headers(&self, tool: &str, arguments: &Value) -> Vec<(HeaderName, HeaderValue)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let annotations = known.get(tool).into_iter().flatten();
        let header = |annotation: &Annotation| {
            let start = Some(arguments);
            let value = annotation.path.iter().fold(start, |at, key| at?.get(key));
            Some((annotation.header.clone(), text_of(value?)?))
        };
        annotations.filter_map(header).collect()
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<String, Vec<Annotation>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns where the next page begins.
pub(super) fn next_cursor(frame: &Frame) -> Option<String> {
    #[derive(Deserialize)]
    struct Page {
        #[serde(rename = "nextCursor")]
        next: String,
    }
    let envelope = frame.envelope().ok()?;
    let page: Page = serde_json::from_str(envelope.result?.get()).ok()?;
    Some(page.next)
}

fn tools_of(frame: &Frame) -> Option<Vec<&RawValue>> {
    #[derive(Deserialize)]
    struct List<'a> {
        #[serde(borrow)]
        tools: Vec<&'a RawValue>,
    }
    let envelope = frame.envelope().ok()?;
    let list: List<'_> = serde_json::from_str(envelope.result?.get()).ok()?;
    Some(list.tools)
}

fn annotations_of(tool: &RawValue) -> Result<(String, Vec<Annotation>), Dropped> {
    #[derive(Deserialize)]
    struct Tool {
        name: String,
        #[serde(rename = "inputSchema", default)]
        schema: Value,
    }
    let unreadable = |_| Dropped {
        tool: String::new(),
        why: "invalid tool definition",
    };
    let tool: Tool = serde_json::from_str(tool.get()).map_err(unreadable)?;
    let mut found = Vec::new();
    match collect(&tool.schema, &mut Vec::new(), true, &mut found) {
        Ok(()) => Ok((tool.name, found)),
        Err(why) => Err(Dropped {
            tool: tool.name,
            why,
        }),
    }
}

/// Walks a schema; `is_reachable` as long as nothing but `properties` led here.
fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    is_reachable: bool,
    found: &mut Vec<Annotation>,
) -> Result<(), &'static str> {
    let Value::Object(members) = schema else {
        return match schema {
            Value::Array(all) => all
                .iter()
                .try_for_each(|inner| collect(inner, path, false, found)),
            _ => Ok(()),
        };
    };
    for (keyword, value) in members {
        match keyword.as_str() {
            ANNOTATION if !is_reachable => {
                return Err("a header annotation on a parameter that no call can carry");
            }
            ANNOTATION => {
                let header = header_of(value, schema)?;
                if found.iter().any(|other| other.header == header) {
                    return Err("two parameters use the same header");
                }
                let path = path.clone();
                found.push(Annotation { header, path });
            }
            // What is data and no schema may look like anything.
            "const" | "enum" | "default" | "examples" | "required" => {}
            "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas" => {
                let is_reachable = is_reachable && keyword == "properties";
                for (name, inner) in value.as_object().into_iter().flatten() {
                    path.push(name.clone());
                    collect(inner, path, is_reachable, found)?;
                    path.pop();
                }
            }
            _ => collect(value, path, false, found)?,
        }
    }
    Ok(())
}

fn header_of(annotation: &Value, schema: &Value) -> Result<HeaderName, &'static str> {
    let name = annotation.as_str().filter(|name| !name.is_empty());
    let name = name.ok_or("a header annotation that is not a name")?;
    let is_primitive = |kind: &Value| {
        let kind = kind.as_str().unwrap_or_default();
        matches!(kind, "string" | "integer" | "boolean")
    };
    let fits = match schema.get("type") {
        Some(Value::Array(kinds)) => {
            kinds.iter().any(is_primitive)
                && kinds
                    .iter()
                    .all(|kind| is_primitive(kind) || kind == "null")
        }
        Some(kind) => is_primitive(kind),
        None => false,
    };
    if !fits {
        return Err("a header annotation on a parameter that is not a string, integer or boolean");
    }
    HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes())
        .map_err(|_| "a header annotation that is not a header name")
}

fn text_of(value: &Value) -> Option<HeaderValue> {
    match value {
        Value::String(text) => Some(header_value::encode(text)),
        Value::Bool(truth) => Some(HeaderValue::from_static(if *truth {
            "true"
        } else {
            "false"
        })),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            let text = match whole {
                Some(whole) if number.is_f64() => format!("{whole:.0}"),
                _ => number.to_string(),
            };
            HeaderValue::from_str(&text).ok()
        }
        _ => None,
    }
}

/// Takes the elements at `cut` out of the array whose elements lie at `places`.
fn without(frame: &Frame, places: &[Range<usize>], cut: &[usize]) -> Result<Frame, FrameError> {
    let bytes = frame.bytes();
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        return Ok(frame.clone());
    };
    let mut kept = BytesMut::with_capacity(bytes.len());
    kept.extend_from_slice(bytes.get(..first.start).unwrap_or_default());
    let mut is_first = true;
    for (index, class) in places.iter().enumerate() {
        if cut.contains(&index) {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            kept.extend_from_slice(b",");
        }
        kept.extend_from_slice(bytes.get(class.clone()).unwrap_or_default());
    }
    kept.extend_from_slice(bytes.get(last.end..).unwrap_or_default());
    Frame::new(kept.freeze())
}

const ANNOTATION: &str = "x-mcp-header";

#[cfg(test)]
mod tests {
    use super::*;

    fn list(tools: &[(&str, Value)]) -> Frame {
        let tools: Vec<_> = tools
            .iter()
            .map(|(name, schema)| serde_json::json!({"name": name, "inputSchema": schema}))
            .collect();
        let answer = serde_json::json!({"id": 1, "result": {"tools": tools, "nextCursor": "n"}});
        Frame::new(answer.to_string()).unwrap()
    }

    fn property(schema: &str) -> Value {
        let schema: Value = serde_json::from_str(schema).unwrap();
        serde_json::json!({"type": "object", "properties": {"p": schema}})
    }

    #[test]
    fn annotated_arguments_become_headers() {
        let known = ToolHeaders::default();
        let schema = serde_json::json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "n": {"type": "integer", "x-mcp-header": "N"},
            "b": {"type": ["boolean", "null"], "x-mcp-header": "B"},
            "deep": {"type": "object", "properties": {
                "x-mcp-header": {"type": "string", "x-mcp-header": "Deep"}}},
            "plain": {"type": "string", "default": {"x-mcp-header": 1}},
        }});
        let frame = list(&[("t", schema)]);
        let (same, dropped) = known.learn(frame.clone(), true).unwrap();
        assert_eq!((same, dropped), (frame, vec![]));
        assert!(known.knows("t") && !known.knows("u"));
        let headers = |arguments: Value| {
            let mut headers: Vec<_> = known
                .headers("t", &arguments)
                .iter()
                .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
                .collect();
            headers.sort();
            headers
        };
        assert_eq!(
            headers(serde_json::json!({
                "region": "us west", "n": 42.0, "b": true, "deep": {"x-mcp-header": "é"}, "plain": "x"
            })),
            [
                "mcp-param-b: true",
                "mcp-param-deep: =?base64?w6k=?=",
                "mcp-param-n: 42",
                "mcp-param-region: us west",
            ]
        );
        assert_eq!(
            headers(serde_json::json!({"n": -7, "b": null, "region": ["x"], "deep": 1})),
            ["mcp-param-n: -7"]
        );
    }

    #[test]
    fn invalid_tools_are_taken_out_and_the_rest_stays_as_it_was() {
        let invalid = [
            property(r#"{"type": "string", "x-mcp-header": ""}"#),
            property(r#"{"type": "string", "x-mcp-header": "a b"}"#),
            property(r#"{"type": "string", "x-mcp-header": "a\r\nb"}"#),
            property(r#"{"type": "string", "x-mcp-header": "é"}"#),
            property(r#"{"type": "string", "x-mcp-header": 1}"#),
            property(r#"{"type": "number", "x-mcp-header": "N"}"#),
            property(r#"{"type": "object", "x-mcp-header": "N"}"#),
            property(r#"{"type": "null", "x-mcp-header": "N"}"#),
            property(r##"{"$ref": "#/x", "x-mcp-header": "N"}"##),
            property(r#"{"type": "array", "items": {"type": "string", "x-mcp-header": "N"}}"#),
            property(r#"{"anyOf": [{"type": "string", "x-mcp-header": "N"}]}"#),
            property(r#"{"if": {"properties": {"q": {"type": "string", "x-mcp-header": "N"}}}}"#),
            serde_json::json!({"$defs": {"d": {"type": "string", "x-mcp-header": "N"}}}),
            serde_json::json!({"properties": {
                "a": {"type": "string", "x-mcp-header": "Same"},
                "b": {"type": "string", "x-mcp-header": "sAME"}}}),
        ];
        for schema in invalid {
            let known = ToolHeaders::default();
            let valid = property(r#"{"type": "string"}"#);
            for position in 0..3 {
                let mut tools = vec![("a", valid.clone()), ("c", valid.clone())];
                tools.insert(position, ("bad", schema.clone()));
                let (kept, dropped) = known.learn(list(&tools), true).unwrap();
                let expected = list(&[("a", valid.clone()), ("c", valid.clone())]);
                assert_eq!(kept.bytes(), expected.bytes(), "{schema}");
                assert_eq!(dropped.len(), 1);
                assert_eq!(dropped[0].tool, "bad");
            }
            let (kept, _) = known.learn(list(&[("bad", schema)]), true).unwrap();
            assert_eq!(kept.bytes(), list(&[]).bytes());
        }
    }

    #[test]
    fn a_new_list_replaces_what_was_known_and_a_later_page_adds() {
        let known = ToolHeaders::default();
        let annotated = property(r#"{"type": "string", "x-mcp-header": "P"}"#);
        known
            .learn(list(&[("one", annotated.clone())]), true)
            .unwrap();
        known.learn(list(&[("two", annotated)]), false).unwrap();
        assert!(known.knows("one") && known.knows("two"));
        known.learn(list(&[("one", property("{}"))]), true).unwrap();
        assert!(!known.knows("one") && !known.knows("two"));
        assert_eq!(next_cursor(&list(&[])).as_deref(), Some("n"));
    }
}
