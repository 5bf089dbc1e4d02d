//! Env files that a plugin chose: which entries get their values, and that those count by value.

use keyway_config::environment::Environment as _;
use keyway_testkit::Folder;

use super::super::*;
use super::host;

fn question(host: &Host, folder: &Folder, server: &str) -> Question {
    let plugin = host.load(folder.path()).unwrap();
    plugin.plan(server).unwrap().question().unwrap().clone()
}

/// Threat E5: an entry that is switched off hands code to another.
#[test]
fn e05_an_entry_gets_nothing_out_of_the_env_file_of_another() {
    let outside = Folder::new();
    outside.put("x.env", "CODE=. ./a.sh\n");
    let file = outside.at("x.env");
    let file = file.to_str().unwrap();
    let folder = Folder::with_entries(&format!(
        r#"{{"zz": {{"disabled": true, "command": "true", "envFile": "{file}"}},
             "s": {{"command": "sh", "args": ["-c", "${{CODE}}"]}},
             "own": {{"command": "sh", "args": ["-c", "${{CODE}}"], "envFile": "{file}"}}}}"#
    ));
    let home = Folder::new();
    let host = host(&home);
    let plugin = host.load(folder.path()).unwrap();
    let plan = plugin.plan("s").unwrap();
    assert_eq!(plan.problems().len(), 1, "{:?}", plan.problems());
    assert!(plan.variables().get("CODE").is_none());
    let own = plugin.plan("own").unwrap();
    assert!(own.problems().is_empty(), "{:?}", own.problems());
    let loaded = plugin.loaded();
    let scope = host.variable_scope(loaded).unwrap();
    let found = crate::status::of(&loaded.plugin, &scope.scope());
    let is_set = |name: &str| {
        let mut found = found.iter();
        let server = found.find(|it| it.entry.name == name).unwrap();
        server.variables.iter().all(|it| it.is_set)
    };
    assert!(is_set("own") && !is_set("s"));
}

/// Threat E6: wherever the file lies, the plugin chose it.
#[test]
fn e06_values_of_an_env_file_outside_count_by_value_and_name_the_file() {
    let outside = Folder::new();
    let file = outside.at("x.env");
    let file = file.to_str().unwrap();
    for (fields, counts) in [
        (r#""command": "sh", "args": ["-c", "${V}"]"#, true),
        (r#""command": "${V}""#, true),
        (r#""command": "prog", "args": ["${V}"]"#, true),
        (
            r#""command": "prog", "env": {"NODE_OPTIONS": "${V}"}"#,
            true,
        ),
        (r#""command": "prog", "cwd": "${V}""#, true),
        (r#""type": "http", "url": "https://${V}.example/mcp""#, true),
        // A token is rotated without a question.
        (r#""command": "prog", "env": {"API_TOKEN": "${V}"}"#, false),
        (
            r#""type": "http", "url": "https://h.example/mcp", "headers": {"Authorization": "Bearer ${V}"}"#,
            false,
        ),
    ] {
        outside.put("x.env", "V=first\n");
        let entry = format!(r#"{{"s": {{{fields}, "envFile": "{file}"}}}}"#);
        let folder = Folder::with_entries(&entry);
        let home = Folder::new();
        let host = host(&home);
        let before = question(&host, &folder, "s");
        outside.put("x.env", "V=second\n");
        let after = question(&host, &folder, "s");
        assert_eq!(before.digest != after.digest, counts, "{fields}");
        let text = after.to_string();
        assert!(text.contains("x.env"), "{text}");
        assert!(text.contains("outside of the plugin"), "{text}");
        assert!(!counts || text.contains("second"), "{text}");
    }
}

/// Threat E5: a confined program writes the data folder, and an unconfined server reads it.
#[test]
fn e05_an_env_file_in_the_data_folder_decides_nothing_unseen() {
    for fields in [
        r#""command": "sh", "args": ["-c", "${P}"]"#,
        r#""command": "prog", "env": {"PATH": "${P}"}"#,
    ] {
        let entry = format!(r#"{{"s": {{{fields}, "envFile": "${{HOST_PLUGIN_DATA}}/e.env"}}}}"#);
        let folder = Folder::with_entries(&entry);
        let home = Folder::new();
        let host = host(&home);
        let plugin = host.load(folder.path()).unwrap();
        let scope = host.variable_scope(plugin.loaded()).unwrap();
        let file = scope.host_variables().plugin_data.join("e.env");
        assert!(file.is_absolute(), "{}", file.display());
        let file = file.to_str().unwrap();
        home.put(file, "P=/first\n");
        let before = question(&host, &folder, "s");
        home.put(file, "P=/second\n");
        let after = question(&host, &folder, "s");
        assert_ne!(before.digest, after.digest, "{fields}");
        let text = after.to_string();
        assert!(text.contains("programs of the plugin can write"), "{text}");
        assert!(text.contains("${P} is /second"), "{text}");
        assert!(
            !fields.contains("PATH") || text.contains("decides which code runs"),
            "{text}"
        );
    }
}
