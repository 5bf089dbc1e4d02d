//! A plugin of one entry, for unit tests.

use crate::plugin::Plugin;

/// A plugin of one entry named `s`.
pub(crate) fn entry(fields: &str) -> Plugin {
    let text = format!("{{\"mcpServers\": {{\"s\": {{{fields}}}}}}}");
    Plugin::from_text("/plugin", ".mcp.json", &text)
}
