//! What a scenario hands to its client: the JSON in `MCP_CONFORMANCE_CONTEXT`.

use serde::Deserialize;
use serde_json::{Map, Value};

/// What the scenario gives to its client; empty for most.
#[derive(Debug, Default, Deserialize)]
pub struct Context {
    /// Calls to make instead of those made from a tool's schema.
    #[serde(default, rename = "toolCalls")]
    pub(super) tool_calls: Vec<ToolCall>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<String>,
    pub(super) private_key_pem: Option<String>,
    pub(super) signing_algorithm: Option<String>,
    /// The authorization server that knows the client.
    pub(super) issuer: Option<String>,
    /// The client at the identity provider.
    pub(super) idp_client_id: Option<String>,
    pub(super) idp_id_token: Option<String>,
    pub(super) idp_issuer: Option<String>,
    pub(super) idp_token_endpoint: Option<String>,
    /// The token of a workload.
    pub(super) valid_jwt: Option<String>,
}

/// One call to make.
#[derive(Debug, Deserialize)]
pub(super) struct ToolCall {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl Context {
    /// Reads the context; without one it is empty.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a JSON object with these members.
    pub fn read(text: Option<&str>) -> Result<Self, serde_json::Error> {
        text.map_or_else(|| Ok(Self::default()), serde_json::from_str)
    }

    /// Returns the arguments of the calls that the scenario wants of a tool.
    pub(super) fn calls_of(&self, tool: &str) -> Vec<&Map<String, Value>> {
        let of_tool = self.tool_calls.iter().filter(|call| call.name == tool);
        of_tool.map(|call| &call.arguments).collect()
    }
}
