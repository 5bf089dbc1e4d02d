//! Which changes the result of `initialize` told a client to expect.

use keyway_mcp::jsonrpc;
use keyway_transport::Frame;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Whether a client is told that lists have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ListChanged([bool; LISTS.len()]);

impl ListChanged {
    /// Reads what a client was told that the server can do.
    pub(super) fn by(capabilities: &RawValue) -> Self {
        let lists: Lists<'_> = serde_json::from_str(capabilities.get()).unwrap_or_default();
        Self([lists.tools, lists.prompts, lists.resources].map(|list| {
            let list = list.and_then(|it| serde_json::from_str::<List<'_>>(it.get()).ok());
            let changes = list.and_then(|it| it.changes);
            changes.is_some_and(|it| it.get() == "true")
        }))
    }

    /// Returns what says that everything may have changed.
    pub(super) fn changes(self) -> Vec<Frame> {
        let list_changed = LISTS.iter().zip(self.0).filter(|(_, is_told)| *is_told);
        let observer = list_changed.map(|(list, _)| {
            let method = format!("notifications/{list}/list_changed");
            Frame::new(jsonrpc::notification(&method, None)).ok()
        });
        observer.flatten().collect()
    }

    /// Says whether a notification is one that the client does not expect.
    pub(super) fn suppresses(self, method: &str) -> bool {
        let list = method.strip_prefix("notifications/");
        let list = list.and_then(|rest| rest.strip_suffix("/list_changed"));
        let of = |list: &str| {
            LISTS
                .iter()
                .zip(self.0)
                .any(|(it, list_changed)| *it == list && list_changed)
        };
        list.is_some_and(|list| !of(list))
    }
}

#[derive(Default, Deserialize)]
struct Lists<'a> {
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    prompts: Option<&'a RawValue>,
    #[serde(borrow)]
    resources: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, rename = "listChanged")]
    changes: Option<&'a RawValue>,
}

const LISTS: [&str; 3] = ["tools", "prompts", "resources"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_only_the_list_changes_its_capabilities_announce() {
        let capabilities =
            r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"listChanged":false}}"#;
        let list_changed = ListChanged::by(serde_json::from_str(capabilities).unwrap());
        let changes = list_changed.changes();
        assert_eq!(changes.len(), 1);
        let text = std::str::from_utf8(changes[0].bytes()).unwrap();
        assert!(text.contains("notifications/tools/list_changed"), "{text}");
        assert!(!list_changed.suppresses("notifications/tools/list_changed"));
        assert!(list_changed.suppresses("notifications/prompts/list_changed"));
        assert!(list_changed.suppresses("notifications/resources/list_changed"));
        assert!(!list_changed.suppresses("notifications/message"));
    }
}
