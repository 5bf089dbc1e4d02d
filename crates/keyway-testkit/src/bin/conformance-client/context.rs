//! What a scenario hands to its client: the JSON in `MCP_CONFORMANCE_CONTEXT`.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::work::Failure;

/// What the scenario gave; empty for most.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Context {
    /// Calls to make instead of those made from a tool's schema.
    #[serde(default, rename = "toolCalls")]
    pub(crate) tool_calls: Vec<ToolCall>,
    /// The client, if one was registered beforehand.
    pub(crate) client_id: Option<String>,
    /// Its secret.
    pub(crate) client_secret: Option<String>,
    /// Its key.
    pub(crate) private_key_pem: Option<String>,
    /// How the key signs.
    pub(crate) signing_algorithm: Option<String>,
    /// Where the client was registered.
    pub(crate) issuer: Option<String>,
    /// The client as the identity provider knows it.
    pub(crate) idp_client_id: Option<String>,
    /// The identity token of the person.
    pub(crate) idp_id_token: Option<String>,
    /// The identity provider.
    pub(crate) idp_issuer: Option<String>,
    /// Where it exchanges tokens.
    pub(crate) idp_token_endpoint: Option<String>,
    /// The token of the workload.
    pub(crate) valid_jwt: Option<String>,
}

/// One call to make.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolCall {
    /// The tool.
    pub(crate) name: String,
    /// Its arguments, as they are.
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
}

impl Context {
    /// Reads the context; none is an empty one.
    pub(crate) fn read(text: Option<&str>) -> Result<Self, Failure> {
        let Some(text) = text else {
            return Ok(Self::default());
        };
        serde_json::from_str(text).map_err(|source| Failure::Context { source })
    }

    /// Returns the calls that the scenario wants of a tool.
    pub(crate) fn calls_of(&self, tool: &str) -> Vec<&Map<String, Value>> {
        let of_tool = self.tool_calls.iter().filter(|call| call.name == tool);
        of_tool.map(|call| &call.arguments).collect()
    }
}
