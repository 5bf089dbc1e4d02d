//! `--format sarif` against the schema that OASIS publishes, which `cargo xtask test` downloads.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test whose fixture is broken must stop"
)]

use keyway_testkit::{Folder, Keyway, Tools};

/// Below `KEYWAY_TOOLS`: the schema.
const SCHEMA: &str = "sarif-schema-2.1.0.json";

fn sarif(folder: &Folder, arguments: &[&str]) -> serde_json::Value {
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path());
    let call = call.args(["check", "--format", "sarif"]);
    let outcome = call.args(arguments.iter().copied()).run();
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn folder() -> Folder {
    Folder::with_entries("{\"a\": {\"url\": \"https://h.example/mcp\"},\n \"a\": 1, // x\n}")
        .file("with space/ü.json", "{")
        .file(".env", "A=1")
}

#[test]
fn output_validates_against_the_published_schema() {
    let Some(tools) = Tools::find(&[SCHEMA]) else {
        return;
    };
    // One of its patterns has a bracket too many, which our regular expressions refuse.
    let schema = std::fs::read_to_string(tools.at(SCHEMA)).unwrap();
    let schema = schema.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
    let schema = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for arguments in [
        &[][..],
        &[".mcp.json", "with space/ü.json", "missing.json"],
        &["missing.json"],
        &["--strict"],
    ] {
        let log = sarif(&folder(), arguments);
        let errors: Vec<String> = validator.iter_errors(&log).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{arguments:?}: {errors:#?}");
    }
}

#[test]
fn results_point_to_rules_lines_and_columns() {
    let log = sarif(&folder(), &[".mcp.json", "with space/ü.json"]);
    let run = &log["runs"][0];
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(result["partialFingerprints"]["keywayFinding/v1"].is_string());
    }
    let repeated = results
        .iter()
        .find(|r| r["ruleId"] == "duplicate-key")
        .unwrap();
    let place = &repeated["locations"][0]["physicalLocation"];
    assert_eq!(place["region"]["startLine"], 2);
    assert_eq!(place["region"]["startColumn"], 2);
    assert_eq!(
        repeated["relatedLocations"][0]["physicalLocation"]["region"]["startLine"],
        1
    );
    let uris = results
        .iter()
        .map(|r| &r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]);
    assert!(
        uris.into_iter()
            .any(|uri| uri == "with%20space/%C3%BC.json")
    );
}

/// Returns the fingerprint and place of each result.
fn fingerprints(folder: &Folder, at: &str, arguments: &[&str]) -> Vec<(String, String)> {
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), &folder.at(at));
    let call = call.args(["check", "--format", "sarif"]);
    let outcome = call.args(arguments.iter().copied()).run();
    let log: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap().iter();
    let mut results: Vec<_> = results
        .map(|result| {
            let print = &result["partialFingerprints"]["keywayFinding/v1"];
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
            (print.to_string(), place.to_string())
        })
        .collect();
    results.sort();
    results
}

#[test]
fn fingerprints_are_the_same_from_every_folder_and_for_every_way_to_write_a_path() {
    let entry =
        r#"{"a": {"url": "https://h.example/mcp"}, "b": {"command": "/Users/x/y"}, "a": 1}"#;
    let marketplace =
        r#"{"name": "m", "owner": {"name": "o"}, "plugins": [{"name": "p", "source": "./gone"}]}"#;
    let folder = |is_repository: bool| {
        let folder = Folder::new()
            .file("sub/deep/.mcp.json", entry)
            .file(
                "sub/deep/.claude-plugin/plugin.json",
                r#"{"name": "p", "mcpServers": "./gone.json"}"#,
            )
            .file("sub/.claude-plugin/marketplace.json", marketplace);
        match is_repository {
            true => folder.repository(&[]),
            false => folder,
        }
    };
    for is_repository in [true, false] {
        let folder = folder(is_repository);
        let expected = fingerprints(&folder, ".", &["."]);
        assert!(expected.len() >= 5, "{expected:#?}");
        let absolute = folder.path().display().to_string();
        for (at, path) in [
            (".", "./sub"),
            (".", absolute.as_str()),
            ("sub", "."),
            ("sub/deep", ".."),
            ("sub/deep", absolute.as_str()),
        ] {
            let mut found = fingerprints(&folder, at, &[path]);
            let mut expected = expected.clone();
            if !is_repository {
                // Without a repository there is no top from which a place could be named.
                found
                    .iter_mut()
                    .chain(&mut expected)
                    .for_each(|it| it.1.clear());
            }
            assert_eq!(found, expected, "{is_repository} {at} {path}");
        }
        let place = r#"{"uri":"sub/deep/.mcp.json","uriBaseId":"%SRCROOT%"}"#;
        let is_there = expected.iter().any(|(_, it)| it == place);
        assert_eq!(is_there, is_repository, "{expected:#?}");
    }
    // The same tree elsewhere, such as in another checkout.
    let (one, other) = (folder(true), folder(true));
    assert_eq!(
        fingerprints(&one, ".", &["."]),
        fingerprints(&other, ".", &["."])
    );
}

#[test]
fn safe_fix_is_a_replacement_unless_it_touches_a_value() {
    let plain = Folder::with_entries(r#"{"s": {"command": "x",}}"#);
    let log = sarif(&plain, &[]);
    let fix = &log["runs"][0]["results"][0]["fixes"][0]["artifactChanges"][0];
    assert_eq!(fix["replacements"][0]["deletedRegion"]["startColumn"], 22);
    assert_eq!(fix["replacements"][0]["insertedContent"]["text"], "");
}

#[test]
fn path_that_cannot_be_read_is_a_notification() {
    let log = sarif(&folder(), &["missing.json"]);
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let text = &invocation["toolExecutionNotifications"][0]["message"]["text"];
    assert_eq!(text, "`missing.json` does not exist");
}
