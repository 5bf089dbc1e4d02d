use keyway_config::diagnostic::Diagnostic;
use keyway_config::document::{Document, DocumentKind};
use keyway_config::plugin::Plugin;
use keyway_config::source::Source;

use crate::rules::fixture::{entry, findings, fixed, plugin, pointers};

const ID: &str = "invalid-entry";

fn only(plugin: &Plugin) -> Diagnostic {
    let mut found = findings(ID, plugin);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn entries_of_every_transport_are_not_reported() {
    for fields in [
        r#""type": "http", "url": "https://h.example""#,
        r#""type": "ws", "url": """#,
        r#""command": "node", "args": [], "env": {}, "timeout": 5000, "disabled": false"#,
        r#""url": "https://h.example", "oauth": false, "headersHelper": "./h.sh""#,
        r#""url": "https://h.example", "headersHelper": {"command": ["./h.sh"]}"#,
    ] {
        assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
    }
}

#[test]
fn each_fault_of_an_entry_is_one_finding_that_says_what_is_wrong() {
    for (fields, message) in [
        (
            r#""url": "https://h.example", "headersHelper": {"refresh": "connection"}"#,
            "`headersHelper` must be an object with `command`",
        ),
        (
            r#""url": "https://h.example", "headersHelper": {"command": []}"#,
            "`headersHelper.command` must be an array of strings, not empty",
        ),
        (r#""command": """#, "`command` is empty"),
        (r#""command": [" ", "x"]"#, "`command` is empty"),
        (r#""args": []"#, "the entry has neither `url` nor `command`"),
        (
            r#""url": "https://h.example", "command": "node""#,
            "the entry has both `url` and `command`",
        ),
        (
            r#""type": "stdio", "url": "https://h.example""#,
            "`stdio` needs `command`, but there is `url`",
        ),
        (
            r#""type": "http", "command": "node""#,
            "`http` needs `url`, but there is `command`",
        ),
        (
            r#""type": "stdio", "command": 7"#,
            "`command` must be a string, not a number",
        ),
        (
            r#""command": "node", "args": ["a", []]"#,
            "item 2 of `args` must be a string, not an array",
        ),
        (
            r#""command": "node", "env": {"7": null}"#,
            "`env.7` must be a string, not null",
        ),
        (
            r#""command": "node", "env": {"NODE_OPTIONS=--import": "file:///x.mjs"}"#,
            "not the name of a variable",
        ),
        (
            r#""url": "https://h.example", "oauth": {"callbackPort": 99999}"#,
            "`oauth.callbackPort` must be a port number",
        ),
        (
            r#""url": "https://h.example", "headersHelper": {"command": "./h.sh"}"#,
            "`headersHelper.command` must be an array of strings, not a string",
        ),
        (
            r#""url": "https://h.example", "headersHelper": {"command": ["x"], "refresh": "x"}"#,
            "`headersHelper.refresh` must be `connection` or `request`",
        ),
    ] {
        let found = only(&entry(fields));
        assert_eq!(found.message, message);
        assert_eq!(found.server.as_deref(), Some("s"));
    }
}

#[test]
fn what_other_rules_tell_is_not_told_again() {
    for fields in [
        r#""type": "smoke", "url": "https://h.example""#,
        r#""command": "a", "command": "b""#,
    ] {
        assert!(pointers(ID, &entry(fields)).is_empty(), "{fields}");
    }
    assert!(pointers(ID, &plugin("")).is_empty());
    assert!(pointers(ID, &plugin("nonsense")).is_empty());
}

#[test]
fn names_that_cannot_be_used_are_reported_without_their_control_characters() {
    for (name, message) in [
        (String::new(), "the name of the entry is empty"),
        (
            "a\\u0007b".to_owned(),
            "the name `ab` has a control character",
        ),
    ] {
        let text = format!(r#"{{"mcpServers": {{"{name}": {{"command": "x"}}}}}}"#);
        assert_eq!(only(&plugin(&text)).message, message);
    }
    let long = format!(r#"{{"{}": {{"command": "x"}}}}"#, "n".repeat(129));
    assert!(
        only(&plugin(&long))
            .message
            .ends_with("longer than 128 characters")
    );
}

#[test]
fn a_file_that_holds_no_entries_at_all_is_reported() {
    assert_eq!(
        only(&plugin("[]")).message,
        "the file holds an array, not an object"
    );
    assert_eq!(
        only(&plugin(r#"{"mcpServers": []}"#)).message,
        "`mcpServers` must be an object of entries"
    );
    assert_eq!(
        only(&plugin(r#"{"mcpServers": {"s": "node server.js"}}"#)).message,
        "entry `s` is a string, not an object"
    );
    let source = Source::new("plugin.json", br#"{"mcpServers": 7}"#);
    let manifest = Plugin::new("", vec![Document::parse(source, DocumentKind::Manifest)]);
    assert!(only(&manifest).message.contains("a path"));
    // A host's own key is named, and the place is one that the file has.
    let source = Source::new(".vscode/mcp.json", br#"{"servers": []}"#);
    let editor = Plugin::new("", vec![Document::parse(source, DocumentKind::Entries)]);
    let found = only(&editor);
    assert_eq!(found.message, "`servers` must be an object of entries");
    assert_eq!(found.location.unwrap().pointer.as_str(), "/servers");
    let text = br#"{"mcpServers": ["./a.json", []]}"#;
    let source = Source::new("plugin.json", text);
    let nested = Plugin::new("", vec![Document::parse(source, DocumentKind::Manifest)]);
    assert_eq!(
        only(&nested).location.unwrap().pointer.as_str(),
        "/mcpServers/1"
    );
}

#[test]
fn entries_beyond_the_limit_are_one_finding() {
    let entries: Vec<String> = (0..300)
        .map(|n| format!(r#""s{n}": {{"command": "x"}}"#))
        .collect();
    let found = only(&plugin(&format!("{{{}}}", entries.join(","))));
    assert_eq!(found.message, "the file has 300 entries; only 256 are read");
}

#[test]
fn values_of_the_wrong_kind_are_quoted_and_unquoted() {
    assert_eq!(
        fixed(ID, r#"{"s": {"command": 7}}"#),
        r#"{"s": {"command": "7"}}"#
    );
    assert_eq!(
        fixed(
            ID,
            r#"{"s": {"command": "x", "timeout": "5000", "disabled": "true"}}"#
        ),
        r#"{"s": {"command": "x", "timeout": 5000, "disabled": true}}"#
    );
    assert_eq!(
        fixed(ID, r#"{"s": {"command": "x", "args": "run"}}"#),
        r#"{"s": {"command": "x", "args": ["run"]}}"#
    );
    assert_eq!(
        fixed(
            ID,
            r#"{"s": {"type": "stdio", "url": "https://h.example/sse"}}"#
        ),
        r#"{"s": {"type": "sse", "url": "https://h.example/sse"}}"#
    );
}
