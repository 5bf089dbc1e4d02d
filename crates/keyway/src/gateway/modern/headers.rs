//! Headers that repeat what a request says have to say the same (2026-07-28, "Server Validation").

use http::{HeaderMap, HeaderName};
use keyway_transport::{Envelope, ToolHeaders, read_header_text};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::reply::{INVALID_PARAMS, VERSION, fault};
use crate::eras::names::MODERN;

/// Compares a request with its headers, and returns the client's capabilities as written; `tools`
/// knows which arguments are repeated.
pub(super) fn check<'a>(
    headers: &HeaderMap,
    envelope: &Envelope<'a>,
    tools: &ToolHeaders,
) -> Result<&'a str, Value> {
    let params = envelope.params.map_or("{}", RawValue::get);
    let params: Params<'_> = serde_json::from_str(params).unwrap_or_default();
    let meta = params.meta.map_or("{}", RawValue::get);
    let meta: Meta<'_> = serde_json::from_str(meta).unwrap_or_default();
    let (Some(version), Some(capabilities)) = (meta.version, meta.capabilities) else {
        let what = "`_meta` has to hold the protocol version and the client's capabilities";
        return Err(fault(INVALID_PARAMS, what));
    };
    let told = |name: &HeaderName| headers.get(name).and_then(read_header_text);
    let same = |name: HeaderName, value: &str| {
        if told(&name).as_deref() == Some(value) {
            return Ok(());
        }
        let what = format!("the header {name} does not say what the request says");
        Err(fault(HEADER_MISMATCH, &what))
    };
    same(VERSION, &version)?;
    if version != MODERN {
        return Err(json!({
            "code": UNSUPPORTED_VERSION,
            "message": "unsupported protocol version",
            "data": { "supported": [MODERN], "requested": version },
        }));
    }
    let method = envelope.method.as_deref().unwrap_or_default();
    same(METHOD, method)?;
    let name = match method {
        "tools/call" | "prompts/get" => params.name,
        "resources/read" => params.uri,
        // SEP-2663, "Streamable HTTP: Routing Headers".
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.task,
        _ => None,
    };
    let name = name.and_then(|name| serde_json::from_str::<String>(name.get()).ok());
    let Some(name) = name else {
        return Ok(capabilities.get());
    };
    same(NAME, &name)?;
    let arguments = || serde_json::from_str(params.arguments?.get()).ok();
    if method == "tools/call" && !tools.agree(&name, arguments, headers) {
        let what = "the headers do not repeat the arguments as the tool demands";
        return Err(fault(HEADER_MISMATCH, what));
    }
    Ok(capabilities.get())
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, rename = "taskId")]
    task: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
}

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const HEADER_MISMATCH: i64 = -32020;
const UNSUPPORTED_VERSION: i64 = -32022;
