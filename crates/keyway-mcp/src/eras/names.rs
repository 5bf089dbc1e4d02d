//! Names that the two eras give to things.

/// `_meta` keys of the modern era.
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Severities of log lines.
pub(crate) const LOG_LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// A list that a server may tell the changes of.
#[derive(Debug)]
pub(crate) struct List {
    /// The capability that it belongs to.
    pub(crate) capability: &'static str,
    /// Its name in the filter of a modern subscription.
    pub(crate) filter: &'static str,
    /// What tells of a change.
    pub(crate) notification: &'static str,
}

/// All of them.
pub(crate) const LISTS: [List; 3] = [
    List {
        capability: "tools",
        filter: "toolsListChanged",
        notification: "notifications/tools/list_changed",
    },
    List {
        capability: "prompts",
        filter: "promptsListChanged",
        notification: "notifications/prompts/list_changed",
    },
    List {
        capability: "resources",
        filter: "resourcesListChanged",
        notification: "notifications/resources/list_changed",
    },
];

/// How many requests may be under way, be parked or wait for answers on one connection.
pub(crate) const MAX_PENDING: usize = 1024;
