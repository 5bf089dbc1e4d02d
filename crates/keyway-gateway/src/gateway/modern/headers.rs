//! Headers that repeat what a request says have to say the same (2026-07-28, "Server Validation").

use http::{HeaderMap, HeaderName};
use keyway_transport::{Envelope, RequestMetadata, ToolHeaders, read_header_text};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::super::reply::VERSION;
use keyway_mcp::jsonrpc::{self, HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION};
use keyway_mcp::version::MODERN;

/// Compares a request with its headers, and returns the client's capabilities as written; `tools`
/// knows which arguments are repeated.
pub(super) fn check<'a>(
    headers: &HeaderMap,
    envelope: &Envelope<'a>,
    tools: &ToolHeaders,
) -> Result<&'a str, String> {
    let params = RequestMetadata::read(envelope.params);
    let meta = params.meta.map_or("{}", RawValue::get);
    let meta: Meta<'_> = serde_json::from_str(meta).unwrap_or_default();
    let (Some(version), Some(capabilities)) = (meta.version, meta.capabilities) else {
        let what = "`_meta` has to hold the protocol version and the client's capabilities";
        return Err(jsonrpc::error_object(INVALID_PARAMS, what));
    };
    let sent = |name: &HeaderName| headers.get(name).and_then(read_header_text);
    let same = |name: HeaderName, value: &str| {
        if sent(&name).as_deref() == Some(value) {
            return Ok(());
        }
        let what = format!("the header {name} does not say what the request says");
        Err(jsonrpc::error_object(HEADER_MISMATCH, &what))
    };
    same(VERSION, &version)?;
    if version != MODERN {
        let error = json!({
            "code": UNSUPPORTED_VERSION,
            "message": "unsupported protocol version",
            "data": { "supported": [MODERN], "requested": version },
        });
        return Err(error.to_string());
    }
    let method = envelope.method.as_deref().unwrap_or_default();
    same(RequestMetadata::METHOD, method)?;
    let Some(name) = params.name(method) else {
        return Ok(capabilities.get());
    };
    same(RequestMetadata::NAME, &name)?;
    let arguments = || params.arguments();
    if method == "tools/call" && !tools.agree(&name, arguments, headers) {
        let what = "the headers do not repeat the arguments as the tool demands";
        return Err(jsonrpc::error_object(HEADER_MISMATCH, what));
    }
    Ok(capabilities.get())
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
}
