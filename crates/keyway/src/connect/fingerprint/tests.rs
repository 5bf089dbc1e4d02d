//! What makes two connections differ.

use std::ffi::OsString;

use keyway_config::document::{Document, DocumentKind};
use keyway_config::environment::{HostVariables, Scope, Variables};
use keyway_config::resolve::resolve;
use keyway_config::source::Source;

use super::*;
use crate::settings::Confinement;

/// What one connection is made of.
#[derive(Clone)]
struct Case {
    entry: &'static str,
    tenant: &'static str,
    shell: Vec<(&'static str, &'static str)>,
    grants: Vec<String>,
    project: &'static str,
    around: &'static str,
    key: u8,
}

impl Case {
    fn new(entry: &'static str) -> Self {
        Self {
            entry,
            tenant: "a",
            shell: vec![("PATH", "/bin"), ("TERM", "xterm"), ("OTHER", "1")],
            grants: Vec::new(),
            project: "/project",
            around: "here",
            key: 1,
        }
    }

    fn bytes(&self) -> [u8; 32] {
        let text = format!(r#"{{"s": {}}}"#, self.entry);
        let source = Source::new("f.json", text.as_bytes());
        let document = Document::parse(source, DocumentKind::Entries);
        let server = document.entries[0].server.as_ref().unwrap();
        let host = HostVariables {
            plugin_root: "/plugin".into(),
            project_dir: self.project.into(),
            ..HostVariables::default()
        };
        let variables = Variables::from_pairs([("TENANT", self.tenant)]);
        let spec = resolve(server, &Scope::new(&host, &variables)).unwrap();
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        let environment: Vec<_> = self.shell.iter().map(pair).collect();
        let target = Target {
            plugin: "p",
            spec: &spec,
            host: &host,
            grants: &self.grants,
            files: None,
            confinement: &Confinement::default(),
        };
        let key = FingerprintKey::new(Secret::new([self.key; 32]));
        let context = FingerprintContext {
            account: None,
            environment: &environment,
            around: &[self.around.as_bytes()],
        };
        *of(target, context, &key).as_bytes()
    }
}

const REMOTE: &str =
    r#"{"type": "http", "url": "https://h.example/mcp", "headers": {"X-Tenant-ID": "${TENANT}"}}"#;
const LOCAL: &str = r#"{"command": "run", "args": ["${TENANT}"], "env": {"T": "x"}}"#;

#[test]
fn every_value_and_everything_a_program_sees_counts() {
    for entry in [REMOTE, LOCAL] {
        let case = Case::new(entry);
        let same = case.bytes();
        assert_eq!(case.clone().bytes(), same);
        let differs = |change: &dyn Fn(&mut Case)| {
            let mut other = case.clone();
            change(&mut other);
            other.bytes() != same
        };
        let runs = entry == LOCAL;
        assert!(differs(&|it| it.tenant = "b"));
        assert!(differs(&|it| it.around = "there"));
        assert!(differs(&|it| it.key = 2));
        assert_eq!(differs(&|it| it.project = "/other"), runs);
        assert_eq!(differs(&|it| it.shell[0].1 = "/usr/bin"), runs);
        assert_eq!(differs(&|it| it.grants.push("OTHER".to_owned())), runs);
        assert!(!differs(&|it| it.shell[1].1 = "dumb"), "looks alone");
        assert!(!differs(&|it| it.shell[2].1 = "2"), "it is not passed on");
        let granted = |it: &mut Case| it.grants.push("OTHER".to_owned());
        let mut with = case.clone();
        granted(&mut with);
        let before = with.bytes();
        with.shell[2].1 = "2";
        assert_eq!(with.bytes() != before, runs);
    }
}

#[test]
fn entries_that_say_something_else_differ() {
    let entries = [
        REMOTE,
        LOCAL,
        r#"{"type": "sse", "url": "https://h.example/mcp", "headers": {"X-Tenant-ID": "${TENANT}"}}"#,
        r#"{"type": "http", "url": "https://h.example/mc", "headers": {"X-Tenant-ID": "${TENANT}"}}"#,
        r#"{"type": "http", "url": "https://h.example/mcp", "headers": {"X-Tenant-I": "${TENANT}"}}"#,
        r#"{"type": "http", "url": "https://h.example/mcp", "headersHelper": "./h"}"#,
        r#"{"type": "http", "url": "https://h.example/mcp", "headersHelper": "./i"}"#,
        r#"{"type": "http", "url": "https://h.example/mcp", "oauth": {"scopes": "a"}}"#,
        r#"{"type": "http", "url": "https://h.example/mcp", "oauth": {"scopes": "a", "callbackPort": 4000}}"#,
        r#"{"type": "http", "url": "https://h.example/mcp", "timeout": 2000}"#,
        r#"{"command": "run", "args": ["${TENANT}", "x"], "env": {"T": "x"}}"#,
        r#"{"command": "run", "args": ["${TENANT}"], "env": {"T": "y"}}"#,
        r#"{"command": "run", "args": ["${TENANT}"], "env": {"T": "x"}, "cwd": "sub"}"#,
    ];
    let all: std::collections::HashSet<_> = entries.map(|it| Case::new(it).bytes()).into();
    assert_eq!(all.len(), entries.len());
}

#[test]
fn only_the_same_bytes_match() {
    let key = FingerprintKey::new(Secret::new([0; 32]));
    let one = key.hash("a", &[b"x"]);
    assert!(one.matches(key.hash("a", &[b"x"]).as_bytes()));
    assert!(!one.matches(key.hash("b", &[b"x"]).as_bytes()));
    assert!(!one.matches(key.hash("a", &[b"x", b""]).as_bytes()));
    assert_eq!(format!("{one:?}"), "ConnectionFingerprint(..)");
}
