//! Which files of a plugin hold entries.

use keyway_config::document::DocumentKind;

/// The files of a plugin root that hold entries, the manifests last.
pub const CONFIG_FILES: &[(&str, DocumentKind)] = &[
    (".mcp.json", DocumentKind::Entries),
    ("mcp.json", DocumentKind::Entries),
    ("plugin.json", DocumentKind::Manifest),
    (".claude-plugin/plugin.json", DocumentKind::Manifest),
    (".codex-plugin/plugin.json", DocumentKind::Manifest),
];
