//! `keyway check` as scripts and people call it: flags, formats, exit codes, bad input.

use keyway_testkit::{Folder, Keyway, Outcome};

fn keyway(folder: &Folder) -> Keyway {
    Keyway::new(env!("CARGO_BIN_EXE_keyway"), folder.path())
}

fn check(folder: &Folder, arguments: &[&str]) -> Outcome {
    keyway(folder)
        .args(["check"])
        .args(arguments.iter().copied())
        .run()
}

/// A file with one warning that has a safe fix, and nothing else.
const WARNED: &str = "{\n  \"mcpServers\": {\n    \"docs\": {\n      \"url\": \"https://docs.example/mcp\"\n    }\n  }\n}\n";

/// Names the permissions, so that no rule about READMEs fires.
const README: &str = "# Docs\n\nNeeds the scope `read` and permission to read documents.\n";

fn warned() -> Folder {
    // A name that many hosts use: for one of them it may be an error.
    Folder::new()
        .file("mcp.json", WARNED)
        .file("README.md", README)
}

#[test]
fn warnings_end_with_success_and_strict_makes_them_errors() {
    let folder = warned();
    let outcome = check(&folder, &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    warning[url-missing-type]: no `type`; taken to be `http`
     --> mcp.json:4:14
      |
    4 |       "url": "https://docs.example/mcp"
      |              ^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: add `"type": "http"`

    1 warning in 1 file
    --- exit 0
    "#);
    let strict = check(&folder, &["--strict"]);
    assert_eq!(strict.code, 1);
    assert!(
        strict.stdout.contains("1 error in 1 file"),
        "{}",
        strict.stdout
    );
}

#[test]
fn json_is_one_object_with_the_fields_of_the_contract() {
    let outcome = check(&warned(), &["--format", "json"]);
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    {
      "schema_version": 1,
      "diagnostics": [
        {
          "code": "url-missing-type",
          "severity": "warning",
          "server": "docs",
          "source": {
            "file": "mcp.json",
            "line": 4,
            "column": 14,
            "pointer": "/mcpServers/docs/url"
          },
          "message": "no `type`; taken to be `http`",
          "hint": "add `\"type\": \"http\"`",
          "fix": {
            "applicability": "safe",
            "title": "add `\"type\": \"http\"`"
          }
        }
      ]
    }
    --- exit 0
    "#);
}

#[test]
fn github_commands_are_one_line_each() {
    let outcome = check(&warned(), &["--format", "github"]);
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    ::warning file=mcp.json,line=4,endLine=4,col=14,endColumn=40,title=url-missing-type::no `type`; taken to be `http`%0Ahelp: add `"type": "http"`
    --- exit 0
    "#);
}

#[test]
fn path_that_cannot_be_read_fails_and_the_others_are_still_checked() {
    let folder = warned();
    let outcome = check(&folder, &["nothing.json", "mcp.json"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stdout.contains("1 warning in 1 file"));
    insta::assert_snapshot!(outcome.stderr, @r"
    error: `nothing.json` does not exist

    hint: name a file or the folder of a plugin that is there
    ");
    let json = check(&folder, &["nothing.json", "--format", "json"]);
    assert!(json.stdout.contains("\"code\": \"unreadable-file\""));
    let github = check(&folder, &["nothing.json", "--format", "github"]);
    assert!(
        github
            .stdout
            .starts_with("::error file=nothing.json,title=unreadable-file::")
    );
}

#[test]
fn a_folder_without_configuration_is_a_warning_unless_files_are_required() {
    let outcome = check(&Folder::new(), &["."]);
    insta::assert_snapshot!(outcome.snapshot(), @r"
    --- stderr
    warning: no MCP configuration found
    --- exit 0
    ");
    assert_eq!(check(&Folder::new(), &[]).code, 0);
    assert_eq!(check(&Folder::new(), &[".", "--require-files"]).code, 1);
    assert_eq!(check(&Folder::new(), &["nothing"]).code, 2);
}

#[test]
fn wrong_flags_are_a_usage_error() {
    let folder = warned();
    for arguments in [
        &["--no-such-flag"][..],
        &["--format", "xml"],
        &["--unsafe-fixes"],
        &["--diff", "--format", "json"],
        &["--fix", "-"],
        &["--quiet", "--verbose"],
    ] {
        let outcome = check(&folder, arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}\n{}", outcome.everything());
        assert!(outcome.stdout.is_empty());
    }
    assert_eq!(keyway(&folder).run().code, 2);
}

#[test]
fn without_a_path_the_nearest_root_above_is_checked() {
    let folder = warned().file("src/deep/x", "").repository(&[]);
    let below = Keyway::new(env!("CARGO_BIN_EXE_keyway"), &folder.at("src/deep"));
    let outcome = below.args(["check"]).run();
    let place = "--> ../../mcp.json:4:14";
    assert!(outcome.stdout.contains(place), "{}", outcome.stdout);
}

#[test]
fn config_is_another_word_for_path() {
    let folder = warned().file("other.json", "{}");
    let outcome = check(&folder, &["--config", "mcp.json", "other.json"]);
    assert!(outcome.stdout.contains("in 2 files"), "{}", outcome.stdout);
}

#[test]
fn standard_input_is_a_file_without_a_folder() {
    let folder = Folder::new();
    let run = |text: &str| keyway(&folder).args(["check", "-"]).stdin(text).run();
    assert!(run(WARNED).stdout.contains("--> <stdin>:4:14"));
    assert_eq!(run("{").code, 1);
    assert_eq!(run("{}").code, 0);
}

#[test]
fn variables_are_looked_at_only_on_request() {
    let entry = r#"{"s": {"type": "http", "url": "https://h.example", "headers": {"Authorization": "Bearer ${KEYWAY_T}"}}}"#;
    let folder = Folder::with_entries(entry)
        .file("README.md", "Set KEYWAY_T, scope read permission.")
        .file("my.env", "KEYWAY_T=from-the-file\n");
    let run = |arguments: &[&str], value: Option<&str>| {
        let call = keyway(&folder)
            .args(["check"])
            .args(arguments.iter().copied());
        match value {
            Some(value) => call.env("KEYWAY_T", value).run(),
            None => call.run(),
        }
    };
    let reported = |outcome: &Outcome| outcome.stdout.contains("unresolved-variable");
    assert!(!reported(&run(&[], None)));
    assert!(reported(&run(&["--env"], None)));
    assert!(reported(&run(&["--env"], Some(""))));
    assert!(!reported(&run(&["--env"], Some("x"))));
    assert!(!reported(&run(&["--env-file", "my.env"], None)));
    assert_eq!(run(&["--env-file", "none.env"], None).code, 1);
}

#[test]
fn fix_mends_what_is_safe_and_reports_what_remains() {
    let text = WARNED.replace("mcp\"\n", "mcp\",\n");
    let folder = Folder::with_entries(&text)
        .file("README.md", README)
        .mode(".mcp.json", 0o640);
    let outcome = check(&folder, &["--fix"]);
    assert_eq!(outcome.code, 0, "{}", outcome.everything());
    insta::assert_snapshot!(outcome.snapshot(), @r"
    no problems in 1 file (1 server)
    --- stderr
    fixed 2 problems
    --- exit 0
    ");
    assert_eq!(
        folder.read(".mcp.json"),
        WARNED.replace("\"url\"", "\"type\": \"http\",\n      \"url\"")
    );
}

#[test]
fn diff_shows_the_changes_and_writes_nothing() {
    let folder = warned();
    let outcome = check(&folder, &["--diff"]);
    insta::assert_snapshot!(outcome.snapshot(), @r#"
    --- mcp.json
    +++ mcp.json
    @@ -1,6 +1,7 @@
     {
       "mcpServers": {
         "docs": {
    +      "type": "http",
           "url": "https://docs.example/mcp"
         }
       }
    --- stderr
    would fix 1 problem
    --- exit 0
    "#);
    assert_eq!(folder.read("mcp.json"), WARNED);
}

#[test]
fn line_endings_and_byte_order_mark_survive_a_fix() {
    let text = format!("\u{feff}{}", WARNED.replace('\n', "\r\n"));
    let folder = Folder::with_entries(&text);
    assert_eq!(check(&folder, &["--fix"]).code, 0);
    let fixed = folder.read(".mcp.json");
    assert!(fixed.starts_with("\u{feff}{\r\n"));
    assert!(fixed.contains("\"type\": \"http\",\r\n"));
    assert_eq!(fixed.matches('\n').count(), fixed.matches("\r\n").count());
}

#[test]
fn quiet_prints_errors_only_and_verbose_prints_notes() {
    let folder = warned();
    assert_eq!(check(&folder, &["--quiet"]).everything(), "\n");
    let noted =
        Folder::with_entries(r#"{"$schema": "https://other.example/x.json", "mcpServers": {}}"#);
    let normal = check(&noted, &["--pedantic"]);
    assert!(
        normal.stdout.ends_with("1 note (--verbose shows it)\n"),
        "{}",
        normal.stdout
    );
    let verbose = check(&noted, &["--pedantic", "--verbose"]);
    assert!(verbose.stdout.contains("info["), "{}", verbose.stdout);
    let plain = check(&noted, &["--verbose"]);
    assert!(!plain.stdout.contains("info["), "{}", plain.stdout);
}

#[test]
fn colour_is_used_when_asked_for_and_never_in_a_pipe() {
    let folder = warned();
    assert!(!check(&folder, &[]).stdout.contains('\x1b'));
    assert!(
        check(&folder, &["--color", "always"])
            .stdout
            .contains('\x1b')
    );
    for format in ["json", "sarif", "github"] {
        let outcome = check(&folder, &["--color", "always", "--format", format]);
        assert!(!outcome.stdout.contains('\x1b'), "{format}");
    }
}

#[test]
fn escape_sequences_of_a_file_do_not_reach_the_terminal() {
    let text =
        "{\"a\u{1b}]0;x\u{7}b\": {\"url\": \"https://h.example\u{202e}\"}, \"c\": 1, \"c\": 2}";
    let outcome = check(&Folder::with_entries(text), &["--verbose"]);
    assert_eq!(outcome.code, 1);
    assert!(!outcome.everything().contains(['\x1b', '\x07', '\u{202e}']));
}

#[test]
fn bad_input_is_an_error_with_a_position_in_bounded_memory() {
    let servers: Vec<String> = (0..10_000)
        .map(|n| format!("\"s{n}\": {{\"command\": \"x\"}}"))
        .collect();
    let repeated = r#"{"a": {"command": "x", "command": "y"}, "a": {"env": {"B": "1", "B": "2"}}}"#;
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("2 MiB", vec![b' '; 2 << 20]),
        ("brackets", "[".repeat(100_000).into_bytes()),
        ("braces", "{\"a\":".repeat(100_000).into_bytes()),
        (
            "invalid UTF-8",
            b"{\"a\": {\"command\": \"\xff\"}}".to_vec(),
        ),
        (
            "lone surrogate",
            br#"{"a": {"command": "\ud800"}}"#.to_vec(),
        ),
        ("NUL", b"{\"a\": {\"command\": \"x\0\"}}".to_vec()),
        ("servers", format!("{{{}}}", servers.join(",")).into_bytes()),
        (
            "value",
            format!("{{\"a\": {{\"command\": \"{}\"}}", "x".repeat(1 << 20)).into_bytes(),
        ),
        ("repeated keys", repeated.into()),
        ("comment", b"{} // x".to_vec()),
        ("empty", Vec::new()),
        ("CRLF", b"{\r\n\"a\": 1,\r\n}".to_vec()),
    ];
    for (name, bytes) in cases {
        let folder = Folder::new().file(".mcp.json", bytes);
        for format in ["human", "json", "sarif", "github"] {
            let call = keyway(&folder).args(["check", "--format", format]);
            let outcome = call.memory_kib(400 * 1024).run();
            assert_eq!(outcome.code, 1, "{name} as {format}: {}", outcome.stderr);
            assert!(outcome.stderr.is_empty(), "{name}: {}", outcome.stderr);
            assert!(outcome.stdout.contains(".mcp.json"), "{name} as {format}");
        }
    }
}

#[test]
fn byte_order_mark_is_tolerated() {
    let text = format!(
        "\u{feff}{}",
        WARNED.replace("\"url\"", "\"type\": \"http\", \"url\"")
    );
    let folder = Folder::with_entries(&text).file("README.md", README);
    assert_eq!(check(&folder, &["--strict"]).code, 0);
}

#[test]
fn generated_documents_name_every_rule_and_command() {
    let folder = Folder::new();
    assert_eq!(keyway(&folder).args(["docs", "--out", "out"]).run().code, 0);
    let rules = folder.read("out/docs/rules.md");
    assert!(rules.contains("[`invalid-json`](rules/invalid-json.md)"));
    assert!(folder.read("out/docs/cli.md").contains("## `keyway check`"));
    assert!(folder.read("out/docs/exit-codes.md").contains("| 5 |"));
    assert!(folder.read("out/man/keyway-check.1").contains("unsafe"));
    // The scripts ask the program, which names its commands itself.
    let commands = keyway(&folder).args(["__complete", "--", ""]).run();
    assert!(commands.stdout.contains("check\t"), "{commands:?}");
    for file in ["keyway.bash", "_keyway", "keyway.fish"] {
        assert!(
            folder
                .read(&format!("out/completions/{file}"))
                .contains("__complete")
        );
    }
    assert!(!folder.at("out/man/keyway-docs.1").exists());
}

#[test]
fn completions_and_manual_are_printed() {
    let folder = Folder::new();
    let completions = keyway(&folder).args(["completions", "bash"]).run();
    assert!(completions.stdout.contains("_keyway"));
    assert!(
        keyway(&folder)
            .args(["man"])
            .run()
            .stdout
            .contains(".TH KEYWAY 1 \"\" \"keyway ")
    );
    assert!(
        keyway(&folder)
            .args(["man", "check"])
            .run()
            .stdout
            .contains("keyway\\-check")
    );
    assert_eq!(keyway(&folder).args(["man", "nothing"]).run().code, 2);
}
