//! Long texts that are full of beginnings: nothing may look for the end of each from its start.
//!
//! What takes more than time in proportion to the text does not end before the test runner ends
//! it (`slow-timeout`); no clock is read here.

use keyway_config::document::{Document, DocumentKind};
use keyway_config::environment::{HostVariables, Scope, Variables};
use keyway_config::json::quote;
use keyway_config::plugin::{Plugin, Program, ProgramState};
use keyway_config::source::Source;
use keyway_lint::{Context, lint};

#[test]
fn a_long_value_is_read_in_proportion_to_its_length() {
    for unit in WORST {
        let text = quote(&(unit.repeat(LONG / unit.len()) + ENDS));
        let env = format!(r#"{{"API_TOKEN": {text}}}"#);
        check(
            &format!(r#"{{"s": {{"command": "x", "args": [{text}]}}}}"#),
            "",
        );
        check(&format!(r#"{{"s": {{"command": "x", "env": {env}}}}}"#), "");
    }
}

#[test]
fn every_place_takes_a_text_that_is_full_of_beginnings() {
    for unit in UNITS.iter().chain(WORST) {
        let raw = unit.repeat(SHORT / unit.len());
        check(&raw, &raw);
        let raw = raw + ENDS;
        check(&raw, &raw);
        let text = quote(&raw);
        let inside = text.trim_matches('"');
        let headers = format!(r#"{{"Authorization": {text}, "Cookie": {text}, "X-A": {text}}}"#);
        check(
            &format!(
                r#"{{"mcpServers": {{
                "a": {{"command": {text}, "args": [{text}], "env": {{"A": {text}, {text}: "x"}}}},
                "b": {{"type": "http", "url": {text}, "headers": {headers}}},
                "c": {{"type": {text}, "url": "https://h.example/{inside}", {text}: 1}},
                "d": {{"url": "wss://h.example", "oauth": {{"clientSecret": {text}, {text}: 1}}}},
                "e": {{"url": "https://h.example", "headersHelper": {text}}},
                {text}: {{"command": "x"}}}}}}"#
            ),
            "",
        );
    }
}

#[test]
fn many_small_values_are_read_in_proportion_to_their_number() {
    for (open, unit, close) in [
        (
            r#"{"s": {"command": "x", "args": ["#,
            r#""-pabc","#,
            r#""x"]}}"#,
        ),
        (
            r#"{"s": {"command": "x", "args": ["#,
            r#""${A}","#,
            r#""x"]}}"#,
        ),
        (
            r#"{"s": {"command": "x", "env": {"#,
            r#""A":"$A","#,
            r#""B":""}}}"#,
        ),
        (
            r#"{"s": {"url": "", "headers": {"#,
            r#""A":"é","#,
            r#""B":""}}}"#,
        ),
        (
            r#"{"s": {"url": "", "oauth": {"scopes": ["#,
            r#""a b","#,
            r#""x"]}}}"#,
        ),
        (r#"{"s": {"command": "x", "#, r#""comand":1,"#, r#""y":1}}"#),
        ("{", r#""s":{"url":"http://h"},"#, r#""t":{}}"#),
        (r#"{"mcpServers": ["#, r#""./a","#, r#""b"]}"#),
        ("", "[", ""),
        ("", "{\"a\":", ""),
        ("", "}", ""),
    ] {
        check(
            &format!("{open}{}{close}", unit.repeat(LONG / unit.len())),
            "",
        );
    }
}

fn check(text: &str, prose: &str) {
    let parse = |kind| Document::parse(Source::new("f.json", text.as_bytes()), kind);
    let mut plugin = Plugin::new(
        "",
        vec![parse(DocumentKind::Entries), parse(DocumentKind::Manifest)],
    );
    let readme = Source::new("README.md", prose.as_bytes());
    let script = Program::new(
        ProgramState::Executable,
        true,
        Some(Source::new("h.sh", prose.as_bytes())),
    );
    plugin.snapshot.readme = Some(readme.clone());
    plugin.snapshot.prose.push(readme);
    plugin.snapshot.programs.insert("./h.sh".to_owned(), script);
    let (host, variables) = (HostVariables::default(), Variables::default());
    let context = Context::new(&plugin).with_scope(Scope::new(&host, &variables));
    for location in lint(&context)
        .into_iter()
        .filter_map(|found| found.location)
    {
        let range = location.span.range();
        assert!(text.get(range.clone()).is_some() || prose.get(range).is_some());
    }
}

/// Quadratic work on this much takes minutes where linear work takes a blink.
const LONG: usize = 64 * 1024;
const SHORT: usize = 1024;

/// Ends of what a unit may have opened.
const ENDS: &str = "}\"')";

/// What once took the square of its length, or a search of some kilobytes for each character.
#[rustfmt::skip]
const WORST: &[&str] = &[
    "eyJ.", "ops_eyJ/", "--token=abc123DEF456ghi", "-pabc ", "${", "${A:-x1y2z3x1y2z3}", "${{#<}}",
    "$(",
];

#[rustfmt::skip]
const UNITS: &[&str] = &[
    "eyJaaaaaaaaaaaaa.", "M.", "1/", ":AA", "-us", "AAAAAAAAAAAAAAAAAAAA/",
    "hooks.slack.com/services/", "ghp_", "sk-ant-", "-----BEGIN ", "xoxe.xox", "-e A=b ",
    "--token=abc123DEF456ghi ", "password=", "token: ", "Authorization: Bearer ", "a=b;", "Bearer ",
    "${A}", "${{", "{{", "{env:", "$A/", "%A%/", "$${", "://", "postgres://u:p4ssw0rdX@", "?a=",
    "@", ":", "../", "\"token\":\"", "'k':\"", "\\\"", "\\", "\"", "'", "{\"a\":", "[", "漢",
    "ü ", "\n", "a", "0123456789abcdef",
];
