//! `keyway schema` against an independent validator: its meta-schema, real files, and wrong kinds.

#![expect(
    clippy::unwrap_used,
    reason = "a test whose fixture is broken must stop"
)]

use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use keyway_code::Code;
use keyway_config::declared::EntryFault;
use keyway_config::document::{Document, DocumentKind, Entry, Wrapper};
use keyway_config::plugin::Plugin;
use keyway_config::schema_id::SCHEMA_ID;
use keyway_config::source::Source;
use keyway_lint::{Context, lint};
use keyway_testkit::{Folder, Keyway};
use serde_json::{Value, json};

fn schema() -> Value {
    let folder = Folder::new();
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path());
    let outcome = call.args(["schema"]).run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).unwrap()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn schema_follows_its_meta_schema_and_carries_our_id() {
    let schema = schema();
    let verdict = jsonschema::draft202012::meta::validate(&schema);
    assert!(
        verdict.is_ok(),
        "{:?}",
        verdict.err().map(|e| e.to_string())
    );
    assert_eq!(schema["$id"], SCHEMA_ID);
}

#[test]
fn every_field_is_described_for_editors() {
    let schema = schema();
    for table in ["entry", "oauth", "helper"] {
        let fields = schema["$defs"][table]["properties"].as_object().unwrap();
        for (name, field) in fields {
            assert!(field["description"].is_string(), "{table}.{name}");
        }
    }
    let types = &schema["$defs"]["entry"]["properties"]["type"]["anyOf"];
    let types = types.as_array().unwrap().iter();
    let alias = types.filter_map(|found| Some((found["pattern"].as_str()?, found)));
    let alias = alias
        .into_iter()
        .find(|(words, _)| words.contains("remote"));
    let (_, alias) = alias.unwrap();
    assert_eq!(alias["description"], "Deprecated: write `http`");
}

#[test]
fn both_forms_of_a_file_are_accepted() {
    let validator = validator();
    let entry = json!({"type": "http", "url": "https://h.example/mcp"});
    for file in [
        json!({"mcpServers": {"s": entry}, "$schema": SCHEMA_ID, "other": 1}),
        json!({"mcpServers": {"_note": 1, "Dev Box": entry}}),
        json!({"s": entry, "_comment": "x", "version": 2, "$schema": "https://x.example"}),
        json!({"mcpServers": {}}),
        json!({}),
    ] {
        assert!(validator.is_valid(&file), "{file}");
    }
}

#[test]
fn what_the_reader_loads_is_accepted_and_wrong_kinds_are_not() {
    let validator = validator();
    let url = r#""type": "http", "url": "https://h.example/mcp""#;
    let good = [
        r#""command": "x", "args": ["a", 1, true], "env": {"A": 1, "B": "${B}"}, "cwd": ".""#,
        r#""type": "local", "command": ["npx", "x"]"#,
        r#""serverUrl": "https://h.example", "_note": {}, "$comment": [], "icon": {}"#,
        r#""type": "streamableHttp", "url": "", "timeout": 0, "disabled": false, "tools": null"#,
        r#""url": "wss://h.example", "headersHelper": "./h.sh", "oauth": false"#,
    ];
    let remote = [
        r#""headersHelper": {"command": ["./h.sh"], "refresh": "request", "ttlMs": 5}"#,
        r#""oauth": {"scopes": "a b", "callbackPort": 8080, "clientSecret": "${S}"}"#,
        r#""oauth": {"scopes": ["a"], "authorizationUrl": "https://a", "tokenUrl": "https://a"}"#,
    ];
    let wrong = [
        r#""headers": ["a"]"#,
        r#""headers": {"A": null}"#,
        r#""env": "A=1""#,
        r#""envFile": 1"#,
        r#""timeout": "5000""#,
        r#""timeout": 1.5"#,
        r#""disabled": "yes""#,
        r#""oauth": "yes""#,
        r#""oauth": {"callbackPort": 0}"#,
        r#""oauth": {"callbackPort": 65536}"#,
        r#""oauth": {"scopes": 1}"#,
        r#""oauth": {"clientId": 1}"#,
        r#""headersHelper": 1"#,
        r#""headersHelper": {"refresh": "request"}"#,
        r#""headersHelper": {"command": []}"#,
        r#""headersHelper": {"command": ["x"], "refresh": "daily"}"#,
        r#""command": "x""#,
    ];
    let bad = [
        r#""type": "http""#,
        r#""type": "http", "command": "x""#,
        r#""type": "stdio", "url": "https://h.example""#,
        r#""type": "carrier-pigeon", "url": "https://h.example""#,
        r#""type": 1, "url": "https://h.example""#,
        r#""url": 1"#,
        r#""command": []"#,
        r#""command": "x", "args": "a b""#,
        r#""command": "x", "args": [{}]"#,
        "",
    ];
    let with_url = |fields: &&str| format!("{url}, {fields}");
    let good = good
        .map(str::to_owned)
        .into_iter()
        .chain(remote.iter().map(with_url));
    for fields in good {
        assert_eq!(verdicts(&validator, &fields), (true, true), "{fields}");
    }
    let bad = bad
        .map(str::to_owned)
        .into_iter()
        .chain(wrong.iter().map(with_url));
    for fields in bad {
        assert_eq!(verdicts(&validator, &fields), (false, false), "{fields}");
    }
}

#[test]
fn what_never_takes_effect_is_refused_though_it_can_be_read() {
    let validator = validator();
    for fields in [
        r#""haeders": {"A": "b"}"#,
        r#""headers": {"X-Version": 2}"#,
        r#""headers": {"X-Flag": true}"#,
        r#""oauth": {"clientID": "c"}"#,
        r#""oauth": {"scope": "a"}"#,
        r#""headersHelper": {"command": ["./h.sh"], "ttl": 5}"#,
    ] {
        let fields = format!(r#""type": "http", "url": "https://h.example", {fields}"#);
        assert_eq!(verdicts(&validator, &fields), (true, false), "{fields}");
    }
    for oauth in [
        r#"{"clientSecret": "not-a-real-token-4711"}"#,
        r#"{"clientSecret": "${A:-not-a-real-token-4711}"}"#,
        r#"{"pkce": "none"}"#,
        r#"{"tokenUrl": "https://a.example"}"#,
    ] {
        let fields = format!(r#""type": "http", "url": "https://h.example", "oauth": {oauth}"#);
        assert_eq!(verdicts(&validator, &fields), (true, false), "{fields}");
    }
}

/// Says whether the reader loads an entry, and whether the schema accepts it in either form.
fn verdicts(validator: &Validator, fields: &str) -> (bool, bool) {
    let bare = format!(r#"{{"s": {{{fields}}}}}"#);
    let wrapped = format!(r#"{{"mcpServers": {bare}}}"#);
    let document = Document::parse(Source::new("x", bare.as_bytes()), DocumentKind::Entries);
    let accepted = |text: &str| validator.is_valid(&serde_json::from_str(text).unwrap());
    assert_eq!(accepted(&bare), accepted(&wrapped), "{fields}");
    let entry = document.entries.first().unwrap();
    (entry.server.is_ok(), accepted(&bare))
}

#[test]
fn names_that_cannot_be_used_are_refused() {
    let validator = validator();
    let named = |name: &str| json!({"mcpServers": {name: {"command": "x"}}});
    for name in ["", "a\u{7}b", &"x".repeat(129)] {
        assert!(!validator.is_valid(&named(name)), "{name:?}");
    }
    assert!(validator.is_valid(&named(&"ü".repeat(128))));
}

#[test]
fn examples_validate() {
    let validator = validator();
    let mut files = 0;
    for folder in fs::read_dir(repository().join("examples")).unwrap() {
        let folder = folder.unwrap();
        let file = folder.path().join(".mcp.json");
        if folder.file_name() == "broken" || !file.is_file() {
            continue;
        }
        let value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| e.to_string())
            .collect();
        assert!(faults.is_empty(), "{}: {faults:#?}", file.display());
        files += 1;
    }
    assert!(files >= 8, "{files}");
}

/// A file of the corpus validates exactly if the reader loads all its entries and every field of
/// them has an effect: an editor marks what `keyway check --pedantic` reports, for a schema cannot say
/// which unknown name is close to a known one.
#[test]
#[ignore = "needs KEYWAY_CORPUS"]
fn real_files_validate_unless_an_entry_is_skipped_or_a_field_is_unknown() {
    let corpus = corpus();
    let validator = validator();
    let (mut files, mut problems) = (0, Vec::new());
    for file in fs::read_dir(corpus).unwrap() {
        let path = file.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let document = Document::parse(Source::new("x", &bytes), DocumentKind::Entries);
        let is_native = matches!(document.wrapper, Wrapper::Wrapped | Wrapper::Bare);
        if !document.is_usable()
            || !document.dialect.is_contract()
            || !is_native
            || document.entries.iter().any(is_repeated)
        {
            continue;
        }
        files += 1;
        let text = String::from_utf8(bytes).unwrap();
        let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
        let loads = document.entries.iter().all(|entry| entry.server.is_ok())
            && !has_unknown_field(document)
            && headers_are_strings(&value);
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| e.to_string())
            .collect();
        if loads != faults.is_empty() {
            problems.push(format!("{}: {loads} {faults:?}", path.display()));
        }
    }
    println!("{files} native files");
    assert!(files > 100, "{files}");
    assert!(problems.is_empty(), "{problems:#?}");
}

fn has_unknown_field(document: Document) -> bool {
    let plugin = Plugin::new("", vec![document]);
    let found = lint(&Context::new(&plugin).pedantic(true));
    found
        .iter()
        .any(|it| matches!(it.code, Code::UnknownField | Code::MtlsInEntry))
}

fn headers_are_strings(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.iter().all(|(key, value)| match value {
            Value::Object(headers) if key == "headers" => headers.values().all(Value::is_string),
            other => headers_are_strings(other),
        }),
        _ => true,
    }
}

fn is_repeated(entry: &Entry) -> bool {
    matches!(&entry.server, Err(faults) if faults.contains(&EntryFault::RepeatedKey))
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told where the files are"
)]
fn corpus() -> PathBuf {
    let beside = repository().join("../shared/corpus");
    std::env::var_os("KEYWAY_CORPUS").map_or(beside, PathBuf::from)
}
