//! What of a request stands in its headers as well (2026-07-28, "Request Metadata").

use http::HeaderName;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::frame::Raw;

/// The parameters of a request that its headers repeat, or that say how it is sent.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RequestMetadata<'a> {
    /// The `_meta` of the request.
    pub meta: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    uri: Option<&'a RawValue>,
    task: Option<&'a RawValue>,
    /// Where a list continues.
    pub(super) cursor: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
}

/// The members that are read, so that serde's traits are not part of the public type.
#[derive(Default, Deserialize)]
struct Members<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, rename = "taskId")]
    task: Option<&'a RawValue>,
    #[serde(borrow)]
    cursor: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl<'a> RequestMetadata<'a> {
    /// The header with the method.
    pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
    /// The header with what [`Self::name`] returns.
    pub const NAME: HeaderName = HeaderName::from_static("mcp-name");

    /// Reads parameters; parameters that are not an object have none.
    #[must_use]
    pub fn read(params: Option<Raw<'a>>) -> Self {
        let read = params.and_then(|params| serde_json::from_str(params.get()).ok());
        let Members {
            meta,
            name,
            uri,
            task,
            cursor,
            arguments,
        } = read.unwrap_or_default();
        Self {
            meta,
            name,
            uri,
            task,
            cursor,
            arguments,
        }
    }

    /// Returns what a request of this method is about, if a header says that: a tool, a prompt, a
    /// resource or a task.
    #[must_use]
    pub fn name(&self, method: &str) -> Option<String> {
        let name = match method {
            "tools/call" | "prompts/get" => self.name,
            "resources/read" => self.uri,
            // SEP-2663, "Streamable HTTP: Routing Headers".
            "tasks/get" | "tasks/update" | "tasks/cancel" => self.task,
            _ => None,
        };
        serde_json::from_str(name?.get()).ok()
    }

    /// Returns the arguments of a tool call, some of which a tool may want in headers.
    #[must_use]
    pub fn arguments(&self) -> Option<Value> {
        serde_json::from_str(self.arguments?.get()).ok()
    }
}
