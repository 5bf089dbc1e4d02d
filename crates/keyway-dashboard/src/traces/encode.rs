//! Requests as spans, in the JSON form of OTLP.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use keyway_secret::{hex, random};
use serde_json::{Value, json};

use super::settings::TraceSettings;
use crate::activity::{ActivityEntry, Outcome};

/// Spans that are sent together.
pub(super) struct Batch<'a> {
    settings: &'a TraceSettings,
    entries: &'a [Arc<ActivityEntry>],
}

impl<'a> Batch<'a> {
    pub(super) const fn new(
        settings: &'a TraceSettings,
        entries: &'a [Arc<ActivityEntry>],
    ) -> Self {
        Self { settings, entries }
    }

    /// Returns the body; `None` if there is nothing to send.
    pub(super) fn json(&self) -> Option<Vec<u8>> {
        let spans = self.entries.iter().filter_map(|entry| self.span(entry));
        let spans: Vec<Value> = spans.collect();
        if spans.is_empty() {
            return None;
        }
        let resource = self.settings.resource.iter();
        let resource: Vec<Value> = resource
            .map(|(name, value)| attribute(name, json!({ "stringValue": value })))
            .collect();
        let body = json!({"resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{
                "scope": { "name": "keyway", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans,
            }],
        }]});
        serde_json::to_vec(&body).ok()
    }

    /// Describes one request; `None` if it is not sampled.
    fn span(&self, entry: &ActivityEntry) -> Option<Value> {
        let parent = entry.request.parent;
        let bytes = random::bytes::<24>().ok()?;
        let (trace, span) = bytes.split_at(16);
        let trace = parent.map_or_else(|| trace.to_vec(), |parent| parent.trace.to_vec());
        let decided = parent.filter(|_| self.settings.follows_parent);
        let is_recorded = match decided {
            Some(parent) => parent.is_sampled,
            None => is_within(&trace, self.settings.share),
        };
        if !is_recorded {
            return None;
        }
        let asked = &entry.request;
        let name = match &asked.tool {
            Some(tool) => format!("{} {tool}", asked.method),
            None => asked.method.clone(),
        };
        let mut value = json!({
            "traceId": hex::write(&trace),
            "spanId": hex::write(span),
            "name": name,
            "kind": SERVER,
            "startTimeUnixNano": nanos(entry.at),
            "endTimeUnixNano": nanos(entry.at + entry.took),
            "attributes": attributes(entry),
            "status": status(entry.outcome),
        });
        if let (Some(parent), Some(span)) = (parent, value.as_object_mut()) {
            span.insert("parentSpanId".to_owned(), hex::write(&parent.span).into());
        }
        Some(value)
    }
}

fn attributes(entry: &ActivityEntry) -> Vec<Value> {
    let asked = &entry.request;
    let text = |name: &str, value: &str| attribute(name, json!({ "stringValue": value }));
    let number = |name: &str, value: i64| attribute(name, json!({ "intValue": value.to_string() }));
    let mut found = vec![
        text("rpc.system", "jsonrpc"),
        text("mcp.method.name", &asked.method),
        text("keyway.client", &asked.by),
    ];
    if let Some((plugin, server)) = &asked.server {
        found.push(text("keyway.plugin", plugin));
        found.push(text("keyway.server", server));
    }
    if let Some(tool) = &asked.tool {
        found.push(text("gen_ai.tool.name", tool));
    }
    match entry.outcome {
        Outcome::Done => {}
        Outcome::ToolFailed => found.push(text("error.type", "tool_error")),
        Outcome::Error(code) => {
            found.push(text("error.type", &code.to_string()));
            found.push(number("rpc.jsonrpc.error_code", code));
        }
        Outcome::Status(status) => {
            found.push(text("error.type", &status.to_string()));
            found.push(number("http.response.status_code", status.into()));
        }
        Outcome::Abandoned => found.push(text("error.type", "cancelled")),
    }
    found
}

fn attribute(name: &str, value: Value) -> Value {
    json!({ "key": name, "value": value })
}

fn status(outcome: Outcome) -> Value {
    if outcome.is_good() {
        json!({})
    } else {
        json!({ "code": FAILED })
    }
}

/// Says whether a trace is sampled; all services with the same ratio agree.
fn is_within(trace: &[u8], share: f64) -> bool {
    if share >= 1.0 {
        return true;
    }
    let low = trace.iter().rev().take(4).rev();
    let low = low.fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
    f64::from(low) < share * SPAN_OF_U32
}

fn nanos(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_nanos().to_string()
}

/// `SPAN_KIND_SERVER`.
const SERVER: u8 = 2;
/// `STATUS_CODE_ERROR`.
const FAILED: u8 = 2;
const SPAN_OF_U32: f64 = 4_294_967_296.0;
