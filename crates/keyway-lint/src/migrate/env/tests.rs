//! The plan for every position, and for everything that stands in its way.

use std::collections::BTreeSet;

use keyway_code::Code;
use keyway_config::document::DocumentKind;
use keyway_config::environment::Variables;

mod hosts;

use super::super::EnvObstacle;
use super::*;
use crate::rules::fixture::{entry, plugin};

const TOKEN: &str = "not-a-real-token-4711";
const OTHER: &str = "nor-is-this-one-0815";

fn planned(plugin: &Plugin, environment: &Variables, around: &PluginFiles) -> EnvPlan {
    let documents = plugin.documents.iter();
    let files: Vec<Arc<str>> = documents.map(|d| d.source.shared_path()).collect();
    let scope = Selection {
        plugin,
        files: &files,
        server: None,
    };
    plan(&scope, environment, around)
}

fn plain(plugin: &Plugin) -> EnvPlan {
    planned(plugin, &Variables::default(), &PluginFiles::default())
}

/// Returns the fields of the one entry afterwards, and what `.env` would hold.
fn migrated(fields: &str) -> (String, String) {
    let fields = fields
        .replace("TOKEN4711", TOKEN)
        .replace("OTHER0815", OTHER);
    let plan = plain(&entry(&fields));
    assert_eq!(plan.documents.len(), 1, "{fields}\n{:?}", plan.diagnostics);
    let text = plan.documents[0].after.clone();
    assert!(!text.contains("4711") && !text.contains("0815"), "{text}");
    let inner = text.split_once("\"s\": {").unwrap().1.to_owned();
    let inner = inner.strip_suffix("}}}").unwrap().to_owned();
    let env = plan.env.unwrap().after.expose().clone();
    (inner, env)
}

/// Returns the only reason why nothing moves.
fn reason(plugin: &Plugin, around: &PluginFiles) -> String {
    let plan = planned(plugin, &Variables::default(), around);
    assert!(plan.is_empty(), "{:?}", plan.moves);
    assert!(plan.env.is_none() && plan.ignore.is_none() && plan.readme.is_none());
    assert_eq!(plan.diagnostics.len(), 1, "{:?}", plan.diagnostics);
    assert_eq!(plan.diagnostics[0].code, Code::NotMigrated);
    plan.diagnostics[0].message.clone()
}

#[test]
fn only_the_credential_of_a_string_is_replaced() {
    let url = r#""type": "http", "url": "https://h.example/mcp""#;
    for (before, after) in [
        (
            format!(r#"{url}, "headers": {{"Authorization": "Bearer TOKEN4711"}}"#),
            format!(r#"{url}, "headers": {{"Authorization": "Bearer ${{S_TOKEN}}"}}"#),
        ),
        (
            r#""command": "x", "env": {"MY_TOKEN": " TOKEN4711 "}"#.to_owned(),
            r#""command": "x", "env": {"MY_TOKEN": " ${MY_TOKEN} "}"#.to_owned(),
        ),
        (
            r#""command": "x", "args": ["--api-key", "TOKEN4711", "--api-key=TOKEN4711"]"#
                .to_owned(),
            r#""command": "x", "args": ["--api-key", "${S_API_KEY}", "--api-key=${S_API_KEY}"]"#
                .to_owned(),
        ),
        (
            r#""type": "http", "url": "https://h.example/mcp?api_key=TOKEN4711&a=1""#.to_owned(),
            r#""type": "http", "url": "https://h.example/mcp?api_key=${S_API_KEY}&a=1""#.to_owned(),
        ),
        (
            r#""command": "x", "args": ["{\"api_key\": \"TOKEN4711\", \"a\": 1}"]"#.to_owned(),
            r#""command": "x", "args": ["{\"api_key\": \"${S_API_KEY}\", \"a\": 1}"]"#.to_owned(),
        ),
        (
            r#""command": "x", "env": {"MY_TOKEN": "${MY_TOKEN:-TOKEN4711}"}"#.to_owned(),
            r#""command": "x", "env": {"MY_TOKEN": "${MY_TOKEN}"}"#.to_owned(),
        ),
        (
            r#""command": "x", "env": {"MY_TOKEN": "${env:MY_TOKEN:-TOKEN4711}"}"#.to_owned(),
            r#""command": "x", "env": {"MY_TOKEN": "${env:MY_TOKEN}"}"#.to_owned(),
        ),
    ] {
        let (fields, env) = migrated(&before);
        assert_eq!(fields, after);
        assert!(env.ends_with(&format!("={TOKEN}\n")), "{env}");
        assert_eq!(env.lines().count(), 1, "{env}");
    }
}

#[test]
fn a_password_in_a_connection_string_moves_alone() {
    let (fields, env) =
        migrated(r#""command": "x", "args": ["postgres://app:TOKEN4711@db.example.net/d"]"#);
    assert!(fields.contains("postgres://app:${"), "{fields}");
    assert!(fields.contains("}@db.example.net/d"), "{fields}");
    assert!(env.ends_with(&format!("={TOKEN}\n")), "{env}");
}

#[test]
fn a_number_becomes_a_string() {
    let plan = plain(&entry(
        r#""command": "x", "env": {"DB_PASSWORD": 8214796035}"#,
    ));
    let text = &plan.documents[0].after;
    assert!(
        text.contains(r#""DB_PASSWORD": "${DB_PASSWORD}""#),
        "{text}"
    );
    assert_eq!(plan.env.unwrap().after.expose(), "DB_PASSWORD=8214796035\n");
}

#[test]
fn escapes_of_the_file_and_of_the_address_are_undone_in_the_value() {
    let (_, env) = migrated(r#""command": "x", "env": {"MY_TOKEN": "not-a-real\u002dtoken-4711"}"#);
    assert_eq!(env, format!("MY_TOKEN={TOKEN}\n"));
    let (_, env) = migrated(
        r#""type": "http", "url": "https://h.example/mcp?api_key=not-a-real-token%2D4711""#,
    );
    assert_eq!(env, format!("S_API_KEY={TOKEN}\n"));
    let plus = r#""type": "http", "url": "https://h.example/mcp?api_key=kT8vQ2+X9wLz4Rb7Yc3N""#;
    let why = reason(&entry(plus), &PluginFiles::default());
    assert!(
        why.ends_with("how it is encoded in the address is not certain"),
        "{why}"
    );
}

#[test]
fn one_value_is_one_variable_and_another_value_another() {
    let text = r#"{"mcpServers": {
        "a": {"command": "x", "env": {"SEARCH_KEY": "TOKEN4711"}},
        "b-2": {"command": "x", "env": {"SEARCH_KEY": "OTHER0815"}},
        "c": {"command": "x", "env": {"SOME_KEY": "TOKEN4711"}}}}"#;
    let text = text.replace("TOKEN4711", TOKEN).replace("OTHER0815", OTHER);
    let plan = plain(&plugin(&text));
    let moves: Vec<_> = plan
        .moves
        .iter()
        .map(|m| (&*m.server, &*m.variable))
        .collect();
    assert_eq!(
        moves,
        [
            ("a", "SEARCH_KEY"),
            ("b-2", "SEARCH_KEY_B_2"),
            ("c", "SEARCH_KEY")
        ]
    );
    let env = plan.env.unwrap();
    let lines = format!("SEARCH_KEY={TOKEN}\nSEARCH_KEY_B_2={OTHER}\n");
    assert_eq!(env.after.expose(), &lines);
    assert_eq!(
        plan.example.unwrap().after,
        "# a: variable `SEARCH_KEY`; c: variable `SOME_KEY`\nSEARCH_KEY=\n\
         # b-2: variable `SEARCH_KEY`\nSEARCH_KEY_B_2=\n"
    );
    assert_eq!(plan.ignore.unwrap().after, ".env\n");
}

#[test]
fn a_name_that_any_service_may_have_gets_the_servers_before_it() {
    for name in [
        "API_KEY",
        "ACCESS_TOKEN",
        "TOKEN",
        "CLIENT_SECRET",
        "apiKey",
    ] {
        let (_, env) = migrated(&format!(
            r#""command": "x", "env": {{"{name}": "TOKEN4711"}}"#
        ));
        let name = if name == "apiKey" { "API_KEY" } else { name };
        assert_eq!(env, format!("S_{name}={TOKEN}\n"));
    }
    // What names no word still differs from what a shell may have.
    for (server, name) in [("7", "_7_API_KEY"), ("日", "__API_KEY")] {
        let text = r#"{"SERVER": {"command": "x", "env": {"API_KEY": "TOKEN4711"}}}"#;
        let text = text.replace("SERVER", server).replace("TOKEN4711", TOKEN);
        assert_eq!(plain(&plugin(&text)).variables(), [name]);
    }
}

#[test]
fn a_variable_that_is_set_to_the_value_needs_no_file() {
    let plugin = entry(&format!(
        r#""command": "x", "env": {{"A_TOKEN": "{TOKEN}"}}"#
    ));
    let set = Variables::from_pairs([("A_TOKEN", TOKEN)]);
    let tracked = PluginFiles {
        env_obstacle: Some(EnvObstacle::Tracked),
        ..PluginFiles::default()
    };
    let plan = planned(&plugin, &set, &tracked);
    assert_eq!(plan.variables(), ["A_TOKEN"]);
    assert!(plan.env.is_none());
    let other = Variables::from_pairs([("A_TOKEN", OTHER)]);
    let plan = planned(&plugin, &other, &PluginFiles::default());
    assert_eq!(plan.variables(), ["A_TOKEN_S"]);
}

#[test]
fn a_value_that_cannot_be_kept_stays() {
    let plugin = entry(&format!(
        r#""command": "x", "env": {{"A_TOKEN": "{TOKEN}"}}"#
    ));
    let with = |env: &str| PluginFiles {
        env: Some(Secret::new(env.to_owned())),
        ..PluginFiles::default()
    };
    let blocked = |obstacle| PluginFiles {
        env_obstacle: Some(obstacle),
        ..PluginFiles::default()
    };
    for (around, why) in [
        (
            with("A_TOKEN=theirs\n"),
            "`.env` has another value for `A_TOKEN`",
        ),
        (
            blocked(EnvObstacle::Tracked),
            "`.env` is in version control",
        ),
        (
            blocked(EnvObstacle::Link),
            "`.env` is a link, and what it leads to may not be ignored",
        ),
    ] {
        let message = reason(&plugin, &around);
        assert_eq!(
            message,
            format!("variable `A_TOKEN` keeps its literal (`not-…`): {why}")
        );
    }
    let same = planned(
        &plugin,
        &Variables::default(),
        &with(&format!("A_TOKEN={TOKEN}")),
    );
    let env = same.env.unwrap();
    assert!(env.added.is_empty());
    assert_eq!(env.after.expose(), &format!("A_TOKEN={TOKEN}"));
}

#[test]
fn places_where_no_variable_works_are_named() {
    let native = |fields: &str| {
        let text = format!(r#"{{"mcpServers": {{"s": {{{fields}}}}}}}"#);
        text.replace("TOKEN4711", TOKEN)
    };
    for (text, why) in [
        (
            format!(
                r#"{{"servers": {{"s": {{"command": "x", "env": {{"A_TOKEN": "{TOKEN}"}}}}}}}}"#
            ),
            "the file is laid out for VS Code, whose variables differ",
        ),
        (
            native(r#""env": {"A_TOKEN": "TOKEN4711"}"#),
            "the entry is not loaded as it is",
        ),
        (
            native(r#""type": "http", "url": "https://h.example", "bearer_token": "TOKEN4711""#),
            "variables are not filled in here",
        ),
        (
            native(r#""command": "x" "env": {"A_TOKEN": "TOKEN4711"}"#),
            "the file is not JSON that every reader understands alike",
        ),
    ] {
        let message = reason(&plugin(&text), &PluginFiles::default());
        assert!(message.ends_with(why), "{message}");
        assert!(!message.contains("4711"));
    }
}

#[test]
fn comments_and_trailing_commas_do_not_stand_in_the_way() {
    let text =
        format!("{{\"s\": {{\"command\": \"x\", // a\n\"env\": {{\"A_TOKEN\": \"{TOKEN}\",}}}}}}");
    let plan = plain(&plugin(&text));
    assert_eq!(plan.documents[0].after, text.replace(TOKEN, "${A_TOKEN}"));
    assert!(
        plan.diagnostics
            .iter()
            .any(|found| found.code == Code::InvalidJson)
    );
}

#[test]
fn two_defaults_of_one_variable_do_not_share_it() {
    let fields = format!(
        r#""command": "x", "env": {{"A_TOKEN": "${{T:-{TOKEN}}}", "B_TOKEN": "${{T:-{OTHER}}}"}}"#
    );
    let plan = plain(&entry(&fields));
    assert_eq!(plan.moves.len(), 1);
    let refused = plan
        .diagnostics
        .iter()
        .find(|found| found.code == Code::NotMigrated);
    let refused = &refused.unwrap().message;
    assert!(
        refused.ends_with("`T` has another default elsewhere"),
        "{refused}"
    );
}

#[test]
fn a_second_run_has_nothing_to_do() {
    let plan = plain(&entry(&format!(
        r#""command": "x", "env": {{"A_TOKEN": "{TOKEN}", "B": "${{B_KEY:-{OTHER}}}"}}"#
    )));
    let source = Source::new(".mcp.json", plan.documents[0].after.as_bytes());
    let again = Plugin::new("", vec![Document::parse(source, DocumentKind::Entries)]);
    let again = plain(&again);
    assert!(again.is_empty() && again.diagnostics.is_empty());
}

#[test]
fn the_advice_says_where_else_the_value_was_seen() {
    let mut plugin = entry(&format!(
        r#""command": "x", "env": {{"A_TOKEN": "{TOKEN}"}}"#
    ));
    let guide = Source::new("docs/a.md", format!("use {TOKEN}").as_bytes());
    plugin.snapshot.prose.push(guide);
    let around = PluginFiles {
        tracked: BTreeSet::from([Arc::from(".mcp.json")]),
        ..PluginFiles::default()
    };
    let plan = planned(&plugin, &Variables::default(), &around);
    let found: Vec<_> = plan
        .diagnostics
        .iter()
        .map(|d| (d.code.as_str(), &*d.message))
        .collect();
    assert_eq!(
        found,
        [
            (
                "rotate-token",
                "the value of `A_TOKEN` was written down in `.mcp.json`, which is in version \
                 control: everyone with its history has the value"
            ),
            (
                "secret-in-docs",
                "`docs/a.md` still holds the value of `A_TOKEN`"
            ),
        ]
    );
    assert!(!format!("{plan:?}").contains("4711"));
}
