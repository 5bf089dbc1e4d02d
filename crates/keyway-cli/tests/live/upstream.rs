//! An MCP server that says which tenant it was asked for, and counts sessions.

use keyway_testkit::{Request, mcp};
use serde_json::{Value, json};

/// The server; its tools are `whoami` and `slow`.
pub(crate) struct Upstream(keyway_testkit::Upstream);

impl Upstream {
    pub(crate) fn start() -> Self {
        Self(keyway_testkit::Upstream::start(|request| {
            mcp(request, |method, params| match method {
                "tools/list" => Some(json!({"tools": [
                    {"name": "whoami", "inputSchema": {"type": "object"}},
                    {"name": "slow", "inputSchema": {"type": "object"}},
                ]})),
                "tools/call" => {
                    if params["name"] == "slow" {
                        // A call that is under way until its test has ended.
                        loop {
                            std::thread::park();
                        }
                    }
                    let tenant = tenant(request);
                    Some(json!({"content": [{"type": "text", "text": tenant}]}))
                }
                _ => None,
            })
        }))
    }

    /// Returns an entry that sends `tenant`.
    pub(crate) fn entry(&self, name: &str, tenant: &str) -> String {
        let url = self.0.url("/mcp");
        format!(
            r#""{name}": {{"type": "http", "url": "{url}", "headers": {{"X-Tenant-Key": "{tenant}"}}}}"#
        )
    }

    pub(crate) fn connections(&self) -> usize {
        self.0.connections()
    }

    /// Returns how many messages came, of all kinds.
    pub(crate) fn requests(&self) -> usize {
        self.posted().len()
    }

    /// Returns how many tools were called.
    pub(crate) fn calls(&self) -> usize {
        let posted = self.posted();
        let is_call = |request: &&Request| {
            let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
            message["method"] == "tools/call"
        };
        posted.iter().filter(is_call).count()
    }

    pub(crate) fn tenants(&self) -> Vec<String> {
        let mut tenants: Vec<String> = self.posted().iter().map(tenant).collect();
        tenants.sort();
        tenants.dedup();
        tenants
    }

    fn posted(&self) -> Vec<Request> {
        let mut seen = self.0.seen();
        seen.retain(|request| request.method == "POST");
        seen
    }
}

fn tenant(request: &Request) -> String {
    request
        .header("x-tenant-key")
        .unwrap_or_default()
        .to_owned()
}
