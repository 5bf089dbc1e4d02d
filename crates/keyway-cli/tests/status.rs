//! `keyway status` as scripts and people call it: the table, the object, exit codes.

#![expect(
    clippy::expect_used,
    reason = "a test that misses what it looks for must stop"
)]

use keyway_testkit::rig::Settings as RigSettings;
use keyway_testkit::{
    Answer, Desk, Folder, Gateway, Keyway, Outcome, Upstream, eventually, free_port, mcp,
};
use serde_json::json;

fn keyway(folder: &Folder) -> Keyway {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).args(["status"])
}

fn status(folder: &Folder, arguments: &[&str]) -> Outcome {
    let call = keyway(folder).args(arguments.iter().copied());
    call.env("API_TOKENS", "hidden-value-1")
        .env("DATABASE_URL", "hidden-value-2")
        .run()
}

/// Leaves out what differs from machine to machine, and checks that it is there.
fn without_protection(outcome: &Outcome) -> String {
    let text = outcome.snapshot();
    let (before, rest) = text
        .split_once("\nprotection from programs: ")
        .expect("protection");
    let (words, after) = rest.split_once('\n').expect("a line");
    assert!(
        words.contains("hidden by") || words.starts_with("not isolated"),
        "{words}"
    );
    let text = format!("{before}{after}");
    let lines = text.lines().map(|line| match line.split_once("--digest ") {
        Some((before, _)) => format!("{before}--digest [DIGEST]\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// One server for every state that files alone can tell.
const ENTRIES: &str = r#"{
  "mcpServers": {
    "docs": { "type": "http", "url": "https://docs.example/mcp" },
    "search": {
      "type": "http",
      "url": "https://search.example/mcp",
      "headers": { "Authorization": "Bearer ${API_TOKEN}", "X-Region": "${REGION:-eu}" }
    },
    "database": {
      "command": "${HOST_PLUGIN_ROOT}/server",
      "args": ["--state", "${HOST_PLUGIN_DATA}", "--project", "${HOST_PROJECT_DIR}"],
      "env": { "DATABASE_URL": "${DATABASE_URL}" }
    },
    "own": { "type": "http", "url": "" },
    "old": { "type": "sse", "url": "https://old.example/sse", "disabled": true },
    "odd": { "type": "carrier-pigeon", "url": "https://odd.example" }
  }
}
"#;

const MANIFEST: &str =
    r#"{ "name": "acme", "mcpServers": { "own": { "type": "ws", "url": "" } } }"#;

fn folder() -> Folder {
    Folder::with_entries(ENTRIES).file(".claude-plugin/plugin.json", MANIFEST)
}

#[test]
fn table_shows_every_server_and_names_what_is_missing() {
    let outcome = status(&folder(), &[]);
    assert!(!outcome.everything().contains("hidden-value"));
    insta::assert_snapshot!(without_protection(&outcome), @r"
    SERVER    TRANSPORT  METHOD       STATE                 VARIABLES
    docs      http       oauth        needs sign-in         -
    search    http       static       needs API_TOKEN       API_TOKEN missing
                                                            REGION unset, has a default
    database  stdio      environment  needs approval        DATABASE_URL set
    old       sse        oauth        disabled              -
    odd       ?          ?            failed: config-error  -
    own       ws         none         needs an address      -

    error[unresolved-variable]: `search`: variable `API_TOKEN` is not set
      --> .mcp.json:7:37
      help: `API_TOKENS` is set; is that the one? otherwise: export API_TOKEN=…

    error[unknown-type]: `odd`: `carrier-pigeon` is not a transport
      --> .mcp.json:16:22
      help: use `http`, `sse`, `ws` or `stdio`

    needs approval: such a server runs a program or sends a variable, and you have not approved that;
    `keyway trust grant database` shows what it would do and approves it; without a terminal, add
      database  --digest [DIGEST]
    --- exit 0
    ");
}

#[test]
fn narrow_terminal_folds_columns_and_loses_nothing() {
    let folder = folder();
    let call = keyway(&folder).env("COLUMNS", "60");
    let outcome = call.env("DATABASE_URL", "hidden-value-2").run();
    let table: Vec<&str> = outcome
        .stdout
        .lines()
        .take_while(|l| !l.is_empty())
        .collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    SERVER    TRANSPORT  METHOD       STATE         VARIABLES
    docs      http       oauth        needs sign-   -
                                      in
    search    http       static       needs         API_TOKEN
                                      API_TOKEN     missing
                                                    REGION
                                                    unset, has a
                                                    default
    database  stdio      environment  needs         DATABASE_URL
                                      approval      set
    old       sse        oauth        disabled      -
    odd       ?          ?            failed:       -
                                      config-error
    own       ws         none         needs an      -
                                      address
    ");
    assert!(table.iter().all(|line| line.chars().count() <= 60));
}

#[test]
fn json_is_the_object_of_the_contract() {
    let outcome = status(&folder(), &["--format", "json"]);
    assert_eq!(outcome.code, 0);
    let object: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(object["schema_version"], 1);
    let codes: Vec<&str> = object["diagnostics"]
        .as_array()
        .expect("diagnostics")
        .iter()
        .filter_map(|found| found["code"].as_str())
        .collect();
    assert_eq!(codes, ["unresolved-variable", "unknown-type"]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&object["servers"][1]).expect("JSON"), @r#"
    {
      "account": null,
      "code": "unresolved-variable",
      "expires_at": null,
      "fixable_by": "person",
      "hint": "`API_TOKENS` is set; is that the one? otherwise: export API_TOKEN=…, or keep it: keyway env set API_TOKEN",
      "id": "acme:search",
      "method": "static",
      "name": "search",
      "protection": null,
      "reason": "config-error",
      "required_scopes": null,
      "scopes": null,
      "source": {
        "column": 5,
        "file": ".mcp.json",
        "line": 4,
        "pointer": "/mcpServers/search"
      },
      "state": "failed",
      "transport": "http",
      "variables": [
        {
          "name": "API_TOKEN",
          "set": false
        },
        {
          "name": "REGION",
          "set": false
        }
      ]
    }
    "#);
    let states: Vec<String> = object["servers"]
        .as_array()
        .expect("servers")
        .iter()
        .map(|s| format!("{} {} {}", s["id"], s["state"], s["reason"]).replace('"', ""))
        .collect();
    assert_eq!(
        states,
        [
            "acme:docs pending null",
            "acme:search failed config-error",
            "acme:database pending pending-trust",
            "acme:old disabled null",
            "acme:odd failed config-error",
            "acme:own pending not-configured",
        ]
    );
    assert_eq!(object["servers"][5]["transport"], "ws");
}

#[test]
fn each_program_is_told_with_what_keeps_it_out_and_none_is_run() {
    let folder = Folder::with_entries(
        r#"{"mcpServers": {
            "plain": {"command": "${HOST_PLUGIN_ROOT}/mark.sh"},
            "open": {"command": "${HOST_PLUGIN_ROOT}/mark.sh"},
            "helped": {"type": "http", "url": "https://h.example", "headersHelper": "./mark.sh"},
            "remote": {"type": "http", "url": "https://h.example"}}}"#,
    )
    .file(".claude-plugin/plugin.json", r#"{"name": "acme"}"#)
    .executable("mark.sh", "#!/bin/sh\ntouch ran\n")
    .file(
        "home/config/config.toml",
        "[sandbox.servers.\"acme:open\"]\nsource = \"../..\"\nprofile = \"off\"\ninherit_environment = true\n",
    )
    .mode("home/config", 0o700);
    let call = |format: &str| {
        let call = keyway(&folder).env("KEYWAY_HOME", folder.at("home"));
        call.args(["--format", format]).run()
    };
    let object: serde_json::Value = serde_json::from_str(&call("json").stdout).expect("JSON");
    let words = |at: usize| object["servers"][at]["protection"].as_str();
    let plain = words(0).expect("words");
    assert!(
        plain.contains("hidden by") || plain.starts_with("not isolated:"),
        "{plain}"
    );
    let is_in_namespace = plain.contains("private mounts");
    let is_told = plain.contains("without a PID namespace");
    assert_ne!(is_in_namespace, is_told, "{plain}");
    let open = words(1).expect("words");
    let ends = [
        "without a PID namespace, what a program starts is ended through its control group",
        "without a PID namespace or a control group, what a program starts is left if its \
         supervisor is killed",
    ];
    let all = ends.map(|it| {
        format!("not isolated, as configured; {it}; gets the whole environment, as configured")
    });
    assert!(all.iter().any(|it| it == open), "{open}");
    assert_eq!(words(2), Some(plain));
    assert_eq!(words(3), None);
    let human = call("human").stdout;
    let line =
        |id: &str, words: &str| format!("protection from programs of `acme:{id}`: {words}\n");
    assert!(human.contains(&line("open", open)), "{human}");
    assert!(human.contains(&line("helped", plain)), "{human}");
    assert!(!human.contains("acme:remote"), "{human}");
    assert!(!folder.at("ran").exists());
}

/// To approve it would not help: it is not there.
#[test]
fn helper_that_cannot_be_run_is_a_failure_and_not_a_question() {
    let folder = Folder::with_entries(
        r#"{"mcpServers": {
            "gone": {"type": "http", "url": "https://h.example", "headersHelper": "./gone.sh"},
            "data": {"type": "http", "url": "https://h.example", "headersHelper": "./data.sh"},
            "good": {"type": "http", "url": "https://h.example", "headersHelper": "./good.sh"}}}"#,
    )
    .file("data.sh", "#!/bin/sh\n")
    .executable("good.sh", "#!/bin/sh\n");
    let outcome = status(&folder, &["--format", "json"]);
    let object: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let servers = object["servers"].as_array().expect("servers").iter();
    let told: Vec<_> = servers
        .map(|it| format!("{} {} {}", it["name"], it["reason"], it["code"]).replace('"', ""))
        .collect();
    assert_eq!(
        told,
        [
            "gone helper-failed helper-not-executable",
            "data helper-failed helper-not-executable",
            "good pending-trust pending-trust",
        ]
    );
    let human = status(&folder, &[]).stdout;
    assert!(human.contains("chmod +x"), "{human}");
}

#[test]
fn path_that_is_not_there_is_a_failure_and_a_name_that_is_not_there_wrong_usage() {
    let folder = folder();
    assert_eq!(status(&folder, &["./nosuch"]).code, 1);
    assert_eq!(status(&folder, &["nosuch"]).code, 2);
}

#[test]
fn env_file_supplies_what_the_environment_lacks() {
    let folder = folder().file("my.env", "API_TOKEN=from-the-file\n");
    let outcome = status(&folder, &["--env-file", "my.env"]);
    assert!(
        outcome.stdout.contains("API_TOKEN set"),
        "{}",
        outcome.stdout
    );
    assert!(!outcome.everything().contains("from-the-file"));
    assert_eq!(status(&folder, &["--env-file", "none.env"]).code, 1);
}

#[test]
fn variable_in_the_name_of_an_env_file_is_filled_in() {
    let entry =
        r#"{"s": {"command": "x", "env": {"T": "${API_TOKEN}"}, "envFile": "${CONF}/my.env"}}"#;
    let folder = Folder::with_entries(entry).file("conf/my.env", "API_TOKEN=from-the-file\n");
    let call = || Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).args(["status", "."]);
    let outcome = call().env("CONF", "conf").run();
    assert!(
        outcome.stdout.contains("API_TOKEN set"),
        "{}",
        outcome.stdout
    );
    assert!(!outcome.everything().contains("from-the-file"));
    let unset = call().run();
    assert!(unset.stdout.contains("CONF missing"), "{}", unset.stdout);
}

#[test]
fn file_that_is_not_json_is_explained_and_one_that_is_absent_fails() {
    let broken = Folder::with_entries(r#"{"s": {"type": "http", "url": "https://h.example",}}"#);
    let outcome = status(&broken, &[]);
    insta::assert_snapshot!(outcome.snapshot(), @r"
    SERVER  TRANSPORT  METHOD  STATE                 VARIABLES
    s       http       oauth   failed: config-error  -

    error[invalid-json]: not strict JSON: a comma before a closing bracket is not allowed
      --> .mcp.json:1:50
    --- exit 0
    ");
    let absent = status(&broken, &["none.json"]);
    assert_eq!(absent.code, 1);
    assert!(
        absent
            .stderr
            .starts_with("error: `none.json` does not exist\n"),
        "{}",
        absent.stderr
    );
    let json = status(&broken, &["none.json", "--format", "json"]);
    assert_eq!(json.code, 1);
    assert!(json.stdout.contains("\"servers\": []"), "{}", json.stdout);
}

#[test]
fn file_of_another_host_lists_nothing_and_says_whose_it_is() {
    let foreign = Folder::with_entries(r#"{"servers": {"s": {"command": "x"}}}"#);
    let outcome = status(&foreign, &[]);
    insta::assert_snapshot!(outcome.snapshot(), @r"
    no servers in 1 file

    warning[foreign-wrapper]: `servers` is where VS Code keeps its servers: none is loaded, all are searched for secrets
      --> .mcp.json:1:2
      help: put the entries under `mcpServers`, and write `${VAR}` for `${input:…}`
    --- exit 0
    ");
}

#[test]
fn servers_of_several_plugins_carry_their_plugin() {
    let entry = r#"{"s": {"type": "http", "url": "https://h.example"}}"#;
    let folder = Folder::new()
        .file("a/.mcp.json", entry)
        .file("b/.mcp.json", entry);
    let outcome = status(&folder, &["a", "b"]);
    insta::assert_snapshot!(outcome.snapshot(), @r"
    SERVER  TRANSPORT  METHOD  STATE          VARIABLES
    a:s     http       oauth   needs sign-in  -
    b:s     http       oauth   needs sign-in  -
    --- exit 0
    ");
}

#[test]
fn standard_input_has_no_plugin() {
    let entry = r#"{"s": {"type": "http", "url": "https://h.example"}}"#;
    let folder = Folder::new();
    let outcome = keyway(&folder)
        .args(["-", "--format", "json"])
        .stdin(entry)
        .run();
    assert!(
        outcome.stdout.contains("\"id\": \"s\""),
        "{}",
        outcome.stdout
    );
}

#[test]
fn host_variables_resolve_and_their_folders_are_not_made() {
    let folder = folder();
    let home = folder.at("home");
    let call = keyway(&folder)
        .env("KEYWAY_HOME", &home)
        .env("DATABASE_URL", "x");
    let outcome = call.run();
    assert!(
        outcome.stdout.contains("needs approval"),
        "{}",
        outcome.stdout
    );
    assert!(!home.exists());
}

/// Makes a vault that takes its key from a passphrase, with an approval in it.
fn with_passphrase() -> Folder {
    let folder = folder()
        .file("home/passphrase", "correct horse battery\n")
        .mode("home/passphrase", 0o600)
        .mode("home", 0o700);
    let made = unlocked(&folder, &["trust", "grant", "database", "--trust"]);
    assert_eq!(made.code, 0, "{}", made.snapshot());
    folder
}

fn unlocked(folder: &Folder, arguments: &[&str]) -> Outcome {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
        .args(arguments.iter().copied())
        .env("KEYWAY_HOME", folder.at("home"))
        .env("KEYWAY_PASSPHRASE_FILE", folder.at("home/passphrase"))
        .env("DATABASE_URL", "hidden-value-2")
        .run()
}

#[test]
fn protection_of_the_vault_is_told_to_people_and_programs() {
    let folder = with_passphrase();
    let shown = unlocked(&folder, &["status"]).stdout;
    let words = "encrypted with a key derived from your passphrase; nothing on disk opens it";
    assert!(shown.contains(&format!("\nvault: {words}\n")), "{shown}");
    assert!(!shown.contains("needs approval"), "{shown}");
    let object = unlocked(&folder, &["status", "--format", "json"]).stdout;
    let object: serde_json::Value = serde_json::from_str(&object).expect("JSON");
    let expected = serde_json::json!({
        "key_source": "passphrase", "protection": words, "closed": null, "handed_out": []
    });
    assert_eq!(object["vault"], expected);
}

#[test]
fn passphrase_is_not_asked_for_and_its_vault_is_described_all_the_same() {
    let folder = with_passphrase();
    let look = |format| {
        keyway(&folder)
            .args(["--format", format])
            .env("KEYWAY_HOME", folder.at("home"))
            .env("DATABASE_URL", "hidden-value-2")
            .run()
    };
    let shown = look("human");
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
    assert!(
        shown.stdout.contains("derived from your passphrase"),
        "{}",
        shown.stdout
    );
    let reason = "its key was not asked for, so approvals and sign-ins are not shown";
    assert!(shown.stdout.contains(reason), "{}", shown.stdout);
    let object: serde_json::Value = serde_json::from_str(&look("json").stdout).expect("JSON");
    assert_eq!(object["vault"]["key_source"], "passphrase");
    assert_eq!(object["vault"]["closed"], "key-unavailable");
}

#[test]
fn where_there_is_no_vault_none_is_described_and_none_is_made() {
    let folder = folder();
    let call = keyway(&folder).args(["--format", "json"]);
    let outcome = call.env("KEYWAY_HOME", folder.at("home")).run();
    let object: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(object["vault"], serde_json::Value::Null);
    assert!(!folder.at("home").exists());
}

/// Asks a gateway's server for its tools.
fn use_through(gateway: &Gateway, desk: &Desk) {
    let token = Gateway::token(desk.keyway(&[]), &["--name", "n"]);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" },
    });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let welcome = gateway.post("/mcp", Some(&token), &hello.to_string());
    let session = welcome.split("mcp-session-id: ").nth(1).expect("a session");
    let session = session.split("\r\n").next().expect("a line");
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let shown = format!("{token}\r\nmcp-session-id: {session}");
    drop(gateway.post("/mcp", Some(&shown), &list.to_string()));
}

#[test]
fn state_tells_of_the_sign_in_and_of_the_gateway_that_uses_it() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), RigSettings::default());
    let told = || desk.keyway(&["status"]).run().stdout;
    assert!(told().contains("needs sign-in"), "{}", told());
    desk.sign_in();
    assert!(told().contains("signed in ("), "{}", told());
    let gateway = Gateway::start(desk.keyway(&[]), &["--trust", "--quiet"]);
    use_through(&gateway, &desk);
    eventually("it is connected", || told().contains("  connected  "));
    let json = desk.keyway(&["status", "--format", "json"]).run().stdout;
    let object: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(object["servers"][0]["state"], "connected", "{json}");
    drop(gateway);
    eventually("it is gone", || told().contains("signed in ("));
}

#[test]
fn server_that_a_gateway_cannot_reach_is_down_since_then() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), RigSettings::default());
    let url = format!("http://127.0.0.1:{}/mcp", free_port());
    let entry = json!({ "s": { "type": "http", "url": url, "headers": { "X-Region": "eu" } } });
    desk.folder.put(".mcp.json", entry.to_string());
    let gateway = Gateway::start(desk.keyway(&[]), &["--trust", "--quiet"]);
    use_through(&gateway, &desk);
    let told = || desk.keyway(&["status"]).run().stdout;
    eventually("it is down", || told().contains("down since 20"));
}

#[test]
fn open_server_is_ready_and_not_called_oauth_once_it_answered() {
    let desk = Desk::new(env!("CARGO_BIN_EXE_keyway"), RigSettings::default());
    let server = Upstream::start(|request| match request.path.as_str() {
        "/mcp" => mcp(request, |method, _| {
            (method == "tools/list").then(|| json!({ "tools": [] }))
        }),
        _ => Answer::empty(404),
    });
    let entry = json!({ "s": { "type": "http", "url": server.url("/mcp") } });
    desk.folder.put(".mcp.json", entry.to_string());
    // It is noted in the vault, where there is one.
    let set = desk.keyway(&["env", "set", "ANY"]).stdin("value").run();
    assert_eq!(set.code, 0, "{}", set.everything());
    let listed = desk.keyway(&["tools", "s"]).run();
    assert_eq!(listed.code, 0, "{}", listed.everything());
    let told = desk.keyway(&["status"]).run().stdout;
    assert!(told.contains("none    ready"), "{told}");
    assert!(!told.contains("oauth"), "{told}");
}

/// The contract: whitespace around a value is a warning that names the field, wherever values are read.
#[test]
fn whitespace_around_a_value_is_told_by_every_command_that_reads_it() {
    let server = Upstream::start(|request| {
        mcp(request, |method, _| {
            (method == "tools/list").then(|| json!({ "tools": [] }))
        })
    });
    let entries = format!(
        r#"{{"s": {{"type": "http", "url": "{}", "headers": {{"X-Api-Key": "${{KEY}}"}}}}}}"#,
        server.url("/mcp")
    );
    let folder = Folder::with_entries(&entries);
    let told = "the value of header `X-Api-Key` begins or ends with whitespace";
    for words in [
        &["status"][..],
        &["probe", "s", "--trust"],
        &["tools", "s", "--trust"],
    ] {
        let call =
            || Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path()).args(words.iter().copied());
        let outcome = call().env("KEY", "kT8vQ2mX9wLz4Rb7 ").run();
        assert!(
            outcome.everything().contains(told),
            "{words:?}: {outcome:?}"
        );
        let outcome = call().env("KEY", "kT8vQ2mX9wLz4Rb7").run();
        assert!(
            !outcome.everything().contains(told),
            "{words:?}: {outcome:?}"
        );
    }
}
