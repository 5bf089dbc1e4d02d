//! `keyway migrate` on real folders: where a value goes, where it never goes, what survives.

use std::fs;

use keyway_testkit::{Canary, Folder, Keyway, Outcome};

fn keyway(folder: &Folder, arguments: &[&str]) -> Keyway {
    let call = Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path());
    let is_migration = matches!(arguments, ["migrate", "env" | "oauth", ..]);
    // What servers say is shown in `doctor/migrations.rs`.
    let offline: &[&str] = if is_migration { &["--offline"] } else { &[] };
    call.args(arguments.iter().chain(offline).copied())
}

fn run(folder: &Folder, arguments: &[&str]) -> Outcome {
    keyway(folder, arguments).run()
}

fn migrate(folder: &Folder) -> Outcome {
    run(folder, &["migrate", "env", "--write"])
}

/// A token of a vendor's shape that was never issued.
fn token() -> String {
    ["sbp_38db93c4", "def7414fdb269a51", "c07e62b8d3f0475e"].concat()
}

const PASSWORD: &str = "kT8vQ2mX9wLz4Rb7Yc3N";

fn one_header() -> String {
    let token = token();
    format!(
        "{{\n  \"mcpServers\": {{\n    \"db\": {{\n      \"type\": \"http\",\n      \"url\": \"https://h.example/mcp\",\n      \"headers\": {{\"Authorization\": \"Bearer {token}\"}}\n    }}\n  }}\n}}\n"
    )
}

/// Returns the files that betray a canary in any encoding.
fn leaks(folder: &Folder, canary: &Canary) -> Vec<String> {
    let mut files = folder.files();
    files.retain(|file| folder.at(file).is_file() && canary.leak(&folder.read(file)).is_some());
    files
}

#[test]
fn seed_5_7_7_a_literal_becomes_a_variable_that_is_listed_and_kept() {
    let folder = Folder::with_entries(&one_header()).repository(&[".mcp.json"]);
    let outcome = migrate(&folder);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    wrote .gitignore
    wrote .env
    wrote .env.example
    wrote README.md
    wrote .mcp.json

    to be set in the shell that starts the client:

    export SUPABASE_ACCESS_TOKEN=…
    --- stderr
    warning[rotate-token]: the value of `SUPABASE_ACCESS_TOKEN` was written down in `.mcp.json`, which is in version control: everyone with its history has the value
      help: get a new one from the issuer, replace the old one with it, and revoke the old one
    moved 1 literal to 1 variable
    `set -a; . ./.env; set +a` loads the values into the shell
    --- exit 0
    "#);
    let expected = one_header().replace(&token(), "${SUPABASE_ACCESS_TOKEN}");
    assert_eq!(folder.read(".mcp.json"), expected);
    assert_eq!(
        folder.read(".env"),
        format!("SUPABASE_ACCESS_TOKEN={}\n", token())
    );
    assert_eq!(folder.mode_of(".env"), 0o600);
    assert_eq!(folder.read(".gitignore"), ".env\n");
    assert_eq!(
        folder.read(".env.example"),
        "# db: header `Authorization`\nSUPABASE_ACCESS_TOKEN=\n"
    );
    assert!(
        folder
            .read("README.md")
            .contains("| `SUPABASE_ACCESS_TOKEN` | header `Authorization` of db |")
    );
    let canary = Canary::literal(&token());
    assert_eq!(canary.leak(&outcome.everything()), None);
    assert_eq!(leaks(&folder, &canary), [".env"]);
}

#[test]
fn without_write_the_changes_are_shown_and_none_is_made() {
    let folder = Folder::with_entries(&one_header());
    let outcome = run(&folder, &["migrate", "env"]);
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    --- /dev/null
    +++ .gitignore
    +.env
    --- /dev/null
    +++ .env
    +SUPABASE_ACCESS_TOKEN=…
    --- /dev/null
    +++ .env.example
    +# db: header `Authorization`
    +SUPABASE_ACCESS_TOKEN=
    --- /dev/null
    +++ README.md
    @@ -0,0 +1,19 @@
    +<!-- keyway:begin -->
    +## Authentication
    +
    +| Server | Transport | How it authenticates |
    +|---|---|---|
    +| db | http | a token that you set in a variable |
    +
    +### Variables
    +
    +| Variable | Used for | How to get it |
    +|---|---|---|
    +| `SUPABASE_ACCESS_TOKEN` | header `Authorization` of db | create it at <https://supabase.com/dashboard/account/tokens>: one key for this use alone, so that it can be revoked alone |
    +
    +Set them in the shell that starts your client:
    +
    +```sh
    +export SUPABASE_ACCESS_TOKEN=…
    +```
    +<!-- keyway:end -->
    --- .mcp.json
    +++ .mcp.json
    @@ -3,7 +3,7 @@
         "db": {
           "type": "http",
           "url": "https://h.example/mcp",
    -      "headers": {"Authorization": "Bearer sbp_••••••••••••••••••••••••••••••••••••••••"}
    +      "headers": {"Authorization": "Bearer ${SUPABASE_ACCESS_TOKEN}"}
         }
       }
     }

    to be set in the shell that starts the client:

    export SUPABASE_ACCESS_TOKEN=…
    --- stderr
    warning[rotate-token]: the value of `SUPABASE_ACCESS_TOKEN` was written down in `.mcp.json`, where others may have read it
      help: get a new one from the issuer, replace the old one with it, and revoke the old one
    would move 1 literal to 1 variable; `--write` does it
    --- exit 0
    "#);
    assert_eq!(Canary::literal(&token()).leak(&outcome.everything()), None);
    assert_eq!(folder.read(".mcp.json"), one_header());
    assert_eq!(folder.files().len(), 1);
}

#[test]
fn every_position_is_migrated_and_the_check_is_clean_afterwards() {
    let (token, password) = (token(), PASSWORD);
    let text = format!(
        r#"{{"mcpServers": {{
  "web": {{"type": "http", "url": "https://h.example/mcp?api_key={password}a",
    "headers": {{"Authorization": "Bearer {token}", "X-API-Key": "{password}b"}},
    "oauth": {{"clientId": "x", "clientSecret": "{password}c"}}}},
  "job": {{"command": "server", "args": ["--token", "{password}d", "--key={password}e",
      "{{\"api_key\": \"{password}f\"}}", "postgres://app:{password}g@db.example.net/d"],
    "env": {{"A_TOKEN": "{password}h", "B_TOKEN": "${{B_TOKEN:-{password}i}}", "DB_PASSWORD": 8214796035,
      "DATABASE_URL": "postgres://app:{password}j@db.example.net/d"}}}}
}}}}"#
    );
    let folder = Folder::with_entries(&text).repository(&[]);
    for format in ["human", "json"] {
        let shown = run(&folder, &["migrate", "env", "--format", format]).everything();
        for value in [&*token, password, "8214796035"] {
            assert_eq!(Canary::literal(value).leak(&shown), None, "{shown}");
        }
    }
    let outcome = migrate(&folder);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    insta::assert_snapshot!(folder.read(".mcp.json"), @r#"
    {"mcpServers": {
      "web": {"type": "http", "url": "https://h.example/mcp?api_key=${WEB_API_KEY}",
        "headers": {"Authorization": "Bearer ${SUPABASE_ACCESS_TOKEN}", "X-API-Key": "${WEB_API_KEY_2}"},
        "oauth": {"clientId": "x", "clientSecret": "${WEB_CLIENT_SECRET}"}},
      "job": {"command": "server", "args": ["--token", "${JOB_TOKEN}", "--key=${JOB_KEY}",
          "{\"api_key\": \"${JOB_API_KEY}\"}", "postgres://app:${POSTGRES_PASSWORD}@db.example.net/d"],
        "env": {"A_TOKEN": "${A_TOKEN}", "B_TOKEN": "${B_TOKEN}", "DB_PASSWORD": "${DB_PASSWORD}",
          "DATABASE_URL": "postgres://app:${POSTGRES_PASSWORD_JOB}@db.example.net/d"}}
    }}
    "#);
    let check = run(
        &folder,
        &["check", "--env", "--env-file", ".env", "--format", "json"],
    );
    for code in [
        "literal-secret",
        "literal-default",
        "unresolved-variable",
        "env-file",
    ] {
        assert!(!check.stdout.contains(code), "{code}\n{}", check.stdout);
    }
    for value in [&*token, password, "8214796035"] {
        let canary = Canary::literal(value);
        assert_eq!(canary.leak(&outcome.everything()), None);
        assert_eq!(leaks(&folder, &canary), [".env"]);
    }
    let again = migrate(&folder);
    assert_eq!(again.snapshot(), "--- stderr\nnothing to do\n--- exit 0\n");
}

#[test]
fn variable_that_is_set_to_the_value_keeps_it_and_no_file_is_needed() {
    let folder = Folder::with_entries(&one_header());
    let call = keyway(&folder, &["migrate", "env", "--write"]);
    let outcome = call.env("SUPABASE_ACCESS_TOKEN", token()).run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(!folder.at(".env").exists());
    assert!(leaks(&folder, &Canary::literal(&token())).is_empty());
    assert!(
        folder
            .read(".mcp.json")
            .contains("Bearer ${SUPABASE_ACCESS_TOKEN}")
    );
}

#[test]
fn variable_that_is_set_to_something_else_is_left_to_its_owner() {
    let folder = Folder::with_entries(&one_header());
    let call = keyway(&folder, &["migrate", "env", "--write"]);
    let outcome = call.env("SUPABASE_ACCESS_TOKEN", "another").run();
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        folder
            .read(".mcp.json")
            .contains("${SUPABASE_ACCESS_TOKEN_DB}")
    );
    assert!(folder.read(".env").contains(&token()));
}

#[test]
fn line_with_another_value_is_a_conflict_and_the_literal_stays() {
    let folder = Folder::with_entries(&one_header())
        .file(".env", "SUPABASE_ACCESS_TOKEN=theirs\n")
        .mode(".env", 0o644);
    let outcome = migrate(&folder);
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    --- stderr
    error[not-migrated]: header `Authorization` keeps its literal (`sbp_…`): `.env` has another value for `SUPABASE_ACCESS_TOKEN`
      --> .mcp.json:6:44
      help: remove or rename the line in `.env`, whichever of the two is the right value
    nothing was moved
    --- exit 1
    "#);
    assert_eq!(folder.read(".mcp.json"), one_header());
    assert_eq!(folder.read(".env"), "SUPABASE_ACCESS_TOKEN=theirs\n");
    assert_eq!(folder.files().len(), 2);
}

#[test]
fn existing_env_file_is_appended_to_and_taken_away_from_others() {
    let folder = Folder::with_entries(&one_header())
        .file(".env", "# mine\r\nA='1'")
        .mode(".env", 0o664)
        .file(".gitignore", "*.log\n.env*\n");
    assert_eq!(migrate(&folder).code, 0);
    let expected = format!("# mine\r\nA='1'\r\nSUPABASE_ACCESS_TOKEN={}\r\n", token());
    assert_eq!(folder.read(".env"), expected);
    assert_eq!(folder.mode_of(".env"), 0o600);
    assert_eq!(folder.read(".gitignore"), "*.log\n.env*\n");
}

#[test]
fn env_file_that_is_tracked_or_a_link_takes_no_value() {
    let tracked = Folder::with_entries(&one_header())
        .file(".env", "A=1\n")
        .repository(&[".env"]);
    let linked = Folder::with_entries(&one_header())
        .file("shared", "A=1\n")
        .link(".env", "shared");
    for folder in [tracked, linked] {
        let outcome = migrate(&folder);
        assert_eq!(outcome.code, 1, "{}", outcome.everything());
        assert!(outcome.stderr.contains("error[not-migrated]"));
        assert!(outcome.stderr.contains("help: "), "{}", outcome.stderr);
        assert_eq!(folder.read(".mcp.json"), one_header());
        assert_eq!(folder.read(".env"), "A=1\n");
    }
}

#[test]
fn link_stays_a_link_and_its_target_keeps_its_mode() {
    let folder = Folder::new()
        .file("real/entries.json", one_header())
        .mode("real/entries.json", 0o640)
        .link(".mcp.json", "real/entries.json");
    assert_eq!(migrate(&folder).code, 0);
    let link = fs::symlink_metadata(folder.at(".mcp.json")).unwrap();
    assert!(link.is_symlink());
    assert!(
        folder
            .read("real/entries.json")
            .contains("${SUPABASE_ACCESS_TOKEN}")
    );
    assert_eq!(folder.mode_of("real/entries.json"), 0o640);
}

#[test]
fn byte_order_mark_line_ends_comments_and_commas_survive() {
    let text = one_header()
        .replace("\"type\": \"http\",", "/* a, b */ \"type\": \"http\", // c")
        .replace("\"}\n", "\",}, // d\n")
        .replace('\n', "\r\n");
    let text = format!("\u{feff}{text}");
    let readme = "\u{feff}# Title\r\n\r\nText\r\n";
    let folder = Folder::with_entries(&text).file("README.md", readme);
    let outcome = migrate(&folder);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let expected = text.replace(&token(), "${SUPABASE_ACCESS_TOKEN}");
    assert_eq!(folder.read(".mcp.json"), expected);
    let readme_after = folder.read("README.md");
    assert!(readme_after.starts_with(readme.trim_end()));
    assert_eq!(
        readme_after.matches('\n').count(),
        readme_after.matches("\r\n").count()
    );
}

#[test]
fn two_servers_with_one_value_share_the_variable_and_one_can_go_first() {
    let token = token();
    let server = |name: &str| {
        format!(
            r#""{name}": {{"type": "http", "url": "https://h.example", "headers": {{"Authorization": "Bearer {token}"}}}}"#
        )
    };
    let text = format!("{{\"mcpServers\": {{{}, {}}}}}", server("a"), server("b"));
    let folder = Folder::with_entries(&text);
    let first = run(&folder, &["migrate", "env", "--server", "a", "--write"]);
    assert_eq!(first.code, 0, "{}", first.everything());
    assert_eq!(
        folder.read(".mcp.json"),
        text.replacen(&token, "${SUPABASE_ACCESS_TOKEN}", 1)
    );
    assert_eq!(migrate(&folder).code, 0);
    assert_eq!(
        folder.read(".mcp.json"),
        text.replace(&token, "${SUPABASE_ACCESS_TOKEN}")
    );
    assert_eq!(folder.read(".env").lines().count(), 1);
    assert_eq!(folder.read(".gitignore"), ".env\n");
}

#[test]
fn failure_on_the_way_leaves_the_literal_and_says_how_far_it_got() {
    // A folder in the place of a file is noticed before anything is written.
    for name in [".env", ".env.example", ".gitignore"] {
        let folder = Folder::with_entries(&one_header()).file(&format!("{name}/x"), "");
        let outcome = migrate(&folder);
        assert_eq!(outcome.code, 1, "{name}");
        assert!(
            outcome.stderr.contains("is not a regular file"),
            "{}",
            outcome.stderr
        );
        assert_eq!(folder.read(".mcp.json"), one_header());
        assert_eq!(folder.files().len(), 2);
    }
    // A link to nowhere is noticed only when the file is written.
    for (name, written) in [
        (".gitignore", "nothing was changed"),
        (
            ".env.example",
            "stopped after writing `.gitignore`, `.env`;",
        ),
        (
            "README.md",
            "stopped after writing `.gitignore`, `.env`, `.env.example`;",
        ),
    ] {
        let folder = Folder::with_entries(&one_header()).link(name, "no/where");
        let outcome = migrate(&folder);
        assert_eq!(outcome.code, 1, "{name}");
        assert!(
            outcome.stderr.contains(written),
            "{name}\n{}",
            outcome.stderr
        );
        assert_eq!(folder.read(".mcp.json"), one_header());
        fs::remove_file(folder.at(name)).unwrap();
        assert_eq!(migrate(&folder).code, 0, "{name}");
        assert_eq!(folder.read(".env").lines().count(), 1);
        assert_eq!(leaks(&folder, &Canary::literal(&token())), [".env"]);
    }
}

#[test]
fn foreign_file_is_named_and_left_alone() {
    let text = one_header().replace("mcpServers", "servers");
    let folder = Folder::with_entries(&text);
    let outcome = migrate(&folder);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("VS Code"), "{}", outcome.stderr);
    assert_eq!(folder.read(".mcp.json"), text);
    assert_eq!(folder.files().len(), 1);
}

#[test]
fn a_hosts_own_folder_gets_neither_readme_nor_values() {
    let token = token();
    let text = format!(
        r#"{{"servers": {{"db": {{"type": "http", "url": "https://h.example/mcp", "headers": {{"Authorization": "Bearer {token}"}}}}}}}}"#
    );
    let folder = Folder::new()
        .file(".vscode/mcp.json", text)
        .repository(&[".vscode/mcp.json"]);
    let outcome = run(
        &folder,
        &["migrate", "env", "--config", ".vscode/mcp.json", "--write"],
    );
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let after = folder.read(".vscode/mcp.json");
    assert!(
        after.contains("Bearer ${input:supabase_access_token}"),
        "{after}"
    );
    assert!(after.contains("\"password\": true"), "{after}");
    assert!(
        outcome
            .stdout
            .contains("the host asks for these from now on: SUPABASE_ACCESS_TOKEN")
    );
    let mut files = folder.files();
    files.retain(|file| !file.starts_with(".git/"));
    assert_eq!(
        files,
        [".env", ".env.example", ".gitignore", ".vscode/mcp.json"]
    );
    assert_eq!(leaks(&folder, &Canary::literal(&token)), [".env"]);
}

#[test]
fn codex_gets_the_name_of_the_variable() {
    let token = token();
    let text = format!(
        "[mcp_servers.db]\nurl = \"https://h.example/mcp\"\nhttp_headers = {{ Authorization = \"Bearer {token}\" }}\n"
    );
    let folder = Folder::new().file(".codex/config.toml", text);
    let outcome = run(
        &folder,
        &[
            "migrate",
            "env",
            "--config",
            ".codex/config.toml",
            "--write",
        ],
    );
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    let after = folder.read(".codex/config.toml");
    assert_eq!(
        after,
        "[mcp_servers.db]\nurl = \"https://h.example/mcp\"\nbearer_token_env_var = \"SUPABASE_ACCESS_TOKEN\"\n"
    );
    assert_eq!(leaks(&folder, &Canary::literal(&token)), [".env"]);
}

#[test]
fn one_file_of_a_root_is_changed_alone_and_the_readme_describes_all() {
    let other =
        r#"{"mcpServers": {"jobs": {"command": "x", "env": {"J_TOKEN": "kT8vQ2mX9wLz4Rb7Yc3N"}}}}"#;
    let folder = Folder::with_entries(&one_header()).file("mcp.json", other);
    let outcome = run(&folder, &["migrate", "env", ".mcp.json", "--write"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert_eq!(folder.read("mcp.json"), other);
    assert!(folder.read("README.md").contains("| jobs |"));
    assert_eq!(run(&folder, &["readme", "--check"]).code, 0);
}

#[test]
fn unknown_server_is_a_usage_error_with_a_suggestion() {
    let text = one_header().replace("\"db\"", "\"database\"");
    let folder = Folder::with_entries(&text);
    for way in ["env", "oauth"] {
        let outcome = run(&folder, &["migrate", way, "--server", "databse"]);
        assert_eq!(outcome.code, 2);
        assert!(
            outcome.stderr.contains("did you mean `database`?"),
            "{}",
            outcome.stderr
        );
    }
    assert_eq!(run(&folder, &["migrate", "oauth"]).code, 2);
    assert_eq!(run(&folder, &["migrate", "env", "-"]).code, 2);
    assert_eq!(run(&folder, &["migrate"]).code, 2);
}

#[test]
fn json_names_files_and_variables_and_no_value() {
    let folder = Folder::with_entries(&one_header());
    let outcome = run(&folder, &["migrate", "env", "--format", "json"]);
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    {
      "schema_version": 1,
      "diagnostics": [
        {
          "code": "rotate-token",
          "severity": "warning",
          "server": null,
          "source": null,
          "message": "the value of `SUPABASE_ACCESS_TOKEN` was written down in `.mcp.json`, where others may have read it",
          "hint": "get a new one from the issuer, replace the old one with it, and revoke the old one"
        }
      ],
      "changes": [
        {
          "file": ".gitignore",
          "kind": "create"
        },
        {
          "file": ".env",
          "kind": "create"
        },
        {
          "file": ".env.example",
          "kind": "create"
        },
        {
          "file": "README.md",
          "kind": "create"
        },
        {
          "file": ".mcp.json",
          "kind": "change"
        }
      ],
      "variables": [
        {
          "name": "SUPABASE_ACCESS_TOKEN",
          "server": "db",
          "pointer": "/mcpServers/db/headers/Authorization"
        }
      ]
    }
    --- exit 0
    "#);
    assert_eq!(Canary::literal(&token()).leak(&outcome.stdout), None);
}

#[test]
fn seed_5_7_8_basic_authentication_gives_way_to_type_and_url() {
    let text = one_header().replace(
        &format!("Bearer {}", token()),
        "Basic ${BASE64_CREDENTIALS}",
    );
    let folder = Folder::with_entries(&text).mode(".mcp.json", 0o640);
    let shown = run(&folder, &["migrate", "oauth", "--server", "db"]);
    insta::assert_snapshot!(shown.snapshot(), @r#"
    --- .mcp.json
    +++ .mcp.json
    @@ -2,8 +2,7 @@
       "mcpServers": {
         "db": {
           "type": "http",
    -      "url": "https://h.example/mcp",
    -      "headers": {"Authorization": "Basic ${BASE64_CREDENTIALS}"}
    +      "url": "https://h.example/mcp"
         }
       }
     }
    --- stderr
    warning[oauth-not-checked]: whether the server offers OAuth was not checked: nothing is sent
      help: try to sign in before you revoke the old credential
    would remove header `Authorization`
    no longer needed: `BASE64_CREDENTIALS`
    `--write` does it
    --- exit 0
    "#);
    assert_eq!(folder.read(".mcp.json"), text);
    let written = run(&folder, &["migrate", "oauth", "--server", "db", "--write"]);
    assert_eq!(written.code, 0, "{}", written.everything());
    let expected = "{\n  \"mcpServers\": {\n    \"db\": {\n      \"type\": \"http\",\n      \"url\": \"https://h.example/mcp\"\n    }\n  }\n}\n";
    assert_eq!(folder.read(".mcp.json"), expected);
    assert_eq!(folder.mode_of(".mcp.json"), 0o640);
    let again = run(&folder, &["migrate", "oauth", "--server", "db", "--write"]);
    assert_eq!(again.snapshot(), "--- stderr\nnothing to do\n--- exit 0\n");
}

#[test]
fn literal_is_not_destroyed_by_going_to_oauth() {
    let folder = Folder::with_entries(&one_header());
    let arguments = ["migrate", "oauth", "--server", "db", "--write"];
    let outcome = run(&folder, &arguments);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.contains("the only copy"),
        "{}",
        outcome.stderr
    );
    assert_eq!(folder.read(".mcp.json"), one_header());
    assert_eq!(migrate(&folder).code, 0);
    let outcome = run(&folder, &arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(
        outcome
            .stderr
            .contains("no longer needed: `SUPABASE_ACCESS_TOKEN`")
    );
}

#[test]
fn websocket_and_process_are_refused_with_the_reason() {
    let folder = Folder::with_entries(
        r#"{"mcpServers": {"w": {"type": "ws", "url": "wss://h.example", "headers": {"X-Api-Key": "${K}"}},
            "p": {"command": "x", "env": {"K": "${K}"}}}}"#,
    );
    for (server, why) in [("w", "a WebSocket"), ("p", "a process")] {
        let outcome = run(&folder, &["migrate", "oauth", "--server", server]);
        assert_eq!(outcome.code, 1);
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    }
}

/// A host's own folder holds the host's files and nothing of ours.
#[test]
fn no_env_file_is_put_into_the_folder_of_a_host() {
    let token = token();
    let entry = format!(
        r#"{{"mcp": {{"db": {{"type": "remote", "url": "https://h.example/mcp", "headers": {{"Authorization": "Bearer {token}"}}}}}}}}"#
    );
    let folder = Folder::new().file(".opencode/opencode.json", &entry);
    let outcome = run(
        &folder,
        &["migrate", "env", ".opencode/opencode.json", "--write"],
    );
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    assert!(folder.read(".env").contains(&token));
    let inside: Vec<String> = folder
        .files()
        .into_iter()
        .filter(|file| file.starts_with(".opencode/"))
        .collect();
    assert_eq!(inside, [".opencode/opencode.json"]);
    assert!(folder.read(".opencode/opencode.json").contains("{env:"));
    // A folder of which only the name tells that it is a host's.
    let folder = Folder::new().file(".someones/opencode.json", &entry);
    let outcome = run(
        &folder,
        &["migrate", "env", ".someones/opencode.json", "--write"],
    );
    assert_eq!(outcome.code, 1, "{}", outcome.everything());
    assert!(
        outcome.everything().contains("no `.env` belongs into it"),
        "{}",
        outcome.everything()
    );
    assert_eq!(folder.files(), [".someones/opencode.json"]);
    assert_eq!(folder.read(".someones/opencode.json"), entry);
}
